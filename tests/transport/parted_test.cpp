// A message whose long array stays bytes until each of its elements is wanted.
#include "transport/codec/parted.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "transport/codec/codec.hpp"
#include "transport/codec/fields.hpp"

namespace holon::transport {
namespace {

using ::testing::HasSubstr;

struct Step {
  std::string name;
  std::vector<std::uint64_t> numbers;
  bool operator==(const Step&) const = default;
  HOLON_FIELDS(name, numbers)
};
struct Plan {
  std::string before;
  std::vector<Step> steps;
  std::map<std::string, std::string> behind;
  bool operator==(const Plan&) const = default;
  HOLON_FIELDS(before, steps, behind)
};

Plan plan_of(std::size_t steps) {
  Plan plan{"x", {}, {{"key", "value"}}};
  for (std::size_t i = 0; i < steps; ++i)
    plan.steps.push_back({"step " + std::to_string(i), std::vector<std::uint64_t>(i % 20, i)});
  return plan;
}

// The head of an array has one, three or five bytes.
TEST(Parted, ItsElementsAreTheSameOneByOne) {
  for (const std::size_t steps : {0, 1, 15, 16, 40, 65'536}) {
    SCOPED_TRACE(steps);
    const Plan plan = plan_of(steps);
    const std::string message = pack(plan);
    const auto parted = take_out(message, "steps");
    ASSERT_TRUE(parted) << parted.error().what;
    EXPECT_EQ(parted->count, steps);
    Plan read = *unpack<Plan>(parted->rest);
    EXPECT_TRUE(read.steps.empty());
    auto left = parted->elements;
    for (std::uint32_t i = 0; i < parted->count; ++i) {
      const auto bytes = first_element(left);
      read.steps.push_back(*unpack<Step>(bytes));
      left.remove_prefix(bytes.size());
    }
    EXPECT_TRUE(left.empty());
    EXPECT_EQ(read, plan);
    EXPECT_EQ(*unpack<Plan>(put_back(*parted, "steps")), plan);
  }
}

TEST(Parted, OneWithoutThatMemberHasNoElements) {
  const std::string message = pack(std::map<std::string, std::string>{{"before", "x"}});
  const auto parted = take_out(message, "steps");
  ASSERT_TRUE(parted);
  EXPECT_EQ(parted->count, 0u);
  EXPECT_EQ(unpack<Plan>(parted->rest)->before, "x");
}

// As a reader of the whole takes the last of two.
TEST(Parted, OfTwoMembersOfOneNameTheLastCounts) {
  std::string message = pack(plan_of(2));
  ASSERT_EQ(message[0], '\x83');
  message[0] = '\x84';
  message += pack(std::string("steps")) + pack(plan_of(5).steps);
  const auto parted = take_out(message, "steps");
  ASSERT_TRUE(parted);
  EXPECT_EQ(parted->count, 5u);
  EXPECT_EQ(unpack<Plan>(put_back(*parted, "steps"))->steps, unpack<Plan>(message)->steps);
}

TEST(Parted, KeysOfEachLengthAreRead) {
  for (const std::size_t length : {1, 31, 32, 255, 256, 65'536}) {
    const std::string key(length, 'k');
    const auto message =
        pack(std::map<std::string, std::vector<int>>{{"a", {1}}, {key, {1, 2, 3}}});
    EXPECT_EQ(take_out(message, key)->count, 3u) << length;
  }
}

TEST(Parted, WhatHasAnotherFormIsRefused) {
  const auto refused = [](const std::string& message) {
    const auto parted = take_out(message, "steps");
    return parted ? std::string("taken") : parted.error().what;
  };
  EXPECT_THAT(refused(pack(std::vector<int>{1, 2})), HasSubstr("a map is expected"));
  EXPECT_THAT(refused(pack(std::map<std::string, std::string>{{"steps", "x"}})),
              HasSubstr("an array is expected"));
  EXPECT_THAT(refused(""), HasSubstr("payload"));
  EXPECT_THAT(refused(pack(std::map<std::uint64_t, bool>{{1, true}})),
              HasSubstr("a string is expected"));
  const std::string whole = pack(plan_of(3));
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_THAT(refused(whole.substr(0, length)), HasSubstr("payload: ")) << length;
}

}  // namespace
}  // namespace holon::transport
