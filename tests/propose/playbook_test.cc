#include "propose/playbook/playbook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "propose/row_tasks.h"

namespace cutegen {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class Session {
 public:
  explicit Session(Task task) : task_(std::move(task)), playbook_(make_playbook(std::filesystem::path(CUTEGEN_SOURCE_DIR) / "kernels")) {}

  Result<std::optional<Proposal>> propose() const { return playbook_->propose({task_, analysis_, attempts, "sm_90a", 132}); }
  // Proposes, and records the outcome that `judge` gives it. False when there is nothing more to try.
  template <class Judge>
  bool step(Judge judge) {
    auto proposal = propose();
    EXPECT_TRUE(proposal.ok()) << (proposal.ok() ? "" : proposal.error().message);
    if (!proposal.ok() || !*proposal) return false;
    Attempt a{static_cast<int>(attempts.size()), (*proposal)->parent, (*proposal)->candidate, true, std::nullopt, "", {}};
    judge(a);
    attempts.push_back(a);
    return true;
  }

  std::vector<Attempt> attempts;

 private:
  Task task_;
  Analysis analysis_;
  std::unique_ptr<Proposer> playbook_;
};

TEST(Playbook, StartsWithTheDefaultAndClimbsToTheBestOfItsSpace) {
  Session run(testing::relu({4096, 4096}));
  // A landscape with one valley: unroll 8 at 512 threads.
  auto judge = [](Attempt& a) {
    const Json& c = a.candidate.config;
    a.ms = 1.0 + (c["unroll"] == 8 ? 0.0 : 0.1) + (c["threads"] == 512 ? 0.0 : 0.2) + (c["vec"] == 4 ? 0.0 : 0.3);
  };
  ASSERT_TRUE(run.step(judge));
  EXPECT_EQ(run.attempts[0].candidate.origin, "playbook:map/start");
  EXPECT_EQ(run.attempts[0].parent, -1);
  int steps = 1;
  while (run.step(judge)) ASSERT_LT(++steps, 100);
  double best = 10;
  std::set<std::string> sources;
  for (const Attempt& a : run.attempts) best = std::min(best, *a.ms), sources.insert(a.candidate.source);
  EXPECT_EQ(best, 1.0);
  EXPECT_EQ(sources.size(), run.attempts.size()) << "no candidate twice";
  EXPECT_THAT(run.attempts[1].candidate.origin, StartsWith("playbook:map/stores="));
  EXPECT_EQ(run.attempts[1].parent, 0);
}

TEST(Playbook, LooksAlongEveryAxisBeforeItTakesASecondStep) {
  Session run(testing::relu({4096, 4096}));
  auto judge = [](Attempt& a) { a.ms = 1.0 + a.id; };  // nothing improves on the default
  std::set<std::string> axes;
  ASSERT_TRUE(run.step(judge));
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(run.step(judge));
    const std::string& origin = run.attempts.back().candidate.origin;
    axes.insert(origin.substr(0, origin.find('=')));
  }
  EXPECT_EQ(axes.size(), 5) << "threads has two neighbours, the others one each";
}

TEST(Playbook, DependsOnTheContextAlone) {
  Session one(testing::softmax({4096, 393216}, 1)), other(testing::softmax({4096, 393216}, 1));
  auto judge = [](Attempt& a) { a.ms = 3.0 + static_cast<double>(a.id % 3); };
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(one.step(judge));
  other.attempts = one.attempts;  // a run that was killed and resumed
  const auto a = one.propose(), b = other.propose();
  ASSERT_TRUE(a.ok() && b.ok() && *a && *b);
  EXPECT_EQ((*a)->candidate.source, (*b)->candidate.source);
  EXPECT_EQ((*a)->parent, (*b)->parent);
}

TEST(Playbook, ImprovesOnTheFastestVerifiedOneAndIgnoresOtherProposers) {
  Session run(testing::relu({4096, 4096}));
  auto slow = [](Attempt& a) { a.ms = 5.0; };
  ASSERT_TRUE(run.step(slow));
  auto wrong = [](Attempt& a) { a.ms = 1.0, a.verified = false; };
  ASSERT_TRUE(run.step(wrong));
  auto stranger = run.attempts[1];
  stranger.id = 2, stranger.verified = true, stranger.candidate.origin = "anthropic:model";
  run.attempts.push_back(stranger);
  const auto next = run.propose();
  ASSERT_TRUE(next.ok() && *next);
  EXPECT_EQ((*next)->parent, 0);
}

TEST(Playbook, KeepsTryingAroundADefaultThatFailed) {
  Session run(testing::softmax({4096, 393216}, 1));
  auto failed = [](Attempt& a) { a.verified = false; };
  ASSERT_TRUE(run.step(failed));
  const auto next = run.propose();
  ASSERT_TRUE(next.ok() && *next);
  EXPECT_NE((*next)->candidate.config, run.attempts[0].candidate.config);
}

TEST(Playbook, SaysWhatItCannotServe) {
  testing::TaskBuilder b;
  Session convolution(b.result({b.op("convolution", {b.input({1, 3, 8, 8}), b.param({4, 3, 3, 3})}, {1, 4, 6, 6})}));
  const auto refused = convolution.propose();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::unsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("convolution"));

  Task opaque;
  opaque.opaque_reason = "forward branches on a tensor's value";
  const auto blind = Session(opaque).propose();
  ASSERT_FALSE(blind.ok());
  EXPECT_EQ(blind.error().code, Errc::unsupported);
  EXPECT_THAT(blind.error().message, HasSubstr("branches on a tensor's value"));
}

TEST(Playbook, RationalesAreSentencesForPeople) {
  Session run(testing::softmax({4096, 393216}, 1));
  const auto first = run.propose();
  ASSERT_TRUE(first.ok() && *first);
  EXPECT_THAT((*first)->rationale, HasSubstr("a CTA a row"));
  run.attempts.push_back({0, -1, (*first)->candidate, true, 1.0, "", {}});
  const auto next = run.propose();
  ASSERT_TRUE(next.ok() && *next);
  EXPECT_THAT((*next)->rationale, HasSubstr("strategy from stream to cluster"));
}

}  // namespace
}  // namespace cutegen
