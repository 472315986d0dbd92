#include "instance/basics/text.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include <algorithm>

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

}  // namespace
}  // namespace holon::instance
