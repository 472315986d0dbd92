// The jobspec a command line means, and what may be submitted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "resource/jobspec/jobspec.hpp"

namespace holon::resource {
namespace {

using testing::HasSubstr;

JobShape shape(std::int64_t nodes, std::int64_t tasks) {
  JobShape made;
  made.nodes = nodes;
  made.tasks = tasks;
  made.command = {"true"};
  return made;
}

TEST(JobspecFor, TasksAloneAreSlots) {
  const auto jobspec = jobspec_for(shape(0, 4));
  ASSERT_TRUE(jobspec);
  EXPECT_EQ(write_jobspec(*jobspec),
            R"({"version":1,"resources":[{"type":"slot","count":4,"label":"task","with":)"
            R"([{"type":"core","count":1}]}],"tasks":[{"command":["true"],"slot":"task",)"
            R"("count":{"per_slot":1}}],"attributes":{"system":{"duration":0}}})");
  EXPECT_TRUE(check_v1(*jobspec));
}

TEST(JobspecFor, TasksOnNodesAreSpreadAndRoundedUp) {
  JobShape asked = shape(3, 7);
  asked.cores_per_task = 2;
  asked.gpus_per_task = 1;
  asked.exclusive = true;
  const auto jobspec = jobspec_for(asked);
  ASSERT_TRUE(jobspec);
  const Request& node = jobspec->resources.at(0);
  EXPECT_EQ(node.count.min, 3);
  EXPECT_EQ(node.exclusive, true);
  EXPECT_EQ(node.with.at(0).count.min, 3);
  EXPECT_EQ(node.with.at(0).with.size(), 2u);
  EXPECT_EQ(jobspec->tasks.at(0).total, 7);
  EXPECT_TRUE(check_v1(*jobspec));
}

TEST(JobspecFor, AnEmptyEnvironmentIsNotAnAbsentOne) {
  JobShape asked = shape(0, 1);
  EXPECT_EQ(write_jobspec(*jobspec_for(asked)).find("environment"), std::string::npos);
  asked.inherit_environment = false;
  const auto jobspec = jobspec_for(asked);
  ASSERT_TRUE(jobspec);
  EXPECT_THAT(write_jobspec(*jobspec), HasSubstr("\"environment\":{}"));
  const auto again = parse_jobspec(write_jobspec(*jobspec));
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_TRUE(again->empty_environment);
  EXPECT_EQ(*again, *jobspec);
}

TEST(JobspecFor, SaysWhichOptionIsWrong) {
  const auto where = [](const JobShape& asked) {
    const auto jobspec = jobspec_for(asked);
    return jobspec ? std::string("accepted") : jobspec.error().where;
  };
  EXPECT_EQ(where(shape(0, 0)), "tasks");
  EXPECT_EQ(where(shape(-1, 1)), "nodes");
  EXPECT_EQ(where(shape(2, 1)), "nodes");
  JobShape exclusive = shape(0, 1);
  exclusive.exclusive = true;
  EXPECT_EQ(where(exclusive), "exclusive");
  JobShape cores = shape(0, 1);
  cores.cores_per_task = 0;
  EXPECT_EQ(where(cores), "cores_per_task");
  JobShape endless = shape(0, 1);
  endless.duration_seconds = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(where(endless), "duration_seconds");
}

TEST(JobspecBuild, TasksThatDoNotDivideEvenlyLeaveSlotsToSpare) {
  const auto spare = [](std::int64_t nodes, std::int64_t tasks) {
    return spare_slots(jobspec_for(shape(nodes, tasks)).value());
  };
  EXPECT_EQ(spare(2, 5), 1);
  EXPECT_EQ(spare(3, 4), 2);
  EXPECT_EQ(spare(3, 6), 0);
  EXPECT_EQ(spare(0, 5), 0);
  // slots that were asked for beyond the tasks are not to spare
  Jobspec many = jobspec_for(shape(2, 6)).value();
  many.tasks[0].per_slot = 0;
  many.tasks[0].total = 4;
  EXPECT_EQ(spare_slots(many), 0);
  many.resources[0].with[0].count.min = many.resources[0].with[0].count.max = 1;
  many.tasks[0].total = 1;
  EXPECT_EQ(spare_slots(many), 0);
}

TEST(JobspecCheck, RefusesWhatCouldNotBeStarted) {
  Jobspec jobspec = jobspec_for(shape(1, 1)).value();
  EXPECT_TRUE(check_submittable(jobspec));
  Jobspec other_slot = jobspec;
  other_slot.tasks[0].slot = "nowhere";
  EXPECT_EQ(check_submittable(other_slot).error().where, "/tasks/0/slot");
  Jobspec no_command = jobspec;
  no_command.tasks[0].command.clear();
  EXPECT_EQ(check_submittable(no_command).error().where, "/tasks/0/command");
  Jobspec empty_slot = jobspec;
  empty_slot.resources[0].with[0].with.clear();
  EXPECT_FALSE(check_submittable(empty_slot));
  Jobspec second_task = jobspec;
  second_task.tasks.push_back(jobspec.tasks[0]);
  EXPECT_EQ(check_submittable(second_task).error().where, "/tasks/1");
  Jobspec beside = jobspec;
  beside.resources[0].with.push_back(jobspec.resources[0].with[0]);
  EXPECT_EQ(check_submittable(beside).error().where, "/resources/0/with/1");
  Jobspec nested = jobspec;
  nested.resources[0].with[0].with.push_back(jobspec.resources[0].with[0]);
  EXPECT_EQ(check_submittable(nested).error().where, "/resources/0/with/0/with/1");
  Jobspec to_choose = jobspec;
  to_choose.resources[0].with[0].type = "xor_slot";
  EXPECT_EQ(check_submittable(to_choose).error().where, "/resources/0/with/0");
  for (const Jobspec& accepted_once : {second_task, beside, nested})
    EXPECT_TRUE(check_runnable(accepted_once));
  jobspec.resources[0].with[0].with[0].type = "gpu";
  EXPECT_THAT(check_v1(jobspec).error().what, HasSubstr("core"));
  EXPECT_TRUE(check_submittable(jobspec));
}

}  // namespace
}  // namespace holon::resource
