// The fake that other folders' tests stand on.
#include "support/fake_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/shm_tensor.h"

namespace cutegen::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

class FakeDeviceTest : public ::testing::Test {
 protected:
  RunRequest request(const std::string& key, const std::vector<float>& x) {
    auto build = std::make_shared<Build>();
    build->key = key;
    RunRequest r;
    r.build = build;
    r.inputs = {tensors_.floats("x", x)};
    r.outputs = {TensorSpec{"y", DType::f32, {static_cast<int64_t>(x.size())}}};
    return r;
  }
  static void negate(const FakeDevice::Call& call) {
    const auto x = elements<float>(call.inputs[0]);
    const auto y = elements<float>(call.outputs[0]);
    for (size_t i = 0; i < x.size(); ++i) y[i] = -x[i];
  }
  ShmTensors tensors_;
  FakeDevice device_;
};

TEST_F(FakeDeviceTest, ComputesThroughTheCallbackOfTheBuild) {
  device_.compute("negate", negate);
  const auto result = device_.run(request("negate", {1, 2}));
  ASSERT_TRUE(result.ok() && result->outcome.ok());
  EXPECT_THAT(read_shm<float>(result->outputs[0]), ElementsAre(-1, -2));
  const RunRequest other = request("other", {1, 2});
  const auto poisoned = device_.run(other);
  ASSERT_TRUE(poisoned.ok() && poisoned->outcome.ok());
  EXPECT_THAT(read_shm<uint32_t>(poisoned->outputs[0]), Each(other.poison));
  EXPECT_NE(poisoned->output_hashes, result->output_hashes);
  EXPECT_THAT(device_.run_keys(), ElementsAre("negate", "other"));
}

TEST_F(FakeDeviceTest, FollowsItsScript) {
  device_.next_outcome({OutcomeKind::timeout, "slow"});
  device_.outcome("bad", {OutcomeKind::illegal_address, "far"});
  EXPECT_EQ(device_.run(request("good", {1}))->outcome.kind, OutcomeKind::timeout);
  EXPECT_EQ(device_.run(request("good", {1}))->outcome.kind, OutcomeKind::ok);
  EXPECT_EQ(device_.run(request("bad", {1}))->outcome.kind, OutcomeKind::illegal_address);
  device_.next_error(Error{Errc::device, "gone", "", ""});
  EXPECT_FALSE(device_.run(request("good", {1})).ok());
}

TEST_F(FakeDeviceTest, TimesAreThoseGiven) {
  TimeRequest r;
  r.build = request("k", {1}).build;
  r.repeats = 3;
  device_.times("k", {0.5, 0.25});
  EXPECT_THAT(device_.time(r)->ms, ElementsAre(0.5, 0.25, 0.5));
  EXPECT_FALSE(device_.measures_time());
}

TEST_F(FakeDeviceTest, OutputsEndAtTheNextCall) {
  const std::string first = device_.run(request("k", {1}))->outputs.at(0).handle;
  EXPECT_TRUE(Shm::open_readable(first).ok());
  EXPECT_TRUE(device_.run(request("k", {1})).ok());
  EXPECT_FALSE(Shm::open_readable(first).ok());
}

}  // namespace
}  // namespace cutegen::test
