// Who gives a place where all are taken.
#include "transport/shares.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holon::transport {
namespace {

Holder user(int number) {
  return {false, std::to_string(number)};
}
Holder stranger(int address) {
  return {true, "10.0.0." + std::to_string(address)};
}

class SharesTest : public testing::Test {
 protected:
  void add(const Holder& holder, int connections) {
    for (int i = 0; i < connections; ++i) shares_.add(holder);
  }
  // Whether somebody gives `holder` a place.
  bool takes(const Holder& holder) {
    const Holder gives = shares_.gives_to(holder);
    if (!gives.counts()) return false;
    shares_.remove(gives);
    shares_.add(holder);
    return true;
  }

  Shares shares_;
};

TEST_F(SharesTest, AUserTakesFromWhoHasMostUntilTheirSharesAreEqual) {
  add(user(1), 20);
  add(user(2), 10);
  int taken = 0;
  while (takes(user(3))) ++taken;
  EXPECT_EQ(taken, 10);
  EXPECT_EQ(shares_.of(user(1)), 10U);
  EXPECT_EQ(shares_.of(user(2)), 10U);
}

TEST_F(SharesTest, StrangersFromManyAddressesTogetherTakeAsMuchAsOneUser) {
  for (int one = 1; one <= 3; ++one) add(user(one), 40);
  int taken = 0;
  for (int address = 0; address < 200; ++address) taken += takes(stranger(address)) ? 1 : 0;
  EXPECT_EQ(taken, 30);
  for (int one = 1; one <= 3; ++one) EXPECT_EQ(shares_.of(user(one)), 30U);
  EXPECT_TRUE(takes(user(4))) << "who comes next finds a place";
}

TEST_F(SharesTest, AStrangerTakesFromTheAddressWithMostFirst) {
  add(user(1), 40);
  add(stranger(1), 10);
  EXPECT_EQ(shares_.gives_to(stranger(2)), stranger(1));
  while (shares_.of(stranger(2)) < 5) ASSERT_TRUE(takes(stranger(2)));
  EXPECT_EQ(shares_.of(user(1)), 40U);
  EXPECT_EQ(shares_.gives_to(stranger(2)), user(1)) << "all strangers have less than that user";
}

TEST_F(SharesTest, AUserTakesFromStrangersWhoHaveOneEach) {
  add(user(1), 3);
  for (int address = 0; address < 40; ++address) add(stranger(address), 1);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(takes(user(2)));
  EXPECT_EQ(shares_.of(user(1)), 3U);
  EXPECT_EQ(shares_.of(user(2)), 10U);
}

TEST_F(SharesTest, WhoDoesNotCountTakesFromWhoHasMostAndGivesNothing) {
  add({}, 100);
  EXPECT_FALSE(takes({}));
  add(user(1), 2);
  EXPECT_EQ(shares_.gives_to({}), user(1));
}

}  // namespace
}  // namespace holon::transport
