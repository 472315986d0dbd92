// What parse_jobspec takes and refuses, and where it says the fault is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "places.hpp"  // written by CMake
#include "resource/jobspec/jobspec.hpp"

namespace holon::resource {
namespace {

using testing::HasSubstr;

constexpr const char* kYaml = R"(version: 1
resources:
  - type: node
    count: 2
    exclusive: true
    with:
      - type: slot
        count: {min: 1, max: 8, operator: "*", operand: 2}
        label: default
        with:
          - {type: core, count: 4}
          - {type: memory, count: 16, unit: GB}
tasks:
  - command: [hostname, -s]
    slot: default
    count: {per_slot: 1}
attributes:
  system:
    duration: 57.5
    queue: batch
    environment: {PATH: /bin, OLD: null}
    job: {name: first, other: 3}
    constraints: {and: [{properties: [big, "^slow"]}, {not: [{hostlist: ["n[0-3]"]}]}]}
    shell: {options: {verbose: 1}}
  user: {note: "7"}
)";

Jobspec parsed(std::string_view bytes) {
  auto jobspec = parse_jobspec(bytes);
  if (!jobspec) throw std::runtime_error(to_string(jobspec.error()));
  return *jobspec;
}

// A jobspec in JSON with `count` as the count of its only resource.
std::string with_count(const std::string& count) {
  return R"({"version":1,"resources":[{"type":"core","count":)" + count +
         R"(}],"tasks":[],"attributes":{}})";
}

TEST(JobspecParse, ReadsEveryPartOfRfc14) {
  const Jobspec jobspec = parsed(kYaml);
  ASSERT_EQ(jobspec.resources.size(), 1u);
  const Request& node = jobspec.resources[0];
  EXPECT_EQ(node.type, "node");
  EXPECT_EQ(node.count, (Count{2, 2, '+', 1, {}}));
  EXPECT_EQ(node.exclusive, true);
  const Request& slot = node.with.at(0);
  EXPECT_EQ(slot.label, "default");
  EXPECT_EQ(slot.count, (Count{1, 8, '*', 2, {}}));
  EXPECT_EQ(slot.with.at(1).unit, "GB");
  ASSERT_EQ(jobspec.tasks.size(), 1u);
  EXPECT_EQ(jobspec.tasks[0].command, (std::vector<std::string>{"hostname", "-s"}));
  EXPECT_EQ(jobspec.tasks[0].per_slot, 1);
  EXPECT_EQ(jobspec.duration_seconds, 57.5);
  EXPECT_EQ(jobspec.queue, "batch");
  EXPECT_EQ(jobspec.name, "first");
  EXPECT_EQ(jobspec.environment, (std::map<std::string, std::string>{{"PATH", "/bin"}}));
  EXPECT_EQ(jobspec.unset_environment, std::vector<std::string>{"OLD"});
  EXPECT_EQ(jobspec.constraints.op, "and");
  EXPECT_EQ(jobspec.constraints.operands.at(1).operands.at(0).values.at(0), "n[0-3]");
  EXPECT_EQ(
      jobspec.other_attributes,
      R"({"system":{"job":{"other":3},"shell":{"options":{"verbose":1}}},"user":{"note":"7"}})");
}

TEST(JobspecParse, WhatIsWrittenReadsBackTheSame) {
  const Jobspec jobspec = parsed(kYaml);
  EXPECT_EQ(parsed(write_jobspec(jobspec)), jobspec);
}

TEST(JobspecParse, CountsInEveryForm) {
  const std::map<std::string, Count> cases = {
      {"4", {4, 4, '+', 1, {}}},
      {R"("4")", {4, 4, '+', 1, {}}},
      {R"("2,4,8")", {2, 8, '+', 1, {2, 4, 8}}},
      {R"("[1-3,7]")", {1, 7, '+', 1, {1, 2, 3, 7}}},
      {R"("1-4")", {1, 4, '+', 1, {}}},
      {R"("2-16:2:*")", {2, 16, '*', 2, {}}},
      {R"("1-5:2")", {1, 5, '+', 2, {}}},
      {R"("3+")", {3, Count::kUnbounded, '+', 1, {}}},
      {R"("2+:2:^")", {2, Count::kUnbounded, '^', 2, {}}},
      {R"({"min":3})", {3, Count::kUnbounded, '+', 1, {}}},
      {R"({"min":3,"max":3})", {3, 3, '+', 1, {}}},
      {R"({"min":1,"max":9,"operator":"+","operand":2})", {1, 9, '+', 2, {}}},
  };
  for (const auto& [text, want] : cases) {
    const Jobspec jobspec = parsed(with_count(text));
    EXPECT_EQ(jobspec.resources.at(0).count, want) << text;
    EXPECT_EQ(parsed(write_jobspec(jobspec)), jobspec) << text;
  }
}

TEST(JobspecParse, RefusesCountsThatCannotBe) {
  for (const char* text : {"0",
                           "-1",
                           "1.5",
                           "1e18",
                           "1000000000000000000",
                           "null",
                           "[]",
                           R"("")",
                           R"("4,2")",
                           R"("1,1")",
                           R"("5-1")",
                           R"("1-4:0")",
                           R"("1-4:1:*")",
                           R"("1-4:2:%")",
                           R"("1-4:2:*x")",
                           R"("1,2-9999999")",
                           R"({"max":3})",
                           R"({"min":0})",
                           R"({"min":3,"max":2})",
                           R"({"min":1,"max":4,"operator":"^","operand":2})",
                           R"({"min":1,"step":2})"}) {
    const auto refused = parse_jobspec(with_count(text));
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code, Errc::invalid_argument);
    EXPECT_THAT(refused.error().where, HasSubstr("/resources/0/count")) << text;
  }
}

TEST(JobspecParse, SaysLineAndPointerOfAFault) {
  const auto refused = parse_jobspec(
      "version: 1\nresources:\n  - type: core\n    count: 1\n    colour: red\n"
      "tasks: []\nattributes: {}\n");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().where, "line 5 (/resources/0/colour)");
  EXPECT_THAT(refused.error().what, HasSubstr("accepted: type, count"));
}

TEST(JobspecParse, RefusesWhatIsNotAJobspec) {
  const std::map<std::string, std::string> cases = {
      {"", "mapping"},
      {"{", "not JSON"},
      {"a: \"unclosed", "not YAML"},
      {"a: 1\na: 2\n", "twice"},
      {R"({"a":1,"a":2})", "twice"},
      {"version: 1\n", "missing"},
      {R"({"version":0,"resources":[],"tasks":[],"attributes":{}})", "1 to 9999"},
      {R"({"version":1,"resources":{},"tasks":[],"attributes":{}})", "a list is needed"},
      {R"({"version":1,"resources":[{"type":"slot","count":1}],"tasks":[],"attributes":{}})",
       "label"},
      {R"({"version":1,"resources":[],"tasks":[],"attributes":{"system":{"duration":-1}}})",
       "negative"},
      {"version: 1\nresources: []\ntasks: []\nattributes: {system: {duration: .nan}}\n",
       "a number is needed"},
      {R"({"version":1,"resources":[],"tasks":[],"attributes":{"system":{"constraints":{"or":[],"and":[]}}}})",
       "one operator"},
      {R"({"version":1,"resources":[],"tasks":[],"attributes":{"system":{"constraints":{"properties":["a|b"]}}}})",
       "must not contain"},
      {"a: &x [1]\nb: *x\n", "aliases"},
  };
  for (const auto& [text, words] : cases) {
    const auto refused = parse_jobspec(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code, Errc::invalid_argument) << text;
    EXPECT_THAT(to_string(refused.error()), HasSubstr(words)) << text;
    EXPECT_FALSE(refused.error().where.empty()) << text;
  }
}

TEST(JobspecParse, DeepNestingIsAnErrorNotACrash) {
  const std::string opened(100'000, '[');
  EXPECT_FALSE(parse_jobspec(opened));
  EXPECT_FALSE(parse_jobspec(R"({"version":)" + opened));
  std::string json = R"({"version":1,"resources":)";
  for (int i = 0; i < 100'000; ++i) json += R"([{"type":"node","count":1,"with":)";
  const auto refused = parse_jobspec(json);
  ASSERT_FALSE(refused);
  EXPECT_THAT(to_string(refused.error()), HasSubstr("deeper"));
  std::string yaml;
  for (int i = 0; i < 2'000; ++i) yaml += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_FALSE(parse_jobspec(yaml));
}

// Each key against each other one would be five thousand million looks.
TEST(JobspecParse, ManyVariablesAreReadAndOneGivenTwiceIsSeen) {
  std::string environment;
  for (int i = 0; i < 100'000; ++i) environment += "\"V" + std::to_string(i) + "\": \"\", ";
  const auto jobspec = [&](const std::string& last) {
    return R"({"version": 1, "resources": [], "tasks": [], "attributes": {"system": {"environment": {)" +
           environment + last + R"(: ""}}}})";
  };
  const auto read = parse_jobspec(jobspec("\"LAST\""));
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(read->environment.size(), 100'001U);
  for (const char* again : {"\"V0\"", "\"V17\"", "\"V99999\""}) {
    const auto twice = parse_jobspec(jobspec(again));
    ASSERT_FALSE(twice) << again;
    EXPECT_THAT(twice.error().what, HasSubstr("given twice"));
  }
}

// What is read costs time in which nobody else is served: so much of it is refused, in the middle.
TEST(JobspecParse, TooManyValuesAreRefused) {
  std::string list, map;
  for (int i = 0; i < 200'000; ++i) {
    list += "1,";
    map += "\"k" + std::to_string(i) + "\":1,";
  }
  for (const std::string& values : {"[" + list + "1]", "{" + map + "\"last\":1}"}) {
    const auto refused = parse_jobspec(R"({"version":1,"resources":)" + values);  // has no end
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().what, HasSubstr("too many values, at most 131072"));
  }
}

TEST(JobspecParse, TheFirstOfTwoKeysThatAreGivenTwiceIsNamed) {
  std::string yaml = "version: 1\nattributes:\n";
  for (int i = 0; i < 30; ++i) yaml += "  k" + std::to_string(i) + ": 1\n";
  const auto refused = parse_jobspec(yaml + "  k7: 1\n  k3: 1\n");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("key \"k7\" given twice"));
  EXPECT_EQ(refused.error().where, "line 33");
}

TEST(JobspecParse, TooManyBytesAreRefusedBeforeReading) {
  EXPECT_FALSE(parse_jobspec(std::string(kMaxJobspecBytes + 1, ' ')));
}

TEST(JobspecParse, EveryJobspecOfTheGoldenCasesIsRead) {
  const std::filesystem::path root = HOLON_SOURCE_DIR "/../shared/fluxion-cases/data";
  if (!std::filesystem::exists(root)) GTEST_SKIP() << "no golden cases at " << root;
  int read = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".yaml") continue;
    std::ifstream file(entry.path());
    std::stringstream bytes;
    bytes << file.rdbuf();
    if (bytes.str().find("resources:") == std::string::npos) continue;
    const auto jobspec = parse_jobspec(bytes.str());
    EXPECT_TRUE(jobspec) << entry.path() << ": " << to_string(jobspec.error());
    if (!jobspec) continue;
    const auto again = parse_jobspec(write_jobspec(*jobspec));
    ASSERT_TRUE(again) << entry.path() << ": " << to_string(again.error());
    EXPECT_EQ(*again, *jobspec) << entry.path();
    ++read;
  }
  EXPECT_GT(read, 100);
}

TEST(JobspecCount, TheLargestThatFits) {
  const auto largest = [](const char* text, std::int64_t available) {
    return largest_count(parse_count(text).value(), available);
  };
  EXPECT_EQ(largest("4", 3), 0);
  EXPECT_EQ(largest("4", 100), 4);
  EXPECT_EQ(largest("1-9:2", 8), 7);
  EXPECT_EQ(largest("2-16:2:*", 15), 8);
  EXPECT_EQ(largest("2+:2:^", 300), 256);
  EXPECT_EQ(largest("3+", 1000), 1000);
  EXPECT_EQ(largest("2,4,8", 7), 4);
  EXPECT_EQ(largest("2,4,8", 1), 0);
}

}  // namespace
}  // namespace holon::resource
