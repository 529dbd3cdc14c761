// A plan: launches in order on one stream, their tensor maps and a workspace.
#pragma once

#include "launch.cuh"

namespace cutegen {

template <int Launches>
class plan_value {
 public:
  // One buffer that all launches share. Its content is undefined at the start of each execution, unless zeroed (the zeroing is timed).
  constexpr plan_value workspace(int64_t bytes) const {
    plan_value out = *this;
    out.workspace_bytes = bytes;
    return out;
  }
  constexpr plan_value workspace(int64_t bytes, zeroed_t) const {
    plan_value out = workspace(bytes);
    out.workspace_zeroed = true;
    return out;
  }

  static constexpr int num_launches = Launches;
  detail::LaunchRecord launches[Launches] = {};
  int num_maps = 0;  // may exceed kMaxTensorMaps: the checks report it
  tensor_map maps[kMaxTensorMaps] = {};
  int64_t workspace_bytes = 0;
  bool workspace_zeroed = false;

  // Moves a launch's tensor maps to the plan; equal ones are shared.
  constexpr void adopt_maps(detail::LaunchRecord& record) {
    for (int a = 0; a < record.num_args; ++a) {
      detail::Arg& arg = record.args[a];
      if (arg.kind == detail::Kind::tensor_map) arg.index = find_or_add(record.maps[arg.index]);
    }
  }

 private:
  constexpr uint32_t find_or_add(tensor_map const& map) {
    for (int i = 0; i < num_maps && i < kMaxTensorMaps; ++i)
      if (maps[i] == map) return i;
    if (num_maps < kMaxTensorMaps) maps[num_maps] = map;
    return num_maps++;
  }
};

template <class... Signatures>
constexpr auto plan(launch<Signatures> const&... launches) {
  static_assert(sizeof...(launches) >= 1, "cutegen plan: a plan needs at least one launch");
  static_assert(sizeof...(launches) <= kMaxLaunches, "cutegen plan: a plan has at most 32 launches");
  plan_value<sizeof...(launches) == 0 ? 1 : sizeof...(launches)> out;
  int i = 0;
  ((out.launches[i] = launches.record(), out.adopt_maps(out.launches[i]), ++i), ...);
  return out;
}

}  // namespace cutegen
