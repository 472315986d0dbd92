// When the broker hears of a start.
#include "launch/news/untold_starts.hpp"

#include <gtest/gtest.h>

namespace holon::launch {
namespace {

using Jobs = std::vector<std::uint64_t>;

TEST(UntoldStarts, EachIsToldAFewMillisecondsAfterItself) {
  UntoldStarts starts;
  EXPECT_FALSE(starts.next(0));
  starts.add(1, 100);
  starts.add(2, 103);
  EXPECT_EQ(starts.next(101), 3);
  EXPECT_EQ(starts.take_due(103), Jobs());
  EXPECT_EQ(starts.take_due(104), Jobs{1});
  EXPECT_EQ(starts.next(104), 3);
  EXPECT_EQ(starts.take_due(107), Jobs{2});
  EXPECT_FALSE(starts.next(107));
}

TEST(UntoldStarts, OneThatEndsIsToldOnce) {
  UntoldStarts starts;
  starts.add(1, 0);
  starts.add(2, 0);
  EXPECT_TRUE(starts.end(1, 2));
  EXPECT_EQ(starts.take_due(100), Jobs{2});
  EXPECT_FALSE(starts.end(2, 100));
}

TEST(UntoldStarts, WhereTasksAreShortTheirStartsAreToldWithTheirEnds) {
  UntoldStarts starts;
  for (std::uint64_t job = 1; job < 100; ++job) starts.end(job, 8);
  starts.add(100, 0);
  EXPECT_EQ(starts.take_due(12), Jobs());
  EXPECT_EQ(starts.take_due(17), Jobs{100});
  for (std::uint64_t job = 1; job < 100; ++job) starts.end(job, 50);
  starts.add(101, 20);
  EXPECT_EQ(starts.take_due(20 + UntoldStarts::kSoonest), Jobs{101}) << "nobody waits that long";
  starts.add(102, 30);
  starts.end(1, 1'000'000'000);
  EXPECT_EQ(starts.next(30), UntoldStarts::kSoonest);
}

}  // namespace
}  // namespace holon::launch
