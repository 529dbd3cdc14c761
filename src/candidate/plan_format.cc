// The binary layout of `cutegen_plan`, version 1. The device-side twin is kernels/include/cutegen/plan/format.cuh; both state it in the
// same words.
//
// Everything is little-endian and unpadded:
//   header        u64 magic "CUTEPLAN" | u32 version | u32 bytes in all | u32 launches | u32 tensor maps | u64 workspace bytes |
//                 u32 flags (1: workspace zeroed) | u32 0                                                          = 40 bytes
//   each launch   char[128] kernel, NUL-terminated | u32[3] grid | u32[3] block | u32[3] cluster | u32 dynamic smem bytes |
//                 u32 flags (1: cooperative, 2: PDL) | u32 arguments                                               = 176 bytes
//   its arguments u32 kind (ArgKind) | u32 index | u64 byte offset | u64 value | u32 parameter bytes | u32 0        = 32 bytes each
//   each map      u32 dtype (DType) | u32 buffer (ArgKind) | u32 index | u32 rank | u64 byte offset | u64[5] shape | u64[4] stride bytes |
//                 u32[5] box | u32[5] element strides | u32 interleave | u32 swizzle | u32 L2 promotion | u32 out-of-bounds fill = 152
//                 bytes
// Maps follow the last launch's arguments. Entries of a map behind its rank are 0.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "candidate/plan.h"

namespace cutegen {
namespace {

constexpr std::string_view kMagic = "CUTEPLAN";
constexpr uint32_t kVersion = 1;
constexpr size_t kHeaderBytes = 40, kLaunchBytes = 176, kArgBytes = 32, kMapBytes = 152;
constexpr uint32_t kMaxLaunches = 32, kMaxArgs = 32, kMaxMaps = 8;
constexpr size_t kNameBytes = 128;

Error bad(const std::string& what) { return Error{Errc::invalid_input, "cutegen_plan: " + what, "", ""}; }

// Reads numbers from the front. The caller has checked that enough bytes are left.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  size_t left() const { return rest_.size(); }
  std::string_view take(size_t count) {
    const std::string_view out = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return out;
  }
  uint32_t u32() { return static_cast<uint32_t>(number(4)); }
  uint64_t u64() { return number(8); }
  std::array<uint32_t, 3> dim3() {
    std::array<uint32_t, 3> out{};
    for (uint32_t& v : out) v = u32();
    return out;
  }

 private:
  uint64_t number(size_t count) {
    uint64_t v = 0;
    for (size_t i = 0; i < count; ++i) v |= uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
    rest_.remove_prefix(count);
    return v;
  }
  std::string_view rest_;
};

bool is_identifier(std::string_view name) {
  const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$'; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 && std::all_of(name.begin(), name.end(), word);
}

Result<PlanArg> read_arg(Reader& in, uint32_t num_maps, const std::string& where) {
  PlanArg arg;
  const uint32_t kind = in.u32();
  if (kind < 1 || kind > 6) return bad(fmt::format("{} has the unknown kind {}", where, kind));
  arg.kind = static_cast<ArgKind>(kind);
  arg.index = in.u32();
  arg.offset = in.u64();
  arg.value = in.u64();
  arg.size = in.u32();
  if (in.u32() != 0) return bad(fmt::format("{} has a reserved field set", where));
  const bool size_ok = arg.kind == ArgKind::scalar       ? arg.size == 1 || arg.size == 2 || arg.size == 4 || arg.size == 8
                       : arg.kind == ArgKind::tensor_map ? arg.size == 128
                                                         : arg.size == 8;
  if (!size_ok) return bad(fmt::format("{} has the impossible size {}", where, arg.size));
  if (arg.kind == ArgKind::tensor_map && arg.index >= num_maps)
    return bad(fmt::format("{} names tensor map {}, but the plan has {}", where, arg.index, num_maps));
  return arg;
}

Result<Launch> read_launch(Reader& in, uint32_t number, uint32_t num_maps) {
  if (in.left() < kLaunchBytes) return bad(fmt::format("launch {} is cut off", number));
  Launch launch;
  const std::string_view name = in.take(kNameBytes);
  const size_t end = name.find('\0');
  if (end == std::string_view::npos || !is_identifier(name.substr(0, end)))
    return bad(fmt::format("launch {} has no valid kernel name", number));
  launch.kernel = name.substr(0, end);
  launch.grid = in.dim3();
  launch.block = in.dim3();
  launch.cluster = in.dim3();
  launch.smem_bytes = in.u32();
  const uint32_t flags = in.u32();
  const uint32_t args = in.u32();
  const std::string where = fmt::format("launch {} ({})", number, launch.kernel);
  if (flags > 3) return bad(fmt::format("{} has unknown flags {:#x}", where, flags));
  if (args > kMaxArgs) return bad(fmt::format("{} has {} arguments, over the limit of {}", where, args, kMaxArgs));
  if (in.left() < args * kArgBytes) return bad(fmt::format("{}: the arguments are cut off", where));
  launch.cooperative = (flags & 1) != 0;
  launch.pdl = (flags & 2) != 0;
  for (uint32_t a = 0; a < args; ++a) {
    CUTEGEN_TRY(const PlanArg arg, read_arg(in, num_maps, fmt::format("{} argument {}", where, a)));
    launch.args.push_back(arg);
  }
  return launch;
}

template <class T, class Read>
std::vector<T> read_list(uint32_t stored, uint32_t used, const Read& read) {
  std::vector<T> out;
  for (uint32_t i = 0; i < stored; ++i) {
    const T v = read();
    if (i < used) out.push_back(v);
  }
  return out;
}

Result<PlanTensorMap> read_map(Reader& in, uint32_t number) {
  if (in.left() < kMapBytes) return bad(fmt::format("tensor map {} is cut off", number));
  PlanTensorMap map;
  const uint32_t dtype = in.u32();
  const uint32_t buffer = in.u32();
  map.index = in.u32();
  const uint32_t rank = in.u32();
  if (dtype > static_cast<uint32_t>(DType::b1)) return bad(fmt::format("tensor map {} has the unknown dtype {}", number, dtype));
  if (buffer < 1 || buffer > 4) return bad(fmt::format("tensor map {} has the unknown buffer kind {}", number, buffer));
  if (rank < 1 || rank > 5) return bad(fmt::format("tensor map {} has rank {}, not 1 to 5", number, rank));
  map.dtype = static_cast<DType>(dtype);
  map.buffer = static_cast<ArgKind>(buffer);
  map.offset = in.u64();
  map.shape = read_list<uint64_t>(5, rank, [&] { return in.u64(); });
  map.strides = read_list<uint64_t>(4, rank - 1, [&] { return in.u64(); });
  map.box = read_list<uint32_t>(5, rank, [&] { return in.u32(); });
  map.element_strides = read_list<uint32_t>(5, rank, [&] { return in.u32(); });
  map.interleave = in.u32();
  map.swizzle = in.u32();
  map.l2_promotion = in.u32();
  map.oob_fill = in.u32();
  if (map.interleave > 2 || map.swizzle > 3 || map.l2_promotion > 3 || map.oob_fill > 1)
    return bad(fmt::format("tensor map {} has an unknown interleave, swizzle, L2 promotion or fill", number));
  return map;
}

}  // namespace

Result<Plan> decode_plan(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes) return bad(fmt::format("{} bytes are too few for a header", bytes.size()));
  Reader in(bytes);
  if (in.take(8) != kMagic) return bad("the magic is wrong; is it made by CUTEGEN_PLAN?");
  if (const uint32_t version = in.u32(); version != kVersion)
    return bad(fmt::format("version {} is not {}: kernels/include and this program are of different releases", version, kVersion));
  if (const uint32_t size = in.u32(); size != bytes.size())
    return bad(fmt::format("it says that it has {} bytes, and has {}", size, bytes.size()));
  const uint32_t launches = in.u32();
  const uint32_t maps = in.u32();
  if (launches < 1 || launches > kMaxLaunches) return bad(fmt::format("{} launches, not 1 to {}", launches, kMaxLaunches));
  if (maps > kMaxMaps) return bad(fmt::format("{} tensor maps, over the limit of {}", maps, kMaxMaps));
  Plan plan;
  plan.workspace_bytes = in.u64();
  const uint32_t flags = in.u32();
  if (flags > 1 || in.u32() != 0) return bad("the header has unknown flags");
  plan.workspace_zeroed = flags != 0;
  for (uint32_t i = 0; i < launches; ++i) {
    CUTEGEN_TRY(Launch launch, read_launch(in, i, maps));
    plan.launches.push_back(std::move(launch));
  }
  for (uint32_t i = 0; i < maps; ++i) {
    CUTEGEN_TRY(PlanTensorMap map, read_map(in, i));
    plan.tensor_maps.push_back(std::move(map));
  }
  if (in.left() != 0) return bad(fmt::format("{} bytes are left over behind the last entry", in.left()));
  return plan;
}

}  // namespace cutegen
