// Arrays in a real instance: one job with many tasks, whatever is asked of it and whoever dies.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "msg/array.hpp"
#include "msg/queue.hpp"
#include "tests/instance/array/array_jobs.hpp"
#include "tests/instance/shared_live.hpp"

namespace holon::instance {
namespace {

using testing::array_of;
using testing::behind_each;
using testing::behind_tasks;
using testing::counts_of;
using testing::eventually;
using ::testing::HasSubstr;
using testing::Ids;
using testing::ids_of;
using testing::JobOptions;
using testing::kFour;
using testing::Live;
using testing::noted;
using testing::ran;
using testing::read_file;
using testing::tasks_of;

class LiveArrays : public testing::SharedLive {};

TEST_F(LiveArrays, IsOneJobWithOneIdAndItsTasksBehindIt) {
  const Live live(kFour);
  const auto reply = live.submit(noted(live, "exit 0"), array_of(300));
  ASSERT_TRUE(reply) << reply.error().what;
  EXPECT_EQ(reply->first_id, 1u);
  EXPECT_EQ(reply->count, 1u);
  EXPECT_EQ(reply->tasks, 300u);
  const auto array = live.wait_one(1);
  EXPECT_EQ(counts_of(array),
            "COMPLETED of 300: 0 pending, 0 running, 300 completed, 0 failed, 0 cancelled");
  EXPECT_EQ(array.exit_code, 0);
  EXPECT_EQ(ran(live).size(), 300u);
  EXPECT_EQ(ids_of(live.jobs(true, false)), Ids{1}) << "tasks are listed where they are asked for";
  EXPECT_EQ(live.job({"/bin/true"}), 302u);
  const auto task = live.record(13);
  EXPECT_EQ(task.array, 1u);
  EXPECT_EQ(task.index, 12);
  EXPECT_EQ(task.result, "COMPLETED");
  EXPECT_GE(task.t_start, task.t_submit);
  EXPECT_GE(task.t_inactive, task.t_finish);
  EXPECT_EQ(task.user, "ada");
  const auto counts = live.status();
  EXPECT_EQ(counts->inactive + counts->pending + counts->running, 301);
}

TEST_F(LiveArrays, EachTaskHasAnEventLogOfItsOwn) {
  const Live& live = shared(kFour);
  const auto id = live.job({"/bin/sh", "-c", "exit $HOLON_ARRAY_INDEX"},
                           array_of(3, {{"array", {{"first", 0}}}}));
  const auto array = live.wait_one(id);
  EXPECT_EQ(array.result, "FAILED");
  EXPECT_EQ(array.exit_code, 2) << "the highest of its tasks";
  EXPECT_EQ(array.tasks_failed, 2u);
  const auto info = live.call<msg::JobInfoReply>("job.info", msg::JobInfoRequest{id + 3});
  ASSERT_TRUE(info) << info.error().what;
  EXPECT_EQ(info->job.exit_code, 2);
  std::string names;
  std::istringstream lines(info->eventlog);
  for (std::string line; std::getline(lines, line);)
    names += nlohmann::json::parse(line)["name"].get<std::string>() + " ";
  EXPECT_EQ(names, "submit validate depend priority alloc start finish release free clean ");
}

TEST_F(LiveArrays, ListsItsTasksInPages) {
  const Live live(kFour);
  live.job({"/bin/true"}, array_of(2'500));
  live.wait_one(1);
  const auto behind = live.job({"/bin/true"});
  live.wait_one(behind);
  msg::JobsRequest ask;
  ask.all = ask.tasks = true;
  Ids listed;
  int pages = 0;
  do {
    const auto page = live.call<msg::JobsReply>("jobs", ask);
    ASSERT_TRUE(page) << page.error().what;
    for (const auto& job : page->jobs) listed.push_back(job.id);
    ask.after = page->next;
    ++pages;
  } while (!ask.after.empty());
  Ids want(2'502);
  for (std::size_t i = 0; i < want.size(); ++i) want[i] = i + 1;
  EXPECT_EQ(listed, want);
  EXPECT_GT(pages, 2);
  ask.stats = true;
  ask.tasks = false;
  const auto counts = live.call<msg::JobsReply>("jobs", ask);
  ASSERT_EQ(counts->counts.size(), 1u);
  EXPECT_EQ(counts->counts[0].state, "COMPLETED");
  EXPECT_EQ(counts->counts[0].jobs, 2'501u);
}

TEST_F(LiveArrays, OneThatWaitsIsAFewRanges) {
  const Live live(kFour);
  live.job({"/bin/sleep", "1000"}, array_of(1'000'000));
  const auto array = live.when_running(1);
  EXPECT_EQ(array.tasks_pending + array.tasks_running, 1'000'000u);
  ASSERT_TRUE(eventually([&] { return live.record(1).tasks_running == 4; }));
  msg::JobsRequest ask;
  ask.tasks = true;
  const auto page = live.call<msg::JobsReply>("jobs", ask);
  ASSERT_TRUE(page) << page.error().what;
  EXPECT_EQ(page->jobs[1].state, "RUN");
  EXPECT_EQ(page->jobs[999].state, "SCHED");
  EXPECT_EQ(page->jobs[999].index, 999);
  EXPECT_FALSE(page->next.empty());
  EXPECT_EQ(live.record(1'000'001).index, 1'000'000);
  EXPECT_EQ(live.record(1'000'001).reason, "waits for its turn in its array");
  EXPECT_EQ(live.record(1'000'001).waits_for, "array");
  live.cancel(1);
  const auto over = live.wait_one(1);
  EXPECT_EQ(counts_of(over),
            "CANCELED of 1000000: 0 pending, 0 running, 0 completed, 0 failed, 1000000 cancelled");
  EXPECT_EQ(live.record(777'777).result, "CANCELED");
}

TEST_F(LiveArrays, CancelsTasksBeforeTheyRunAndWhileTheyDo) {
  const Live& live = shared(kFour);
  const auto id =
      live.job({"/bin/sh", "-c", "[ $HOLON_ARRAY_INDEX -gt 4 ] || exec sleep 1000"}, array_of(500));
  ASSERT_TRUE(eventually([&] { return live.record(id).tasks_running == 4; }));
  live.cancel(id + 400);  // one of those that wait
  live.cancel(id + 1);    // one that runs: the others go on in its place
  const auto waiting = live.record(id + 400);
  EXPECT_EQ(waiting.result, "CANCELED");
  EXPECT_EQ(waiting.t_start, 0);
  EXPECT_EQ(live.wait_one(id + 1).result, "CANCELED");
  for (const std::uint64_t task : {2, 3, 4}) live.cancel(id + task);
  const auto array = live.wait_one(id);
  EXPECT_EQ(counts_of(array),
            "FAILED of 500: 0 pending, 0 running, 495 completed, 0 failed, 5 cancelled");
}

TEST_F(LiveArrays, IsWaitedForByTaskAndAsAWhole) {
  const Live& live = shared(kFour);
  const auto gate = live.job(live.gated("gate"));
  JobOptions behind = array_of(
      50, {}, {{"dependencies", {{{"scheme", "afterok"}, {"value", std::to_string(gate)}}}}});
  const auto array = live.job(noted(live, "exit 0"), behind);
  const auto first = live.record(array);
  EXPECT_EQ(first.state, "DEPEND");
  EXPECT_EQ(first.tasks_pending, 50u);
  EXPECT_EQ(live.record(array + 7).state, "DEPEND");
  JobOptions last;
  last.system = nlohmann::json{{"dependencies",
                                {{{"scheme", "afterok"}, {"value", std::to_string(array)}},
                                 {{"scheme", "afterany"}, {"value", std::to_string(array + 7)}}}}}
                    .dump();
  const auto follows = live.job({"/bin/sh", "-c", "wc -l < " + live.dir() + "/ran"}, last);
  EXPECT_EQ(live.record(follows).state, "DEPEND");
  live.release("gate");
  const auto done = live.wait_one(follows);
  EXPECT_EQ(done.result, "COMPLETED") << done.reason;
  EXPECT_EQ(read_file(done.output), "50\n");
}

TEST_F(LiveArrays, SomeOfItsTasksAreWaitedForByTheirIndices) {
  const Live live(kFour);
  mkfifo((live.dir() + "/gate").c_str(), 0600);
  // Of the indices 2, 4, ..., 100 task 10 waits, and task 20 fails.
  const auto array = live.job({"/bin/sh", "-c",
                               "[ $HOLON_ARRAY_INDEX != 10 ] || read line < " + live.dir() +
                                   "/gate; exit $((HOLON_ARRAY_INDEX == 20))"},
                              array_of(50, {{"array", {{"first", 2}, {"step", 2}}}}));
  ASSERT_TRUE(eventually([&] { return live.record(array).tasks_pending == 0; }));
  const auto waits_for = [&](const char* scheme, const char* tasks) {
    return live.job({"/bin/true"}, behind_tasks(scheme, tasks));
  };
  const auto one = waits_for("afterok", "1.4");
  const auto failing = waits_for("afternotok", "1.20");
  const auto begun = waits_for("after", "1.2,4,10");
  EXPECT_EQ(live.wait_one(one).result, "COMPLETED") << "though the array is not over";
  EXPECT_EQ(live.wait_one(failing).result, "COMPLETED");
  EXPECT_EQ(live.wait_one(begun).result, "COMPLETED");
  const auto several = waits_for("afterok", "1.2,4,8,10,12");
  const auto any = waits_for("afterany", "1.10,20");
  const auto never = waits_for("afterok", "1.10,20");
  EXPECT_EQ(live.record(several).state, "DEPEND");
  EXPECT_EQ(live.record(several).reason, "waits for job 1.10 to complete");
  live.kill_broker();
  EXPECT_EQ(live.record(several).reason, "waits for job 1.10 to complete");
  live.release("gate");
  EXPECT_EQ(live.wait_one(several).result, "COMPLETED");
  EXPECT_EQ(live.wait_one(any).result, "COMPLETED");
  EXPECT_EQ(live.wait_one(never).reason,
            "afterok:1.10,20 can never be met: job 1.20 did not complete (FAILED)");
  EXPECT_EQ(live.wait_one(array).result, "FAILED");
  EXPECT_EQ(live.wait_one(waits_for("afterok", "1.2,10")).result, "COMPLETED") << "it is over";
}

TEST_F(LiveArrays, TasksThatAreNotThereAreNotWaitedFor) {
  const Live& live = shared(kFour);
  const auto five = live.job({"/bin/true"}, array_of(5));
  live.wait_one(five);
  const auto plain = live.job({"/bin/true"});
  const auto refusal = [&](const char* scheme, const std::string& tasks) {
    const auto reply = live.submit({"/bin/true"}, behind_tasks(scheme, tasks));
    return reply ? std::string("taken") : to_string(reply.error());
  };
  EXPECT_THAT(refusal("afterok", tasks_of(five, "3-9")), HasSubstr("its indices are 1 to 5"));
  EXPECT_THAT(refusal("afterok", "999999.1"), HasSubstr("999999"));
  EXPECT_THAT(refusal("afterok", tasks_of(plain, "1")), HasSubstr("is no array"));
  EXPECT_THAT(refusal("afterok", tasks_of(five, "")), HasSubstr("names no tasks"));
  EXPECT_THAT(refusal("afterok", tasks_of(five, "x")), HasSubstr("names no tasks"));
  EXPECT_THAT(refusal("aftercorr", tasks_of(five, "2")), HasSubstr("aftercorr takes an array"));
}

// Whoever waits for many tasks is looked at for each of them, and reads their ends once.
TEST_F(LiveArrays, ManyTasksAreWaitedForOneAtATime) {
  const Live& live = shared(kFour);
  const auto array = live.job(noted(live, "exit 0"), array_of(2'000));
  const auto follows = live.job({"/bin/sh", "-c", "wc -l < " + live.dir() + "/ran"},
                                behind_tasks("afterok", tasks_of(array, "2-2000")));
  EXPECT_EQ(live.wait_one(follows).result, "COMPLETED");
  EXPECT_EQ(live.wait_one(array).result, "COMPLETED");
}

TEST_F(LiveArrays, OneWhoseDependencyFailsEndsAsAWhole) {
  const Live& live = shared(kFour);
  mkfifo((live.dir() + "/gate").c_str(), 0600);
  const auto bad = live.job({"/bin/sh", "-c", "read line < " + live.dir() + "/gate; exit 1"});
  const auto array = live.job(
      {"/bin/true"},
      array_of(1'000, {},
               {{"dependencies", {{{"scheme", "afterok"}, {"value", std::to_string(bad)}}}}}));
  live.release("gate");
  const auto over = live.wait_one(array);
  EXPECT_EQ(over.result, "FAILED");
  EXPECT_THAT(over.reason, HasSubstr("can never be met"));
  EXPECT_EQ(over.tasks_failed, 1'000u);
  EXPECT_EQ(live.record(array + 500).result, "FAILED");
}

TEST_F(LiveArrays, UrgencyAndHoldsAreOfTheWholeOrOfATask) {
  const Live& live = shared({"--resources", "node=1/core=1"});
  const auto gate = live.job(live.gated("gate"));
  live.when_running(gate);
  const auto array = live.job(noted(live, "exit 0"), array_of(200));
  ASSERT_TRUE(live.call<msg::Empty>("urgency", msg::UrgencyRequest{{array + 150}, 20}));
  ASSERT_TRUE(live.call<msg::Empty>("urgency", msg::UrgencyRequest{{array + 3}, 0}));
  EXPECT_EQ(live.record(array + 150).urgency, 20u);
  live.release("gate");
  ASSERT_TRUE(eventually([&] { return live.record(array).tasks_completed == 199; }));
  EXPECT_EQ(read_file(live.dir() + "/ran").substr(0, 4), "150\n");
  EXPECT_EQ(live.record(array + 3).state, "SCHED");
  ASSERT_TRUE(live.call<msg::Empty>("urgency", msg::UrgencyRequest{{array}, 17}));
  EXPECT_EQ(live.wait_one(array).result, "COMPLETED");
}

TEST_F(LiveArrays, RefusesWhatCannotBeOne) {
  const Live live(kFour);
  const auto never = live.submit({"/bin/true"}, [] {
    JobOptions options = array_of(10);
    options.cores = 5;
    return options;
  }());
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error().code, Errc::unsatisfiable);
  EXPECT_EQ(live.record(1).result, "REJECTED");
  const auto at_once = live.submit({"/bin/true"}, array_of(2, {{"immediate", true}}));
  ASSERT_FALSE(at_once);
  EXPECT_THAT(at_once.error().what, HasSubstr("cannot be an array"));
  live.job({"/bin/true"}, array_of(10, {{"array", {{"first", 5}, {"step", 5}}}}));
  const auto none = live.call<msg::TasksReply>("job.tasks", msg::TasksRequest{2, "5,12", ""});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Errc::not_found);
  EXPECT_THAT(none.error().what, HasSubstr("5 to 50 in steps of 5"));
  const auto some = live.call<msg::TasksReply>("job.tasks", msg::TasksRequest{2, "10,20-20", ""});
  ASSERT_TRUE(some) << some.error().what;
  EXPECT_EQ(some->ids, "4,6");
}

TEST_F(LiveArrays, SoManyTasksRunAtATime) {
  const Live& live = shared(kFour);
  const auto array = live.job(
      {"/bin/sh", "-c",
       "mkdir " + live.dir() + "/$HOLON_ARRAY_INDEX; ls -d " + live.dir() + "/[0-9]* | wc -l >> " +
           live.dir() + "/seen; sleep 0.02; rmdir " + live.dir() + "/$HOLON_ARRAY_INDEX"},
      array_of(60, {{"array", {{"max_running", 2}}}}));
  EXPECT_EQ(live.wait_one(array).result, "COMPLETED");
  std::istringstream lines(read_file(live.dir() + "/seen"));
  int seen = 0, tasks = 0, most = 0;
  for (; lines >> seen; ++tasks) most = std::max(most, seen);
  EXPECT_EQ(tasks, 60);
  EXPECT_LE(most, 2);
}

TEST_F(LiveArrays, StopsWhenMoreHaveFailedThanMay) {
  const Live& live = shared({"--resources", "node=1/core=1"});
  const auto array = live.job({"/bin/sh", "-c", "exit $((HOLON_ARRAY_INDEX > 5))"},
                              array_of(1'000, {{"array", {{"max_fails", 2}}}}));
  const auto over = live.wait_one(array);
  EXPECT_EQ(counts_of(over),
            "FAILED of 1000: 0 pending, 0 running, 5 completed, 3 failed, 992 cancelled");
  EXPECT_EQ(over.reason, "3 of its tasks failed, and 2 may");
  EXPECT_EQ(live.record(array + 900).reason, over.reason);
}

TEST_F(LiveArrays, EachTaskMayWaitForTheSameOneOfAnotherArray) {
  const Live live(kFour);
  mkfifo((live.dir() + "/gate").c_str(), 0600);
  const auto first = live.job({"/bin/sh", "-c",
                               "[ $HOLON_ARRAY_INDEX != 7 ] || read line < " + live.dir() +
                                   "/gate; exit $((HOLON_ARRAY_INDEX == 3))"},
                              array_of(200));
  const auto second = live.job(noted(live, "exit 0"), behind_each(first, 200));
  const auto third = live.job({"/bin/true"}, behind_each(second, 200));
  ASSERT_TRUE(eventually([&] { return live.record(third).tasks_completed == 198; }));
  const auto waits = live.record(second + 7);
  EXPECT_EQ(waits.state, "SCHED");
  EXPECT_EQ(waits.reason, "waits for job 1.7, the same task of array 1, to complete");
  EXPECT_EQ(waits.waits_for, "dependency");
  const auto failed = live.record(third + 3);
  EXPECT_EQ(failed.result, "FAILED");
  EXPECT_THAT(failed.reason, HasSubstr("can never be met: its task of the same place, job 202.3,"));
  live.kill_broker();
  live.release("gate");
  EXPECT_EQ(counts_of(live.wait_one(third)),
            "FAILED of 200: 0 pending, 0 running, 199 completed, 1 failed, 0 cancelled");
  EXPECT_EQ(ran(live).size(), 199u);
  const auto late = live.job({"/bin/true"}, behind_each(first, 200));
  EXPECT_EQ(live.wait_one(late).tasks_completed, 199u) << "of one that is over, too";
}

TEST_F(LiveArrays, OnlyArraysOfOneSizeCanWaitTaskByTask) {
  const Live& live = shared(kFour);
  const auto array = live.job({"/bin/true"}, array_of(5));
  const auto job = live.job({"/bin/true"});
  const auto other_size = live.submit({"/bin/true"}, behind_each(array, 6));
  ASSERT_FALSE(other_size);
  EXPECT_THAT(other_size.error().what, HasSubstr("has 5 tasks, and this one 6"));
  const auto no_array = live.submit({"/bin/true"}, behind_each(job, 6));
  ASSERT_FALSE(no_array);
  EXPECT_THAT(no_array.error().what, HasSubstr("is no array"));
  JobOptions one = behind_each(array, 1);
  one.system =
      R"({"dependencies":[{"scheme":"aftercorr","value":")" + std::to_string(array) + "\"}]}";
  const auto alone = live.submit({"/bin/true"}, one);
  ASSERT_FALSE(alone);
  EXPECT_THAT(alone.error().what, HasSubstr("only an array can wait task by task"));
}

TEST_F(LiveArrays, GivesBackWhatItsJournalHasFree) {
  const Live& live = shared(kFour);
  live.wait_one(live.job({"/bin/true"}, array_of(200)));
  const auto reply = live.call<msg::CompactReply>("journal.compact", msg::Empty{});
  ASSERT_TRUE(reply) << reply.error().what;
  EXPECT_GT(reply->bytes_after, 0);
  EXPECT_LE(reply->bytes_after, reply->bytes_before);
  EXPECT_EQ(live.wait_one(live.job({"/bin/true"})).result, "COMPLETED");
}

// ---- whoever dies ----

TEST_F(LiveArrays, EachIndexRunsOnceWhoeverKillsTheBroker) {
  const Live live(kFour);
  const auto array = live.job(noted(live, "sleep 0.02"), array_of(400));
  for (int kills = 0; kills < 5; ++kills) {
    const auto done = live.record(array).tasks_completed;
    ASSERT_TRUE(eventually([&] { return live.record(array).tasks_completed >= done + 20; }));
    live.kill_broker();
  }
  const auto over = live.wait_one(array);
  EXPECT_EQ(counts_of(over),
            "COMPLETED of 400: 0 pending, 0 running, 400 completed, 0 failed, 0 cancelled");
  const auto times = ran(live);
  EXPECT_EQ(times.size(), 400u);
  for (const auto& [index, n] : times) EXPECT_EQ(n, 1) << "index " << index;
}

TEST_F(LiveArrays, EachIndexEndsOnceThoughAgentAndBrokerAreKilled) {
  const Live live(kFour);
  const auto array = live.job(noted(live, "sleep 0.02"), array_of(200, {{"requeue", 20}}));
  for (int kills = 0; kills < 3; ++kills) {
    const auto done = live.record(array).tasks_completed;
    ASSERT_TRUE(eventually([&] { return live.record(array).tasks_completed >= done + 10; }));
    const auto agent = live.agent();
    testing::signal_process(agent, SIGKILL);
    live.kill_broker();
    ASSERT_TRUE(eventually([&] { return live.agent() != 0 && live.agent() != agent; }));
  }
  const auto over = live.wait_one(array);
  EXPECT_EQ(counts_of(over),
            "COMPLETED of 200: 0 pending, 0 running, 200 completed, 0 failed, 0 cancelled");
  EXPECT_EQ(ran(live).size(), 200u);
}

TEST_F(LiveArrays, WaitsForTheNextStartWithItsInstance) {
  Live live(kFour);
  const auto array = live.job(noted(live, "sleep 0.05"), array_of(100));
  ASSERT_TRUE(eventually([&] { return live.record(array).tasks_completed >= 10; }));
  live.stop();
  live.start();
  const auto over = live.wait_one(array);
  EXPECT_EQ(over.tasks_completed + over.tasks_cancelled, 100u) << counts_of(over);
  EXPECT_LE(over.tasks_cancelled, 4u) << "those that ran as the instance ended";
  EXPECT_EQ(over.tasks_pending, 0u);
}

}  // namespace
}  // namespace holon::instance
