#include "instance/process/complaint.hpp"

#include <gtest/gtest.h>

namespace holon::instance {
namespace {

// Looked at every second for a day.
TEST(Complaint, IsMadeOnceAndAgainAtGrowingIntervals) {
  Complaint complaint;
  std::vector<Time> said;
  for (Time now = 0; now < 24 * 3'600'000; now += 1'000)
    if (complaint.is_due("cannot be made", now)) said.push_back(now / 60'000);
  ASSERT_GE(said.size(), 8u);
  EXPECT_LE(said.size(), 32u);
  const std::vector<Time> first(said.begin(), said.begin() + 6);
  EXPECT_EQ(first, (std::vector<Time>{0, 1, 3, 7, 15, 31}));
  EXPECT_EQ(said[said.size() - 1] - said[said.size() - 2], 60) << "at least once an hour";
}

TEST(Complaint, AboutSomethingElseOrAboutWhatIsBackIsMadeAtOnce) {
  Complaint complaint;
  EXPECT_TRUE(complaint.is_due("full", 0));
  EXPECT_FALSE(complaint.is_due("full", 1'000));
  EXPECT_TRUE(complaint.is_due("read-only", 2'000));
  EXPECT_TRUE(complaint.is_due("full", 3'000));
  complaint.is_over();
  EXPECT_TRUE(complaint.is_due("full", 4'000));
}

}  // namespace
}  // namespace holon::instance
