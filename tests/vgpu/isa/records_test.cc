// Every record against an independent reference, over zeros, extremes, subnormals, infinities, NaNs, ties and random bits; and the list of
// what has no such test: a record in neither fails.
#include <gtest/gtest.h>

#include <set>

#include "vgpu/isa/harness.h"
#include "vgpu/isa/reference_integer.h"

namespace cutegen::vgpu {
namespace {

// Which NaN a double or a conversion yields is the differential suite's to say (tests/vgpu/differential).
bool is_nan_of(Value v, u64 b) {
  switch (v) {
    case Value::F64: return (b & 0x7fffffffffffffffull) > 0x7ff0000000000000ull;
    case Value::F32: return (b & 0x7fffffffu) > 0x7f800000u;
    case Value::F16: return (b & 0x7fffu) > 0x7c00u;
    case Value::BF16: return (b & 0x7fffu) > 0x7f80u;
    default: return false;
  }
}

bool has_reference(const Form& f) {
  const u64 zeros[8] = {};
  return is_plain(f) && f.operands.size() > 1 && reference::evaluate(f.name, zeros, 0).has_value();
}

void check_form(const Form& f) {
  const Columns in = operand_columns(f);
  const Columns out = run_plain(f, in);
  const Value type = f.operands[0].role == Role::pair_dst ? Value::Pred : f.operands[0].type;
  for (size_t k = 0; k < out.size(); ++k) {
    for (size_t lane = 0; lane < in[0].size(); ++lane) {
      u64 v[8] = {};
      for (size_t i = 0; i < in.size(); ++i) v[i] = in[i][lane];
      const u64 want = *reference::evaluate(f.name, v, static_cast<int>(k)) & mask_of(type), got = out[k][lane] & mask_of(type);
      const bool any_nan = type == Value::F64 || f.name.starts_with("cvt.");
      if (want == got || (any_nan && is_nan_of(type, want) && is_nan_of(type, got))) continue;
      ADD_FAILURE() << f.name << " result " << k << std::hex << ": " << v[0] << " " << v[1] << " " << v[2] << " " << v[3] << " -> " << got
                    << ", expected " << want;
      return;
    }
  }
}

TEST(Records, AgreeWithTheReference) {
  int tested = 0;
  for (const Form& f : all_forms()) {
    if (!has_reference(f)) continue;
    check_form(f);
    ++tested;
  }
  EXPECT_GT(tested, 1500);
}

bool starts_with_any(const std::string& name, std::initializer_list<const char*> list) {
  return std::any_of(list.begin(), list.end(), [&](const char* p) { return name.starts_with(p); });
}
bool contains_any(const std::string& name, std::initializer_list<const char*> list) {
  return std::any_of(list.begin(), list.end(), [&](const char* p) { return name.find(p) != std::string::npos; });
}
// Where the test of a record without a reference is; "" when there is none.
const char* tested_in(const std::string& n) {
  if (contains_any(n, {".approx", ".full"})) return "approximations_test.cc";
  if (contains_any(n, {".cc."}) || starts_with_any(n, {"addc.", "subc.", "madc."}) ||
      contains_any(n, {"e4m3", "e5m2", ".pack", ".unpack", "clock"}))
    return "lanes_test.cc";
  if (starts_with_any(
          n, {"ld.", "st.", "atom.", "red.", "cvta.", "isspacep.", "mapa.", "prefetch", "discard", "applypriority", "createpolicy"}))
    return contains_any(n, {".async"}) ? "bulk_test.cc" : "memory_test.cc";
  if (starts_with_any(n, {"tensormap.", "fence.proxy.tensormap"}) || contains_any(n, {".tensor."})) return "tensor_copy_test.cc";
  if (starts_with_any(n, {"shfl.", "vote.", "match.", "redux.", "activemask", "elect", "bar.", "barrier.", "cp.", "mbarrier.", "ldmatrix",
                          "stmatrix", "movmatrix"}))
    return "collective_test.cc";
  if (starts_with_any(n, {"mma."})) return "mma_test.cc";
  if (starts_with_any(n, {"wgmma."})) return "wgmma_test.cc";
  if (starts_with_any(n, {"bra", "call", "ret", "exit", "trap", "brkpt", "vgpu.", "membar", "fence", "griddepcontrol", "nanosleep",
                          "pmevent", "setmaxnreg"}))
    return "kernels_test.cc";
  return "";
}

TEST(Records, EveryOneHasATest) {
  for (const Form& f : all_forms()) {
    if (has_reference(f)) continue;
    EXPECT_STRNE(tested_in(f.name), "") << f.name << " has no test";
  }
}

TEST(Records, NamesAreUnique) {
  std::set<std::string> seen;
  for (const Form& f : all_forms()) EXPECT_TRUE(seen.insert(f.name).second) << f.name;
}

}  // namespace
}  // namespace cutegen::vgpu
