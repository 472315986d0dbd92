#include "base/idset.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace holon {
namespace {

TEST(Idset, ReadsRangesAndBrackets) {
  for (const auto& [text, count] : {std::pair{"", 0}, {"5", 1}, {"0-3,7", 5}, {"[0-3,7]", 5}}) {
    const auto set = Idset::parse(text);
    ASSERT_TRUE(set) << text << ": " << to_string(set.error());
    EXPECT_EQ(set->count(), static_cast<std::uint64_t>(count)) << text;
  }
}

TEST(Idset, SaysWhereATextIsWrong) {
  for (const auto& [text, where] : {std::pair{"x", "character 1"},
                                    {"1,", "character 3"},
                                    {"3-1", "character 1"},
                                    {"1,1", "character 3"},
                                    {"5,1", "character 3"},
                                    {"01", "character 1"},
                                    {"1-", "character 3"},
                                    {"1;2", "character 2"},
                                    {"[1", "character 3"},
                                    {"-1", "character 1"},
                                    {"99999999999999999999", "character 1"}}) {
    const auto set = Idset::parse(text);
    ASSERT_FALSE(set) << text;
    EXPECT_EQ(set.error().where, where) << text;
  }
}

TEST(Idset, AHugeRangeIsCheap) {
  const auto set = Idset::parse("0-4000000000");
  ASSERT_TRUE(set);
  EXPECT_TRUE(set->contains(3999999999));
  EXPECT_EQ(set->count(), 4000000001U);
}

RC_GTEST_PROP(Idset, IsASet, (const std::vector<std::pair<bool, std::uint8_t>>& steps)) {
  Idset set;
  std::set<std::uint64_t> model;
  for (const auto& [insert, id] : steps) {
    if (insert) {
      set.insert(id, id + 3U);
      for (std::uint64_t i = id; i <= id + 3U; ++i) model.insert(i);
    } else {
      RC_ASSERT(set.erase(id) == (model.erase(id) == 1));
    }
  }
  const auto ids = set.ids();
  RC_ASSERT(std::vector<std::uint64_t>(model.begin(), model.end()) == ids);
  RC_ASSERT(set.count() == model.size());
  for (std::uint64_t id = 0; id < 260; ++id) RC_ASSERT(set.contains(id) == model.contains(id));
  RC_ASSERT(Idset::parse(set.str()).value() == set);
}

RC_GTEST_PROP(Idset, SharesIdsWithAnotherOne,
              (const std::vector<std::uint8_t>& ours, const std::vector<std::uint8_t>& theirs)) {
  Idset set, other;
  std::set<std::uint64_t> model, both;
  for (const std::uint64_t id : ours)
    set.insert(id, id + 3U), model.insert({id, id + 1, id + 2, id + 3});
  for (const std::uint64_t id : theirs) other.insert(id, id + 1U);
  for (const std::uint64_t id : model)
    if (other.contains(id)) both.insert(id);
  RC_ASSERT(common(set, other).ids() == std::vector<std::uint64_t>(both.begin(), both.end()));
  for (const std::uint64_t id : both) model.erase(id);
  RC_ASSERT(without(set, other).ids() == std::vector<std::uint64_t>(model.begin(), model.end()));
}

}  // namespace
}  // namespace holon
