// `jobs` of a whole tree never says less of a job than it was said before, whoever said so.
#include "instance/basics/clock.hpp"
#include "tests/world/units/fake_child.hpp"

namespace holon::world {
namespace {

class ChildListingTest : public WithFakeChild {};

TEST_F(ChildListingTest, WhatAChildHasAnsweredIsNotTakenBackWhenItIsLost) {
  ASSERT_EQ(connect_child(), 1u);
  ASSERT_TRUE(send_records({record_at("/1/5", "SCHED"), record_at("/1/6", "INACTIVE")}));
  knows_ = {record_at("/1/5", "RUN"), record_at("/1/6", "INACTIVE"), record_at("/1/7", "SCHED")};
  auto shown = listed();
  EXPECT_EQ(shown["/1/5"].state, "RUN");
  EXPECT_EQ(shown["/1/5"].as_of, 0) << "its instance said so";
  lose_child();
  shown = listed();
  EXPECT_EQ(shown["/1/5"].state, "RUN");
  EXPECT_EQ(shown["/1/5"].t_start, 1'200);
  EXPECT_EQ(shown["/1/7"].state, "SCHED");
  EXPECT_EQ(shown["/1/6"].result, "COMPLETED");
  // It may have gone on, and nobody knows how far.
  EXPECT_NE(shown["/1/5"].as_of, 0);
  EXPECT_NE(shown["/1/7"].as_of, 0);
  EXPECT_EQ(shown["/1/6"].as_of, 0) << "it is over, come what may";
  EXPECT_EQ(shown["/1"].as_of, 0) << "it is the root's own";
  restart_broker();
  EXPECT_EQ(listed()["/1/5"].state, "RUN") << "what is shown is journalled first";
}

TEST_F(ChildListingTest, AChildThatIsAwayIsWaitedForAndAskedWhenItIsBack) {
  ASSERT_EQ(connect_child(), 1u);
  ASSERT_TRUE(send_records({record_at("/1/5", "SCHED")}));
  lose_child();
  const Listing listing(*this);
  EXPECT_FALSE(listing.is_answered(300 * kMs)) << "it may come back";
  knows_ = {record_at("/1/5", "RUN")};
  ASSERT_EQ(connect_child(), 1u);
  ASSERT_TRUE(listing.is_answered());
  auto shown = listing.records();
  EXPECT_EQ(shown["/1/5"].state, "RUN");
  EXPECT_EQ(shown["/1/5"].as_of, 0);
}

// The answer that was asked for is lost with it.
TEST_F(ChildListingTest, AChildThatIsLostWhileItIsAskedIsAskedAgain) {
  ASSERT_EQ(connect_child(), 1u);
  ASSERT_TRUE(send_records({record_at("/1/5", "SCHED")}));
  silent_ = true;
  const Listing listing(*this);
  EXPECT_FALSE(listing.is_answered(300 * kMs));
  EXPECT_EQ(asked_["jobs"], 1);
  silent_ = false;
  knows_ = {record_at("/1/5", "RUN")};
  lose_child();
  ASSERT_EQ(connect_child(), 1u);
  ASSERT_TRUE(listing.is_answered());
  EXPECT_EQ(listing.records()["/1/5"].state, "RUN");
}

TEST_F(ChildListingTest, AChildThatAnswersNothingIsSpokenForAsOfWhatItHasTold) {
  ASSERT_EQ(connect_child(), 1u);
  ASSERT_TRUE(send_records({record_at("/1/5", "SCHED")}));
  silent_ = true;
  const auto shown = listed();
  EXPECT_EQ(shown.at("/1/5").state, "SCHED");
  EXPECT_NEAR(double(shown.at("/1/5").as_of), double(instance::wall_clock_ms()), 60'000);
}

// It said as its last word that nothing is missing.
TEST_F(ChildListingTest, AChildThatHasToldAllIsSpokenForAtOnceAndForGood) {
  ASSERT_EQ(connect_child(), 1u);
  ASSERT_TRUE(send_records({record_at("/1/5", "INACTIVE")}));
  ASSERT_TRUE(answer(*child_, "ending", msg::Ending{true}));
  lose_child();
  const auto shown = listed();
  EXPECT_EQ(shown.at("/1/5").as_of, 0);
}

TEST_F(ChildListingTest, AChildAnswersForItsOwnJobsOnly) {
  ASSERT_EQ(connect_child(), 1u);
  auto other_number = record_at("/1/8", "RUN");
  other_number.id = 9;
  knows_ = {record_at("/1/5", "RUN"), record_at("/2/1", "RUN"), record_at("/1", "INACTIVE"),
            other_number};
  const auto shown = listed();
  EXPECT_EQ(shown.size(), 2u);
  EXPECT_EQ(shown.at("/1").state, "RUN");
  EXPECT_EQ(shown.at("/1/5").state, "RUN");
}

}  // namespace
}  // namespace holon::world
