// Open arrays in a real instance: tasks that come by and by, until it is closed.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "msg/array.hpp"
#include "tests/instance/array/array_jobs.hpp"
#include "tests/instance/shared_live.hpp"

namespace holon::instance {
namespace {

using testing::array_of;
using testing::behind_tasks;
using testing::counts_of;
using testing::eventually;
using ::testing::HasSubstr;
using testing::JobOptions;
using testing::kFour;
using testing::Live;
using testing::noted;
using testing::ran;

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

class OpenArrays : public testing::SharedLive {};

TEST_F(OpenArrays, AnOpenOneGetsMoreTasksUntilItIsClosed) {
  const Live live(kFour);
  const auto array = live.job(noted(live, "exit 0"), open_array_of(2));
  const auto follows = live.job({"/bin/true"}, behind_tasks("afterok", std::to_string(array)));
  ASSERT_TRUE(eventually([&] { return live.record(array).tasks_completed == 2; }));
  auto open = live.record(array);
  EXPECT_TRUE(open.tasks_open);
  EXPECT_EQ(open.state, "RUN");
  EXPECT_THAT(open.reason, HasSubstr("holon close 1"));
  EXPECT_EQ(open.waits_for, "tasks");
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

TEST_F(OpenArrays, OneThatIsClosedEndsWithItsLastTask) {
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

TEST_F(OpenArrays, MoreTasksComeOnceForOneKey) {
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

TEST_F(OpenArrays, WhatAnOpenOneCannotHaveIsRefusedAsAWhole) {
  const Live& live = shared(kFour);
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
  EXPECT_THAT(refusal(more_of(array + 2, 1)), HasSubstr("is a task of array"));
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

TEST_F(OpenArrays, EntriesOfAnOpenOneAreKeptWithIt) {
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

TEST_F(OpenArrays, EntriesOfAnOpenOneAreNoMoreThanThoseOfOneSubmission) {
  const Live& live = shared(kFour);
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
TEST_F(OpenArrays, AnOpenOneThatIsLargerThanASubmissionMayBeOutlivesItsBroker) {
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

}  // namespace
}  // namespace holon::instance
