#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/clock.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/json.h"

namespace cutegen {
namespace {

namespace fs = std::filesystem;

Result<int> half(int n) {
  if (n % 2 != 0) return Error{Errc::invalid_input, "odd", "", ""};
  return n / 2;
}
Result<int> quarter(int n) {
  CUTEGEN_TRY(const int h, half(n));
  return half(h);
}

TEST(Result, TryPassesValuesAndErrorsOn) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(6).error().message, "odd");
  EXPECT_EQ(quarter(3).error().code, Errc::invalid_input);
}

TEST(Hash, IsBlake2bAndFieldsCannotRunTogether) {
  // BLAKE2b-256 of the empty string (RFC 7693's function with a 32-byte digest).
  EXPECT_EQ(hash_hex(""), "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
  EXPECT_NE(Hasher().add("ab").add("c").hex(), Hasher().add("a").add("bc").hex());
}

TEST(Files, AtomicWriteReplacesAndLeavesNothingBeside) {
  auto dir = TempDir::make("fs-test");
  ASSERT_TRUE(dir.ok());
  const fs::path path = dir->path() / "deep/er/file";
  ASSERT_TRUE(write_file_atomic(path, "one").ok());
  ASSERT_TRUE(write_file_atomic(path, "two").ok());
  EXPECT_EQ(*read_file(path), "two");
  EXPECT_EQ(std::distance(fs::directory_iterator(path.parent_path()), fs::directory_iterator{}), 1);
}

TEST(Files, ErrorsNameThePath) {
  auto missing = read_file("/no/such/file");
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("/no/such/file"), std::string::npos);
  EXPECT_FALSE(write_file_atomic("/proc/no/file", "x").ok());
}

TEST(Files, TempDirGoesWithItsObject) {
  fs::path path;
  {
    auto dir = TempDir::make("gone");
    ASSERT_TRUE(dir.ok());
    path = dir->path();
    ASSERT_TRUE(write_file_atomic(path / "a/b", "x").ok());
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(Files, DataDirMustHoldTheKernels) {
  ::setenv("CUTEGEN_HOME", "/tmp", 1);
  EXPECT_EQ(data_dir().error().code, Errc::missing_dependency);
  ::setenv("CUTEGEN_HOME", CUTEGEN_SOURCE_DIR, 1);
  EXPECT_EQ(*data_dir(), fs::path(CUTEGEN_SOURCE_DIR));
  ::unsetenv("CUTEGEN_HOME");
  EXPECT_TRUE(data_dir().ok());  // up the tree from the test program
}

TEST(AtomicWrite, LeftoversOfAKilledProcessWithOurIdAreNoObstacle) {
  auto dir = TempDir::make("fs-test-");
  ASSERT_TRUE(dir.ok());
  ASSERT_TRUE(write_file_atomic(dir->path() / "other", "half").ok());
  for (int i = 0; i < 200; ++i) {
    const std::string aside = ".file." + std::to_string(::getpid()) + "." + std::to_string(i) + ".tmp";
    std::filesystem::copy_file(dir->path() / "other", dir->path() / aside);
  }
  const auto written = write_file_atomic(dir->path() / "file", "whole");
  ASSERT_TRUE(written.ok()) << written.error().message;
  EXPECT_EQ(*read_file(dir->path() / "file"), "whole");
}

TEST(JsonAccess, SaysWhatIsMissingOrWrong) {
  const Json j{{"n", 3}, {"s", "x"}};
  EXPECT_EQ(*json_get<int>(j, "n"), 3);
  EXPECT_NE(json_get<int>(j, "m").error().message.find("missing JSON member 'm'"), std::string::npos);
  EXPECT_NE(json_get<int>(j, "s").error().message.find("wrong type: string"), std::string::npos);
  EXPECT_EQ(json_or<int>(j, "s", 7), 7);
  EXPECT_NE(parse_json("{\"a\":", "thing").error().message.find("thing is not valid JSON"), std::string::npos);
}

struct StoppedClock final : Clock {
  Nanoseconds at{0};
  Nanoseconds now() const override { return at; }
  std::string utc_iso8601() const override { return "1970-01-01T00:00:00Z"; }
};

TEST(Deadline, PassesExactlyAtItsTime) {
  StoppedClock clock;
  const Deadline d = Deadline::in(clock, Seconds(2));
  clock.at = std::chrono::milliseconds(1999);
  EXPECT_FALSE(d.passed(clock));
  clock.at = std::chrono::seconds(2);
  EXPECT_TRUE(d.passed(clock));
  EXPECT_FALSE(Deadline::never().passed(clock));
}

}  // namespace
}  // namespace cutegen
