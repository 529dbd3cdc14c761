#include "candidate/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace cutegen {
namespace {

using testing::HasSubstr;

void put(std::string& out, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

// A plan in the binary layout, written here once more by hand: two launches, one tensor map.
std::string encoded() {
  std::string out = "CUTEPLAN";
  put(out, 1, 4);     // version
  put(out, 0, 4);     // size, set below
  put(out, 2, 4);     // launches
  put(out, 1, 4);     // maps
  put(out, 4096, 8);  // workspace
  put(out, 1, 4);     // zeroed
  put(out, 0, 4);
  const auto launch = [&](std::string name, uint64_t grid, uint64_t block, uint64_t cluster, uint64_t flags, uint64_t args) {
    name.resize(128, '\0');
    out += name;
    for (const uint64_t d : {grid, uint64_t{1}, uint64_t{1}, block, uint64_t{1}, uint64_t{1}, cluster, uint64_t{1}, uint64_t{1}})
      put(out, d, 4);
    put(out, 1024, 4);
    put(out, flags, 4);
    put(out, args, 4);
  };
  const auto arg = [&](uint64_t kind, uint64_t index, uint64_t offset, uint64_t value, uint64_t size) {
    put(out, kind, 4);
    put(out, index, 4);
    put(out, offset, 8);
    put(out, value, 8);
    put(out, size, 4);
    put(out, 0, 4);
  };
  launch("first", 8, 256, 2, 1, 3);
  arg(1, 0, 16, 0, 8);
  arg(5, 0, 0, 0x3f000000, 4);
  arg(6, 0, 0, 0, 128);
  launch("second", 4, 128, 1, 2, 2);
  arg(4, 0, 256, 0, 8);
  arg(3, 0, 0, 0, 8);
  for (const uint64_t v : {0u, 1u, 0u, 2u}) put(out, v, 4);  // f32, input 0, rank 2
  put(out, 0, 8);
  for (const uint64_t v : {64u, 32u, 0u, 0u, 0u}) put(out, v, 8);
  for (const uint64_t v : {256u, 0u, 0u, 0u}) put(out, v, 8);
  for (const uint64_t v : {32u, 8u, 0u, 0u, 0u}) put(out, v, 4);
  for (const uint64_t v : {1u, 1u, 0u, 0u, 0u}) put(out, v, 4);
  for (const uint64_t v : {0u, 3u, 2u, 1u}) put(out, v, 4);
  std::string size;
  put(size, out.size(), 4);
  out.replace(12, 4, size);
  return out;
}

Plan good_plan() {
  auto plan = decode_plan(encoded());
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  return plan.ok() ? *plan : Plan{};
}

Task small_task() {
  Task task;
  task.inputs = {{"x", DType::f32, {32, 64}}};
  task.params = {{"w", DType::f32, {64}}};
  task.outputs = {{"y", DType::f32, {32, 64}}};
  return task;
}

TEST(DecodePlan, ReadsEveryField) {
  const Plan plan = good_plan();
  ASSERT_EQ(plan.launches.size(), 2u);
  EXPECT_EQ(plan.workspace_bytes, 4096u);
  EXPECT_TRUE(plan.workspace_zeroed);
  const Launch& a = plan.launches[0];
  EXPECT_EQ(a.kernel, "first");
  EXPECT_THAT(a.grid, testing::ElementsAre(8, 1, 1));
  EXPECT_THAT(a.block, testing::ElementsAre(256, 1, 1));
  EXPECT_THAT(a.cluster, testing::ElementsAre(2, 1, 1));
  EXPECT_EQ(a.smem_bytes, 1024u);
  EXPECT_TRUE(a.cooperative);
  EXPECT_FALSE(a.pdl);
  ASSERT_EQ(a.args.size(), 3u);
  EXPECT_EQ(a.args[0].kind, ArgKind::input);
  EXPECT_EQ(a.args[0].offset, 16u);
  EXPECT_EQ(a.args[1].kind, ArgKind::scalar);
  EXPECT_EQ(a.args[1].value, 0x3f000000u);
  EXPECT_EQ(a.args[1].size, 4u);
  EXPECT_EQ(a.args[2].kind, ArgKind::tensor_map);
  EXPECT_FALSE(plan.launches[1].cooperative);
  EXPECT_TRUE(plan.launches[1].pdl);
  EXPECT_EQ(plan.launches[1].args[0].kind, ArgKind::workspace);
  ASSERT_EQ(plan.tensor_maps.size(), 1u);
  const PlanTensorMap& m = plan.tensor_maps[0];
  EXPECT_EQ(m.dtype, DType::f32);
  EXPECT_THAT(m.shape, testing::ElementsAre(64, 32));
  EXPECT_THAT(m.strides, testing::ElementsAre(256));
  EXPECT_THAT(m.box, testing::ElementsAre(32, 8));
  EXPECT_THAT(m.element_strides, testing::ElementsAre(1, 1));
  EXPECT_EQ(m.swizzle, 3u);
  EXPECT_EQ(m.l2_promotion, 2u);
  EXPECT_EQ(m.oob_fill, 1u);
  EXPECT_TRUE(validate_plan(plan, small_task()).ok());
}

TEST(DecodePlan, RejectsEveryCutOffAndNamesTheField) {
  const std::string bytes = encoded();
  for (size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(decode_plan(std::string_view(bytes).substr(0, n)).ok()) << n;
  EXPECT_FALSE(decode_plan(bytes + '\0').ok());
  const auto broken = [&](size_t at, char value) {
    std::string b = bytes;
    b[at] = value;
    const auto plan = decode_plan(b);
    return plan.ok() ? std::string("accepted") : plan.error().message;
  };
  EXPECT_THAT(broken(0, 'X'), HasSubstr("magic"));
  EXPECT_THAT(broken(8, 2), HasSubstr("version 2"));
  EXPECT_THAT(broken(12, 1), HasSubstr("bytes"));
  EXPECT_THAT(broken(16, 33), HasSubstr("33 launches"));
  EXPECT_THAT(broken(16, 1), HasSubstr("tensor map 0"));
  EXPECT_THAT(broken(20, 9), HasSubstr("9 tensor maps"));
  EXPECT_THAT(broken(32, 2), HasSubstr("flags"));
  EXPECT_THAT(broken(40, '-'), HasSubstr("launch 0 has no valid kernel name"));
  EXPECT_THAT(broken(40 + 168, 4), HasSubstr("launch 0 (first) has unknown flags"));
  EXPECT_THAT(broken(40 + 172, 33), HasSubstr("launch 0 (first) has 33 arguments"));
  EXPECT_THAT(broken(40 + 176, 7), HasSubstr("launch 0 (first) argument 0 has the unknown kind 7"));
  EXPECT_THAT(broken(40 + 176 + 24, 4), HasSubstr("argument 0 has the impossible size 4"));
  EXPECT_THAT(broken(40 + 176 + 64 + 4, 1), HasSubstr("names tensor map 1"));
  EXPECT_THAT(broken(bytes.size() - 152, 10), HasSubstr("tensor map 0 has the unknown dtype 10"));
  EXPECT_THAT(broken(bytes.size() - 140, 6), HasSubstr("tensor map 0 has rank 6"));
}

// Whatever bytes come, decoding ends with a value or an error.
TEST(DecodePlan, SurvivesEverySingleByteChange) {
  const std::string bytes = encoded();
  for (size_t i = 0; i < bytes.size(); ++i)
    for (const int value : {0, 1, 127, 255}) {
      std::string b = bytes;
      b[i] = static_cast<char>(value);
      if (auto plan = decode_plan(b); plan.ok()) (void)validate_plan(*plan, small_task()).ok();
    }
}

std::string plan_ptx(const std::string& bytes, const std::string& entries) {
  std::string list;
  for (const char c : bytes) list += (list.empty() ? "" : ", ") + std::to_string(static_cast<unsigned char>(c));
  return ".version 9.0\n.target sm_90a\n.global .align 16 .b8 cutegen_plan[" + std::to_string(bytes.size()) + "] = {" + list + "};\n" +
         entries;
}

const std::string kFirst = ".visible .entry first(\n .param .u64 p0,\n .param .f32 p1,\n .param .align 64 .b8 p2[128]\n)\n";
const std::string kSecond = ".visible .entry second(\n .param .u64 p0,\n .param .u64 p1\n)\n.maxntid 128, 1, 1\n{ ret; }\n";

TEST(PlanFromPtx, ChecksThePlanAgainstItsKernels) {
  const auto message = [](const std::string& entries) {
    const auto plan = plan_from_ptx(plan_ptx(encoded(), entries));
    return plan.ok() ? std::string("accepted") : plan.error().message;
  };
  EXPECT_EQ(message(kFirst + "{ ret; }\n" + kSecond), "accepted");
  EXPECT_THAT(message(kSecond), HasSubstr("launch 0 (first) starts a kernel that the PTX does not hold"));
  EXPECT_THAT(message(".entry first(.param .u64 a, .param .f32 b)\n{ ret; }\n" + kSecond),
              HasSubstr("launch 0 (first) passes 3 arguments, but the kernel has 2 parameters"));
  EXPECT_THAT(message(".entry first(.param .u64 a, .param .f64 b, .param .align 64 .b8 c[128])\n{ ret; }\n" + kSecond),
              HasSubstr("launch 0 (first): argument 1 has 4 bytes, but the kernel's parameter has 8"));
  EXPECT_THAT(message(kFirst + ".maxntid 128\n{ ret; }\n" + kSecond),
              HasSubstr("has 256 threads a block, but the kernel is compiled for at most 128"));
  EXPECT_THAT(message(kFirst + ".reqntid 512\n{ ret; }\n" + kSecond), HasSubstr("exactly 512"));
  EXPECT_THAT(message(kFirst + ".reqnctapercluster 4, 1, 1\n{ ret; }\n" + kSecond),
              HasSubstr("cluster 2 x 1 x 1 differs from the kernel's __cluster_dims__ 4 x 1 x 1"));
  const auto none = plan_from_ptx(kFirst + "{ ret; }\n");
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message, HasSubstr("no cutegen_plan"));
}

TEST(PlanFromPtx, TakesTheClusterFromTheKernel) {
  const auto plan = plan_from_ptx(
      plan_ptx(encoded(), kFirst + "{ ret; }\n.entry second(.param .u64 a, .param .u64 b)\n.reqnctapercluster 4, 1, 1\n{ ret; }\n"));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_THAT(plan->launches[1].cluster, testing::ElementsAre(4, 1, 1));
  const auto odd = plan_from_ptx(
      plan_ptx(encoded(), kFirst + "{ ret; }\n.entry second(.param .u64 a, .param .u64 b)\n.reqnctapercluster 3, 1, 1\n{ ret; }\n"));
  ASSERT_FALSE(odd.ok());
  EXPECT_THAT(odd.error().message, HasSubstr("not a multiple"));
}

struct WrongPlan {
  const char* name;
  std::function<void(Plan&)> damage;
  const char* message;
};

class ValidatePlan : public testing::TestWithParam<WrongPlan> {};

TEST_P(ValidatePlan, SaysWhatIsWrong) {
  Plan plan = good_plan();
  GetParam().damage(plan);
  const auto result = validate_plan(plan, small_task());
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Table, ValidatePlan,
    testing::Values(WrongPlan{"launches", [](Plan& p) { p.launches.clear(); }, "no launch"},
                    WrongPlan{"grid", [](Plan& p) { p.launches[0].grid[1] = 0; }, "launch 0 (first): grid 8 x 0 x 1"},
                    WrongPlan{"grid_y", [](Plan& p) { p.launches[1].grid[1] = 65536; }, "launch 1 (second): grid 4 x 65536 x 1"},
                    WrongPlan{"block", [](Plan& p) { p.launches[0].block[2] = 65; }, "block 256 x 1 x 65"},
                    WrongPlan{"threads",
                              [](Plan& p) {
                                p.launches[0].block = {1024, 2, 1};
                              },
                              "2048 threads"},
                    WrongPlan{"cluster", [](Plan& p) { p.launches[0].cluster[0] = 3; }, "not a multiple of the cluster 3 x 1 x 1"},
                    WrongPlan{"cluster_size",
                              [](Plan& p) {
                                p.launches[0].cluster = {8, 1, 1}, p.launches[0].grid = {8, 4, 1}, p.launches[0].cluster[1] = 4;
                              },
                              "a cluster of 32 CTAs"},
                    WrongPlan{"cluster_empty", [](Plan& p) { p.launches[0].cluster[0] = 0; }, "empty dimension"},
                    WrongPlan{"smem", [](Plan& p) { p.launches[0].smem_bytes = 232449; }, "232449 bytes of dynamic shared memory"},
                    WrongPlan{"input", [](Plan& p) { p.launches[0].args[0].index = 1; },
                              "launch 0 (first) argument 0 names input 1, but the task has 1"},
                    WrongPlan{"output", [](Plan& p) { p.launches[1].args[1].index = 2; }, "names output 2"},
                    WrongPlan{"param",
                              [](Plan& p) {
                                p.launches[1].args[1] = {ArgKind::param, 1, 0, 0, 8};
                              },
                              "names parameter 1"},
                    WrongPlan{"offset", [](Plan& p) { p.launches[0].args[0].offset = 8193; }, "byte offset 8193 lies outside"},
                    WrongPlan{"workspace", [](Plan& p) { p.workspace_bytes = 0; }, "reserves none"},
                    WrongPlan{"workspace_offset", [](Plan& p) { p.workspace_bytes = 128; }, "byte offset 256 lies outside"},
                    WrongPlan{"unwritten", [](Plan& p) { p.launches[1].args.pop_back(); }, "no launch is given output 0 (y)"},
                    WrongPlan{"scalar", [](Plan& p) { p.launches[0].args[1].size = 3; }, "a scalar of 3 bytes"},
                    WrongPlan{"map_index", [](Plan& p) { p.launches[0].args[2].index = 1; }, "names tensor map 1"},
                    WrongPlan{"map_box", [](Plan& p) { p.tensor_maps[0].box[1] = 257; }, "box size 257"},
                    WrongPlan{"map_stride", [](Plan& p) { p.tensor_maps[0].strides[0] = 8; }, "stride 8"},
                    WrongPlan{"map_row", [](Plan& p) { p.tensor_maps[0].box[0] = 3; }, "no multiple of 16 bytes"},
                    WrongPlan{"map_swizzle", [](Plan& p) { p.tensor_maps[0].box[0] = 64; }, "wider than the swizzle of 128 bytes"},
                    WrongPlan{"map_extent", [](Plan& p) { p.tensor_maps[0].shape[1] = 33; }, "reaches behind the end"},
                    WrongPlan{"map_huge", [](Plan& p) { p.tensor_maps[0].shape[1] = uint64_t{1} << 33; }, "outside 1 to 2^32"},
                    WrongPlan{"map_rank", [](Plan& p) { p.tensor_maps[0].box.pop_back(); }, "do not fit together"},
                    WrongPlan{"map_offset", [](Plan& p) { p.tensor_maps[0].offset = 8; }, "no multiple of 16"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(PlanJson, HoldsWhatADeviceDoes) {
  const Json j = to_json(good_plan());
  EXPECT_EQ(j["launches"][0]["kernel"], "first");
  EXPECT_EQ(j["launches"][0]["args"][1]["value"], 0x3f000000);
  EXPECT_EQ(j["tensor_maps"][0]["dtype"], "float32");
  EXPECT_EQ(j["workspace_zeroed"], true);
}

}  // namespace
}  // namespace cutegen
