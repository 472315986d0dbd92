#include "instance/basics/walltime.hpp"

#include <gtest/gtest.h>

#include "instance/basics/clock.hpp"

namespace holon::instance {
namespace {

// A batch system that answers what it is told, when it is told, under a clock of the test's.
class WalltimeTest : public ::testing::Test {
 protected:
  WalltimeTest() {
    reactor_->set_clock([this] { return now_; });
  }

  void begin(batch::System system, Walltime::Settings settings = {1, 30'000, 10'000}) {
    batch::Allocation allocation;
    allocation.system = system;
    allocation.job = "5";
    walltime_.emplace(
        *reactor_, allocation, settings,
        [this](std::vector<std::string> command, Walltime::Answer answer) {
          asked_ = std::move(command);
          answer_ = std::move(answer);
        },
        [this](Time end) { ends_.push_back(end); });
    walltime_->begin([this] { ++known_; });
  }
  void answer(const Result<std::string>& text) { std::exchange(answer_, nullptr)(text); }
  // After the interval, which is 1 ms; by then the instance's clock has gone on by so much.
  void next_question(Duration ms) {
    now_ += ms;
    EXPECT_TRUE(reactor_->run_until([this] { return answer_ != nullptr; }, 10'000));
  }

  Time now_ = 1'000'000;
  std::unique_ptr<transport::Reactor> reactor_ = std::move(*transport::Reactor::create());
  std::vector<std::string> asked_;
  Walltime::Answer answer_;
  std::vector<Time> ends_;
  int known_ = 0;
  std::optional<Walltime> walltime_;
};

TEST_F(WalltimeTest, EndsAMarginBeforeTheBatchJob) {
  begin(batch::System::slurm);
  EXPECT_EQ(asked_[0], "squeue");
  EXPECT_EQ(known_, 0);
  answer("5:00\n");
  EXPECT_EQ(known_, 1);
  EXPECT_EQ(ends_, std::vector<Time>{1'000'000 + 300'000 - 30'000});
}

// Whole seconds are told: the same end comes out a little different each time.
TEST_F(WalltimeTest, MovesWithTheBatchJobsAndNotWithRounding) {
  begin(batch::System::slurm);
  answer("5:00\n");
  next_question(10'500);
  answer("4:49\n");
  EXPECT_EQ(ends_.size(), 1U);
  next_question(10'000);
  answer("1:04:39\n");
  next_question(10'000);
  answer("UNLIMITED\n");
  next_question(10'000);
  answer("0:50\n");
  EXPECT_EQ(ends_, (std::vector<Time>{1'270'000, 1'020'500 + 3'879'000 - 30'000, kTimeMax,
                                      1'040'500 + 50'000 - 30'000}));
}

TEST_F(WalltimeTest, LsfTellsWholeMinutes) {
  begin(batch::System::lsf);
  answer("0:10 L\n");
  next_question(59'000);
  answer("0:10 L\n");
  EXPECT_EQ(ends_.size(), 1U);
}

TEST_F(WalltimeTest, IsAskedForAgainAfterAFailureAndHoldsMeanwhile) {
  begin(batch::System::slurm);
  answer("5:00\n");
  next_question(10'000);
  answer(fail(Errc::system, "no contact", "squeue"));
  EXPECT_EQ(ends_.size(), 1U);
  EXPECT_FALSE(answer_) << "not before the interval is over";
  next_question(10'000);
  answer("1:00:00\n");
  EXPECT_EQ(ends_.size(), 2U);
}

TEST_F(WalltimeTest, KeepsNobodyWaitingForABatchSystemThatDoesNotAnswer) {
  begin(batch::System::slurm, {1, 30'000, 20});
  EXPECT_EQ(known_, 0);
  EXPECT_TRUE(reactor_->run_until([this] { return known_ == 1; }, 10'000));
  answer("5:00\n");
  EXPECT_EQ(known_, 1);
  EXPECT_EQ(ends_.size(), 1U) << "late is better than never";
}

}  // namespace
}  // namespace holon::instance
