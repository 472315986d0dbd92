// Starts: programs that come once for many jobs, and when a start is told.
#include "tests/launch/fixture.hpp"

namespace holon::launch {
namespace {

TEST_F(JobsTest, AProgramIsNamedOnceItHasCome) {
  auto ask = request(shell("exit 3"), start(1));
  ask.programs[0].number = 7;
  ASSERT_TRUE(jobs_->start(ask));
  ask = request({}, start(2));
  ask.programs[0].number = 7;
  ask.programs[0].is_known = true;
  ASSERT_TRUE(jobs_->start(ask));
  ASSERT_TRUE(until([&] { return finished_.size() == 2; }));
  EXPECT_EQ(finished_[2].exit_code, 3);
  jobs_->forget_programs();
  ask.jobs[0].job = 3;
  EXPECT_FALSE(jobs_->start(ask));
  for (std::uint64_t number = 1; number <= msg::kProgramsKept + 1; ++number) {
    auto another = request(shell("exit 0"), start(10 + number));
    another.programs[0].number = number;
    ASSERT_TRUE(jobs_->start(another));
  }
  ask.programs[0].number = 1;
  EXPECT_FALSE(jobs_->start(ask)) << "the oldest one has gone";
  ask.programs[0].number = 2;
  EXPECT_TRUE(jobs_->start(ask));
  ASSERT_TRUE(until([&] { return jobs_->idle(); }));
}

// One message says both, and its processes cannot be mistaken for others any more.
TEST_F(JobsTest, TheStartOfAJobIsToldBeforeItsEnd) {
  jobs_->on_finished([&](const msg::Finished& ended) {
    EXPECT_TRUE(started_.contains(ended.job));
    finished_[ended.job] = ended;
  });
  for (std::uint64_t job = 1; job <= 20; ++job)
    ASSERT_TRUE(jobs_->start(request(shell(job % 2 == 0 ? "exit 0" : "sleep 0.05"), start(job))));
  ASSERT_TRUE(until([&] { return finished_.size() == 20; }));
  EXPECT_GT(started_[1].t_start, 0);
}

}  // namespace
}  // namespace holon::launch
