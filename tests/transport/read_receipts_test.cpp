#include "transport/zmtp/read_receipts.hpp"

#include <gtest/gtest.h>

#include <set>

namespace holon::transport {
namespace {

TEST(ReadReceipts, OneIsDueForEachQuarterOfAMebibyte) {
  ReadReceipts marks;
  EXPECT_FALSE(marks.is_due(ReadReceipts::kMarkEvery - 1));
  EXPECT_TRUE(marks.is_due(ReadReceipts::kMarkEvery));
  marks.add("a", 1'000'000);
  EXPECT_FALSE(marks.is_due(1'000'001));
  EXPECT_TRUE(marks.is_due(1'000'000 + ReadReceipts::kMarkEvery));
}

TEST(ReadReceipts, WhoHasReadOneHasReadThoseBeforeIt) {
  ReadReceipts marks;
  marks.add("a", 10);
  marks.add("b", 20);
  marks.add("c", 30);
  EXPECT_TRUE(marks.is_known("a"));
  EXPECT_EQ(marks.take("b"), 20U);
  EXPECT_FALSE(marks.is_known("a"));
  EXPECT_EQ(marks.take("a"), std::nullopt);
  EXPECT_EQ(marks.take("b"), std::nullopt) << "each once";
  EXPECT_TRUE(marks.is_awaited());
  EXPECT_EQ(marks.take("c"), 30U);
  EXPECT_FALSE(marks.is_awaited());
}

TEST(ReadReceipts, AreNotGuessed) {
  std::set<std::string> made;
  for (int i = 0; i < 1'000; ++i) made.insert(ReadReceipts::fresh());
  EXPECT_EQ(made.size(), 1'000U);
  EXPECT_EQ(made.begin()->size(), 8U);
}

}  // namespace
}  // namespace holon::transport
