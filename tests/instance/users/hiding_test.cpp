// What users are told of jobs, reservations and instances that are not theirs, or that failed.
#include "instance/users/hiding.hpp"

#include <gtest/gtest.h>

#include "instance/per_user/own_failures.hpp"

namespace holon::instance {
namespace {

// Jobs 1 to 9 are ann's, all others somebody else's.
std::string owner_of(JobId id) {
  return id.value() < 10 ? "ann" : "bob";
}

// No reservation is a job of anybody's. Reservation 30 is for ann.
bool may_use(JobId reservation, const std::string& user) {
  return reservation == JobId(30) && user == "ann";
}

Hiding hiding_from(std::optional<std::string> viewer) {
  return {std::move(viewer), owner_of, may_use};
}

TEST(Hiding, TakesTheNumbersOfOthersJobsOutOfReasons) {
  const Hiding for_ann = hiding_from("ann");
  const auto shown = [&](const std::string& text) { return for_ann.reason(text); };
  EXPECT_EQ(shown("first come, first served: job 12 in front of it waits"),
            "first come, first served: another user's job in front of it waits");
  EXPECT_EQ(shown("first come, first served: job 1 in front of it waits"),
            "first come, first served: job 1 in front of it waits");
  EXPECT_EQ(
      shown("it needs 2 gpu, 0 of 2 are free (job 1 has 1, job 10 has 1); job 11 is in front"),
      "it needs 2 gpu, 0 of 2 are free (job 1 has 1, another user's job has 1); another "
      "user's job is in front");
  EXPECT_EQ(shown("jobs 1, 2 are preempted for it, by 10:20 at the latest"),
            "jobs 1, 2 are preempted for it, by 10:20 at the latest");
  EXPECT_EQ(shown("jobs 1, 12, 13 and 4 more are preempted for it"), "7 jobs are preempted for it");
  EXPECT_EQ(shown("jobs 1, 12, past the limit, still use units of advance reservation 30"),
            "2 jobs, past the limit, still use units of advance reservation 30");
  EXPECT_EQ(shown("reserved for job 12, advance reservation 40 (upgrade (b)) from 10:00 to 12:00"),
            "reserved for another user's job, an advance reservation from 10:00 to 12:00");
  EXPECT_EQ(shown("waits for job 12, the same task of array 11, to complete"),
            "waits for another user's job, the same task of another user's array, to complete");
  EXPECT_EQ(shown("job 12"), "another user's job");
  EXPECT_EQ(shown("job 12.3 in front of it waits"), "another user's job in front of it waits");
  EXPECT_EQ(shown("job 1.3 in front of it waits."), "job 1.3 in front of it waits.");
  EXPECT_EQ(shown("jobs 1.2, 12.7 are preempted for it"), "2 jobs are preempted for it");
  for (const char* text :
       {"", "job", "job ", "jobs of its QOS start in the order of the queue only",
        "the 12 processors it needs are not free", "subjob 12 is no job",
        "job 99999999999999999999999 is no number"})
    EXPECT_EQ(shown(text), text);
  const std::string all = "job 12 takes its place";
  EXPECT_EQ(hiding_from(std::nullopt).reason(all), all);
}

TEST(Hiding, AReservationIsNamedToWhoeverMayUseIt) {
  const std::string own = "advance reservation 30, in which it runs, has not begun";
  const std::string others = "advance reservation 3, in which it runs, has not begun";
  const std::string hidden = "an advance reservation, in which it runs, has not begun";
  EXPECT_EQ(hiding_from("ann").reason(own), own);
  EXPECT_EQ(hiding_from("bob").reason(own), hidden);
  EXPECT_EQ(hiding_from("ann").reason(others), hidden) << "job 3 would be ann's";
  EXPECT_EQ(hiding_from(std::nullopt).reason(others), others);
  const std::string none = "there is no advance reservation 3";
  EXPECT_EQ(hiding_from("bob").reason(none), none);
}

TEST(Hiding, ANameIsHiddenToItsEndWhateverItSays) {
  const Hiding for_ann = hiding_from("ann");
  EXPECT_EQ(for_ann.reason("reserved for advance reservation 41 (a) from b) from 10:00 to 12:00"),
            "reserved for an advance reservation from 10:00 to 12:00");
  EXPECT_EQ(for_ann.reason("reserved for advance reservation 42 (x), advance reservation 30 (y) "
                           "from 1st to last) from 2026-11-26 10:00:00 to 12:00:00, job 12"),
            "reserved for an advance reservation from 2026-11-26 10:00:00 to 12:00:00, another "
            "user's job");
  EXPECT_EQ(for_ann.reason("advance reservation 40 (upgrade (b)) from 10:00 to 12:00, advance "
                           "reservation 30 (own) from 13:00 to 14:00"),
            "an advance reservation from 10:00 to 12:00, advance reservation 30 (own) from 13:00 "
            "to 14:00");
}

TEST(Hiding, EventsDoNotSayWhoTookAPlace) {
  const Hiding for_ann = hiding_from("ann");
  Event told{0, event::Preempt{12, false, 100}};
  for_ann.event(told);
  EXPECT_EQ(std::get<event::Preempt>(told.body).by, 0U);
  Event by_own{0, event::Preempt{7, false, 100}};
  for_ann.event(by_own);
  EXPECT_EQ(std::get<event::Preempt>(by_own.body).by, 7U);
  Event ended{0, event::Exception{"preempt", 0, "job 12 takes its place"}};
  for_ann.event(ended);
  EXPECT_EQ(std::get<event::Exception>(ended.body).note, "another user's job takes its place");
}

// ---- instances of a user's own that failed ----

constexpr Time kEnd = 1'795'302'000'000;

msg::JobRecord record_of(const std::string& result) {
  msg::JobRecord record;
  record.path = "/4";
  record.result = result;
  record.t_inactive = kEnd;
  return record;
}

TEST(OwnFailures, ThePauseDoublesUpToAMinute) {
  const auto pause = [](unsigned before) {
    return failures_with(record_of("FAILED"), before, kEnd).next - kEnd;
  };
  EXPECT_EQ(pause(0), 5'000);
  EXPECT_EQ(pause(1), 10'000);
  EXPECT_EQ(pause(2), 20'000);
  EXPECT_EQ(pause(3), 40'000);
  EXPECT_EQ(pause(4), 60'000);
  EXPECT_EQ(pause(4'000'000'000U), 60'000);
}

TEST(OwnFailures, ThePauseEnds) {
  const auto record = record_of("TIMEOUT");
  EXPECT_EQ(failures_with(record, 2, kEnd + 19'999).next, kEnd + 20'000);
  EXPECT_EQ(failures_with(record, 2, kEnd + 20'000).next, 0);
  EXPECT_EQ(failures_with(record, 2, kEnd + 20'000).in_a_row, 3U) << "the next pause is longer";
}

TEST(OwnFailures, AClockThatIsSetBackLocksNobodyOut) {
  EXPECT_EQ(failures_with(record_of("FAILED"), 0, kEnd - 1).next, 0);
  EXPECT_EQ(failures_with(record_of("FAILED"), 0, kEnd - 3'600'000).next, 0);
  EXPECT_EQ(failures_with(record_of("FAILED"), 0, kEnd - 3'600'000).in_a_row, 1U);
}

TEST(OwnFailures, WhatWasUpOrGivenUpOrGaveItsPlaceHasNotFailed) {
  for (const char* result : {"", "COMPLETED", "CANCELED", "REJECTED"}) {
    EXPECT_EQ(failures_with(record_of(result), 3, kEnd).next, 0) << result;
    EXPECT_EQ(failures_with(record_of(result), 3, kEnd).in_a_row, 0U) << result;
  }
  auto was_up = record_of("FAILED");
  was_up.child_uri = "ipc:///somewhere";
  EXPECT_EQ(failures_with(was_up, 3, kEnd).in_a_row, 0U);
}

TEST(OwnFailures, AreToldWithoutTheJobsOfOthers) {
  auto record = record_of("FAILED");
  record.reason = "waits for job 12 to complete, which has failed";
  EXPECT_EQ(
      how_it_failed(record, hiding_from("ann")),
      "/4, the instance of your own, has ended before it was up: waits for another user's job "
      "to complete, which has failed; `holon job output /4` says more");
  record.reason = "";
  EXPECT_EQ(how_it_failed(record, hiding_from("ann")),
            "/4, the instance of your own, has ended before it was up; `holon job output /4` says "
            "more");
}

}  // namespace
}  // namespace holon::instance
