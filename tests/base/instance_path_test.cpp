#include "base/instance_path.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace holon {
namespace {

using ::testing::HasSubstr;

TEST(Paths, AreJoinedFromWhereOneStands) {
  EXPECT_EQ(join_path("/", "/"), "/");
  EXPECT_EQ(join_path("/", "3"), "/3");
  EXPECT_EQ(join_path("/3", "7"), "/3/7");
  EXPECT_EQ(join_path("/3/7", ".."), "/3");
  EXPECT_EQ(join_path("/3/7", "../8"), "/3/8");
  EXPECT_EQ(join_path("/3/7", "../.."), "/");
  EXPECT_EQ(join_path("/3/7", "/2"), "/2");
  EXPECT_EQ(join_path("/3", "."), "/3");
  EXPECT_EQ(join_path("/3", "/3//7/"), "/3/7");
  EXPECT_EQ(join_path("/", "..").error().what, "the root has no parent");
  EXPECT_THAT(join_path("/", "/3/x").error().what, HasSubstr("'x' is not a job id"));
  EXPECT_FALSE(join_path("/", "/0"));
  EXPECT_FALSE(join_path("/", "/99999999999999999999"));
}

TEST(Paths, ListingsOrderNumbersAsNumbers) {
  std::vector<std::string> paths = {"/10", "/9/2", "/9", "/9/10", "/1/1/1"};
  std::sort(paths.begin(), paths.end(), path_before);
  EXPECT_EQ(paths, (std::vector<std::string>{"/1/1/1", "/9", "/9/2", "/9/10", "/10"}));
}

}  // namespace
}  // namespace holon
