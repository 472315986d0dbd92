// JSON that keeps the order of its members, against nlohmann's own reader; and objects with as many
// members as a jobspec may have.
#include "resource/jobspec/ordered_json.hpp"

#include <gtest/gtest.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "resource/jobspec/file_archive.hpp"
#include "resource/jobspec/jobspec.hpp"

namespace holon::resource {
namespace {

using Json = nlohmann::ordered_json;

Json random_value(std::mt19937& random, int depth) {
  switch (random() % (depth > 3 ? 5 : 7)) {
    case 0:
      return nullptr;
    case 1:
      return random() % 2 == 0;
    case 2:
      return static_cast<std::int64_t>(random()) - (std::int64_t{1} << 31);
    case 3:
      return static_cast<double>(random()) / 7;
    case 4:
      return std::string(random() % 5, 'x') + "\"\n\\ \xc3\xa4";
    case 5: {
      Json list = Json::array();
      for (auto n = random() % 4; n > 0; --n) list.push_back(random_value(random, depth + 1));
      return list;
    }
    default: {
      Json object = Json::object();
      for (auto n = random() % 4; n > 0; --n)
        object["key " + std::to_string(random() % 100)] = random_value(random, depth + 1);
      return object;
    }
  }
}

TEST(OrderedJson, IsReadAsByItsOwnReader) {
  std::mt19937 random(5);
  for (int round = 0; round < 2'000; ++round) {
    const Json value = random_value(random, 0);
    ASSERT_EQ(parse_ordered(value.dump()), value);
    ASSERT_EQ(parse_ordered(value.dump()).dump(), value.dump()) << "in the same order";
  }
  for (const char* const bad : {"", "{", "[1,", "nul", "{\"a\" 1}", "1 2", "{\"a\": }"})
    EXPECT_TRUE(parse_ordered(bad).is_discarded()) << bad;
}

double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// By their square they would take minutes.
TEST(OrderedJson, ManyMembersTakeATimeThatGrowsAsTheyDo) {
  constexpr int kMany = 100'000;
  const double begin = cpu_seconds();
  JobShape shape;
  shape.command = {"true"};
  shape.cwd = "/";
  for (int i = 0; i < kMany; ++i) shape.environment["V" + std::to_string(i)] = "x";
  const auto spec = jobspec_for(shape);
  ASSERT_TRUE(spec);
  const auto again = parse_jobspec(write_jobspec(*spec));
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(again->environment, spec->environment);
  std::string user = R"({"user": {)", files = "{";
  for (int i = 0; i < kMany; ++i) {
    user += (i > 0 ? ",\"k" : "\"k") + std::to_string(i) + "\": 1";
    files += (i > 0 ? ",\"k" : "\"k") + std::to_string(i) + R"(": {"mode": 33188})";
  }
  Jobspec with_user = *spec;
  with_user.environment.clear();  // a jobspec has a bound for all its values together
  with_user.other_attributes = user + "}}";
  EXPECT_TRUE(parse_jobspec(write_jobspec(with_user)));
  EXPECT_FALSE(read_file_archive(files + "}")) << "there are too many";
  EXPECT_LT(cpu_seconds() - begin, 15);
}

}  // namespace
}  // namespace holon::resource
