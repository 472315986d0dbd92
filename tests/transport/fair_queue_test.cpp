#include "transport/zmtp/fair_queue.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace holon::transport {
namespace {

constexpr FairQueue::Group kOne = 1, kTwo = 2;

// Serves `rounds` times, each at the cost of whoever is served; returns who it was.
std::string served(FairQueue& queue, int rounds, const std::map<FairQueue::Member, int>& cost) {
  std::string order;
  for (int i = 0; i < rounds; ++i) {
    const auto next = queue.next();
    if (!next) return order + "-";
    order += static_cast<char>('a' + *next);
    queue.charge(*next, cost.at(*next));
  }
  return order;
}

TEST(FairQueue, GroupsShareEquallyHoweverManyMembersTheyHave) {
  FairQueue queue;
  for (FairQueue::Member member : {0U, 1U, 2U}) queue.join(member, kOne);
  queue.join(3, kTwo);
  for (FairQueue::Member member : {0U, 1U, 2U, 3U}) queue.set_ready(member, true);
  EXPECT_EQ(served(queue, 8, {{0, 1}, {1, 1}, {2, 1}, {3, 1}}), "adbdcdad");
}

TEST(FairQueue, WhoCostsMoreIsServedLessOften) {
  FairQueue queue;
  queue.join(0, kOne);
  queue.join(1, kTwo);
  queue.set_ready(0, true);
  queue.set_ready(1, true);
  EXPECT_EQ(served(queue, 8, {{0, 3}, {1, 1}}), "abbbabbb");
}

TEST(FairQueue, WhoWasIdleComesNextAndHasSavedNothingUp) {
  FairQueue queue;
  queue.join(0, kOne);
  queue.join(1, kTwo);
  queue.set_ready(0, true);
  EXPECT_EQ(served(queue, 4, {{0, 5}}), "aaaa");
  queue.set_ready(1, true);
  EXPECT_EQ(served(queue, 6, {{0, 5}, {1, 5}}), "bababa");
}

TEST(FairQueue, FavouredMembersGoFirst) {
  FairQueue queue;
  queue.join(0, kOne);
  queue.join(1, kTwo);
  queue.set_ready(0, true);
  queue.favour(1);
  EXPECT_EQ(queue.next(), 0U);
  queue.set_ready(1, true);
  EXPECT_EQ(served(queue, 3, {{0, 1}, {1, 100}}), "bbb");
  queue.set_ready(1, false);
  EXPECT_EQ(queue.next(), 0U);
}

TEST(FairQueue, MembersThatLeaveAreForgotten) {
  FairQueue queue;
  queue.join(0, kOne);
  queue.set_ready(0, true);
  queue.leave(0);
  EXPECT_TRUE(queue.empty());
  EXPECT_FALSE(queue.next());
  queue.charge(0, 1);
  queue.set_ready(0, true);
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace holon::transport
