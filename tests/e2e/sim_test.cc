// `cutegen sim` with a program that nvcc builds. The program links against the stand-in itself, so a toolkit without libcudart will do.
#include <gmock/gmock.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "e2e/program.h"

namespace cutegen {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kProgram = CUTEGEN_SOURCE_DIR "/tests/e2e/sim_program.cu";
const fs::path kSim = fs::path(CUTEGEN_BINARY).parent_path() / "sim";

class SimTest : public ProgramTest {
 protected:
  static void SetUpTestSuite() {
    if (find_program("nvcc").empty()) return;
    auto made = TempDir::make("sim-test-");
    ASSERT_TRUE(made.ok());
    built_ = new TempDir(std::move(*made));
    fs::create_symlink(kSim / "libcudart.so.13", built_->path() / "libcudart.so");
    ASSERT_TRUE(write_file_atomic(built_->path() / "libcudadevrt.a", "!<arch>\n").ok());  // nvcc asks for it; a toolkit of wheels has none
    compile("program", kProgram, {"-cudart", "shared", "-lineinfo", "-L" + built_->path().string()});
  }
  static void TearDownTestSuite() {
    delete built_;
    built_ = nullptr;
  }
  void SetUp() override {
    if (built_ == nullptr) GTEST_SKIP() << "nvcc is not on PATH";
    ProgramTest::SetUp();
  }
  static void compile(const std::string& name, const char* source, std::vector<std::string> options) {
    std::vector<std::string> argv = {"nvcc", "-std=c++17", "-arch=sm_90a", "-o", program(name), source};
    argv.insert(argv.end(), options.begin(), options.end());
    const auto finished = run({argv, {}, built_->path(), ""}, Deadline::in(system_clock(), Seconds(300)));
    ASSERT_TRUE(finished.ok()) << finished.error().message;
    ASSERT_TRUE(finished->status.success()) << finished->err;
  }
  static std::string program(const std::string& name) { return (built_->path() / name).string(); }
  Finished sim(std::vector<std::string> options, const std::string& mode) const {
    std::vector<std::string> arguments = {"sim"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(), {"--", program("program"), mode});
    return cutegen(arguments);
  }
  // The process of this test that runs `binary`, 0 when there is none.
  int running(const fs::path& binary) const {
    for (const int pid : processes()) {
      std::error_code ec;
      if (fs::equivalent("/proc/" + std::to_string(pid) + "/exe", binary, ec)) return pid;
    }
    return 0;
  }
  static TempDir* built_;
};
TempDir* SimTest::built_ = nullptr;

constexpr const char* kComputed = "axpy of 1000\ny[0]=9.5 y[999]=9.5 launches=1 seen=8 sm_90 x132\n";

TEST_F(SimTest, RunsAProgramWithItsOwnOutputAndExitCode) {
  const Finished finished = sim({}, "compute");
  EXPECT_TRUE(finished.status.success()) << finished.status.describe() << finished.err;
  EXPECT_EQ(finished.out, kComputed);
  EXPECT_EQ(finished.err, "");
  const Finished cooperative = sim({"--check", "full", "--threads", "1"}, "cooperative");
  EXPECT_TRUE(cooperative.status.success()) << cooperative.err;
  EXPECT_EQ(cooperative.out, "every CTA saw 120\n");
}

TEST_F(SimTest, AFaultIsNamedWithItsLine) {
  const Finished finished = sim({}, "fault");
  EXPECT_EQ(finished.status.code, 42) << finished.status.describe();
  EXPECT_EQ(finished.out, "an illegal memory access was encountered\n");
  const auto source = read_file(CUTEGEN_SOURCE_DIR "/tests/e2e/sim_program.cu");
  ASSERT_TRUE(source.ok());
  const auto line = std::count(source->begin(), source->begin() + static_cast<std::ptrdiff_t>(source->find("// the line that")), '\n') + 1;
  EXPECT_THAT(finished.err, HasSubstr("sim_program.cu:" + std::to_string(line)));
  EXPECT_THAT(finished.err, HasSubstr("out_of_bounds: write of 4 bytes"));
}

// The results of an H200, one process a case; three of them are refused there, and in the same words.
TEST_F(SimTest, TensorCopiesAreThoseOfAnH200) {
  compile("tensor_copies", CUTEGEN_SOURCE_DIR "/scripts/gpu/tensor_copies.cu", {"-cudart", "shared", "-L" + built_->path().string()});
  const auto all = cutegen({"sim", "--", program("tensor_copies")});
  const int cases = std::atoi(all.out.c_str());
  EXPECT_EQ(cases, 46) << all.err;
  std::string results;
  for (int i = 0; i < cases; ++i) results += cutegen({"sim", "--", program("tensor_copies"), std::to_string(i)}).out;
  const auto recorded = read_file(CUTEGEN_SOURCE_DIR "/tests/sim/data/h200_tensor_copies.txt");
  ASSERT_TRUE(recorded.ok());
  EXPECT_TRUE(results == *recorded) << "compare with scripts/gpu/tensor_copies.sh under $CUTEGEN";
}

TEST_F(SimTest, CountsByKernel) {
  const Finished finished = sim({"--counters", "--json", path("counters.json").string()}, "compute");
  EXPECT_TRUE(finished.status.success()) << finished.err;
  EXPECT_EQ(finished.out, kComputed);
  EXPECT_THAT(finished.err, HasSubstr("axpy("));
  const auto counters = read_json_file(path("counters.json"));
  ASSERT_TRUE(counters.ok()) << counters.error().message;
  EXPECT_EQ(counters->value("schema", 0), 1);
  const Json& kernel = counters->at("kernels").at(0);
  EXPECT_EQ(kernel.at("launches"), 1);
  EXPECT_EQ(kernel.at("ctas"), 4);
  // Two loads of 1000 floats: 32 warps, of which the last has 8 lanes; 4 sectors a full warp. And the managed and device counters of thread
  // 0.
  EXPECT_EQ(kernel.at("counters").at("global_store_requests"), 32 + 1);
  EXPECT_GE(kernel.at("counters").at("global_load_sectors"), 2 * 125);
}

TEST_F(SimTest, AProgramThatIsKilledPassesItsSignalOn) {
  EXPECT_EQ(sim({"--counters"}, "abort").status.code, 128 + SIGABRT);
  EXPECT_EQ(sim({}, "abort").status.signal, SIGABRT);
}

// A session of its own, so that the guard of base/subprocess.h has no part in it. Without counters cutegen has become the program.
TEST_F(SimTest, NothingOutlivesAKilledCutegen) {
  for (const bool counters : {false, true}) {
    std::vector<std::string> argv = {"setsid", "-w", CUTEGEN_BINARY, "sim"};
    if (counters) argv.push_back("--counters");
    argv.insert(argv.end(), {"--", program("program"), "sleep"});
    const fs::path log = path("log" + std::to_string(counters));
    auto child = Child::spawn({argv, environment(), path("."), ""}, log);
    ASSERT_TRUE(child.ok()) << child.error().message;
    const auto started = [&] {
      const auto text = read_file(log);
      return text.ok() && text->find("y[999]=9.5") != std::string::npos;
    };
    for (int i = 0; i < 600 && !started(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ASSERT_TRUE(started());
    const int victim = running(counters ? CUTEGEN_BINARY : program("program"));
    ASSERT_GT(victim, 0);
    ASSERT_GT(running(program("program")), 0);
    ::kill(victim, SIGKILL);
    for (int i = 0; i < 200 && !processes().empty(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_TRUE(processes().empty());
  }
}

TEST_F(SimTest, WhatCannotRunIsSaidBefore) {
  // As the static runtime leaves it: device code, and no need of libcudart. (A toolkit of wheels has no libcudart_static.a to link with.)
  compile("static_program", kProgram, {"-cudart", "none", "-Xlinker", "--unresolved-symbols=ignore-all", "-L" + built_->path().string()});
  const Finished finished = cutegen({"sim", "--", program("static_program")});
  EXPECT_EQ(finished.status.code, 2);
  EXPECT_THAT(finished.err, HasSubstr("linked with the static CUDA runtime"));
  EXPECT_THAT(finished.err, HasSubstr("-cudart shared"));
  EXPECT_EQ(cutegen({"sim", "--", path("nothing").string()}).status.code, 2);
  EXPECT_EQ(cutegen({"sim"}).status.code, 2);
}

TEST_F(SimTest, TheFolderCanBeMoved) {
  fs::create_directories(path("moved/bin/sim"));
  fs::copy_file(CUTEGEN_BINARY, path("moved/bin/cutegen"));
  fs::copy_file(kSim / "libcudart.so.13", path("moved/bin/sim/libcudart.so.13"));
  const auto moved = [&] {
    return run({{path("moved/bin/cutegen").string(), "sim", "--", program("program")}, environment(), path("."), ""},
               Deadline::in(system_clock(), Seconds(60)));
  };
  const auto finished = moved();
  ASSERT_TRUE(finished.ok()) << finished.error().message;
  EXPECT_EQ(finished->out, kComputed) << finished->err;
  fs::remove_all(path("moved/bin/sim"));
  const auto without = moved();
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(without->status.code, 3);
  EXPECT_THAT(without->err, HasSubstr("keep the folder sim/ beside"));
}

// Scripts have no device code; what they start finds the stand-in all the same.
TEST_F(SimTest, ScriptsMayStartPrograms) {
  const Finished finished =
      cutegen({"sim", "--counters", "--", "/bin/sh", "-c", program("program") + " compute && " + program("program") + " fault"});
  EXPECT_EQ(finished.status.code, 42) << finished.err;
  EXPECT_EQ(finished.out, std::string(kComputed) + "an illegal memory access was encountered\n");
  EXPECT_THAT(finished.err, HasSubstr("axpy("));
  EXPECT_THAT(finished.err, HasSubstr("past_the_end("));
}

}  // namespace
}  // namespace cutegen
