// What becomes of a child's jobs where its journal cannot be read, or only in part.
#include <gmock/gmock.h>

#include "msg/schedule.hpp"
#include "tests/instance/tree/fake_child.hpp"

namespace holon::instance {
namespace {

using ::testing::HasSubstr;

class EndedChildTest : public testing::WithFakeChild {
 protected:
  void SetUp() override {
    WithFakeChild::SetUp();
    ASSERT_EQ(connect_child(), 1u);
    ASSERT_TRUE(send_records({record_at("/1/5", "SCHED")}));
  }
};

TEST_F(EndedChildTest, WhatItsJournalSaysIsTheLastWord) {
  msg::Remains remains;
  remains.is_there = true;
  remains.jobs = {record_at("/1/5", "INACTIVE")};
  EXPECT_EQ(end_child(remains, "/1/5").result, "COMPLETED");
}

TEST_F(EndedChildTest, OpenJobsAreClosedWithWhatCouldNotBeRead) {
  msg::Remains remains;
  remains.problems = {"of instance /1, its journal: database disk image is malformed"};
  const auto record = end_child(remains, "/1/5");
  EXPECT_EQ(record.state, "INACTIVE");
  EXPECT_THAT(record.reason, HasSubstr("cannot be read"));
  EXPECT_THAT(record.reason, HasSubstr("malformed"));
}

// It had said hello, so that it had one.
TEST_F(EndedChildTest, AJournalThatIsGoneIsNotOneThatHadNothing) {
  const auto record = end_child(msg::Remains{}, "/1/5");
  EXPECT_EQ(record.state, "INACTIVE");
  EXPECT_THAT(record.reason, HasSubstr("is not there any more"));
}

TEST_F(EndedChildTest, AReaderThatDoesNotGetOnIsGivenUp) {
  msg::Remains remains;
  remains.is_there = true;
  remains.next = "/1|0|7";
  const auto record = end_child(remains, "/1/5");
  EXPECT_EQ(record.state, "INACTIVE");
  EXPECT_THAT(record.reason, HasSubstr("does not get on"));
}

// A backup, an sqlite3 that somebody has forgotten, a lock of a file server that nobody gives back.
TEST_F(EndedChildTest, AJournalThatSomebodyHasLockedIsWaitedForWithAReasonAndNotForEver) {
  msg::Remains remains;
  remains.busy = true;
  std::string meanwhile, explained;
  const auto record = end_child(remains, "/1/5", [&] {
    const auto job = live_.record(1);
    if (job.state != "CLEANUP" || job.reason.empty()) return;
    meanwhile = job.reason;
    const auto why = live_.call<msg::ExplainReply>("explain", msg::ExplainRequest{{1}});
    if (why && !why->jobs.empty() && why->jobs.at(0).state == "CLEANUP")
      explained = why->jobs.at(0).reason;
  });
  EXPECT_EQ(meanwhile,
            "what is known of its jobs is to be read, and another process has its journal open");
  EXPECT_EQ(explained, "it is ending: " + meanwhile);
  EXPECT_EQ(record.state, "INACTIVE");
  EXPECT_THAT(record.reason, HasSubstr("another process has its journal open"));
}

}  // namespace
}  // namespace holon::instance
