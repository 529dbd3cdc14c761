// Bad input to the built program: what it must say, and the exit code. Every row starts cutegen as a user would.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/fs.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "oracle/python_oracle.h"
#include "store/schema.h"
#include "store/store.h"

namespace cutegen {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kGoodTask =
    "import torch\n"
    "class Model(torch.nn.Module):\n"
    "    def forward(self, x):\n"
    "        return torch.relu(x)\n"
    "def get_inputs():\n"
    "    return [torch.randn(8, 16)]\n"
    "def get_init_inputs():\n"
    "    return []\n";

class CliTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TempDir::make("cli-test-");
    ASSERT_TRUE(made.ok());
    temp_ = std::move(*made);
    write("good.py", kGoodTask);
    write("empty.py", "");
    write("not_python.py", "this is ( not python\n");
    write("no_model.py", "def get_inputs():\n    return []\n");
    write("raises.py", "raise RuntimeError('weights are missing')\n");
    write("empty.cu", "");
    write("no_plan.cu", "#include <cute/tensor.hpp>\nextern \"C\" __global__ void k(float* y) { y[0] = 1.0f; }\n");
    write("file", "x");
    fs::create_directories(path("folder"));
    fs::create_directories(path("suite/level1"));
    write("suite/level1/2_good.py", kGoodTask);
    fs::create_directories(path("no_run"));
    fs::create_directories(path("damaged_run"));
    write("damaged_run/run.db", "SQLite format 3" + std::string(1, '\0') + std::string(500, 'x'));
    fs::create_directories(path("foreign_run"));
    write("foreign_run/run.db", "these are somebody's notes, not a database at all");
    make_runs();
  }
  void make_runs() {
    {
      auto store = Store::create(path("empty_run"));
      ASSERT_TRUE(store.ok());
    }
    auto newer = Store::create(path("newer_run"));
    ASSERT_TRUE(newer.ok());
    newer->reset();
    auto db = sqlite::Db::open(path("newer_run") / "run.db", sqlite::Db::Mode::read_write);
    ASSERT_TRUE(db.ok() && db->exec("PRAGMA user_version = 77").ok());
  }
  fs::path path(const std::string& name) const { return temp_->path() / name; }
  void write(const std::string& name, const std::string& text) { ASSERT_TRUE(write_file_atomic(path(name), text).ok()); }

  // "@name" in an argument becomes a path in the temporary folder. The program works in that folder, with caches of its own.
  Finished cutegen(std::vector<std::string> arguments, std::map<std::string, std::string> env = {}) {
    Command command{{CUTEGEN_BINARY}, std::move(env), temp_->path(), ""};
    for (std::string argument : arguments) {
      if (argument.starts_with('@')) argument = path(argument.substr(1)).string();
      command.argv.push_back(std::move(argument));
    }
    command.env.emplace("CUTEGEN_CACHE", path("cache").string());
    command.env.emplace("CUTEGEN_HOME", CUTEGEN_SOURCE_DIR);
    auto finished = run(command, Deadline::in(system_clock(), Seconds(120)));
    if (finished.ok()) return std::move(*finished);
    ADD_FAILURE() << finished.error().message;
    return {};
  }

  std::optional<TempDir> temp_;
};

struct Row {
  const char* what;
  std::vector<std::string> arguments;
  int code;
  const char* says;
};

// Nothing here needs Python, nvcc or a GPU: these mistakes are found before anything is started.
const Row kRows[] = {
    {"no command", {}, 2, "subcommand is required"},
    {"unknown command", {"optimise", "@good.py"}, 2, "there is no command 'optimise'"},
    {"unknown option", {"optimize", "@good.py", "--fast"}, 2, "--fast"},
    {"no task", {"optimize"}, 2, "TASK is required"},
    {"missing task", {"optimize", "@absent.py"}, 2, "there is no task file"},
    {"task is a directory", {"optimize", "@folder"}, 2, "is a directory, not a task file"},
    {"empty task", {"inspect", "@empty.py"}, 2, "is empty"},
    {"unknown device", {"optimize", "@good.py", "--device", "tpu"}, 2, "--device"},
    {"unknown precision", {"optimize", "@good.py", "--precision", "fp4"}, 2, "--precision"},
    {"unknown proposer", {"optimize", "@good.py", "--proposer", "oracle-of-delphi"}, 2, "unknown proposer"},
    {"negative budget", {"optimize", "@good.py", "--budget-seconds", "-5"}, 2, "--budget-seconds"},
    {"budget that is no number", {"optimize", "@good.py", "--budget-seconds", "soon"}, 2, "--budget-seconds"},
    {"run directory is a file", {"optimize", "@good.py", "--run", "@file"}, 2, "exists and is not a directory"},
    {"run directory below a file", {"optimize", "@good.py", "--run", "@file/run"}, 2, "cannot create run directory"},
    {"run directory that cannot be made", {"optimize", "@good.py", "--run", "/proc/none/run"}, 2, "cannot create run directory"},
    {"run directory holds a run", {"optimize", "@good.py", "--run", "@empty_run"}, 2, "already holds a run"},
    {"missing candidate", {"eval", "@good.py", "@absent.cu"}, 2, "there is no candidate file"},
    {"empty candidate", {"eval", "@good.py", "@empty.cu"}, 2, "is empty"},
    {"candidate is a directory", {"eval", "@good.py", "@folder"}, 2, "is a directory, not a candidate file"},
    {"fresh and cached", {"eval", "@good.py", "@no_plan.cu", "--fresh", "--cached"}, 2, "excludes"},
    {"nothing cached", {"eval", "@good.py", "@no_plan.cu", "--cached"}, 1, "no verdict on this candidate is known"},
    {"resume of nothing", {"resume", "@absent"}, 2, "is not a run: no such directory"},
    {"resume of a folder", {"resume", "@no_run"}, 2, "it holds no run.db"},
    {"resume of a damaged run", {"resume", "@damaged_run"}, 2, "run.db"},
    {"report of a damaged run", {"report", "@damaged_run"}, 2, "run.db"},
    {"report of a foreign file", {"report", "@foreign_run"}, 2, "is not a run database"},
    {"report of a newer run", {"report", "@newer_run"}, 2, "schema 77, newer than"},
    {"resume of a run without options", {"resume", "@empty_run"}, 2, "holds no options to resume with"},
    {"export of a run without a kernel", {"export", "@empty_run", "--format", "cu"}, 1, "no verified kernel"},
    {"export of a node that is not there", {"export", "@empty_run", "--node", "3"}, 2, "has no node 3"},
    {"bench of nothing", {"bench", "@absent"}, 2, "there is no folder"},
    {"bench of a folder without tasks", {"bench", "@folder"}, 2, "holds no task"},
    {"bench of no such task", {"bench", "@suite", "--only", "level1/7"}, 2, "fits 'level1/7'"},
    {"bench without workers", {"bench", "@suite", "--workers", "0"}, 2, "--workers"},
    {"export to an unknown format", {"export", "@empty_run", "--format", "exe"}, 2, "--format"},
};

TEST_F(CliTest, BadInputIsSaidWithItsExitCode) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.what);
    const Finished finished = cutegen(row.arguments);
    EXPECT_EQ(finished.status.code, row.code) << finished.err;
    EXPECT_EQ(finished.status.signal, 0);
    EXPECT_THAT(finished.err, HasSubstr(row.says));
    EXPECT_EQ(finished.out, "") << "errors go to stderr";
  }
  EXPECT_FALSE(fs::exists(path("runs"))) << "a run that could not begin leaves nothing";
}

TEST_F(CliTest, JsonErrorsAreJson) {
  const Finished finished = cutegen({"report", "@no_run", "--json"});
  const auto said = parse_json(finished.out, "stdout");
  ASSERT_TRUE(said.ok()) << finished.out;
  EXPECT_EQ((*said)["schema"], 1);
  EXPECT_EQ((*said)["exit"], 2);
  EXPECT_EQ((*said)["error"]["code"], "invalid_input");
}

TEST_F(CliTest, HelpAndVersionAreNoErrors) {
  const Finished version = cutegen({"--version"});
  EXPECT_EQ(version.status.code, 0);
  EXPECT_THAT(version.out, HasSubstr("cutegen 0."));
  const Finished help = cutegen({"--help"});
  EXPECT_EQ(help.status.code, 0);
  for (const char* command : {"optimize", "eval", "inspect", "resume", "report", "export", "doctor"})
    EXPECT_THAT(help.out, HasSubstr(command));
  EXPECT_THAT(help.out, Not(HasSubstr("__executor")));
}

TEST_F(CliTest, AReportOfARunWithoutNodesSaysSo) {
  const Finished finished = cutegen({"report", "@empty_run", "--json"});
  EXPECT_EQ(finished.status.code, 1);
  const auto said = parse_json(finished.out, "stdout");
  ASSERT_TRUE(said.ok()) << finished.out;
  EXPECT_EQ((*said)["verified"], false);
  EXPECT_EQ((*said)["stopped"], "unfinished");
  EXPECT_TRUE((*said)["nodes"].empty());
}

TEST_F(CliTest, ASecondWriterIsRefused) {
  auto held = Store::open(path("empty_run"), false);
  ASSERT_TRUE(held.ok());
  const Finished finished = cutegen({"resume", "@empty_run"});
  EXPECT_EQ(finished.status.code, 2);
  EXPECT_THAT(finished.err, HasSubstr("in use by process " + std::to_string(::getpid())));
  EXPECT_EQ(cutegen({"report", "@empty_run"}).status.code, 1) << "reading works meanwhile";
}

TEST_F(CliTest, AnUnwritableRunDirectoryIsSaid) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere; the store's tests cover it as another user";
  fs::create_directories(path("locked"));
  ::chmod(path("locked").c_str(), 0555);
  const Finished finished = cutegen({"optimize", "@good.py", "--run", "@locked"});
  EXPECT_EQ(finished.status.code, 2);
  EXPECT_THAT(finished.err, HasSubstr("cannot write to run directory"));
}

TEST_F(CliTest, DoctorSaysWhatIsMissing) {
  const Finished finished =
      cutegen({"doctor", "--json"}, {{"CUTEGEN_PYTHON", "/nonexistent/python"}, {"CUTEGEN_NVCC", "/nonexistent/nvcc"}});
  EXPECT_EQ(finished.status.code, 3) << finished.out;
  const auto said = parse_json(finished.out, "stdout");
  ASSERT_TRUE(said.ok()) << finished.out;
  EXPECT_EQ((*said)["fit"], false);
  int missing = 0;
  for (const Json& finding : (*said)["findings"]) {
    if (finding["found"] || !finding["essential"]) continue;
    ++missing;
    EXPECT_NE(finding["hint"], "") << finding["what"];
  }
  EXPECT_GE(missing, 2);
}

// With a Python that has torch: mistakes inside the user's file.
class PythonCliTest : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    if (const auto python = find_python(); !python.ok()) GTEST_SKIP() << python.error().message;
  }
};

TEST_F(PythonCliTest, MistakesInTheTaskAreShownAsPythonShowsThem) {
  const Row rows[] = {
      {"not Python", {"inspect", "@not_python.py", "--device", "cpu"}, 2, "not_python.py"},
      {"no Model", {"inspect", "@no_model.py", "--device", "cpu"}, 2, "Model"},
      {"raises", {"inspect", "@raises.py", "--device", "cpu"}, 2, "weights are missing"},
      {"optimize of a file that raises", {"optimize", "@raises.py", "--device", "none", "--run", "@raised"}, 2, "weights are missing"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    const Finished finished = cutegen(row.arguments);
    EXPECT_EQ(finished.status.code, row.code) << finished.err;
    EXPECT_THAT(finished.err, HasSubstr(row.says));
  }
  EXPECT_FALSE(fs::exists(path("raised"))) << "a run that could not begin leaves nothing";
}

TEST_F(PythonCliTest, ACandidateWithoutAPlanIsNotBuilt) {
  const Finished finished = cutegen({"eval", "@good.py", "@no_plan.cu", "--device", "none"});
  if (finished.status.code == 3) GTEST_SKIP() << "no nvcc or CuTe here: " << finished.err;
  EXPECT_EQ(finished.status.code, 1) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("plan"));
  EXPECT_THAT(finished.out, HasSubstr("FAILED"));
}

TEST_F(PythonCliTest, InspectShowsGraphFloorAndSchema) {
  const Finished finished = cutegen({"inspect", "@good.py", "--device", "cpu", "--json"});
  ASSERT_EQ(finished.status.code, 0) << finished.err;
  const auto said = parse_json(finished.out, "stdout");
  ASSERT_TRUE(said.ok()) << finished.out;
  EXPECT_EQ((*said)["schema"], 1);
  EXPECT_EQ((*said)["analysis"]["input_bytes"], 8 * 16 * 4);
  EXPECT_EQ((*said)["gpu"]["here"], false);
}

// Good input, all the way, on the virtual GPU.
TEST_F(PythonCliTest, ARunIsReportedExportedResumedAndItsVerdictRemembered) {
  const Finished optimized = cutegen({"optimize", "@good.py", "--device", "virtual", "--run", "@run", "--max-candidates", "1", "--json"});
  if (optimized.status.code == 3) GTEST_SKIP() << "no nvcc or CuTe here: " << optimized.err;
  ASSERT_EQ(optimized.status.code, 0) << optimized.err;
  const auto result = parse_json(optimized.out, "stdout");
  ASSERT_TRUE(result.ok()) << optimized.out;
  EXPECT_EQ((*result)["verified"], true);
  EXPECT_EQ((*result)["device"]["kind"], "virtual");
  EXPECT_EQ((*result)["best"]["time"]["measured"], false);
  EXPECT_THAT(cutegen({"report", "@run"}).out, HasSubstr("VERIFIED"));
  ASSERT_EQ(cutegen({"export", "@run", "--format", "cu", "-o", "@best.cu"}).status.code, 0);
  EXPECT_EQ(*read_file(path("best.cu")), *read_file(path("run/best.cu")));

  const std::vector<std::string> eval = {"eval", "@good.py", "@best.cu", "--device", "virtual", "--json"};
  const auto cached = [](const Finished& finished) { return json_or(parse_json(finished.out, "stdout").value(), "cached", false); };
  EXPECT_TRUE(cached(cutegen(eval))) << "the run has judged it";
  // Without its data folder cutegen can start neither Python nor a build: what is known needs neither.
  const std::map<std::string, std::string> crippled = {{"CUTEGEN_HOME", "/nonexistent"}};
  const Finished known = cutegen(eval, crippled);
  EXPECT_EQ(known.status.code, 0) << known.err;
  EXPECT_TRUE(cached(known));
  write("good.py", std::string(kGoodTask) + "# another text, perhaps another task\n");
  EXPECT_EQ(cutegen(eval, crippled).status.code, 3);

  const Finished resumed = cutegen({"resume", "@run"});
  EXPECT_EQ(resumed.status.code, 2) << "the task is not what it was";
  EXPECT_THAT(resumed.err, HasSubstr("is not what it was when the run was made"));
  fs::remove(path("good.py"));
  const Finished restored = cutegen({"resume", "@run", "--json"});
  EXPECT_EQ(restored.status.code, 0) << "the task file is restored from the run: " << restored.err;
}

}  // namespace
}  // namespace cutegen
