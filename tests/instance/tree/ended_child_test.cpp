// What becomes of a child's jobs where its journal cannot be read, or only in part.
#include <gmock/gmock.h>

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

}  // namespace
}  // namespace holon::instance
