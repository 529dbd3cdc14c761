#include "search/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fs.h"
#include "search/fakes.h"
#include "search/history.h"

namespace cutegen {
namespace {

using fakes::candidate;
using testing::ElementsAre;
using testing::HasSubstr;

class HandClock : public Clock {
 public:
  Nanoseconds now() const override { return now_; }
  std::string utc_iso8601() const override { return "2026-11-30T00:00:00Z"; }
  void advance(double seconds) { now_ += std::chrono::duration_cast<Nanoseconds>(Seconds(seconds)); }

 private:
  Nanoseconds now_{1};
};

// Proposes these bodies in turn, whatever became of the earlier ones.
class ListProposer : public Proposer {
 public:
  explicit ListProposer(std::vector<std::string> bodies) : bodies_(std::move(bodies)) {}
  Result<std::optional<Proposal>> propose(const ProposeContext& context) override {
    seen = context.attempts;
    ++calls;
    if (context.attempts.size() >= bodies_.size()) return std::optional<Proposal>();
    return std::optional<Proposal>(Proposal{candidate(bodies_[context.attempts.size()]), -1, "next"});
  }
  std::string name() const override { return "list"; }
  std::vector<Attempt> seen;
  int calls = 0;

 private:
  std::vector<std::string> bodies_;
};

Verdict timed(double ms) {
  Verdict v;
  v.reached = Stage::timed;
  v.timing.emplace();
  v.timing->candidate_ms = ms;
  return v;
}

Verdict wrong() {
  Verdict v;
  v.reached = Stage::ran;
  v.why = "wrong by a mile";
  return v;
}

class SearchTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TempDir::make("search-test-");
    ASSERT_TRUE(made.ok());
    temp_ = std::move(*made);
    open();
    config_.budget = {Seconds(100), 100};
  }
  void open() {
    store_.reset();
    const auto dir = temp_->path() / "run";
    auto store = std::filesystem::exists(dir / "run.db") ? Store::open(dir, false) : Store::create(dir);
    ASSERT_TRUE(store.ok()) << store.error().message;
    store_ = std::move(*store);
  }
  // Every body has a verdict; the policy tells the final evaluation (two baselines) from exploring.
  Result<Verdict> evaluate(const Candidate& c, const JudgePolicy& policy) {
    const bool final = policy.baselines.size() > 1;
    auto& verdicts = final && !final_.empty() ? final_ : explore_;
    for (const auto& [body, verdict] : verdicts) {
      if (candidate(body).hash() != c.hash()) continue;
      (final ? finals_ : evaluated_).push_back(body);
      clock_.advance(1);
      return verdict;
    }
    return Error{Errc::internal, "no verdict planned", "", ""};
  }
  Result<SearchResult> search(Proposer& proposer) {
    config_.final.baselines = {Baseline::eager, Baseline::compile};
    return Search(oracle_, toolchain_, device_, proposer, *store_, clock_,
                  [this](const Candidate& c, const JudgePolicy& p, Deadline) { return evaluate(c, p); })
        .run(
            config_, [this](const SearchProgress& p) { steps_.push_back(p.what); }, [this] { return cancel_ && cancel_(); });
  }
  SearchResult must(Result<SearchResult> result) {
    if (result.ok()) return std::move(*result);
    ADD_FAILURE() << result.error().message;
    return {};
  }
  std::vector<StoredNode> nodes() { return *store_->nodes(); }

  std::optional<TempDir> temp_;
  std::unique_ptr<Store> store_;
  fakes::FakeOracle oracle_;
  fakes::FakeToolchain toolchain_;
  fakes::FakeDevice device_;
  HandClock clock_;
  SearchConfig config_;
  std::vector<std::pair<std::string, Result<Verdict>>> explore_, final_;
  std::vector<std::string> evaluated_, finals_, steps_;
  std::function<bool()> cancel_;
};

TEST_F(SearchTest, TheFastestVerifiedWinsAndOfEqualsTheEarlier) {
  explore_ = {{"a", timed(2)}, {"b", wrong()}, {"c", timed(1)}, {"d", timed(1)}, {"e", timed(3)}};
  ListProposer proposer({"a", "b", "c", "d", "e"});
  const SearchResult result = must(search(proposer));
  EXPECT_EQ(result.best, 2);
  EXPECT_EQ(result.stopped, "proposer_done");
  EXPECT_EQ(result.nodes, 5);
  EXPECT_TRUE(result.final_verdict.has_value());
  EXPECT_THAT(finals_, ElementsAre("c"));
  ASSERT_EQ(proposer.seen.size(), 5u);
  EXPECT_EQ(proposer.seen[0].ms, 2.0);
  EXPECT_TRUE(proposer.seen[0].verified);
  EXPECT_FALSE(proposer.seen[1].verified);
  EXPECT_EQ(proposer.seen[1].why, "wrong by a mile");
  EXPECT_EQ(store_->meta("result")->value()["best"], 2);
}

TEST_F(SearchTest, ADuplicateSourceCostsNoBuildAndNoEvaluation) {
  explore_ = {{"a", timed(2)}, {"b", timed(3)}};
  ListProposer proposer({"a", "b", "a"});
  must(search(proposer));
  EXPECT_EQ(toolchain_.builds, 2);
  EXPECT_THAT(evaluated_, ElementsAre("a", "b"));
  EXPECT_EQ(nodes()[2].duplicate_of, 0);
  EXPECT_EQ(proposer.seen[2].ms, 2.0);
  EXPECT_THAT(proposer.seen[2].why, HasSubstr("the same kernel as node 0"));
  EXPECT_THAT(steps_, ElementsAre("proposed", "verdict", "proposed", "verdict", "proposed", "duplicate", "final"));
}

TEST_F(SearchTest, ADuplicatePtxIsBuiltButNotEvaluated) {
  explore_ = {{"a", wrong()}, {"b", timed(3)}};
  toolchain_.ptx_hash = [](const Candidate& c) { return c.hash() == candidate("b").hash() ? "pb" : "pa"; };
  ListProposer proposer({"a", "b", "a, renamed"});
  must(search(proposer));
  EXPECT_EQ(toolchain_.builds, 3);
  EXPECT_THAT(evaluated_, ElementsAre("a", "b"));
  EXPECT_EQ(nodes()[2].duplicate_of, 0);
  EXPECT_EQ(nodes()[2].ptx_hash, "pa");
  EXPECT_EQ((*nodes()[2].verdict)["candidate_hash"], candidate("a, renamed").hash());
}

TEST_F(SearchTest, DuplicatesStillCountForTheBudget) {
  explore_ = {{"a", timed(2)}};
  ListProposer proposer(std::vector<std::string>(1000, "a"));
  config_.budget.candidates = 7;
  const SearchResult result = must(search(proposer));
  EXPECT_EQ(result.stopped, "budget_candidates");
  EXPECT_EQ(result.nodes, 7);
}

TEST_F(SearchTest, TheWallBudgetCountsEarlierSessions) {
  std::vector<std::string> bodies;
  for (int i = 0; i < 20; ++i) {
    bodies.push_back(std::to_string(i));
    explore_.emplace_back(bodies.back(), timed(20 - i));
  }
  ListProposer proposer(bodies);
  config_.budget.wall = Seconds(5.5);
  int polls = 0;
  cancel_ = [&] { return ++polls > 6; };  // two polls a node
  EXPECT_EQ(must(search(proposer)).stopped, "cancelled");
  EXPECT_EQ(nodes().size(), 3u);
  cancel_ = {};
  open();
  clock_.advance(1000);  // time between sessions is not the run's
  const SearchResult result = must(search(proposer));
  EXPECT_EQ(result.stopped, "budget_wall");
  EXPECT_EQ(result.nodes, 6) << "three before, three after";
  EXPECT_NEAR(*store_->seconds_spent(), 6, 1e-6);
}

TEST_F(SearchTest, CancellingDropsTheCandidateInFlightAndResumeJudgesIt) {
  explore_ = {{"a", timed(2)}, {"b", timed(1)}};
  ListProposer proposer({"a", "b"});
  int polls = 0;
  cancel_ = [&] { return ++polls == 4; };  // after the build of b
  const SearchResult stopped = must(search(proposer));
  EXPECT_EQ(stopped.stopped, "cancelled");
  EXPECT_EQ(stopped.best, 0);
  EXPECT_THAT(evaluated_, ElementsAre("a"));
  EXPECT_FALSE(nodes()[1].verdict.has_value());
  EXPECT_FALSE(store_->meta("result")->has_value()) << "a cancelled run is not finished";
  cancel_ = {};
  open();
  const int calls = proposer.calls;
  const SearchResult result = must(search(proposer));
  EXPECT_EQ(result.best, 1);
  EXPECT_THAT(evaluated_, ElementsAre("a", "b"));
  EXPECT_EQ(proposer.calls, calls + 1) << "b was stored: only the end is asked for";
}

TEST_F(SearchTest, AnErrorStopsTheRunAndKeepsEverything) {
  explore_ = {{"a", timed(2)}, {"b", Error{Errc::device, "the GPU fell off the bus", "", ""}}};
  ListProposer proposer({"a", "b"});
  auto failed = search(proposer);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, Errc::device);
  ASSERT_EQ(nodes().size(), 2u);
  EXPECT_TRUE(nodes()[0].verdict.has_value());
  const auto events = *store_->events();
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().kind, "error");
  EXPECT_EQ(events.back().detail["message"], "the GPU fell off the bus");
  EXPECT_EQ(events.back().detail["node"], 1);
  explore_ = {{"a", timed(2)}, {"b", timed(1)}};
  open();
  EXPECT_EQ(must(search(proposer)).best, 1);
}

TEST_F(SearchTest, AToolchainThatIsMissingStopsTheRunATimeoutOfOneBuildDoesNot) {
  explore_ = {{"a", timed(2)}, {"b", timed(1)}};
  toolchain_.on_build = [&]() -> Result<void> {
    if (toolchain_.builds == 1) return Error{Errc::timeout, "nvcc took longer than 60 s", "", ""};
    if (toolchain_.builds == 2) return Error{Errc::missing_dependency, "no nvcc", "", ""};
    return {};
  };
  ListProposer proposer({"a", "b"});
  EXPECT_EQ(search(proposer).error().code, Errc::missing_dependency);
  EXPECT_EQ((*nodes()[0].verdict)["why"], "nvcc took longer than 60 s");
  EXPECT_FALSE((*nodes()[0].verdict)["verified"]);
  EXPECT_FALSE(nodes()[1].verdict.has_value());
}

TEST_F(SearchTest, ABestThatFailsItsFinalEvaluationIsPassedOver) {
  explore_ = {{"a", timed(2)}, {"b", timed(1)}};
  final_ = {{"a", timed(2.1)}, {"b", wrong()}};
  ListProposer proposer({"a", "b"});
  const SearchResult result = must(search(proposer));
  EXPECT_EQ(result.best, 0);
  EXPECT_EQ(result.why_none, "");
  EXPECT_THAT(finals_, ElementsAre("b", "a"));
}

TEST_F(SearchTest, WithoutAnyVerifiedNodeItSaysHowFarTheBestCame) {
  explore_ = {{"a", Verdict{}}, {"b", wrong()}};
  ListProposer proposer({"a", "b"});
  const SearchResult result = must(search(proposer));
  EXPECT_FALSE(result.best.has_value());
  EXPECT_THAT(result.why_none, HasSubstr("node 1"));
  EXPECT_THAT(result.why_none, HasSubstr("wrong by a mile"));
}

TEST_F(SearchTest, ASharedDeviceIsHeldOnlyWhileJudgingAndWaitingForItIsFree) {
  struct Held : Lease {
    explicit Held(bool& flag) : held(flag) { held = true; }
    ~Held() override { held = false; }
    bool& held;
  };
  bool held = false;
  int times = 0;
  config_.hold = [&]() -> Result<std::unique_ptr<Lease>> {
    EXPECT_FALSE(held);
    ++times;
    clock_.advance(40);  // somebody else has it
    return std::unique_ptr<Lease>(std::make_unique<Held>(held));
  };
  toolchain_.ptx_hash = [&](const Candidate& c) {
    EXPECT_FALSE(held) << "building needs no device";
    return c.hash();
  };
  explore_ = {{"a", timed(3)}, {"b", timed(2)}, {"c", timed(1)}};
  config_.budget.wall = Seconds(10);
  ListProposer proposer({"a", "b", "c"});
  EXPECT_EQ(must(search(proposer)).stopped, "proposer_done") << "three seconds of judging fit into ten";
  EXPECT_EQ(times, 4) << "three candidates and the final timing";
  EXPECT_FALSE(held);
}

TEST_F(SearchTest, AFinishedRunIsNotTimedAgain) {
  explore_ = {{"a", timed(2)}};
  ListProposer proposer({"a"});
  const SearchResult first = must(search(proposer));
  open();
  const int calls = proposer.calls;
  const SearchResult again = must(search(proposer));
  EXPECT_EQ(to_json(again), to_json(first));
  EXPECT_THAT(finals_, ElementsAre("a"));
  EXPECT_EQ(proposer.calls, calls);
}

TEST_F(SearchTest, ALargerBudgetGoesOnFromAFinishedRun) {
  explore_ = {{"a", timed(2)}, {"b", timed(1)}};
  ListProposer proposer({"a", "b"});
  config_.budget.candidates = 1;
  EXPECT_EQ(must(search(proposer)).best, 0);
  open();
  EXPECT_EQ(must(search(proposer)).best, 0);
  EXPECT_THAT(finals_, ElementsAre("a")) << "the same budget changes nothing";
  config_.budget.candidates = 5;
  open();
  EXPECT_EQ(must(search(proposer)).best, 1);
  EXPECT_THAT(finals_, ElementsAre("a", "b"));
}

TEST_F(SearchTest, AProposerThatCannotServeTheTaskIsAResult) {
  class Helpless : public Proposer {
   public:
    Result<std::optional<Proposal>> propose(const ProposeContext&) override {
      return Error{Errc::unsupported, "no graph: opaque module", "", ""};
    }
    std::string name() const override { return "helpless"; }
  } proposer;
  const SearchResult result = must(search(proposer));
  EXPECT_EQ(result.stopped, "proposer_unsupported");
  EXPECT_EQ(result.why_none, "no graph: opaque module");
}

TEST_F(SearchTest, WithoutADeviceCandidatesAreBuiltAndNeverVerified) {
  toolchain_.fail = [](const Candidate& c) { return c.hash() == candidate("b").hash() ? std::optional<std::string>("bad") : std::nullopt; };
  device_.broken = Error{Errc::device, "must not be asked", "", ""};
  config_.build_only = true;
  ListProposer proposer({"a", "b"});
  const SearchResult result = must(search(proposer));
  EXPECT_FALSE(result.best.has_value());
  EXPECT_TRUE(evaluated_.empty());
  EXPECT_EQ((*nodes()[0].verdict)["reached"], "built");
  EXPECT_EQ((*nodes()[0].verdict)["device_kind"], "none");
  EXPECT_EQ((*nodes()[1].verdict)["reached"], "none");
  EXPECT_THAT(result.why_none, HasSubstr("there is no device"));
}

TEST_F(SearchTest, ACachedVerdictIsUsedAndNotBuiltFor) {
  explore_ = {{"a", timed(2)}, {"b", timed(1)}};
  const VerdictCache cache(temp_->path() / "verdicts");
  config_.cache = &cache;
  ASSERT_TRUE(cache.put(VerdictCache::key(oracle_.task(), candidate("a"), config_.explore, device_.info()), timed(0.5)).ok());
  ListProposer proposer({"a", "b"});
  EXPECT_EQ(must(search(proposer)).best, 0);
  EXPECT_THAT(evaluated_, ElementsAre("b"));
  EXPECT_THAT(finals_, ElementsAre("a")) << "the final timing is always made";
  EXPECT_TRUE(cache.find(VerdictCache::key(oracle_.task(), candidate("b"), config_.explore, device_.info())).has_value());
}

TEST_F(SearchTest, ADamagedRunIsRefused) {
  explore_ = {{"a", timed(2)}};
  ListProposer proposer({"a"});
  must(search(proposer));
  std::filesystem::remove(store_->object_path(nodes()[0].source_object));
  open();
  auto refused = search(proposer);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("is missing"));
}

TEST(VerdictCacheTest, TheKeyFollowsWhatAVerdictDependsOn) {
  const Task task = fakes::small_task();
  const DeviceInfo device;
  const JudgePolicy policy;
  const auto key = [&](const Task& t, const Candidate& c, const JudgePolicy& p, const DeviceInfo& d) {
    return VerdictCache::key(t, c, p, d);
  };
  const std::string base = key(task, candidate("a"), policy, device);
  Task other_task = task;
  other_task.source += "# changed";
  JudgePolicy seeded = policy, stricter = policy;
  seeded.secret_seed = 99;
  stricter.c = 1;
  DeviceInfo other_device;
  other_device.name = "another";
  EXPECT_EQ(key(task, candidate("a"), seeded, device), base) << "the secret seed is no part of what a verdict means";
  EXPECT_NE(key(other_task, candidate("a"), policy, device), base);
  EXPECT_NE(key(task, candidate("b"), policy, device), base);
  EXPECT_NE(key(task, candidate("a"), stricter, device), base);
  EXPECT_NE(key(task, candidate("a"), policy, other_device), base);
}

TEST(VerdictCacheTest, KeepsVerdictsAndNotMoments) {
  auto temp = TempDir::make("verdicts-");
  ASSERT_TRUE(temp.ok());
  const VerdictCache cache(temp->path() / "verdicts");
  EXPECT_FALSE(cache.find("k").has_value());
  ASSERT_TRUE(cache.put("k", timed(1.5)).ok());
  ASSERT_TRUE(cache.find("k").has_value());
  EXPECT_EQ(cache.find("k")->verdict.timing->candidate_ms, 1.5);
  EXPECT_FALSE(cache.find("k")->judged_utc.empty());
  Verdict lost = wrong();
  lost.outcome.kind = OutcomeKind::executor_lost;
  ASSERT_TRUE(cache.put("lost", lost).ok());
  EXPECT_FALSE(cache.find("lost").has_value());
  Verdict cut = wrong();
  cut.incomplete = true;
  ASSERT_TRUE(cache.put("cut", cut).ok());
  EXPECT_FALSE(cache.find("cut").has_value());
  ASSERT_TRUE(write_file_atomic(temp->path() / "verdicts/k.json", "{\"schema\": 1, \"verd").ok());
  EXPECT_FALSE(cache.find("k").has_value()) << "a damaged entry is no entry";
}

}  // namespace
}  // namespace cutegen
