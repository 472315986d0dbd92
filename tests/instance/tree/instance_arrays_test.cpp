// An array of instances: each task is a child, known by the number that it has among the jobs.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "instance/job/ended.hpp"
#include "instance/journal/journal.hpp"
#include "tests/instance/a_jobspec.hpp"
#include "tests/instance/array/array_jobs.hpp"

namespace holon::instance {
namespace {

using testing::array_of;
using testing::eventually;
using testing::JobOptions;
using testing::Live;

JobOptions instances(std::uint64_t count) {
  JobOptions options = array_of(count, {{"array", {{"first", 0}, {"step", 1}}}});
  options.is_instance = true;
  return options;
}

std::vector<std::string> child_with(const std::string& script) {
  return {HOLON_BINARY, "start", "--grant", "--", "/bin/sh", "-c", script};
}

std::string state_of(const Live& live, const std::string& path) {
  const auto status = live.status(path);
  return status ? status->health : to_string(status.error());
}

TEST(InstanceArrays, EachTaskHasAQueueOfItsOwnAndItsIndex) {
  const Live live({"--resources", "node=1/core=4"});
  const auto array =
      live.job(child_with("[ $HOLON_ARRAY_INDEX = {{array.index}} ] || exit 9; " HOLON_BINARY
                          " run sh -c 'exit 5'; "
                          "exit $HOLON_ARRAY_INDEX"),
               instances(3));
  const auto record = live.wait_one(array);
  EXPECT_EQ(record.result, "FAILED");
  EXPECT_EQ(record.tasks_completed, 1u);
  EXPECT_EQ(record.tasks_failed, 2u);
  for (std::uint64_t index = 0; index < 3; ++index) {
    const std::uint64_t task = array + 1 + index;
    const auto it = live.record(task);
    EXPECT_EQ(it.exit_code, static_cast<int>(index)) << it.reason << testing::read_file(it.output);
    EXPECT_TRUE(it.is_instance);
    // What ran in it outlives it.
    EXPECT_EQ(state_of(live, "/" + std::to_string(task)), "ended");
    EXPECT_EQ(live.record(1, "/" + std::to_string(task)).exit_code, 5);
  }
  EXPECT_EQ(live.status()->cores_free, 4);
}

TEST(InstanceArrays, TasksAreReachedAndCancelledLikeOthersAndOutliveTheirBroker) {
  const Live live({"--resources", "node=1/core=2"});
  const auto array = live.job({HOLON_BINARY, "start", "--grant", "--bg"}, instances(3));
  const std::string first = "/" + std::to_string(array + 1),
                    second = "/" + std::to_string(array + 2);
  for (const auto& path : {first, second})
    ASSERT_TRUE(eventually([&] { return state_of(live, path) == "up"; })) << state_of(live, path);
  const auto tree = live.call<msg::TreeNode>("tree", msg::TreeRequest{});
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->children.size(), 2u);
  EXPECT_THAT(state_of(live, "/" + std::to_string(array)),
              ::testing::HasSubstr("is an array of instances; 1.3 is the one with index 3"));
  EXPECT_EQ(live.wait_one(live.job({"/bin/true"}, {}, second), second).result, "COMPLETED");
  live.kill_broker();
  ASSERT_TRUE(eventually([&] { return state_of(live, first) == "up"; }));
  live.cancel(array + 1);
  EXPECT_EQ(live.wait_one(array + 1).result, "CANCELED");
  const std::string third = "/" + std::to_string(array + 3);
  ASSERT_TRUE(eventually([&] { return state_of(live, third) == "up"; })) << "there is room for it";
  live.kill_broker();  // which knows of one child that is over
  ASSERT_TRUE(eventually([&] { return state_of(live, third) == "up"; }));
  EXPECT_EQ(state_of(live, first), "ended");
  live.cancel(array);
  EXPECT_EQ(live.wait_one(array).result, "CANCELED");
  EXPECT_EQ(live.record(1, second).result, "COMPLETED");
}

TEST(InstanceArrays, OfATaskThatIsOverTheJournalKeepsNoGrantAndForgetsWhatWasBelow) {
  auto journal = *Journal::open("", Journal::Sync::normal);
  journal.add_batch({JobId(1), 3, testing::a_jobspec(), true});
  journal.add_array(JobId(1), 2);
  journal.add_event(JobId(1), 3, {7, event::Submit{16, "ada"}});
  for (const std::uint64_t task : {2, 3}) journal.put_child({JobId(task), "secret", 1, ""});
  Lifecycle over;
  over.state = JobState::inactive;
  journal.add_ended_tasks({JobId(2), 1, pack_ended(over)}, "COMPLETED");
  const auto live = journal.children();
  ASSERT_TRUE(live);
  ASSERT_EQ(live->size(), 1u);
  EXPECT_EQ(live->front().job, JobId(3));
  journal.add_ended_tasks({JobId(3), 1, pack_ended(over)}, "COMPLETED");
  msg::JobRecord below, array;
  below.path = "/2/1";
  below.id = 1;
  below.state = array.state = "INACTIVE";
  below.result = array.result = "COMPLETED";
  ASSERT_TRUE(journal.put_descendant(below));
  array.path = "/1";
  array.id = array.array = 1;
  array.tasks = 2;
  array.is_instance = true;
  array.t_inactive = 9;
  journal.add_inactive(array);
  journal.add_batch({JobId(4), 1, testing::a_jobspec(), false});
  ASSERT_TRUE(journal.commit());
  const auto gone = journal.forget(1, 100);
  ASSERT_TRUE(gone);
  EXPECT_THAT(gone->instances, ::testing::ElementsAre(JobId(2), JobId(3)));
  EXPECT_FALSE(journal.descendant("/2/1")->has_value());
}

}  // namespace
}  // namespace holon::instance
