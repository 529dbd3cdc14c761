#include "candidate/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "candidate/ptx_text.h"

namespace cutegen {
namespace {

// Limits of compute capability 9.0 (CUDA C++ Programming Guide, "Compute Capabilities").
constexpr uint64_t kMaxThreads = 1024, kMaxClusterCtas = 16, kMaxSmemBytes = 227 * 1024;
constexpr std::array<uint32_t, 3> kMaxGrid{2147483647, 65535, 65535};
constexpr std::array<uint32_t, 3> kMaxBlock{1024, 1024, 64};

Error bad(const std::string& what) { return Error{Errc::invalid_input, what, "", ""}; }

uint64_t volume(const std::array<uint32_t, 3>& d) { return uint64_t{d[0]} * d[1] * d[2]; }

std::string name_of(const Plan& plan, size_t launch) { return fmt::format("launch {} ({})", launch, plan.launches[launch].kernel); }

Result<void> check_dims(const Launch& l, const std::string& where) {
  for (size_t d = 0; d < 3; ++d) {
    if (l.grid[d] < 1 || l.grid[d] > kMaxGrid[d])
      return bad(fmt::format("{}: grid {} is outside 1 to {}", where, fmt::join(l.grid, " x "), fmt::join(kMaxGrid, " x ")));
    if (l.block[d] < 1 || l.block[d] > kMaxBlock[d])
      return bad(fmt::format("{}: block {} is outside 1 to {}", where, fmt::join(l.block, " x "), fmt::join(kMaxBlock, " x ")));
    if (l.cluster[d] < 1) return bad(fmt::format("{}: cluster {} has an empty dimension", where, fmt::join(l.cluster, " x ")));
    if (l.grid[d] % l.cluster[d] != 0)
      return bad(
          fmt::format("{}: grid {} is not a multiple of the cluster {}", where, fmt::join(l.grid, " x "), fmt::join(l.cluster, " x ")));
  }
  if (volume(l.block) > kMaxThreads)
    return bad(fmt::format("{}: a block of {} threads is over the limit of {}", where, volume(l.block), kMaxThreads));
  if (volume(l.cluster) > kMaxClusterCtas)
    return bad(fmt::format("{}: a cluster of {} CTAs is over the limit of {}", where, volume(l.cluster), kMaxClusterCtas));
  if (l.smem_bytes > kMaxSmemBytes)
    return bad(fmt::format("{}: {} bytes of dynamic shared memory are over the limit of {}", where, l.smem_bytes, kMaxSmemBytes));
  return {};
}

// The bytes of the buffer that (kind, index) names.
Result<uint64_t> buffer_bytes(ArgKind kind, uint32_t index, const Plan& plan, const Task& task, const std::string& where) {
  if (kind == ArgKind::workspace) {
    if (plan.workspace_bytes == 0) return bad(where + " uses the workspace, but the plan reserves none");
    return plan.workspace_bytes;
  }
  const bool input = kind == ArgKind::input;
  const bool param = kind == ArgKind::param;
  const std::vector<TensorSpec>& list = input ? task.inputs : param ? task.params : task.outputs;
  if (index >= list.size())
    return bad(fmt::format("{} names {} {}, but the task has {}", where,
                           input   ? "input"
                           : param ? "parameter"
                                   : "output",
                           index, list.size()));
  return static_cast<uint64_t>(list[index].bytes());
}

Result<void> check_map(const PlanTensorMap& m, const Plan& plan, const Task& task, const std::string& where) {
  const size_t rank = m.shape.size();
  if (rank < 1 || rank > 5 || m.strides.size() + 1 != rank || m.box.size() != rank || m.element_strides.size() != rank)
    return bad(fmt::format("{}: the ranks of shape, strides and box do not fit together", where));
  CUTEGEN_TRY(const uint64_t bytes, buffer_bytes(m.buffer, m.index, plan, task, where));
  const auto element = static_cast<uint64_t>(size_bytes(m.dtype));
  if (m.offset % 16 != 0) return bad(where + ": its byte offset is no multiple of 16");
  uint64_t last = element;
  for (size_t d = 0; d < rank; ++d) {
    if (m.shape[d] < 1 || m.shape[d] > (uint64_t{1} << 32))
      return bad(fmt::format("{}: dimension {} is outside 1 to 2^32", where, m.shape[d]));
    if (m.box[d] < 1 || m.box[d] > 256) return bad(fmt::format("{}: box size {} is outside 1 to 256", where, m.box[d]));
    if (m.element_strides[d] < 1 || m.element_strides[d] > 8)
      return bad(fmt::format("{}: element stride {} is outside 1 to 8", where, m.element_strides[d]));
    const uint64_t stride = d == 0 ? element : m.strides[d - 1];
    if (d > 0 && (stride % 16 != 0 || stride >= (uint64_t{1} << 40)))
      return bad(fmt::format("{}: stride {} is no multiple of 16 below 2^40", where, stride));
    if (m.shape[d] > 1 && stride > (UINT64_MAX - last) / (m.shape[d] - 1))
      return bad(where + ": the tensor is larger than the address space");
    last += (m.shape[d] - 1) * stride;
  }
  if (m.interleave == 0 && m.box[0] * element % 16 != 0) return bad(where + ": its innermost box size is no multiple of 16 bytes");
  const uint64_t span = m.swizzle == 0 ? UINT64_MAX : uint64_t{16} << m.swizzle;
  if (m.box[0] * element > span) return bad(fmt::format("{}: its innermost box size is wider than the swizzle of {} bytes", where, span));
  if (m.offset > bytes || last > bytes - m.offset) return bad(where + ": the tensor reaches behind the end of its buffer");
  return {};
}

Result<void> check_arg(const PlanArg& arg, const Plan& plan, const Task& task, const std::string& where) {
  if (arg.kind == ArgKind::scalar) {
    if (arg.size != 1 && arg.size != 2 && arg.size != 4 && arg.size != 8)
      return bad(fmt::format("{}: a scalar of {} bytes", where, arg.size));
    return {};
  }
  if (arg.kind == ArgKind::tensor_map) {
    if (arg.index >= plan.tensor_maps.size())
      return bad(fmt::format("{} names tensor map {}, but the plan has {}", where, arg.index, plan.tensor_maps.size()));
    return {};
  }
  CUTEGEN_TRY(const uint64_t bytes, buffer_bytes(arg.kind, arg.index, plan, task, where));
  if (arg.offset > bytes) return bad(fmt::format("{}: byte offset {} lies outside a buffer of {} bytes", where, arg.offset, bytes));
  return {};
}

bool passes_output(const Plan& plan, uint32_t index) {
  for (const Launch& launch : plan.launches)
    for (const PlanArg& arg : launch.args) {
      if (arg.kind == ArgKind::output && arg.index == index) return true;
      if (arg.kind != ArgKind::tensor_map || arg.index >= plan.tensor_maps.size()) continue;
      const PlanTensorMap& map = plan.tensor_maps[arg.index];
      if (map.buffer == ArgKind::output && map.index == index) return true;
    }
  return false;
}

Result<void> match_entry(Launch& launch, const PtxEntry& entry, const std::string& where) {
  if (launch.args.size() != entry.param_bytes.size())
    return bad(
        fmt::format("{} passes {} arguments, but the kernel has {} parameters", where, launch.args.size(), entry.param_bytes.size()));
  for (size_t a = 0; a < launch.args.size(); ++a)
    if (launch.args[a].size != entry.param_bytes[a])
      return bad(fmt::format("{}: argument {} has {} bytes, but the kernel's parameter has {}", where, a, launch.args[a].size,
                             entry.param_bytes[a]));
  const uint64_t threads = volume(launch.block);
  if (entry.max_threads != 0 && (threads > entry.max_threads || (entry.exact_threads && threads != entry.max_threads)))
    return bad(fmt::format("{} has {} threads a block, but the kernel is compiled for {}{} (__launch_bounds__)", where, threads,
                           entry.exact_threads ? "exactly " : "at most ", entry.max_threads));
  if (!entry.cluster) return {};
  if (volume(launch.cluster) == 1) launch.cluster = *entry.cluster;  // __cluster_dims__ alone is enough
  if (launch.cluster != *entry.cluster)
    return bad(fmt::format("{}: cluster {} differs from the kernel's __cluster_dims__ {}", where, fmt::join(launch.cluster, " x "),
                           fmt::join(*entry.cluster, " x ")));
  for (size_t d = 0; d < 3; ++d)
    if (launch.grid[d] % launch.cluster[d] != 0)
      return bad(fmt::format("{}: grid {} is not a multiple of the kernel's __cluster_dims__ {}", where, fmt::join(launch.grid, " x "),
                             fmt::join(launch.cluster, " x ")));
  return {};
}

const char* name_of(ArgKind kind) {
  switch (kind) {
    case ArgKind::input: return "input";
    case ArgKind::param: return "param";
    case ArgKind::output: return "output";
    case ArgKind::workspace: return "workspace";
    case ArgKind::scalar: return "scalar";
    case ArgKind::tensor_map: return "tensor_map";
  }
  return "scalar";
}

Json arg_json(const PlanArg& arg) {
  Json j{{"kind", name_of(arg.kind)}, {"size", arg.size}};
  if (arg.kind == ArgKind::scalar) {
    j["value"] = arg.value;
  } else {
    j["index"] = arg.index;
    j["offset"] = arg.offset;
  }
  return j;
}

}  // namespace

Result<Plan> plan_from_ptx(std::string_view ptx) {
  const auto bytes = ptx_bytes(ptx, "cutegen_plan");
  if (!bytes)
    return Error{Errc::invalid_input, "the PTX holds no cutegen_plan",
                 "end the candidate with CUTEGEN_PLAN(cutegen::plan(...)); see docs/candidate.md", ""};
  CUTEGEN_TRY(Plan plan, decode_plan(*bytes));
  const std::vector<PtxEntry> entries = ptx_entries(ptx);
  for (size_t i = 0; i < plan.launches.size(); ++i) {
    Launch& launch = plan.launches[i];
    const auto entry = std::find_if(entries.begin(), entries.end(), [&](const PtxEntry& e) { return e.name == launch.kernel; });
    if (entry == entries.end())
      return Error{Errc::invalid_input, name_of(plan, i) + " starts a kernel that the PTX does not hold",
                   "declare it extern \"C\" __global__, so that its name is not mangled", ""};
    CUTEGEN_CHECK(match_entry(launch, *entry, name_of(plan, i)));
  }
  return plan;
}

Result<void> validate_plan(const Plan& plan, const Task& task) {
  if (plan.launches.empty()) return bad("the plan has no launch");
  for (size_t m = 0; m < plan.tensor_maps.size(); ++m)
    CUTEGEN_CHECK(check_map(plan.tensor_maps[m], plan, task, fmt::format("tensor map {}", m)));
  for (size_t i = 0; i < plan.launches.size(); ++i) {
    CUTEGEN_CHECK(check_dims(plan.launches[i], name_of(plan, i)));
    for (size_t a = 0; a < plan.launches[i].args.size(); ++a)
      CUTEGEN_CHECK(check_arg(plan.launches[i].args[a], plan, task, fmt::format("{} argument {}", name_of(plan, i), a)));
  }
  for (uint32_t o = 0; o < task.outputs.size(); ++o)
    if (!passes_output(plan, o)) return bad(fmt::format("no launch is given output {} ({})", o, task.outputs[o].name));
  return {};
}

Json to_json(const Plan& plan) {
  Json j{{"workspace_bytes", plan.workspace_bytes},
         {"workspace_zeroed", plan.workspace_zeroed},
         {"launches", Json::array()},
         {"tensor_maps", Json::array()}};
  for (const Launch& l : plan.launches) {
    Json args = Json::array();
    for (const PlanArg& arg : l.args) args.push_back(arg_json(arg));
    j["launches"].push_back(Json{{"kernel", l.kernel},
                                 {"grid", l.grid},
                                 {"block", l.block},
                                 {"cluster", l.cluster},
                                 {"smem_bytes", l.smem_bytes},
                                 {"cooperative", l.cooperative},
                                 {"pdl", l.pdl},
                                 {"args", args}});
  }
  for (const PlanTensorMap& m : plan.tensor_maps)
    j["tensor_maps"].push_back(Json{{"dtype", to_string(m.dtype)},
                                    {"buffer", name_of(m.buffer)},
                                    {"index", m.index},
                                    {"offset", m.offset},
                                    {"shape", m.shape},
                                    {"strides", m.strides},
                                    {"box", m.box},
                                    {"element_strides", m.element_strides},
                                    {"interleave", m.interleave},
                                    {"swizzle", m.swizzle},
                                    {"l2_promotion", m.l2_promotion},
                                    {"oob_fill", m.oob_fill}});
  return j;
}

}  // namespace cutegen
