// The virtual GPU behind the Device interface, with real nvcc output (tests/vgpu/fixtures).
#include "device/virtual/virtual_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "device/shm.h"

namespace cutegen {
namespace {

class VirtualDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = open_virtual_device();
    ASSERT_TRUE(opened.ok());
    device = std::move(opened).value();
    name = "/cutegen-test-virtual-" + std::to_string(::getpid());
    Shm::unlink(name);
    auto made = Shm::create(name, kElements * 4);
    ASSERT_TRUE(made.ok());
    float* x = reinterpret_cast<float*>(made->bytes().data());
    for (int i = 0; i < kElements; ++i) x[i] = static_cast<float>(i);
  }
  void TearDown() override { Shm::unlink(name); }

  static constexpr int kElements = 1000;
  TensorSpec spec(const char* n) const { return {n, DType::f32, {kElements}}; }
  SharedTensor input() const { return {spec("x"), SharedTensor::Where::shm, name, 0}; }
  static PlanArg scalar(uint64_t value, uint32_t size) { return {ArgKind::scalar, 0, 0, value, size}; }

  // y = 2x + y of fixtures/kernels.ptx, where y is the first output or, when `into_input`, the input itself.
  static std::shared_ptr<Build> axpy(int64_t n, bool into_input = false) {
    auto build = std::make_shared<Build>();
    build->key = "axpy" + std::to_string(n) + (into_input ? "i" : "");
    build->ptx = std::string(CUTEGEN_SOURCE_DIR) + "/tests/vgpu/fixtures/kernels.ptx";
    Launch l;
    l.kernel = "axpy";
    l.grid = {3, 1, 1}, l.block = {128, 1, 1};
    const float two = 2;
    uint32_t bits;
    std::memcpy(&bits, &two, 4);
    l.args = {
        scalar(bits, 4), {ArgKind::input, 0}, {into_input ? ArgKind::input : ArgKind::output, 0}, scalar(static_cast<uint64_t>(n), 8)};
    build->plan.launches = {l};
    return build;
  }
  RunRequest request(std::shared_ptr<const Build> build) const {
    RunRequest r;
    r.build = std::move(build);
    r.inputs = {input()};
    r.outputs = {spec("y")};
    r.poison = 0x3f800000;  // 1.0f
    return r;
  }
  std::unique_ptr<Device> device;
  std::string name;
};

TEST_F(VirtualDeviceTest, RunsAPlan) {
  EXPECT_FALSE(device->measures_time());
  EXPECT_EQ(device->info().kind, DeviceKind::virtual_gpu);
  auto r = device->run(request(axpy(kElements)));
  ASSERT_TRUE(r.ok()) << r.error().message;
  ASSERT_TRUE(r->outcome.ok()) << r->outcome.detail;
  ASSERT_EQ(r->outputs.size(), 1u);
  auto object = Shm::open_readable(r->outputs[0].handle);
  ASSERT_TRUE(object.ok());
  const float* y = reinterpret_cast<const float*>(object->bytes().data());
  for (int i = 0; i < kElements; ++i) ASSERT_EQ(y[i], 2 * static_cast<float>(i) + 1);
  device.reset();
  EXPECT_FALSE(Shm::open_readable(r->outputs[0].handle).ok()) << "outputs outlive the device";
}

// share_tile of fixtures/machine.ptx: y = 1 + 2x over 16 x 32 elements, all of it through tensor maps.
TEST_F(VirtualDeviceTest, PassesTensorMaps) {
  auto build = std::make_shared<Build>();
  build->key = "share_tile";
  build->ptx = std::string(CUTEGEN_SOURCE_DIR) + "/tests/vgpu/fixtures/machine.ptx";
  PlanTensorMap from;
  from.shape = {32, 16}, from.strides = {128}, from.box = {32, 8}, from.element_strides = {1, 1};
  PlanTensorMap to = from;
  to.buffer = ArgKind::output, to.box = {32, 16};
  Launch l;
  l.kernel = "share_tile";
  l.grid = {2, 1, 1}, l.block = {32, 1, 1}, l.cluster = {2, 1, 1};
  l.args = {{ArgKind::tensor_map, 0}, {ArgKind::tensor_map, 1}};
  build->plan.launches = {l};
  build->plan.tensor_maps = {from, to};
  auto r = device->run(request(build));
  ASSERT_TRUE(r.ok()) << r.error().message;
  ASSERT_TRUE(r->outcome.ok()) << r->outcome.detail;
  auto object = Shm::open_readable(r->outputs[0].handle);
  ASSERT_TRUE(object.ok());
  const float* y = reinterpret_cast<const float*>(object->bytes().data());
  for (int i = 0; i < kElements; ++i) ASSERT_EQ(y[i], i < 512 ? 1 + 2 * static_cast<float>(i) : 1) << i;

  build->key.clear();
  build->plan.tensor_maps[0].strides = {120};
  r = device->run(request(build));
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r->outcome.kind, OutcomeKind::invalid_launch);
  EXPECT_THAT(r->outcome.detail, testing::HasSubstr("global stride 120"));
}

TEST_F(VirtualDeviceTest, ReportsAnOverrun) {
  auto r = device->run(request(axpy(kElements + 1)));
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r->outcome.kind, OutcomeKind::illegal_address);
  EXPECT_THAT(r->outcome.detail, testing::HasSubstr("past the end of 'x' (4000 bytes)"));
  EXPECT_THAT(r->outcome.detail, testing::HasSubstr("kernels.cu:8"));
  EXPECT_TRUE(r->outputs.empty());
}

TEST_F(VirtualDeviceTest, FindsReadsOfAnOutputThatNobodyWrote) {  // y = 2x + y
  auto r = device->run(request(axpy(kElements)));
  ASSERT_TRUE(r.ok());
  EXPECT_TRUE(r->outcome.ok()) << "the run goes on";
  ASSERT_EQ(r->findings.size(), 1u);
  EXPECT_EQ(r->findings[0].kind, "uninitialised");
  EXPECT_EQ(r->findings[0].check, "uninitialised-memory");
  EXPECT_EQ(r->findings[0].buffer, "y");
  EXPECT_EQ(r->findings[0].line, 8);
  EXPECT_EQ(r->findings[0].thread, "(0,0,0)");
  EXPECT_FALSE(r->findings[0].fix.empty());
  auto opened = open_virtual_device({.checks = DeviceChecks::fast});
  ASSERT_TRUE(opened.ok());
  auto fast = (*opened)->run(request(axpy(kElements)));
  ASSERT_TRUE(fast.ok());
  EXPECT_TRUE(fast->findings.empty());
}

TEST_F(VirtualDeviceTest, ReportsAWriteToAnInput) {
  auto r = device->run(request(axpy(kElements, true)));
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r->outcome.kind, OutcomeKind::input_modified);
}

TEST_F(VirtualDeviceTest, ReportsArgumentsThatDoNotFit) {
  auto build = axpy(kElements);
  build->plan.launches[0].args.pop_back();
  auto r = device->run(request(build));
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r->outcome.kind, OutcomeKind::invalid_launch);
  EXPECT_THAT(r->outcome.detail, testing::HasSubstr("takes 4 arguments, the plan gives 3"));
}

TEST_F(VirtualDeviceTest, PredictsATime) {
  TimeRequest t;
  t.build = axpy(kElements);
  t.input_sets = {{input()}};
  t.outputs = {spec("y")};
  t.repeats = 4;
  auto r = device->time(t);
  ASSERT_TRUE(r.ok()) << r.error().message;
  ASSERT_EQ(r->ms.size(), 4u);
  EXPECT_GT(r->ms[0], 0.001);  // a launch alone takes microseconds
  EXPECT_LT(r->ms[0], 0.1);
  EXPECT_EQ(r->ms[0], r->ms[3]);
}

}  // namespace
}  // namespace cutegen
