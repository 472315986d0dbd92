// A record never goes back: whatever order records come in, and however often.
#include "instance/journal/records/record_order.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "instance/journal/journal.hpp"

namespace holon::instance {
namespace {

msg::JobRecord at(const std::string& state, const std::string& result = "") {
  msg::JobRecord r;
  r.path = "/1/5";
  r.id = 5;
  r.t_submit = 100;
  r.state = state;
  r.result = result;
  return r;
}

// The records of one job as it lives, oldest first.
std::vector<msg::JobRecord> life_of_a_job() {
  std::vector<msg::JobRecord> all = {at("DEPEND"), at("PRIORITY"), at("SCHED"), at("RUN")};
  all.back().t_alloc = 110;
  for (const bool ended : {false, true, true}) {
    msg::JobRecord next = all.back();
    next.t_start = 120;
    if (ended) {
      next.state = next.t_finish == 0 ? "CLEANUP" : "INACTIVE";
      next.t_finish = 130;
    }
    all.push_back(next);
  }
  all.back().result = "COMPLETED";
  all.back().exit_code = 0;
  return all;
}

TEST(RecordOrder, WhatIsOverStaysAsItIs) {
  const auto completed = at("INACTIVE", "COMPLETED");
  for (const auto& later : {at("SCHED"), at("RUN"), at("INACTIVE", "CANCELED")})
    EXPECT_FALSE(supersedes(later, completed)) << later.state;
}

TEST(RecordOrder, AJobThatRunsAgainGoesBackToDepend) {
  auto again = at("DEPEND"), last = at("INACTIVE", "FAILED");
  again.retries = 1;
  EXPECT_TRUE(supersedes(again, at("RUN")));
  EXPECT_TRUE(is_further(again, at("CLEANUP")));
  EXPECT_FALSE(supersedes(at("CLEANUP"), again)) << "told again, of the attempt before";
  EXPECT_TRUE(supersedes(last, again)) << "it is over, whatever was told of attempts";
}

TEST(RecordOrder, AClosedRecordKeepsTheResultItWouldHaveHad) {
  auto never = at("SCHED"), ran = at("RUN"), ending = at("CLEANUP", "TIMEOUT");
  ran.t_alloc = ending.t_alloc = 110;
  ending.reason = "its time limit was reached";
  for (auto* r : {&never, &ran, &ending}) close_record(*r, "its instance ended", 150, 140);
  EXPECT_EQ(never.result, "CANCELED");
  EXPECT_EQ(ran.result, "FAILED");
  EXPECT_EQ(ran.reason, "its instance ended");
  EXPECT_EQ(ran.t_inactive, 150);
  EXPECT_EQ(ending.result, "TIMEOUT");
  EXPECT_EQ(ending.reason, "its time limit was reached");
  auto completed = at("INACTIVE", "COMPLETED");
  close_record(completed, "its instance ended", 150, 140);
  EXPECT_EQ(completed.result, "COMPLETED");
}

TEST(RecordOrder, AClosedRecordHasAnEndWithinTheLifeOfItsInstance) {
  auto never = at("SCHED"), ran = at("RUN"), late = at("RUN"), ending = at("CLEANUP");
  ran.t_alloc = late.t_alloc = ending.t_alloc = 110;
  ran.t_start = ending.t_start = 120;
  late.t_start = 145;  // by the clock of another machine
  ending.t_finish = 130;
  for (auto* r : {&never, &ran, &late, &ending}) close_record(*r, "its instance ended", 150, 140);
  EXPECT_EQ(never.t_finish, 0) << "it never had resources";
  EXPECT_EQ(ran.t_finish, 140) << "its instance's end";
  EXPECT_EQ(late.t_finish, 145) << "not before its start";
  EXPECT_EQ(ending.t_finish, 130) << "as it was told";
}

// What of a lost child's array ran has failed, and what waited never will.
TEST(RecordOrder, AClosedArrayHasNoTaskThatIsNotOver) {
  auto waits = at("SCHED"), ran = at("RUN");
  waits.tasks = waits.tasks_pending = 10;
  ran.tasks = 10;
  ran.tasks_completed = 3;
  ran.tasks_running = 2;
  ran.tasks_pending = 5;
  ran.t_start = 120;
  for (auto* r : {&waits, &ran}) close_record(*r, "its instance ended", 150, 140);
  EXPECT_EQ(waits.result, "CANCELED");
  EXPECT_EQ(waits.tasks_cancelled, 10u);
  EXPECT_EQ(ran.result, "FAILED");
  EXPECT_EQ(ran.t_finish, 140);
  EXPECT_EQ(ran.tasks_pending + ran.tasks_running, 0u);
  EXPECT_EQ(ran.tasks_failed, 2u);
  EXPECT_EQ(ran.tasks_cancelled, 5u);
}

RC_GTEST_PROP(RecordOrderProperty, TheNewestRecordStandsWhateverTheOrder, ()) {
  const auto all = life_of_a_job();
  auto journal = Journal::open("", Journal::Sync::normal);
  RC_ASSERT(journal.has_value());
  const auto heard = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, all.size())));
  std::size_t newest = heard.front();
  RC_ASSERT(journal->put_descendant(all[newest]));
  for (const std::size_t i : heard) {
    RC_ASSERT(journal->put_descendant(all[i]) == (i > newest));
    newest = std::max(newest, i);
    const auto known = journal->descendant("/1/5");
    RC_ASSERT(known.has_value() && known->has_value());
    RC_ASSERT((*known)->state == all[newest].state);
    RC_ASSERT((*known)->t_start == all[newest].t_start);
    RC_ASSERT((*known)->result == all[newest].result);
  }
}

}  // namespace
}  // namespace holon::instance
