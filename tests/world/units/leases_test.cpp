// Leases in a tree of three levels: an end that is moved at the top is that of all below, what does
// not fit into the time left says so and what helps, and every level ends in order. Brokers and
// agents are real; time is virtual.
#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>

#include "instance/basics/clock.hpp"
#include "msg/grant.hpp"
#include "msg/schedule.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "tests/world/units/tree_scene.hpp"

namespace holon::world {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Micros kTwoHours = 7'200 * kSecond;
constexpr Duration kAMinute = 60'000;
// A parent's word is on its way for a while, at each level.
constexpr double kToBeHeard = 2'000;

class LeasesTest : public TreeScene {
 protected:
  Status change(std::uint64_t id, const msg::UpdateRequest& what, const std::string& path = "") {
    msg::UpdateRequest ask = what;
    ask.ids = {id};
    const auto done = call<msg::Empty>("job.update", ask, path);
    return done ? Status() : tl::unexpected(done.error());
  }
  // By so many ms; negative: shorter.
  Status extend(std::uint64_t id, Duration by, const std::string& path = "") {
    msg::UpdateRequest ask;
    ask.extend = by;
    return change(id, ask, path);
  }
  // So that this much of its limit is left from now on.
  Status leave(std::uint64_t id, Duration left, const std::string& path = "") {
    msg::UpdateRequest ask;
    ask.limit = instance::wall_clock_ms() - record(id, path).t_alloc + left;
    return change(id, ask, path);
  }
  double end_of(const std::string& path) {
    const auto node = call<msg::TreeNode>("status", msg::Empty(), path);
    EXPECT_TRUE(node) << to_string(node.error());
    return node ? double(node->expiration) : 0;
  }
  double end_of_job(std::uint64_t id, const std::string& path = "") {
    return double(record(id, path).expiration);
  }
  msg::Explained why(std::uint64_t id, const std::string& path = "") {
    msg::ExplainRequest ask;
    ask.ids = {id};
    const auto reply = call<msg::ExplainReply>("explain", ask, path);
    EXPECT_TRUE(reply) << to_string(reply.error());
    return reply && reply->jobs.size() == 1 ? reply->jobs.front() : msg::Explained();
  }
  std::string help_in(const msg::Explained& about) {
    for (const auto& remedy : about.remedies)
      if (remedy.kind == "lease") return remedy.text;
    return "";
  }
};

// /1 with ten minutes, /1/1 and a job in it without a limit of their own, and a job with one.
class ThreeLevels : public LeasesTest {
 protected:
  void begin() {
    begin_root({}, 1, "node=1/core=4");
    child(3, {}, "", 600);
    child(2, {}, "/1");
    open_ = work(kTwoHours, {}, "/1/1");
    limited_ = work(kTwoHours, {.limit = 300}, "/1/1");
    when_running(open_, "/1/1");
    when_running(limited_, "/1/1");
    own_end_ = end_of_job(limited_, "/1/1");
  }
  // All that has no nearer end of its own has that of /1.
  void expect_one_end(double end) {
    pass(kSecond);
    EXPECT_NEAR(end_of_job(1), end, 1);
    EXPECT_NEAR(end_of("/1"), end, kToBeHeard);
    EXPECT_NEAR(end_of_job(1, "/1"), end, kToBeHeard);
    EXPECT_NEAR(end_of("/1/1"), end, kToBeHeard);
    EXPECT_NEAR(end_of_job(open_, "/1/1"), end, kToBeHeard);
    EXPECT_NEAR(end_of_job(limited_, "/1/1"), std::min(end, own_end_), kToBeHeard);
  }
  std::uint64_t open_ = 0, limited_ = 0;
  double own_end_ = 0;
};

TEST_F(ThreeLevels, AnEndThatIsMovedIsThatOfAllBelow) {
  begin();
  double end = end_of_job(1);
  expect_one_end(end);
  ASSERT_TRUE(extend(1, 30 * kAMinute));
  expect_one_end(end += 30 * double(kAMinute));
  // Two in a row, of which the first may still be on its way.
  ASSERT_TRUE(extend(1, -5 * kAMinute));
  ASSERT_TRUE(extend(1, -10 * kAMinute));
  expect_one_end(end -= 15 * double(kAMinute));
  ASSERT_TRUE(leave(1, 2 * kAMinute));
  end = end_of_job(1);
  EXPECT_LT(end, own_end_);
  expect_one_end(end);
  ASSERT_TRUE(extend(1, 30 * kAMinute)) << "who has a limit of their own has it again";
  expect_one_end(end + 30 * double(kAMinute));
}

TEST_F(ThreeLevels, AnEndThatIsMovedWhileABrokerBelowIsAwayIsHeardWhenItIsBack) {
  begin();
  double end = end_of_job(1);
  for (const char* path : {"/1", "/1/1"}) {
    instance(path).broker()->kill("by the test");
    ASSERT_TRUE(extend(1, 30 * kAMinute));
    end += 30 * double(kAMinute);
    ASSERT_TRUE(until([&] { return is_up(path); }));
    expect_one_end(end);
    instance(path).broker()->kill("by the test");
    ASSERT_TRUE(leave(1, 2 * kAMinute));
    end = end_of_job(1);
    ASSERT_TRUE(until([&] { return is_up(path); }));
    expect_one_end(end);
  }
  when_over(1);
  for (const auto job : {open_, limited_}) {
    const auto over = record(job, "/1/1");
    EXPECT_EQ(over.result, "TIMEOUT") << over.reason;
    EXPECT_NEAR(double(over.t_finish), end, 2 * kToBeHeard);
  }
}

// What it has had cannot be taken back.
TEST_F(ThreeLevels, ALimitThatIsOverAlreadyIsRefusedAndNothingChanges) {
  begin();
  pass(200 * kSecond);
  const double end = end_of_job(1);
  msg::UpdateRequest ask;
  ask.limit = 2 * kAMinute;
  const auto refused = change(1, ask);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::invalid_argument);
  EXPECT_THAT(refused.error().what, HasSubstr("has had its resources for 3m"));
  expect_one_end(end);
}

// Nobody could keep such a promise: the end has begun.
TEST_F(LeasesTest, WhatHasReachedItsEndIsNotExtended) {
  begin_root({}, 1, "node=1/core=4");
  child(2, {}, "", 60);
  const auto job = work(kTwoHours, {.ignores_term = true}, "/1");
  when_running(job, "/1");
  ASSERT_TRUE(until([&] { return double(instance::wall_clock_ms()) > end_of_job(1) + 1'000; }));
  EXPECT_EQ(record(1).state, "RUN");
  const auto refused = extend(1, 30 * kAMinute);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::denied);
  EXPECT_THAT(refused.error().what, HasSubstr("reached its limit"));
  const auto over = when_over(1);
  EXPECT_EQ(over.result, "TIMEOUT") << over.reason;
}

TEST_F(LeasesTest, AnInstanceThatWaitsBeginsWithTheLimitThatItHasThen) {
  begin_root({}, 1, "node=1/core=2");
  when_running(work(60 * kSecond, {.tasks = 2, .limit = 100}));
  const auto longer = submit_child(1, {}, "", 600), shorter = submit_child(1, {}, "", 600);
  ASSERT_TRUE(extend(longer, 30 * kAMinute));
  ASSERT_TRUE(extend(shorter, -5 * kAMinute));
  const std::map<std::uint64_t, double> limits = {{longer, 2'400'000}, {shorter, 300'000}};
  for (const auto& [id, limit] : limits) EXPECT_EQ(record(id).state, "SCHED");
  for (const auto& [id, limit] : limits) {
    const std::string path = "/" + std::to_string(id);
    ASSERT_TRUE(until([&] { return is_up(path); }));
    EXPECT_NEAR(end_of(path), double(record(id).t_alloc) + limit, kToBeHeard);
  }
}

// An instance's own time is that of the one above at most, and the one that could give more is
// named.
TEST_F(LeasesTest, MoreThanTheInstanceAboveHasIsRefusedWithWhatItHasAndWhoCanGiveMore) {
  begin_root({}, 1, "node=1/core=4");
  child(3, {}, "", 600);
  child(2, {}, "/1", 300);
  const auto refused = extend(1, 30 * kAMinute, "/1");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unsatisfiable);
  EXPECT_THAT(refused.error().what, AllOf(HasSubstr("its instance ends in 9m"),
                                          HasSubstr("the longest limit it can have"),
                                          HasSubstr("holon update /1 -t +26m")));
  ASSERT_TRUE(extend(1, 26 * kAMinute));
  pass(kSecond);
  EXPECT_TRUE(extend(1, 30 * kAMinute, "/1"));
}

TEST_F(LeasesTest, OneWithoutALimitOfItsOwnIsSaidToEndWithTheInstanceAbove) {
  begin_root({}, 1, "node=1/core=4");
  child(3, {}, "", 600);
  child(2, {}, "/1");
  const auto refused = extend(1, 30 * kAMinute, "/1");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::invalid_argument);
  EXPECT_THAT(refused.error().what,
              AllOf(HasSubstr("has no time limit of its own"), HasSubstr("in 9m"),
                    HasSubstr("holon update /1 -t +30m")));
  EXPECT_TRUE(extend(1, 30 * kAMinute));
}

TEST_F(LeasesTest, AJobThatDoesNotFitIsRefusedWithTheTimeLeftAndWhatHelps) {
  begin_root({}, 1, "node=1/core=4");
  child(2, {}, "", 600);
  const auto refused = submit_work(kSecond, {.limit = 1'200}, "/1");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unsatisfiable);
  EXPECT_THAT(refused.error().what,
              AllOf(HasSubstr("asks for 20m"), HasSubstr("this instance ends in 9m"),
                    HasSubstr("a limit of 9m"), HasSubstr("holon update /1 -t +12m")));
  ASSERT_TRUE(extend(1, 12 * kAMinute));
  pass(kSecond);
  EXPECT_TRUE(submit_work(kSecond, {.limit = 1'200}, "/1")) << "the advice was good";
}

// An instance without a limit of its own ends with one above: a limit that it has not got could not
// be moved.
TEST_F(LeasesTest, TheCommandIsForTheInstanceWhoseLimitTheEndIs) {
  begin_root({}, 1, "node=1/core=4");
  child(3, {}, "", 600);
  child(2, {}, "/1");
  const auto refusal = [&] {
    const auto refused = submit_work(kSecond, {.limit = 1'200}, "/1/1");
    return refused ? std::string() : refused.error().what;
  };
  EXPECT_THAT(refusal(), HasSubstr("holon update /1 -t +12m"));
  // From now on it has one.
  msg::UpdateRequest ask;
  ask.limit = 5 * kAMinute;
  ASSERT_TRUE(change(1, ask, "/1"));
  pass(kSecond);
  EXPECT_THAT(refusal(), HasSubstr("holon update /1/1 -t +"));
  ASSERT_TRUE(extend(1, 12 * kAMinute));
  ASSERT_TRUE(extend(1, 16 * kAMinute, "/1")) << "as the command has it";
  pass(kSecond);
  EXPECT_EQ(refusal(), "");
}

TEST_F(LeasesTest, NoCommandIsNamedForATaskOfAnArrayOfChildren) {
  begin_root({}, 1, "node=1/core=4");
  resource::JobShape shape;
  shape.duration_seconds = 600;
  shape.command = {"instance", "0", "1"};
  shape.cwd = "/";
  auto spec = *resource::jobspec_for(shape);
  spec.other_attributes = R"({"system":{"holon":{"array":{}}}})";
  msg::SubmitRequest ask;
  ask.jobspec = resource::write_jobspec(spec);
  ask.user = "ada";
  ask.is_instance = true;
  const auto array = call<msg::SubmitReply>("submit", ask);
  ASSERT_TRUE(array) << to_string(array.error());
  const std::string task = "/" + std::to_string(array->first_id + 1);
  ASSERT_TRUE(until([&] { return is_up(task); }));
  const auto refused = submit_work(kSecond, {.limit = 1'200}, task);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what,
              AllOf(HasSubstr("a limit of 9m"), Not(HasSubstr("holon update"))));
}

// Nobody is above it who could give more.
TEST_F(LeasesTest, ARootThatEndsNamesAShorterLimitOnly) {
  begin_root({}, 1, "node=1/core=4", 600'000);
  const auto refused = submit_work(kSecond, {.limit = 1'200});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what,
              AllOf(HasSubstr("this instance ends in 9m"), HasSubstr("a limit of 9m"),
                    Not(HasSubstr("holon update"))));
}

TEST_F(LeasesTest, AJobThatNoLongerFitsSaysWhatHelpsAndStartsByItselfOnceThereIsTime) {
  begin_root({}, 1, "node=1/core=4");
  child(1, {}, "", 3'600);
  const auto first = work(200 * kSecond, {.limit = 600}, "/1");
  const auto second = work(kSecond, {.limit = 1'200}, "/1");
  when_running(first, "/1");
  ASSERT_TRUE(leave(1, 10 * kAMinute));
  pass(kSecond);
  const auto waits = record(second, "/1");
  EXPECT_EQ(waits.waits_for, "lease");
  EXPECT_THAT(waits.reason, AllOf(HasSubstr("asks for 20m"), HasSubstr("left")));
  const auto about = why(second, "/1");
  EXPECT_EQ(about.waits_for, "lease");
  EXPECT_EQ(help_in(about), "holon update /1 -t +12m");
  // A shorter one goes on meanwhile, in front of which it stands.
  const auto third = work(kSecond, {.limit = 60}, "/1");
  EXPECT_EQ(when_over(third, "/1").result, "COMPLETED");
  EXPECT_EQ(record(second, "/1").state, "SCHED");
  ASSERT_TRUE(extend(1, 15 * kAMinute));
  EXPECT_EQ(when_over(second, "/1").result, "COMPLETED");
}

// What is missing is of the time for which it is planned, which is more than its limit.
TEST_F(LeasesTest, AJobThatIsPlannedForLongerThanItsLimitSaysHowMuchIsMissing) {
  begin_root({}, 1, "node=1/core=4");
  child(1, {"queue.duration-offset=5m"}, "", 600);
  const auto waits = work(kSecond, {.limit = 400}, "/1");
  pass(kSecond);
  ASSERT_EQ(record(waits, "/1").waits_for, "lease");
  EXPECT_EQ(help_in(why(waits, "/1")), "holon update /1 -t +3m");
  ASSERT_TRUE(extend(1, 3 * kAMinute));
  EXPECT_EQ(when_over(waits, "/1").result, "COMPLETED");
}

// It would fit into what is left, and others have the cores for too long.
TEST_F(LeasesTest, AJobForWhichThereIsNoRoomBeforeTheEndSaysWhatHelps) {
  begin_root({}, 1, "node=1/core=4");
  child(1, {}, "", 600);
  when_running(work(kTwoHours, {.limit = 500}, "/1"), "/1");
  const auto waits = work(kSecond, {.limit = 300}, "/1");
  pass(kSecond);
  const auto about = why(waits, "/1");
  EXPECT_THAT(about.reason, AllOf(HasSubstr("nor is there room for it before"), HasSubstr("left")));
  EXPECT_THAT(help_in(about), HasSubstr("holon update /1 -t +"));
}

TEST_F(LeasesTest, WhoIsPlannedForTheEndOfAnInstanceIsPlannedForItsNewOne) {
  begin_root({"queue.policy=easy"}, 1, "node=1/core=2");
  child(2, {}, "", 600);
  const auto next = work(kSecond, {.tasks = 2, .limit = 60});
  const auto planned = [&] {
    pass(200 * kMs);
    return double(record(next).t_estimate);
  };
  EXPECT_NEAR(planned(), end_of_job(1), 1);
  ASSERT_TRUE(extend(1, 30 * kAMinute));
  EXPECT_NEAR(planned(), end_of_job(1), 1);
  ASSERT_TRUE(leave(1, kAMinute));
  EXPECT_NEAR(planned(), end_of_job(1), 1);
  EXPECT_EQ(when_over(next).result, "COMPLETED");
  EXPECT_EQ(record(1).result, "TIMEOUT");
}

// The same one level further down.
TEST_F(LeasesTest, WhoIsPlannedInAChildIsPlannedAgainWhenTheEndOfItsNeighbourIsMovedFromAbove) {
  begin_root({}, 1, "node=1/core=2");
  child(2, {"queue.policy=easy"}, "", 600);
  child(2, {}, "/1");
  const auto next = work(kSecond, {.tasks = 2, .limit = 60}, "/1");
  pass(kSecond);
  EXPECT_EQ(record(next, "/1").t_estimate, 0) << "its neighbour has all of the time";
  msg::UpdateRequest ask;
  ask.limit = 5 * kAMinute;
  ASSERT_TRUE(change(1, ask, "/1"));
  pass(kSecond);
  EXPECT_NEAR(double(record(next, "/1").t_estimate), end_of_job(1, "/1"), 1);
  EXPECT_EQ(when_over(next, "/1").result, "COMPLETED");
}

// It was asked for without an end, and is there as long as the child.
TEST_F(LeasesTest, WhatAChildHasBeyondItsOwnToItsEndFollowsThatEnd) {
  begin_root({"queue.policy=easy"}, 1, "node=1/core=4");
  child(1, {}, "", 600);
  resource::JobShape shape;
  shape.command = {"grant"};
  const auto got = call<msg::GrantAnswer>(
      "grant.ask", msg::GrantAsk{resource::write_jobspec(*resource::jobspec_for(shape))}, "/1");
  ASSERT_TRUE(got) << to_string(got.error());
  ASSERT_TRUE(got->is_here);
  const std::uint64_t grant = 2;
  EXPECT_NEAR(end_of_job(grant), end_of_job(1), 1);
  const auto next = work(kSecond, {.tasks = 4, .limit = 60});
  const auto planned = [&] {
    pass(kSecond);
    return double(record(next).t_estimate);
  };
  for (const Duration by : {30 * kAMinute, -20 * kAMinute}) {
    ASSERT_TRUE(extend(1, by));
    EXPECT_NEAR(end_of_job(grant), end_of_job(1), 1);
    EXPECT_NEAR(planned(), end_of_job(1), 1);
  }
  pass(700 * kSecond);
  EXPECT_EQ(record(grant).state, "RUN") << "the child's first end is over, and the child is not";
  EXPECT_EQ(call<msg::TreeNode>("status", msg::Empty(), "/1")->cores, 2);
  EXPECT_EQ(when_over(next).result, "COMPLETED");
  EXPECT_EQ(record(1).result, "TIMEOUT");
}

// It has a limit of its own, which was behind the child's end as it came, and is not behind the
// next one: what the child places there goes by it from the beginning.
TEST_F(LeasesTest, WhatAChildHasBeyondItsOwnForATimeIsNotUsedForLongerWhenItsEndIsMoved) {
  begin_root({}, 1, "node=1/core=2");
  child(1, {"queue.policy=easy"}, "", 600);
  resource::JobShape shape;
  shape.command = {"grant"};
  shape.duration_seconds = 1'200;
  const auto got = call<msg::GrantAnswer>(
      "grant.ask", msg::GrantAsk{resource::write_jobspec(*resource::jobspec_for(shape))}, "/1");
  ASSERT_TRUE(got) << to_string(got.error());
  ASSERT_TRUE(got->is_here);
  const std::uint64_t grant = 2;
  ASSERT_TRUE(extend(1, 60 * kAMinute));
  pass(kSecond);
  const double over = double(record(grant).t_alloc) + 1'200'000;
  EXPECT_NEAR(end_of_job(grant), over, 1);
  // Both cores for half an hour, which is longer than one of them is here.
  const auto wide = work(1'800 * kSecond, {.tasks = 2, .limit = 2'000}, "/1");
  const auto short_one = work(60 * kSecond, {.tasks = 2, .limit = 120}, "/1");
  pass(10 * kSecond);
  EXPECT_FALSE(runs(wide, "/1"));
  EXPECT_TRUE(runs(short_one, "/1"));
  pass(1'300 * kSecond);
  EXPECT_EQ(record(grant).state, "INACTIVE") << "it was back in time";
}

// It stood still as its old end passed, which had been moved meanwhile. What nobody could tell of
// it, the agents below, ended what they run at the end that they knew.
TEST_F(ThreeLevels, ABrokerThatIsBackAfterItsOldEndGoesByTheNewOne) {
  begin();
  ASSERT_TRUE(leave(1, kAMinute));
  pass(5 * kSecond);
  const double old_end = end_of_job(1);
  instance("/1/1").broker()->stall(80 * kSecond);
  ASSERT_TRUE(extend(1, 20 * kAMinute));
  const double end = end_of_job(1);
  pass(100 * kSecond);
  EXPECT_EQ(record(1, "/1").state, "RUN");
  EXPECT_NEAR(end_of("/1/1"), end, kToBeHeard);
  for (const auto job : {open_, limited_}) {
    EXPECT_EQ(record(job, "/1/1").result, "TIMEOUT");
    EXPECT_NEAR(double(record(job, "/1/1").t_finish), old_end, kToBeHeard);
  }
  const auto next = work(kSecond, {}, "/1/1");
  EXPECT_NEAR(end_of_job(next, "/1/1"), end, kToBeHeard);
  EXPECT_EQ(when_over(next, "/1/1").result, "COMPLETED");
}

TEST_F(ThreeLevels, ABrokerThatIsBackAfterItsOldEndTakesJobsThoughItsChildIsOver) {
  begin();
  ASSERT_TRUE(leave(1, kAMinute));
  pass(5 * kSecond);
  instance("/1").broker()->stall(120 * kSecond);
  ASSERT_TRUE(extend(1, 20 * kAMinute));
  const double end = end_of_job(1);
  pass(140 * kSecond);
  EXPECT_EQ(record(1).state, "RUN");
  EXPECT_NEAR(end_of("/1"), end, kToBeHeard);
  EXPECT_EQ(when_over(1, "/1").result, "TIMEOUT");
  const auto next = work(kSecond, {}, "/1");
  EXPECT_EQ(when_over(next, "/1").result, "COMPLETED");
}

// Nobody can do anything with the advice to make an instance last for ten thousand years.
TEST_F(LeasesTest, AnAbsurdLimitIsRefusedWithoutAdvice) {
  begin_root({}, 1, "node=1/core=4");
  child(2, {}, "", 600);
  const auto refused = submit_work(kSecond, {.limit = 99999999999. * 60}, "/1");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::out_of_range);
  EXPECT_EQ(refused.error().where, "/attributes/system/duration");
  EXPECT_THAT(refused.error().what,
              AllOf(HasSubstr("up to 36500d"), Not(HasSubstr("holon update"))));
  msg::UpdateRequest ask;
  ask.limit = Duration{99'999'999'999} * kAMinute;
  EXPECT_THAT(change(1, ask).error().what, HasSubstr("up to 36500d"));
  const auto longer = extend(1, Duration{36'500} * 86'400'000);
  ASSERT_FALSE(longer);
  EXPECT_THAT(longer.error().what, HasSubstr("up to 36500d"));
}

// How long a level waits for the one below is more than that one waits for its own: what does not
// end by itself is ended at the leaves first, and every level tells how.
class EndInOrder : public LeasesTest {
 protected:
  std::string bottom_;
  std::uint64_t leaf_ = 0;
  void begin(std::uint64_t seed, int levels, double limit) {
    set(seed);
    std::filesystem::remove_all(dir_ + "/root");
    bottom_ = "";
    begin_root({}, 1, "node=1/core=8");
    for (int level = 1; level <= levels; ++level) {
      child(8 - level, {"job.grace=1h"}, bottom_, level == 1 ? limit : 0);
      bottom_ += "/1";
    }
    leaf_ = work(kTwoHours, {.ignores_term = true}, bottom_);
    when_running(leaf_, bottom_);
  }
  void expect_order(const std::string& result) {
    when_over(1);
    std::string above;
    for (std::string at = bottom_; !at.empty(); at = above) {
      above = at.substr(0, at.rfind('/'));
      const auto level = record(1, above);
      EXPECT_EQ(level.result, result) << at << ": " << level.reason;
      EXPECT_NE(level.exit_code, 128 + SIGKILL) << at << " did not end in order";
    }
    const auto job = record(leaf_, bottom_);
    EXPECT_EQ(job.result, result) << job.reason;
    EXPECT_EQ(job.exit_code, 128 + SIGKILL);
    EXPECT_THAT(job.reason, Not(HasSubstr("died")));
  }
};

TEST_F(EndInOrder, AtTheEndOfALease) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    for (int levels = 1; levels <= 4; ++levels) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", levels " << levels);
      begin(seed, levels, 60);
      expect_order("TIMEOUT");
    }
}

TEST_F(EndInOrder, WhenTheHighestIsCancelled) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    for (int levels = 1; levels <= 4; ++levels) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", levels " << levels);
      begin(seed, levels, 0);
      msg::CancelRequest ask;
      ask.ids = {1};
      ASSERT_TRUE(call<msg::CancelReply>("cancel", ask));
      expect_order("CANCELED");
    }
}

}  // namespace
}  // namespace holon::world
