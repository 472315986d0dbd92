// Jobs that are stopped for a while, and the limits of their processes.
#include <sys/wait.h>

#include <csignal>

#include "tests/launch/fixture.hpp"

namespace holon::launch {
namespace {

TEST_F(JobsTest, ASuspendedJobStandsStillUntilItMayGoOnOrIsToEnd) {
  const auto is = [this](std::uint64_t job, char state) {
    return until([&] {
      const auto stat = stat_of(static_cast<pid_t>(started_[job].processes[0].pid));
      return stat && stat->state == state;
    });
  };
  for (const std::uint64_t job : {1, 2})
    ASSERT_TRUE(jobs_->start(request(shell("exec sleep 100"), start(job))));
  ASSERT_TRUE(until([&] { return started_.contains(1) && started_.contains(2); }));
  jobs_->suspend({{1, 2, 99}, true});
  ASSERT_TRUE(is(1, 'T') && is(2, 'T'));
  for (const auto& job : jobs_->running()) EXPECT_TRUE(job.suspended);
  jobs_->suspend({{1}, false});
  ASSERT_TRUE(is(1, 'S'));
  jobs_->kill({{1, 2}, 10'000});
  jobs_->suspend({{2}, true});
  ASSERT_TRUE(until([&] { return finished_.contains(1) && finished_.contains(2); }))
      << "one that is being ended is not stopped again";
  EXPECT_EQ(finished_[2].exit_code, 128 + SIGTERM);
}

TEST_F(JobsTest, LimitsOfAProcessAreSetOrNamed) {
  auto limited = start(1);
  limited.rlimits = {"nofile=64", "core=unlimited"};
  run(shell("ulimit -n; ulimit -c"), limited);
  EXPECT_EQ(read(dir_ + "/1.out").substr(0, 3), "64\n");
  limited = start(2);
  limited.rlimits = {"nofiles=64"};
  const auto refused = run(shell("true"), limited);
  EXPECT_EQ(refused.reason, "exec");
  EXPECT_NE(refused.what.find("'nofiles' is no limit of a process"), std::string::npos);
}

}  // namespace
}  // namespace holon::launch
