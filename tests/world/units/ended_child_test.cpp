// What becomes of a child's jobs where its journal cannot be read, or only in part.
#include <gmock/gmock.h>

#include "msg/schedule.hpp"
#include "tests/world/units/fake_child.hpp"

namespace holon::world {
namespace {

using ::testing::HasSubstr;

class EndedChildTest : public WithFakeChild {
 protected:
  void SetUp() override {
    WithFakeChild::SetUp();
    ASSERT_EQ(connect_child(), 1u);
    ASSERT_TRUE(send_records({record_at("/1/5", "SCHED")}));
  }
};

TEST_F(EndedChildTest, WhatItsJournalSaysIsTheLastWord) {
  msg::DeadChild remains;
  remains.is_there = true;
  remains.jobs = {record_at("/1/5", "INACTIVE")};
  EXPECT_EQ(end_child(remains, "/1/5").result, "COMPLETED");
}

TEST_F(EndedChildTest, OpenJobsAreClosedWithWhatCouldNotBeRead) {
  msg::DeadChild remains;
  remains.problems = {"of instance /1, its journal: database disk image is malformed"};
  const auto record = end_child(remains, "/1/5");
  EXPECT_EQ(record.state, "INACTIVE");
  EXPECT_THAT(record.reason, HasSubstr("cannot be read"));
  EXPECT_THAT(record.reason, HasSubstr("malformed"));
}

// It had said hello, so that it had one.
TEST_F(EndedChildTest, AJournalThatIsGoneIsNotOneThatHadNothing) {
  const auto record = end_child(msg::DeadChild{}, "/1/5");
  EXPECT_EQ(record.state, "INACTIVE");
  EXPECT_THAT(record.reason, HasSubstr("is not there any more"));
}

TEST_F(EndedChildTest, AReaderThatDoesNotGetOnIsGivenUp) {
  msg::DeadChild remains;
  remains.is_there = true;
  remains.next = "/1|0|7";
  const auto record = end_child(remains, "/1/5");
  EXPECT_EQ(record.state, "INACTIVE");
  EXPECT_THAT(record.reason, HasSubstr("does not get on"));
}

// A backup, an sqlite3 that somebody has forgotten, a lock of a file server that nobody gives back.
TEST_F(EndedChildTest, AJournalThatSomebodyHasLockedIsWaitedForWithAReasonAndNotForEver) {
  leftovers_.busy = true;
  lose_child();
  ASSERT_TRUE(answer(*agent_, "agent.report", finished(1)));
  ASSERT_TRUE(until([&] { return record(1).reason.find("another process") != std::string::npos; }));
  const auto meanwhile = record(1);
  EXPECT_EQ(meanwhile.state, "CLEANUP");
  EXPECT_EQ(meanwhile.reason,
            "what is known of its jobs is to be read, and another process has its journal open");
  const auto why = call<msg::ExplainReply>(*user_, "explain", msg::ExplainRequest{{1}});
  ASSERT_TRUE(why);
  EXPECT_EQ(why->jobs.at(0).reason, "it is ending: " + meanwhile.reason);
  ASSERT_TRUE(until([&] { return state(1) == "INACTIVE"; }));
  EXPECT_THAT(listed()["/1/5"].reason, HasSubstr("another process has its journal open"));
}

}  // namespace
}  // namespace holon::world
