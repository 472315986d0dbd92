// Which jobs a listing shows.
#include "msg/job_filter.hpp"

#include <gtest/gtest.h>

namespace holon::msg {
namespace {

JobRecord job(const std::string& state, const std::string& result = "") {
  JobRecord record;
  record.state = state;
  record.result = result;
  record.name = "sweep-12";
  record.user = "ann";
  record.queue = "batch";
  record.t_inactive = state == "INACTIVE" ? 1'000 : 0;
  return record;
}

TEST(JobFilter, WithoutAWishTakesEveryJob) {
  EXPECT_TRUE(matches({}, job("SCHED")));
  EXPECT_TRUE(matches({}, job("INACTIVE", "FAILED")));
}

TEST(JobFilter, TakesStatesResultsAndTheWordsForSeveralStates) {
  struct Case {
    const char* word;
    const char* state;
    const char* result;
    bool taken;
  };
  const Case cases[] = {
      {"PENDING", "DEPEND", "", true},
      {"PENDING", "SCHED", "", true},
      {"PENDING", "RUN", "", false},
      {"PENDING", "INACTIVE", "FAILED", false},
      {"RUNNING", "RUN", "", true},
      {"RUNNING", "CLEANUP", "", true},
      {"RUNNING", "SCHED", "", false},
      {"RUN", "CLEANUP", "", false},
      {"FAILED", "INACTIVE", "FAILED", true},
      {"FAILED", "INACTIVE", "TIMEOUT", false},
      {"INACTIVE", "INACTIVE", "TIMEOUT", true},
      {"INACTIVE", "RUN", "", false},
  };
  for (const auto& c : cases) {
    JobFilter filter;
    filter.states = {"REJECTED", c.word};
    EXPECT_EQ(matches(filter, job(c.state, c.result)), c.taken) << c.word << " " << c.state;
  }
}

TEST(JobFilter, RefusesAPatternThatIsBroken) {
  const auto checked = [](const char* name) {
    JobFilter filter;
    filter.name = name;
    return check_filter(filter);
  };
  for (const char* broken : {"[", "a[bc", "[]", "[!]", "[[:alpha:]", "[[:alpha]", "[a\\]", "a\\"}) {
    ASSERT_FALSE(checked(broken)) << broken;
    EXPECT_EQ(checked(broken).error().where, "filter.name");
  }
  for (const char* sound :
       {"", "*", "a]", "[a]", "[]]", "[!]]", "[[:alpha:]]*", "\\[", "[[]", "[a\\]]"})
    EXPECT_TRUE(checked(sound)) << sound;
}

TEST(JobFilter, RefusesAStateThatIsNoneAndNamesThoseThatAre) {
  JobFilter filter;
  filter.states = {"FAILED", "BROKEN"};
  const auto checked = check_filter(filter);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().where, "filter.states");
  EXPECT_NE(checked.error().what.find("'BROKEN' is no state"), std::string::npos);
  for (const auto state : filter_states())
    EXPECT_NE(checked.error().what.find(state), std::string::npos) << state;
}

TEST(JobFilter, BoundsWhatItHoldsAgainstEachJob) {
  JobFilter filter;
  filter.states.assign(filter_states().size() + 1, "FAILED");
  EXPECT_EQ(check_filter(filter).error().where, "filter.states");
  filter.states.pop_back();
  filter.name = std::string(256, '*');
  EXPECT_TRUE(check_filter(filter));
  filter.name += '*';
  EXPECT_EQ(check_filter(filter).error().where, "filter.name");
}

TEST(JobFilter, KnowsWhichStatesAreThoseOfJobsThatAreOver) {
  JobFilter filter;
  filter.states = {"PENDING", "RUN"};
  EXPECT_FALSE(asks_for_ended(filter));
  filter.states = {"PENDING", "TIMEOUT"};
  EXPECT_TRUE(asks_for_ended(filter));
}

TEST(JobFilter, AsksForAllThatItSays) {
  JobFilter filter;
  filter.user = "ann";
  filter.queue = "batch";
  filter.name = "sweep-[0-9]*";
  EXPECT_TRUE(matches(filter, job("RUN")));
  for (auto member : {&JobFilter::user, &JobFilter::queue, &JobFilter::name}) {
    JobFilter other = filter;
    other.*member = "x";
    EXPECT_FALSE(matches(other, job("RUN")));
  }
}

TEST(JobFilter, SinceIsAboutTheEndOfJobsThatAreOver) {
  JobFilter filter;
  filter.since = 1'000;
  EXPECT_TRUE(matches(filter, job("INACTIVE", "FAILED")));
  filter.since = 1'001;
  EXPECT_FALSE(matches(filter, job("INACTIVE", "FAILED")));
  EXPECT_TRUE(matches(filter, job("SCHED")));
}

}  // namespace
}  // namespace holon::msg
