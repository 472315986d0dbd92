#include "base/text/nesting.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holon {
namespace {

TEST(JsonNesting, CountsListsAndObjectsInEachOther) {
  EXPECT_EQ(json_nesting(""), 0u);
  EXPECT_EQ(json_nesting("7"), 0u);
  EXPECT_EQ(json_nesting("[]"), 1u);
  EXPECT_EQ(json_nesting(R"({"a": [1, {"b": 2}], "c": []})"), 3u);
  EXPECT_EQ(json_nesting(R"({"a": "[[[[", "b\"[": "\\"})"), 1u) << "not those in texts";
  EXPECT_EQ(json_nesting(std::string(1'000'000, '[')), 1'000'000u);
  EXPECT_EQ(json_nesting("]]}}[["), 2u) << "no JSON, and no harm";
}

}  // namespace
}  // namespace holon
