// Tests of the CUDA device against the stand-in driver: the real parent, the real executor process, host memory for a GPU.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "device/cuda/cuda_device.h"
#include "support/shm_tensor.h"

namespace cutegen::test {

inline Launch launch_of(const std::string& kernel, std::vector<PlanArg> args) {
  Launch launch;
  launch.kernel = kernel;
  launch.args = std::move(args);
  return launch;
}
inline PlanArg input(uint32_t i, uint64_t offset = 0) { return {ArgKind::input, i, offset, 0, 8}; }
inline PlanArg param(uint32_t i) { return {ArgKind::param, i, 0, 0, 8}; }
inline PlanArg output(uint32_t i) { return {ArgKind::output, i, 0, 0, 8}; }
inline PlanArg workspace() { return {ArgKind::workspace, 0, 0, 0, 8}; }
inline PlanArg scalar(uint64_t value, uint32_t size) { return {ArgKind::scalar, 0, 0, value, size}; }

class CudaDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto dir = TempDir::make("cutegen-device-test");
    ASSERT_TRUE(dir.ok());
    dir_.emplace(std::move(dir).value());
    config_.executor = CUTEGEN_TEST_EXECUTOR;
    config_.arguments = {};
    config_.env = {{"LD_LIBRARY_PATH", CUTEGEN_FAKE_CUDA_DIR}, {"FAKE_CUDA_TRACE", (dir_->path() / "trace").string()}};
    config_.start_limit = Seconds(30);
  }

  void open() {
    auto opened = CudaDevice::open(config_);
    ASSERT_TRUE(opened.ok()) << opened.error().message << "\n" << opened.error().detail;
    device_ = std::move(opened).value();
  }

  // A build whose cubin holds the kernels of its plan, unless `image` says otherwise.
  std::shared_ptr<const Build> build(Plan plan, std::string image = "") {
    if (image.empty()) {
      image = "fake cubin";
      for (const Launch& launch : plan.launches) image += " " + launch.kernel;
    }
    auto made = std::make_shared<Build>();
    made->key = "build" + std::to_string(builds_++);
    made->cubin = dir_->path() / (made->key + ".cubin");
    made->plan = std::move(plan);
    std::ofstream(made->cubin) << image;
    return made;
  }
  static Plan plan(std::vector<Launch> launches) {
    Plan plan;
    plan.launches = std::move(launches);
    return plan;
  }

  // One float output of `elements`, no inputs.
  RunRequest request(Plan p, int64_t elements = 4) {
    RunRequest r;
    r.build = build(std::move(p));
    r.outputs = {TensorSpec{"y", DType::f32, {elements}}};
    r.time_limit = Seconds(20);
    config_.outputs_in = SharedTensor::Where::shm;
    return r;
  }
  RunRequest scale_request(const std::vector<float>& x) {
    const auto n = static_cast<int64_t>(x.size());
    RunRequest r = request(plan({launch_of("scale", {input(0), output(0), scalar(x.size(), 4)})}), n);
    r.inputs = {tensors_.floats("x", x)};
    return r;
  }

  Outcome outcome_of(const RunRequest& r) {
    auto result = device_->run(r);
    EXPECT_TRUE(result.ok()) << result.error().message;
    return result.ok() ? result->outcome : Outcome{OutcomeKind::check_failed, "no result"};
  }
  // The device still works: right outputs from a fresh request.
  void expect_healthy() {
    auto result = device_->run(scale_request({1, 2, 3}));
    ASSERT_TRUE(result.ok()) << result.error().message;
    ASSERT_TRUE(result->outcome.ok()) << result->outcome.detail;
    EXPECT_THAT(read_shm<float>(result->outputs.at(0)), ::testing::ElementsAre(2, 4, 6));
  }

  std::string trace() const {
    std::ostringstream text;
    text << std::ifstream(dir_->path() / "trace").rdbuf();
    return text.str();
  }
  int traced(const std::string& prefix) const {
    std::istringstream lines(trace());
    int count = 0;
    for (std::string line; std::getline(lines, line);) count += line.starts_with(prefix) ? 1 : 0;
    return count;
  }
  void clear_trace() const { std::filesystem::remove(dir_->path() / "trace"); }

  std::optional<TempDir> dir_;
  ShmTensors tensors_;
  CudaDeviceConfig config_;
  std::unique_ptr<CudaDevice> device_;
  int builds_ = 0;
};

}  // namespace cutegen::test
