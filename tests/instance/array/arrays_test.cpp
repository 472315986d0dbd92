// Arrays in a real instance: one job with many tasks, whatever is asked of it and whoever dies.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "msg/array.hpp"
#include "msg/queue.hpp"
#include "tests/instance/live.hpp"

namespace holon::instance {
namespace {

using testing::eventually;
using ::testing::HasSubstr;
using testing::JobOptions;
using testing::Live;
using testing::read_file;
using Ids = std::vector<std::uint64_t>;

const std::vector<std::string> kFour = {"--resources", "node=1/core=4"};

JobOptions array_of(std::uint64_t count, nlohmann::json ours = nlohmann::json::object(),
                    nlohmann::json system = nlohmann::json::object()) {
  JobOptions options;
  options.count = count;
  if (!ours.contains("array")) ours["array"] = nlohmann::json::object();
  system["holon"] = std::move(ours);
  options.system = system.dump();
  return options;
}

// Each task adds its index to the file `ran`.
std::vector<std::string> noted(const Live& live, const std::string& then) {
  return {"/bin/sh", "-c", "echo $HOLON_ARRAY_INDEX >> " + live.dir() + "/ran; " + then};
}

std::map<std::string, int> ran(const Live& live) {
  std::map<std::string, int> times;
  std::istringstream lines(read_file(live.dir() + "/ran"));
  for (std::string line; std::getline(lines, line);) ++times[line];
  return times;
}

std::string counts_of(const msg::JobRecord& array) {
  return fmt::format("{} of {}: {} pending, {} running, {} completed, {} failed, {} cancelled",
                     array.result, array.tasks, array.tasks_pending, array.tasks_running,
                     array.tasks_completed, array.tasks_failed, array.tasks_cancelled);
}

Ids ids_of(const std::vector<msg::JobRecord>& records) {
  Ids ids;
  for (const auto& record : records) ids.push_back(record.id);
  return ids;
}

TEST(LiveArrays, IsOneJobWithOneIdAndItsTasksBehindIt) {
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

TEST(LiveArrays, EachTaskHasAnEventLogOfItsOwn) {
  const Live live(kFour);
  live.job({"/bin/sh", "-c", "exit $HOLON_ARRAY_INDEX"}, array_of(3, {{"array", {{"first", 0}}}}));
  const auto array = live.wait_one(1);
  EXPECT_EQ(array.result, "FAILED");
  EXPECT_EQ(array.exit_code, 2) << "the highest of its tasks";
  EXPECT_EQ(array.tasks_failed, 2u);
  const auto info = live.call<msg::JobInfoReply>("job.info", msg::JobInfoRequest{4});
  ASSERT_TRUE(info) << info.error().what;
  EXPECT_EQ(info->job.exit_code, 2);
  std::string names;
  std::istringstream lines(info->eventlog);
  for (std::string line; std::getline(lines, line);)
    names += nlohmann::json::parse(line)["name"].get<std::string>() + " ";
  EXPECT_EQ(names, "submit validate depend priority alloc start finish release free clean ");
}

TEST(LiveArrays, ListsItsTasksInPages) {
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

TEST(LiveArrays, OneThatWaitsIsAFewRanges) {
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
  EXPECT_FALSE(live.record(1'000'001).reason.empty());
  live.cancel(1);
  const auto over = live.wait_one(1);
  EXPECT_EQ(counts_of(over),
            "CANCELED of 1000000: 0 pending, 0 running, 0 completed, 0 failed, 1000000 cancelled");
  EXPECT_EQ(live.record(777'777).result, "CANCELED");
}

TEST(LiveArrays, CancelsTasksBeforeTheyRunAndWhileTheyDo) {
  const Live live(kFour);
  live.job({"/bin/sh", "-c", "[ $HOLON_ARRAY_INDEX -gt 4 ] || exec sleep 1000"}, array_of(500));
  ASSERT_TRUE(eventually([&] { return live.record(1).tasks_running == 4; }));
  live.cancel(401);  // one of those that wait
  live.cancel(2);    // one that runs: the others go on in its place
  const auto waiting = live.record(401);
  EXPECT_EQ(waiting.result, "CANCELED");
  EXPECT_EQ(waiting.t_start, 0);
  EXPECT_EQ(live.wait_one(2).result, "CANCELED");
  for (const std::uint64_t id : {3, 4, 5}) live.cancel(id);
  const auto array = live.wait_one(1);
  EXPECT_EQ(counts_of(array),
            "FAILED of 500: 0 pending, 0 running, 495 completed, 0 failed, 5 cancelled");
}

TEST(LiveArrays, IsWaitedForByTaskAndAsAWhole) {
  const Live live(kFour);
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

JobOptions behind_each(std::uint64_t target, std::uint64_t count) {
  return array_of(
      count, {},
      {{"dependencies", {{{"scheme", "aftercorr"}, {"value", std::to_string(target)}}}}});
}

JobOptions behind_tasks(const std::string& scheme, const std::string& tasks) {
  JobOptions options;
  options.system =
      nlohmann::json{{"dependencies", {{{"scheme", scheme}, {"value", tasks}}}}}.dump();
  return options;
}

TEST(LiveArrays, SomeOfItsTasksAreWaitedForByTheirIndices) {
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

TEST(LiveArrays, TasksThatAreNotThereAreNotWaitedFor) {
  const Live live(kFour);
  live.wait_one(live.job({"/bin/true"}, array_of(5)));
  const auto plain = live.job({"/bin/true"});
  const auto refusal = [&](const char* scheme, const std::string& tasks) {
    const auto reply = live.submit({"/bin/true"}, behind_tasks(scheme, tasks));
    return reply ? std::string("taken") : to_string(reply.error());
  };
  EXPECT_THAT(refusal("afterok", "1.3-9"), HasSubstr("its indices are 1 to 5"));
  EXPECT_THAT(refusal("afterok", "99.1"), HasSubstr("99"));
  EXPECT_THAT(refusal("afterok", std::to_string(plain) + ".1"), HasSubstr("is no array"));
  EXPECT_THAT(refusal("afterok", "1."), HasSubstr("names no tasks"));
  EXPECT_THAT(refusal("afterok", "1.x"), HasSubstr("names no tasks"));
  EXPECT_THAT(refusal("aftercorr", "1.2"), HasSubstr("aftercorr takes an array"));
}

// Whoever waits for many tasks is looked at for each of them, and reads their ends once.
TEST(LiveArrays, ManyTasksAreWaitedForOneAtATime) {
  const Live live(kFour);
  const auto array = live.job(noted(live, "exit 0"), array_of(2'000));
  const auto follows = live.job({"/bin/sh", "-c", "wc -l < " + live.dir() + "/ran"},
                                behind_tasks("afterok", "1.2-2000"));
  EXPECT_EQ(live.wait_one(follows).result, "COMPLETED");
  EXPECT_EQ(live.wait_one(array).result, "COMPLETED");
}

JobOptions open_array_of(std::uint64_t count, nlohmann::json array = nlohmann::json::object()) {
  array["open"] = true;
  return array_of(count, {{"array", std::move(array)}});
}

msg::ExtendRequest more_of(std::uint64_t array, std::uint64_t tasks,
                           const std::string& indices = "", const std::string& key = "") {
  return {array, tasks, indices, {}, false, key};
}

msg::ExtendRequest close_of(std::uint64_t array) {
  return {array, 0, "", {}, true, ""};
}

TEST(LiveArrays, AnOpenOneGetsMoreTasksUntilItIsClosed) {
  const Live live(kFour);
  const auto array = live.job(noted(live, "exit 0"), open_array_of(2));
  const auto follows = live.job({"/bin/true"}, behind_tasks("afterok", std::to_string(array)));
  ASSERT_TRUE(eventually([&] { return live.record(array).tasks_completed == 2; }));
  auto open = live.record(array);
  EXPECT_TRUE(open.tasks_open);
  EXPECT_EQ(open.state, "RUN");
  EXPECT_THAT(open.reason, HasSubstr("holon close 1"));
  const auto more = live.call<msg::ExtendReply>("job.extend", more_of(array, 3));
  ASSERT_TRUE(more) << more.error().what;
  EXPECT_EQ(more->indices, "3-5");
  EXPECT_EQ(more->ids, fmt::format("{}-{}", array + 3, array + 5));
  const auto jump = live.call<msg::ExtendReply>("job.extend", more_of(array, 2, "10,20"));
  ASSERT_TRUE(jump) << jump.error().what;
  EXPECT_EQ(jump->indices, "10,20");
  live.kill_broker();
  const auto last = live.call<msg::ExtendReply>("job.extend", more_of(array, 1));
  ASSERT_TRUE(last) << last.error().what;
  EXPECT_EQ(last->indices, "21");
  ASSERT_TRUE(eventually([&] { return live.record(array).tasks_completed == 8; }));
  EXPECT_EQ(live.record(array).tasks, 8u);
  EXPECT_EQ(live.record(follows).state, "DEPEND") << "it is still open";
  live.kill_broker();
  EXPECT_EQ(live.record(follows).state, "DEPEND");
  ASSERT_TRUE(live.call<msg::ExtendReply>("job.extend", close_of(array)));
  EXPECT_EQ(live.wait_one(array).result, "COMPLETED");
  EXPECT_EQ(live.wait_one(follows).result, "COMPLETED");
  EXPECT_EQ(
      ran(live),
      (std::map<std::string, int>{
          {"1", 1}, {"2", 1}, {"3", 1}, {"4", 1}, {"5", 1}, {"10", 1}, {"20", 1}, {"21", 1}}));
  EXPECT_EQ(live.record(array + 7).index, 20);
  EXPECT_FALSE(live.record(array).tasks_open);
  EXPECT_FALSE(live.call<msg::JobInfoReply>("job.info", msg::JobInfoRequest{array + 9}));
  EXPECT_FALSE(live.call<msg::ExtendReply>("job.extend", more_of(array, 1))) << "it is over";
}

TEST(LiveArrays, OneThatIsClosedEndsWithItsLastTask) {
  const Live live(kFour);
  mkfifo((live.dir() + "/gate").c_str(), 0600);
  const auto array =
      live.job({"/bin/sh", "-c", "read line < " + live.dir() + "/gate"}, open_array_of(1));
  ASSERT_TRUE(live.call<msg::ExtendReply>("job.extend", close_of(array)));
  const auto late = live.call<msg::ExtendReply>("job.extend", more_of(array, 1));
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().what, HasSubstr("is closed"));
  live.kill_broker();
  EXPECT_FALSE(live.call<msg::ExtendReply>("job.extend", more_of(array, 1)));
  live.release("gate");
  EXPECT_EQ(live.wait_one(array).result, "COMPLETED");
}

TEST(LiveArrays, MoreTasksComeOnceForOneKey) {
  const Live live(kFour);
  const auto array = live.job(noted(live, "exit 0"), open_array_of(1));
  const auto once = live.call<msg::ExtendReply>("job.extend", more_of(array, 3, "", "k"));
  ASSERT_TRUE(once) << once.error().what;
  live.kill_broker();
  const auto again = live.call<msg::ExtendReply>("job.extend", more_of(array, 3, "", "k"));
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(again->ids, once->ids);
  EXPECT_EQ(again->indices, once->indices);
  EXPECT_FALSE(live.call<msg::ExtendReply>("job.extend", more_of(array, 4, "", "k")));
  EXPECT_EQ(live.record(array).tasks, 4u);
  ASSERT_TRUE(live.call<msg::ExtendReply>("job.extend", close_of(array)));
  EXPECT_EQ(live.wait_one(array).tasks_completed, 4u);
}

TEST(LiveArrays, WhatAnOpenOneCannotHaveIsRefusedAsAWhole) {
  const Live live(kFour);
  const auto array = live.job({"/bin/true"}, open_array_of(5, {{"first", 10}}));
  const auto plain = live.job({"/bin/true"});
  const auto fixed = live.job(live.gated("gate"), array_of(2));
  const auto refusal = [&](const msg::ExtendRequest& ask) {
    const auto reply = live.call<msg::ExtendReply>("job.extend", ask);
    return reply ? std::string("taken") : to_string(reply.error());
  };
  EXPECT_THAT(refusal(more_of(array, 2, "13-14")), HasSubstr("13 is not above 14"));
  EXPECT_THAT(refusal(more_of(array, 3, "20-21")), HasSubstr("2 indices for 3 tasks"));
  EXPECT_THAT(refusal(more_of(array, 1, "x")), HasSubstr("indices"));
  EXPECT_THAT(refusal(more_of(array, 0)), HasSubstr("at least 1"));
  EXPECT_THAT(refusal(more_of(array, 100'001)), HasSubstr("room for 100000 more"));
  EXPECT_THAT(refusal({array, 1, "", {"a"}, false, ""}), HasSubstr("have no entries"));
  EXPECT_THAT(refusal(more_of(plain, 1)), HasSubstr("is no array"));
  EXPECT_THAT(refusal(more_of(array + 2, 1)), HasSubstr("is task 11 of array"));
  EXPECT_THAT(refusal(more_of(fixed, 1)), HasSubstr("was not submitted with --open"));
  EXPECT_THAT(refusal(more_of(999'999, 1)), HasSubstr("999999"));
  const auto behind = live.submit({"/bin/true"}, behind_each(array, 5));
  ASSERT_FALSE(behind);
  EXPECT_THAT(behind.error().what, HasSubstr("is open"));
  EXPECT_EQ(live.record(array).tasks, 5u);
  live.cancel(array);
  EXPECT_NE(live.wait_one(array).result, "") << "a cancel closes it";
  live.cancel(fixed);
}

TEST(LiveArrays, EntriesOfAnOpenOneAreKeptWithIt) {
  const Live live(kFour);
  const auto array = live.job({"/bin/sh", "-c", "echo $HOLON_ENTRY >> " + live.dir() + "/ran"},
                              open_array_of(1, {{"entries", {"a"}}}));
  ASSERT_TRUE(live.call<msg::ExtendReply>("job.extend",
                                          msg::ExtendRequest{array, 2, "", {"b", "c"}, false, ""}));
  const auto few =
      live.call<msg::ExtendReply>("job.extend", msg::ExtendRequest{array, 2, "", {"d"}, false, ""});
  ASSERT_FALSE(few);
  EXPECT_THAT(few.error().what, HasSubstr("1 entries for 2 tasks"));
  const auto none =
      live.call<msg::ExtendReply>("job.extend", msg::ExtendRequest{array, 2, "", {}, false, ""});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().what, HasSubstr("has an entry, and there is none for the 2 more"));
  const auto bytes = live.call<msg::ExtendReply>(
      "job.extend", msg::ExtendRequest{array, 1, "", {"\xe9t\xe9"}, false, ""});
  ASSERT_FALSE(bytes);
  EXPECT_THAT(bytes.error().what, HasSubstr("is not UTF-8"));
  live.kill_broker();
  ASSERT_TRUE(
      live.call<msg::ExtendReply>("job.extend", msg::ExtendRequest{array, 1, "", {"d"}, true, ""}));
  EXPECT_EQ(live.wait_one(array).tasks_completed, 4u);
  EXPECT_EQ(ran(live), (std::map<std::string, int>{{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}}));
  const auto info = live.call<msg::JobInfoReply>("job.info", msg::JobInfoRequest{array});
  EXPECT_THAT(info->jobspec, HasSubstr(R"(["a","b","c","d"])"));
  EXPECT_THAT(info->eventlog, HasSubstr(R"("array-extend","context":{"tasks":2})"));
  EXPECT_THAT(info->eventlog, HasSubstr("array-close"));
}

TEST(LiveArrays, EntriesOfAnOpenOneAreNoMoreThanThoseOfOneSubmission) {
  const Live live(kFour);
  const auto array = live.job({"/bin/true"}, open_array_of(1, {{"entries", {"a"}}}));
  const msg::ExtendRequest many{
      array, 100, "", std::vector<std::string>(100, std::string(100'000, 'x')), false, ""};
  ASSERT_TRUE(live.call<msg::ExtendReply>("job.extend", many));
  const auto more = live.call<msg::ExtendReply>("job.extend", many);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, Errc::out_of_range);
  EXPECT_THAT(more.error().what, HasSubstr("would have 20000001 bytes; at most 16777216"));
  EXPECT_EQ(live.record(array).tasks, 101u);
  live.cancel(array);
  EXPECT_NE(live.wait_one(array).result, "");
}

// A submission has 131,072 values and 8 MiB at most. An array that has become larger than that by
// and by was not read again: the broker took the journal for damaged, and all its tasks for lost.
TEST(LiveArrays, AnOpenOneThatIsLargerThanASubmissionMayBeOutlivesItsBroker) {
  const Live live(kFour);
  constexpr std::uint64_t kFirst = 70'000, kMore = 80'000;
  const std::vector<std::string> first(kFirst, "a");
  const auto array = live.job({"/bin/true"}, open_array_of(kFirst, {{"entries", first}}));
  const msg::ExtendRequest more{
      array, kMore, "", std::vector<std::string>(kMore, std::string(100, 'b')), false, ""};
  ASSERT_TRUE(live.call<msg::ExtendReply>("job.extend", more));
  live.kill_broker();
  const auto known = live.record(array);
  EXPECT_EQ(known.tasks, kFirst + kMore);
  EXPECT_TRUE(known.tasks_open);
  EXPECT_EQ(known.result, "");
  live.cancel(array);
  EXPECT_EQ(live.wait_one(array).result, "CANCELED");
}

TEST(LiveArrays, OneWhoseDependencyFailsEndsAsAWhole) {
  const Live live(kFour);
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

TEST(LiveArrays, UrgencyAndHoldsAreOfTheWholeOrOfATask) {
  const Live live({"--resources", "node=1/core=1"});
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

TEST(LiveArrays, RefusesWhatCannotBeOne) {
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

TEST(LiveArrays, SoManyTasksRunAtATime) {
  const Live live(kFour);
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

TEST(LiveArrays, StopsWhenMoreHaveFailedThanMay) {
  const Live live({"--resources", "node=1/core=1"});
  const auto array = live.job({"/bin/sh", "-c", "exit $((HOLON_ARRAY_INDEX > 5))"},
                              array_of(1'000, {{"array", {{"max_fails", 2}}}}));
  const auto over = live.wait_one(array);
  EXPECT_EQ(counts_of(over),
            "FAILED of 1000: 0 pending, 0 running, 5 completed, 3 failed, 992 cancelled");
  EXPECT_EQ(over.reason, "3 of its tasks failed, and 2 may");
  EXPECT_EQ(live.record(array + 900).reason, over.reason);
}

TEST(LiveArrays, EachTaskMayWaitForTheSameOneOfAnotherArray) {
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
  EXPECT_THAT(waits.reason, HasSubstr("the same task of array 1, to complete"));
  const auto failed = live.record(third + 3);
  EXPECT_EQ(failed.result, "FAILED");
  EXPECT_THAT(failed.reason, HasSubstr("can never be met"));
  live.kill_broker();
  live.release("gate");
  EXPECT_EQ(counts_of(live.wait_one(third)),
            "FAILED of 200: 0 pending, 0 running, 199 completed, 1 failed, 0 cancelled");
  EXPECT_EQ(ran(live).size(), 199u);
  const auto late = live.job({"/bin/true"}, behind_each(first, 200));
  EXPECT_EQ(live.wait_one(late).tasks_completed, 199u) << "of one that is over, too";
}

TEST(LiveArrays, OnlyArraysOfOneSizeCanWaitTaskByTask) {
  const Live live(kFour);
  const auto array = live.job({"/bin/true"}, array_of(5));
  const auto job = live.job({"/bin/true"});
  const auto other_size = live.submit({"/bin/true"}, behind_each(array, 6));
  ASSERT_FALSE(other_size);
  EXPECT_THAT(other_size.error().what, HasSubstr("has 5 tasks, and this one 6"));
  const auto no_array = live.submit({"/bin/true"}, behind_each(job, 6));
  ASSERT_FALSE(no_array);
  EXPECT_THAT(no_array.error().what, HasSubstr("is no array"));
  JobOptions one = behind_each(array, 1);
  one.system = R"({"dependencies":[{"scheme":"aftercorr","value":"1"}]})";
  const auto alone = live.submit({"/bin/true"}, one);
  ASSERT_FALSE(alone);
  EXPECT_THAT(alone.error().what, HasSubstr("only an array can wait task by task"));
}

TEST(LiveArrays, GivesBackWhatItsJournalHasFree) {
  const Live live(kFour);
  live.wait_one(live.job({"/bin/true"}, array_of(200)));
  const auto reply = live.call<msg::CompactReply>("journal.compact", msg::Empty{});
  ASSERT_TRUE(reply) << reply.error().what;
  EXPECT_GT(reply->bytes_after, 0);
  EXPECT_LE(reply->bytes_after, reply->bytes_before);
  EXPECT_EQ(live.wait_one(live.job({"/bin/true"})).result, "COMPLETED");
}

// ---- whoever dies ----

TEST(LiveArrays, EachIndexRunsOnceWhoeverKillsTheBroker) {
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

TEST(LiveArrays, EachIndexEndsOnceThoughAgentAndBrokerAreKilled) {
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

TEST(LiveArrays, WaitsForTheNextStartWithItsInstance) {
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
