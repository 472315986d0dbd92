// Long work is done in portions, and who asks for much does not keep others waiting.
#include "instance/basics/sliced_work.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holon::instance {
namespace {

constexpr std::uint32_t kAnn = 1, kBob = 2;

class SlicedWorkTest : public ::testing::Test {
 protected:
  // So many portions, each of which leaves its letter.
  void add(std::uint32_t user, std::uint64_t peer, char letter, int portions) {
    sliced_work_.add({user, transport::PeerId{peer}}, [this, letter, left = portions]() mutable {
      done_ += letter;
      return --left > 0;
    });
  }
  std::string all_done() {
    sliced_work_.finish();
    return done_;
  }

  SlicedWork sliced_work_;
  std::string done_;
};

TEST_F(SlicedWorkTest, UsersShareEquallyHoweverManyConnectionsTheyHave) {
  for (std::uint64_t peer = 1; peer <= 4; ++peer) add(kBob, peer, 'b', 2);
  add(kAnn, 5, 'a', 3);
  EXPECT_EQ(all_done(),
            "bababa"
            "bbbbb");
}

TEST_F(SlicedWorkTest, TheClientsOfAUserTakeTurns) {
  add(kAnn, 1, 'x', 3);
  add(kAnn, 2, 'y', 2);
  EXPECT_EQ(all_done(), "xyxyx");
}

TEST_F(SlicedWorkTest, OfOneClientWhatCameFirstIsDoneFirst) {
  add(kAnn, 1, 'x', 2);
  add(kAnn, 1, 'y', 2);
  EXPECT_EQ(all_done(), "xxyy");
}

TEST_F(SlicedWorkTest, WorkMayAddMore) {
  sliced_work_.add({kAnn, transport::PeerId{1}}, [this] {
    done_ += '1';
    add(kAnn, 1, 'x', 2);
    add(kBob, 2, 'y', 2);
    return false;
  });
  EXPECT_EQ(all_done(),
            "1"
            "yxyx");
  EXPECT_TRUE(sliced_work_.empty());
}

}  // namespace
}  // namespace holon::instance
