#include "base/boxed.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holon {
namespace {

TEST(Boxed, TakesThePlaceOfAPointer) { EXPECT_EQ(sizeof(Boxed<std::string>), sizeof(void*)); }

TEST(Boxed, IsEmptyUntilItIsGivenAValue) {
  Boxed<std::string> box;
  EXPECT_FALSE(box);
  box = std::string("a");
  ASSERT_TRUE(box);
  EXPECT_EQ(*box, "a");
  box.reset();
  EXPECT_FALSE(box.has_value());
}

TEST(Boxed, ACopyIsAnotherValue) {
  Boxed<std::string> box = std::string("a");
  Boxed<std::string> copy = box;
  copy->append("b");
  EXPECT_EQ(*box, "a");
  box = copy;
  copy.reset();
  ASSERT_TRUE(box);
  EXPECT_EQ(*box, "ab");
  box = copy;
  EXPECT_FALSE(box);
}

TEST(Boxed, IsItsOwnCopy) {
  Boxed<std::string> box = std::string("a");
  const Boxed<std::string>& same = box;
  box = same;
  ASSERT_TRUE(box);
  EXPECT_EQ(*box, "a");
}

TEST(Boxed, MakeKeepsTheValueThatIsThere) {
  Boxed<std::string> box;
  EXPECT_EQ(box.make(), "");
  box.make() = "a";
  EXPECT_EQ(box.make(), "a");
}

TEST(Boxed, EqualAreTwoThatHoldEqualValuesOrNone) {
  const Boxed<std::string> none, a = std::string("a"), b = std::string("b");
  EXPECT_EQ(none, Boxed<std::string>());
  EXPECT_EQ(a, Boxed<std::string>(std::string("a")));
  EXPECT_FALSE(a == b);
  EXPECT_FALSE(a == none);
  EXPECT_FALSE(none == a);
}

}  // namespace
}  // namespace holon
