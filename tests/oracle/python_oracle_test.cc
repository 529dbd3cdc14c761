#include "oracle/python_oracle.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>

#include "base/fs.h"

namespace cutegen {
namespace {

constexpr char kHead[] = "import os\nimport time\nimport torch\nimport torch.nn as nn\n\n\n";
constexpr char kRelu[] =
    "class Model(nn.Module):\n"
    "    def forward(self, x):\n"
    "        return torch.relu(x) * 2\n\n\n"
    "def get_inputs():\n"
    "    return [torch.randn(16, 32)]\n";

int objects_of(const std::string& prefix) {
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
    found += entry.path().filename().string().rfind(prefix, 0) == 0 ? 1 : 0;
  return found;
}

std::string process_prefix(const SharedTensor& tensor) { return tensor.handle.substr(1, tensor.handle.rfind('-')); }

// A shared memory object's floats, mapped while this lives.
class Mapped {
 public:
  explicit Mapped(const SharedTensor& tensor) : bytes_(static_cast<size_t>(tensor.offset + tensor.spec.bytes())) {
    const int fd = ::open(("/dev/shm" + tensor.handle).c_str(), O_RDWR);
    if (fd < 0) return;
    memory_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    if (memory_ == MAP_FAILED) return;
    values = {reinterpret_cast<float*>(static_cast<char*>(memory_) + tensor.offset), static_cast<size_t>(tensor.spec.elements())};
  }
  ~Mapped() {
    if (memory_ != MAP_FAILED) ::munmap(memory_, bytes_);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  std::span<float> values;

 private:
  size_t bytes_;
  void* memory_ = MAP_FAILED;
};

// A candidate's output, as a device would share it.
class SharedOutput {
 public:
  explicit SharedOutput(const TensorSpec& spec) {
    tensor.spec = spec;
    tensor.handle = "/cutegen-test-" + std::to_string(::getpid());
    const int fd = ::open(("/dev/shm" + tensor.handle).c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    EXPECT_EQ(::ftruncate(fd, spec.bytes()), 0);
    ::close(fd);
  }
  ~SharedOutput() { ::unlink(("/dev/shm" + tensor.handle).c_str()); }
  SharedOutput(const SharedOutput&) = delete;
  SharedOutput& operator=(const SharedOutput&) = delete;
  SharedTensor tensor;
};

void relu_times_two(const SharedTensor& input, const SharedTensor& output) {
  const Mapped x(input);
  const Mapped y(output);
  ASSERT_EQ(x.values.size(), y.values.size());
  for (size_t i = 0; i < x.values.size(); ++i) y.values[i] = std::max(x.values[i], 0.0F) * 2;
}

class PythonOracleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto dir = TempDir::make("oracle-test");
    ASSERT_TRUE(dir.ok());
    dir_.emplace(std::move(*dir));
    if (!find_python().ok()) GTEST_SKIP() << "no Python with torch";
    config_.device = "cpu";
    config_.package_dir = std::filesystem::path(CUTEGEN_SOURCE_DIR) / "python";
    config_.memory_limit_bytes = int64_t{2} << 30;
    config_.log = dir_->path() / "oracle.log";
  }

  Result<std::unique_ptr<Oracle>> start(const std::string& body) {
    config_.task = dir_->path() / "task.py";
    EXPECT_TRUE(write_file_atomic(config_.task, kHead + body).ok());
    return start_python_oracle(config_);
  }

  std::optional<TempDir> dir_;
  OracleConfig config_;
};

TEST_F(PythonOracleTest, ARightOutputAgreesAndAWrongOneIsDescribed) {
  auto oracle = start(kRelu);
  ASSERT_TRUE(oracle.ok()) << oracle.error().message << oracle.error().detail;
  EXPECT_FALSE((*oracle)->info().torch.empty());
  EXPECT_FALSE((*oracle)->info().on_gpu);
  const TrialSpec spec{11, Distribution::sign_symmetric, false};
  auto trial = (*oracle)->trial(spec, Precision::match);
  ASSERT_TRUE(trial.ok()) << trial.error().message;
  EXPECT_TRUE(trial->reference_finite);
  EXPECT_EQ(trial->spec, spec);
  ASSERT_EQ(trial->inputs.size(), 1U);

  SharedOutput output((*oracle)->task().outputs.at(0));
  relu_times_two(trial->inputs[0], output.tensor);
  auto right = (*oracle)->compare(trial->id, {output.tensor});
  ASSERT_TRUE(right.ok()) << right.error().message;
  EXPECT_TRUE(right->at(0).bit_equal_reference);
  EXPECT_TRUE(right->at(0).suite_allclose);
  EXPECT_EQ(right->at(0).norm_error, 0);
  EXPECT_GT(right->at(0).norm_truth, 1);
  EXPECT_EQ(right->at(0).elements, 16 * 32);
  EXPECT_TRUE(right->at(0).pattern.empty());

  {
    const Mapped y(output.tensor);
    for (size_t row = 0; row < 16; ++row) y.values[row * 32 + 31] += 1;
    const uint32_t poison = config_.poison;
    std::memcpy(&y.values[31], &poison, 4);
  }
  auto wrong = (*oracle)->compare(trial->id, {output.tensor});
  ASSERT_TRUE(wrong.ok()) << wrong.error().message;
  EXPECT_FALSE(wrong->at(0).suite_allclose);
  EXPECT_EQ(wrong->at(0).poison_left, 1);
  EXPECT_EQ(wrong->at(0).nonfinite_mismatches, 1);
  EXPECT_TRUE(std::isnan(wrong->at(0).worst_value));
  EXPECT_EQ(wrong->at(0).worst_index, (std::vector<int64_t>{0, 31}));
  EXPECT_NEAR(wrong->at(0).norm_error, std::sqrt(15.0), 1e-6);
  EXPECT_EQ(wrong->at(0).pattern, (std::vector<std::string>{"16 of 512 elements (3.12 %)", "only column 31 of 32"}));

  SharedTensor misshaped = output.tensor;
  misshaped.spec.shape = {32, 16};
  auto shape = (*oracle)->compare(trial->id, {misshaped});
  ASSERT_TRUE(shape.ok());
  EXPECT_FALSE(shape->at(0).shape_ok);
  SharedTensor outside = output.tensor;
  outside.offset = 4;
  auto past = (*oracle)->compare(trial->id, {outside});
  ASSERT_FALSE(past.ok());
  EXPECT_EQ(past.error().message, "tensor 'out0' reaches past the end of " + output.tensor.handle);
}

TEST_F(PythonOracleTest, EqualSpecsGiveTheSameTrialAndNothingIsLeftBehind) {
  const std::string stale = "/dev/shm/cutegen-999999999-1";
  ASSERT_TRUE(write_file_atomic(stale, "left by a killed process").ok());
  auto oracle = start(kRelu);
  ASSERT_TRUE(oracle.ok()) << oracle.error().message << oracle.error().detail;
  EXPECT_FALSE(std::filesystem::exists(stale));
  auto first = (*oracle)->trial({1, Distribution::ties, true}, Precision::fp32);
  auto other = (*oracle)->trial({2, Distribution::ties, true}, Precision::fp32);
  auto again = (*oracle)->trial({1, Distribution::ties, true}, Precision::fp32);
  ASSERT_TRUE(first.ok() && other.ok() && again.ok());
  EXPECT_EQ(first->id, again->id);
  EXPECT_EQ(first->inputs[0].handle, again->inputs[0].handle);
  EXPECT_NE(first->id, other->id);
  auto timing = (*oracle)->timing_inputs(3);
  ASSERT_TRUE(timing.ok());
  EXPECT_FALSE((*oracle)->compare(timing->id, {}).ok());
  const std::string prefix = process_prefix(first->inputs[0]);
  EXPECT_GE(objects_of(prefix), 3);
  oracle->reset();
  EXPECT_EQ(objects_of(prefix), 0);
}

TEST_F(PythonOracleTest, TimesEagerAndSaysWhyCompileIsMissing) {
  auto oracle = start(kRelu);
  ASSERT_TRUE(oracle.ok()) << oracle.error().message << oracle.error().detail;
  auto eager = (*oracle)->time_baseline(Baseline::eager, 1, 5, Deadline::in(system_clock(), Seconds(30)));
  ASSERT_TRUE(eager.ok()) << eager.error().message;
  EXPECT_EQ(eager->ms.size(), 5U);
  EXPECT_TRUE(std::all_of(eager->ms.begin(), eager->ms.end(), [](double ms) { return ms > 0; }));
  auto compiled = (*oracle)->time_baseline(Baseline::compile, 1, 5, Deadline::in(system_clock(), Seconds(30)));
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  EXPECT_TRUE(compiled->ms.empty());
  EXPECT_EQ(compiled->note.rfind("compile is not available: ", 0), 0U) << compiled->note;
}

// The forward of these files does `act` once the file `armed` exists beside them.
std::string armed(const std::string& act) {
  return "class Model(nn.Module):\n    def forward(self, x):\n        if os.path.exists(__file__ + '.armed'):\n            " + act +
         "\n        return torch.relu(x) * 2\n\n\ndef get_inputs():\n    return [torch.randn(16, 32)]\n";
}

TEST_F(PythonOracleTest, AProcessThatEndsIsReplacedAndOldTrialsStayGood) {
  auto oracle = start(armed("os.write(2, b'last words\\n'); os._exit(9)"));
  ASSERT_TRUE(oracle.ok()) << oracle.error().message << oracle.error().detail;
  auto trial = (*oracle)->trial({4, Distribution::as_given, false}, Precision::match);
  ASSERT_TRUE(trial.ok()) << trial.error().message;
  SharedOutput output((*oracle)->task().outputs.at(0));
  relu_times_two(trial->inputs[0], output.tensor);

  const std::filesystem::path mark = config_.task.string() + ".armed";
  ASSERT_TRUE(write_file_atomic(mark, "").ok());
  auto lost = (*oracle)->trial({5, Distribution::as_given, false}, Precision::match);
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.error().code, Errc::io);
  EXPECT_EQ(lost.error().message, "the oracle process ended (exit code 9) while computing the reference (seed 5, as_given)");
  EXPECT_NE(lost.error().detail.find("last words"), std::string::npos);
  EXPECT_EQ(objects_of(process_prefix(trial->inputs[0])), 0);

  std::filesystem::remove(mark);
  (*oracle)->release(trial->id);  // of a process that is gone: nothing happens
  auto compared = (*oracle)->compare(trial->id, {output.tensor});
  ASSERT_TRUE(compared.ok()) << compared.error().message;
  EXPECT_TRUE(compared->at(0).bit_equal_reference);
}

TEST_F(PythonOracleTest, ASlowForwardTimesOutAndTheNextRequestWorks) {
  config_.trial_limit = Seconds(20);
  auto oracle = start(armed("time.sleep(3600)"));
  ASSERT_TRUE(oracle.ok()) << oracle.error().message << oracle.error().detail;
  ASSERT_TRUE((*oracle)->trial({6, Distribution::as_given, false}, Precision::match).ok());
  oracle->reset();
  config_.trial_limit = Seconds(0.5);
  auto hasty = start_python_oracle(config_);
  ASSERT_TRUE(hasty.ok());
  const std::filesystem::path mark = config_.task.string() + ".armed";
  ASSERT_TRUE(write_file_atomic(mark, "").ok());
  auto late = (*hasty)->trial({6, Distribution::times3, false}, Precision::match);
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, Errc::timeout);
  EXPECT_EQ(late.error().message, "the oracle gave no answer within 0.5 s while computing the reference (seed 6, times3)");
  std::filesystem::remove(mark);
  auto eager = (*hasty)->time_baseline(Baseline::eager, 1, 2, Deadline::in(system_clock(), Seconds(60)));
  ASSERT_TRUE(eager.ok()) << eager.error().message;
  EXPECT_EQ(eager->ms.size(), 2U);
}

TEST(FindPython, TheEnvironmentNamesTheInterpreter) {
  ::setenv("CUTEGEN_PYTHON", "/no/such/python", 1);
  const auto python = find_python("/usr/bin/python3");
  auto dir = TempDir::make("find-python");
  ASSERT_TRUE(dir.ok() && write_file_atomic(dir->path() / "t.py", "").ok());
  OracleConfig config;
  config.task = dir->path() / "t.py";
  config.package_dir = std::filesystem::path(CUTEGEN_SOURCE_DIR) / "python";
  const auto oracle = start_python_oracle(config);
  ::unsetenv("CUTEGEN_PYTHON");
  ASSERT_TRUE(python.ok());
  EXPECT_EQ(*python, "/no/such/python");
  ASSERT_FALSE(oracle.ok());
  EXPECT_EQ(oracle.error().code, Errc::missing_dependency);
  EXPECT_EQ(oracle.error().message, "cannot execute /no/such/python");
}

TEST(StartPythonOracle, AMissingTaskIsNamed) {
  OracleConfig config;
  config.task = "/no/such/task.py";
  const auto oracle = start_python_oracle(config);
  ASSERT_FALSE(oracle.ok());
  EXPECT_EQ(oracle.error().code, Errc::invalid_input);
  EXPECT_EQ(oracle.error().message, "there is no task file /no/such/task.py");
}

}  // namespace
}  // namespace cutegen
