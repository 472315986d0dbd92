// The scheduler notes which job it looks at, so that somebody can say at which one it hung.
#include <gtest/gtest.h>

#include <atomic>

#include "qmanager/machine/flat_machine.hpp"
#include "qmanager/scheduler.hpp"

namespace holon::tests {
namespace {

using qmanager::JobRequest;
using qmanager::Scheduler;

JobRequest looked_at_job(std::uint64_t id, std::int64_t procs, Duration limit) {
  JobRequest request;
  request.id = JobId(id);
  request.procs = procs;
  request.limit = limit;
  return request;
}

TEST(LookingAt, IsTheJobOfThePassAndNoneAfterIt) {
  std::atomic<std::uint64_t> looking_at{0};
  std::vector<std::uint64_t> seen;
  qmanager::SchedulerConfig config;
  config.defaults.policy = "easy";
  config.looking_at = &looking_at;
  config.show_time = [&](Time, Time) {  // in the middle of a pass: why job 3 waits
    seen.push_back(looking_at);
    return std::string("then");
  };
  auto scheduler = *Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(2));
  ASSERT_TRUE(scheduler.submit(looked_at_job(1, 1, 10), 0));
  ASSERT_TRUE(scheduler.submit(looked_at_job(2, 2, 10), 0));
  ASSERT_TRUE(scheduler.submit(looked_at_job(3, 1, 100), 0));
  EXPECT_FALSE(scheduler.step(0).decisions.empty());
  EXPECT_EQ(seen, std::vector<std::uint64_t>{3});
  EXPECT_EQ(looking_at, 0u);
  seen.clear();
  ASSERT_TRUE(scheduler.explain(JobId(3), 0));
  scheduler.plan(0);
  scheduler.windows(0);
  EXPECT_EQ(looking_at, 0u);
}

}  // namespace
}  // namespace holon::tests
