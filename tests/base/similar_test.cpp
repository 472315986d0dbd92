#include "base/text/similar.hpp"

#include <gtest/gtest.h>

namespace holon {
namespace {

TEST(EditDistance, CountsInsertionsDeletionsAndReplacements) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("easy", "easy"), 0u);
  EXPECT_EQ(edit_distance("", "easy"), 4u);
  EXPECT_EQ(edit_distance("easy", ""), 4u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("ab", "ba"), 2u);
}

}  // namespace
}  // namespace holon
