#include "instance/text.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include <algorithm>

#include "instance/users/hiding.hpp"

namespace holon::instance {
namespace {

TEST(Path, IsResolvedFromWhereTheRequestIsHandled) {
  EXPECT_EQ(*resolve("/3", "/"), "/");
  EXPECT_EQ(*resolve("/3", "/3/7"), "/3/7");
  EXPECT_EQ(*resolve("/3", "7"), "/3/7");
  EXPECT_EQ(*resolve("/3/7", ".."), "/3");
  EXPECT_EQ(*resolve("/3/7", "../9/"), "/3/9");
  EXPECT_EQ(*resolve("/3", "."), "/3");
  EXPECT_EQ(*resolve("/", ""), "/");
  for (const char* bad : {"..", "/..", "/x", "/3/x", "/03", "/-1", "/99999999999999999999"})
    EXPECT_FALSE(resolve("/", bad)) << bad;
}

TEST(Path, TheNextStepDown) {
  EXPECT_EQ(child_towards("/", "/3/7"), JobId(3));
  EXPECT_EQ(child_towards("/3", "/3/7/9"), JobId(7));
  EXPECT_FALSE(child_towards("/3", "/3"));
  EXPECT_FALSE(child_towards("/3", "/30/1"));
  EXPECT_FALSE(child_towards("/3", "/"));
}

TEST(TimeText, HasTheDateWhenItIsNotToday) {
  setenv("TZ", "UTC", 1);
  tzset();
  const Time now = 1'795'302'000'000;  // 2026-11-21 23:00:00
  EXPECT_EQ(time_text(now + 1'800'000, now), "23:30:00");
  EXPECT_EQ(time_text(now + 7'200'000, now), "2026-11-22 01:00") << "two hours later, but tomorrow";
  EXPECT_EQ(time_text(now - 86'399'000, now), "2026-11-20 23:00");
}

TEST(Duration, IsSaidInItsTwoLargestUnits) {
  EXPECT_EQ(duration_text(-5), "0ms");
  EXPECT_EQ(duration_text(350), "350ms");
  EXPECT_EQ(duration_text(30'500), "30s");
  EXPECT_EQ(duration_text(3'600'000), "1h");
  EXPECT_EQ(duration_text(5'400'000), "1h30m");
  EXPECT_EQ(duration_text(90'061'000), "1d1h");
}

TEST(Text, AJobsPathIsTakenAsItIsWrittenOnly) {
  EXPECT_EQ(job_at("/7"), JobId(7));
  EXPECT_EQ(job_at("/3/12"), JobId(12));
  for (const char* other :
       {"", "/", "7", "/3/", "//3", "/03", "/0", "/3/../7", "/./3", "/x", "/3 "})
    EXPECT_FALSE(job_at(other)) << other;
}

// Jobs 1 to 9 are ann's, all others somebody else's.
std::string owner_of(JobId id) {
  return id.value() < 10 ? "ann" : "bob";
}

TEST(Hiding, TakesTheNumbersOfOthersJobsOutOfReasons) {
  const Hiding for_ann("ann", owner_of);
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
  EXPECT_EQ(shown("jobs 1, 12, past the limit, still use units of advance reservation 3"),
            "2 jobs, past the limit, still use units of advance reservation 3");
  EXPECT_EQ(shown("reserved for job 12, advance reservation 40 (upgrade (b)) from 10:00 to 12:00"),
            "reserved for another user's job, an advance reservation from 10:00 to 12:00");
  EXPECT_EQ(shown("waits for job 12, the same task of array 11, to complete"),
            "waits for another user's job, the same task of another user's array, to complete");
  EXPECT_EQ(shown("job 12"), "another user's job");
  for (const char* text :
       {"", "job", "job ", "jobs of its QOS start in the order of the queue only",
        "the 12 processors it needs are not free", "subjob 12 is no job",
        "job 99999999999999999999999 is no number"})
    EXPECT_EQ(shown(text), text);
  const std::string all = "job 12 takes its place";
  EXPECT_EQ(Hiding(std::nullopt, owner_of).reason(all), all);
}

TEST(Hiding, EventsDoNotSayWhoTookAPlace) {
  const Hiding for_ann("ann", owner_of);
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

}  // namespace
}  // namespace holon::instance
