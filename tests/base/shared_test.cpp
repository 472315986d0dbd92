#include "base/shared.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace holon::tests {
namespace {

TEST(Shared, CopiesAreMadeByWhoChangesThem) {
  Shared<std::vector<int>> mine({1, 2});
  const std::vector<int>* place = &*mine;
  Shared<std::vector<int>> copy = mine;
  EXPECT_EQ(&*copy, place) << "nobody has changed it yet";
  copy.edit().push_back(3);
  EXPECT_EQ(*copy, (std::vector{1, 2, 3}));
  EXPECT_EQ(*mine, (std::vector{1, 2}));
  mine.edit().clear();
  EXPECT_EQ(&*mine, place) << "it is shared with nobody any more";
  EXPECT_EQ(copy->size(), 3U);
}

}  // namespace
}  // namespace holon::tests
