// Whatever the scheduler says about a job, it names the job as it was told to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "qmanager/machine/flat_machine.hpp"
#include "tests/qmanager/scenario.hpp"

namespace holon::tests {
namespace {

using qmanager::Scheduler;
using qmanager::SchedulerConfig;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

std::string task_of_7(JobId job) {
  return "7." + std::to_string(job.value());
}

Scheduler naming_tasks(SchedulerConfig config, std::int64_t procs) {
  config.job_text = task_of_7;
  return *Scheduler::create(std::move(config), std::make_unique<qmanager::FlatMachine>(procs));
}

std::vector<std::string> waits_told(const std::vector<qmanager::Decision>& decisions) {
  std::vector<std::string> reasons;
  for (const auto& decision : decisions)
    if (const auto* wait = std::get_if<qmanager::Wait>(&decision)) reasons.push_back(wait->reason);
  return reasons;
}

void submit_all(Scheduler& scheduler, const char* jobs) {
  for (const auto& job : parse_jobs(jobs)) ASSERT_TRUE(scheduler.submit(job.request, 0));
}

std::string reason_of(const Scheduler& scheduler, std::uint64_t id) {
  const auto outlook = scheduler.outlook(JobId(id));
  return outlook ? outlook->reason : outlook.error().what;
}

TEST(JobNames, StandInReasonsOfAnOrderedQueue) {
  Scheduler scheduler = naming_tasks(policy("fcfs"), 2);
  submit_all(scheduler, "A 0 2 10 10\nB 0 2 10 10\nC 0 1 5 5");
  scheduler.step(0);
  const std::string behind = "first come, first served: job 7.2 in front of it waits";
  EXPECT_EQ(reason_of(scheduler, 3), behind);
  EXPECT_EQ(scheduler.explain(JobId(3), 0)->reason, behind);
  EXPECT_EQ(scheduler.closed_queues(0).at(0).reason, "first come, first served: job 7.2 waits");
}

TEST(JobNames, StandInReasonsAboutReservations) {
  Scheduler scheduler = naming_tasks(policy("easy"), 2);
  submit_all(scheduler, "A 0 1 10 10\nB 0 2 10 10\nC 0 1 50 50");
  const auto told = waits_told(scheduler.step(0).decisions);
  EXPECT_THAT(told, ::testing::Contains(HasSubstr("reserved for job 7.2")));
  EXPECT_THAT(reason_of(scheduler, 3), HasSubstr("reserved for job 7.2"));
}

TEST(JobNames, StandInReasonsAboutPreemption) {
  SchedulerConfig config = policy("easy");
  config.queues["default"].preemptible = true;
  config.queues["urgent"].preempt = {qmanager::PreemptMode::requeue, 20};
  config.queues["urgent"].policy = "easy";
  Scheduler scheduler = naming_tasks(std::move(config), 4);
  submit_all(scheduler, "A 0 1 90 90\nB 0 1 90 90\nC 0 1 90 90\nD 0 1 90 90");
  scheduler.step(0);
  qmanager::JobRequest urgent = parse_jobs("U 1 4 5 5 queue=urgent")[0].request;
  urgent.id = JobId(5);
  ASSERT_TRUE(scheduler.submit(urgent, 1));
  scheduler.step(1);
  EXPECT_THAT(reason_of(scheduler, 5),
              ContainsRegex("jobs 7.[1-4], 7.[1-4], 7.[1-4] and 1 more are preempted for it"));
}

TEST(JobNames, StandInErrors) {
  Scheduler scheduler = naming_tasks(policy("fcfs"), 1);
  submit_all(scheduler, "A 0 1 10 10");
  EXPECT_EQ(scheduler.submit(parse_jobs("A 0 1 10 10")[0].request, 0).error().what,
            "job 7.1 is here already");
  EXPECT_EQ(scheduler.finish(JobId(1), 0).error().what, "job 7.1 is not running");
  EXPECT_EQ(scheduler.set_end(JobId(4), 9, 0).error().what, "job 7.4 is not running");
  EXPECT_EQ(scheduler.set_limit(JobId(4), 9, 0).error().what, "job 7.4 is not running");
  EXPECT_EQ(scheduler.cancel(JobId(4), 0).error().what, "job 7.4 is not pending");
  EXPECT_EQ(scheduler.set_urgency(JobId(4), 9).error().what, "there is no job 7.4");
  EXPECT_EQ(scheduler.priority(JobId(4), 0).error().what, "there is no job 7.4");
  EXPECT_EQ(scheduler.outlook(JobId(4)).error().what, "job 7.4 is not pending");
  EXPECT_EQ(scheduler.recover_preemption(JobId(4), JobId(1), 9, 0).error().what,
            "job 7.4 is not running");
}

}  // namespace
}  // namespace holon::tests
