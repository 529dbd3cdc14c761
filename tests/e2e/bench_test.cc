// `cutegen bench`: which tasks it finds, what it keeps, and that it goes on where it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/program.h"

namespace cutegen {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class BenchTest : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    const std::string good = read_file(task("row_softmax")).value();
    write("suite/level1/10_softmax.py", good);
    write("suite/level1/9_softmax.py", good);
    write("suite/level2/1_softmax.py", good);
    write("suite/level2/2_broken.py", "class Model:\n    raise ValueError('no weights here')\n");
    write("suite/level1/notes.py", "print('no task')\n");
  }
  void write(const std::string& name, const std::string& text) {
    fs::create_directories(path(name).parent_path());
    ASSERT_TRUE(write_file_atomic(path(name), text).ok());
  }
  Json bench(std::vector<std::string> more, int code) {
    std::vector<std::string> arguments{"bench", path("suite").string(), "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Finished f = cutegen(arguments);
    lacks_tools_ = f.status.code == 3;
    if (!lacks_tools_) {
      EXPECT_EQ(f.status.code, code) << f.err;
    }
    return json_of(f);
  }
  std::vector<std::string> ids(const std::string& only) {
    return bench({"--list", "--only", only}, 0)["tasks"].get<std::vector<std::string>>();
  }
  bool lacks_tools_ = false;
};

TEST_F(BenchTest, IdsAreFoundInNaturalOrderAndChosenByPatternAndRange) {
  EXPECT_THAT(ids("*"), ElementsAre("level1/9", "level1/10", "level2/1", "level2/2"));
  EXPECT_THAT(ids("level1/9-10"), ElementsAre("level1/9", "level1/10"));
  EXPECT_THAT(ids("level2/*,level1/9"), ElementsAre("level1/9", "level2/1", "level2/2"));
}

TEST_F(BenchTest, FinishedTasksAreNotRunAgainAndABrokenOneIsARowWithItsReason) {
  const std::vector<std::string> options{"--device", "none", "--only", "level1/9,level2/2", "--output", path("out").string()};
  const Json first = bench(options, 1);
  if (lacks_tools_) GTEST_SKIP() << first.dump();
  ASSERT_EQ(first["tasks"].size(), 2u);
  EXPECT_EQ(first["tasks"][0]["id"], "level1/9");
  EXPECT_THAT(first["tasks"][0]["why_short"].get<std::string>(), HasSubstr("no device"));
  EXPECT_EQ(first["tasks"][1]["id"], "level2/2");
  EXPECT_THAT(first["tasks"][1]["why_short"].get<std::string>(), HasSubstr("no weights here"));
  EXPECT_EQ(first["score"]["verified"], 0);

  const auto log = path("out") / "level1_9.log";
  const auto before = fs::last_write_time(log);
  const Json second = bench(options, 1);
  EXPECT_EQ(second["tasks"][0]["why_short"], first["tasks"][0]["why_short"]);
  EXPECT_EQ(fs::last_write_time(log), before) << "it was run again";

  std::vector<std::string> again = options;
  again.insert(again.end(), {"--again", "level1/9", "--max-candidates", "2"});
  bench(again, 1);
  EXPECT_NE(fs::last_write_time(log), before);
  EXPECT_TRUE(fs::exists(path("out") / "results.json"));
}

}  // namespace
}  // namespace cutegen
