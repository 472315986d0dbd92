// What is read out of a jobspec: tasks, limits, the command as it is shown.
#include "instance/request/submission.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holon::instance {
namespace {

using ::testing::HasSubstr;

// V1 with two slots of one core; `count` is the tasks' count object.
std::string spec_with(const std::string& count, const std::string& duration = "60",
                      const std::string& argument = "x") {
  return R"({"version":1,"resources":[{"type":"slot","count":2,"label":"task",
"with":[{"type":"core","count":1}]}],"tasks":[{"command":["run",")" +
         argument + R"("],"slot":"task","count":)" + count +
         R"(}],"attributes":{"system":{"duration":)" + duration + "}}}";
}

TEST(Submission, TasksArePerSlotOrInTotal) {
  EXPECT_EQ(make_submission(spec_with(R"({"per_slot":1})"), false)->ntasks, 2);
  EXPECT_EQ(make_submission(spec_with(R"({"per_slot":3})"), false)->ntasks, 6);
  EXPECT_EQ(make_submission(spec_with(R"({"total":5})"), false)->ntasks, 5);
  EXPECT_EQ(make_submission(spec_with(R"({"total":5})"), true)->ntasks, 1);
}

// Each task is a record in the broker's memory and a process: two slots must not ask for billions.
TEST(Submission, MoreTasksThanAnybodyCanStartAreRefused) {
  EXPECT_EQ(make_submission(spec_with(R"({"total":100000})"), false)->ntasks, 100'000);
  for (const char* count : {R"({"total":4000000000})", R"({"per_slot":4000000000})"}) {
    const auto refused = make_submission(spec_with(count), false);
    ASSERT_FALSE(refused) << count;
    EXPECT_EQ(refused.error().code, Errc::out_of_range);
    EXPECT_EQ(refused.error().where, "/tasks/0/count");
  }
}

TEST(Submission, TasksPerResourceAreNotTakenForTasksPerSlot) {
  const auto refused =
      make_submission(spec_with(R"({"per_resource":{"type":"core","count":2}})"), false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unsupported);
  EXPECT_THAT(refused.error().what, HasSubstr("per_resource"));
}

TEST(Submission, AVeryShortDurationIsALimit) {
  EXPECT_EQ(make_submission(spec_with(R"({"per_slot":1})", "0.0001"), false)->limit, 1);
  EXPECT_EQ(make_submission(spec_with(R"({"per_slot":1})", "0"), false)->limit, 0);
  EXPECT_EQ(make_submission(spec_with(R"({"per_slot":1})", "1.5"), false)->limit, 1500);
}

TEST(Submission, ALongCommandIsCutBetweenCharacters) {
  std::string word = "a";
  for (int i = 0; i < 150; ++i) word += "\xc3\xa9";
  const auto command = make_submission(spec_with(R"({"per_slot":1})", "60", word), false)->command;
  EXPECT_EQ(command.size(), 199u);  // "run a" and 97 letters of two bytes
  EXPECT_TRUE(command.ends_with("\xc3\xa9"));
}

// A jobspec with these resources and attributes.system.holon.
std::string resources_with(const std::string& of, const std::string& ours = "{}") {
  return R"({"version":1,"resources":)" + of +
         R"(,"tasks":[{"command":["run"],"slot":"task","count":{"per_slot":1}}],)"
         R"("attributes":{"system":{"duration":60,"holon":)" +
         ours + "}}}";
}

TEST(Submission, WhatIsAskedForIsSaidWhole) {
  const auto text = [](const std::string& spec) {
    const auto made = make_submission(spec, false);
    return made ? made->resources : to_string(made.error());
  };
  const std::string slot =
      R"({"type":"slot","count":2,"label":"task","with":[{"type":"core","count":2}]})";
  EXPECT_EQ(text(resources_with("[" + slot + "]")), "4 cores");
  EXPECT_EQ(text(resources_with(R"([{"type":"node","count":3,"with":[)" + slot + "]}]")),
            "3 nodes, 12 cores");
  EXPECT_EQ(
      text(resources_with(R"([{"type":"node","count":4,"exclusive":true,"with":[)" + slot + "]}]")),
      "4 whole nodes");
  EXPECT_EQ(text(resources_with(
                R"([{"type":"slot","count":1,"label":"task","with":[{"type":"core","count":1},)"
                R"({"type":"memory","count":16},{"type":"gpu","count":1}]}])")),
            "1 core, 16 GiB of memory, 1 GPU");
  EXPECT_EQ(text(resources_with("[" + slot + "]", R"({"slots":"2-16"})")), "2-16 slots of 2 cores");
  EXPECT_EQ(text(resources_with("[" + slot + "]", R"({"licenses":{"matlab":2},)"
                                                  R"("licenses_per_slot":{"ansys":1}})")),
            "4 cores, 2 matlab, 1 ansys a slot");
}

// The scanner of YAML takes 250 bytes for each bracket of such a line, and its time.
TEST(Submission, OnlyJsonIsTakenFromOutside) {
  for (const std::string& text :
       {std::string(1'000'000, '['), "[" + std::string(10, ' ') + "]", std::string("version: 1\n"),
        std::string("  \n"), std::string()}) {
    const auto refused = make_submission(text, false);
    ASSERT_FALSE(refused) << text.substr(0, 20);
    EXPECT_EQ(refused.error().code, Errc::invalid_argument);
    EXPECT_THAT(refused.error().what, ::testing::HasSubstr("is sent as JSON"));
    EXPECT_EQ(refused.error().where, "jobspec");
  }
  EXPECT_TRUE(make_submission(" \n" + spec_with(R"({"per_slot":1})"), false));
}

TEST(Submission, StandardInputIsAFileOrComesFromAClient) {
  const auto made = [](const std::string& from) {
    std::string spec = spec_with(R"({"per_slot":1})");
    const std::string at = R"("duration":60)";
    spec.replace(spec.find(at), at.size(),
                 at + R"(,"shell":{"options":{"input":{"stdin":)" + from + "}}}");
    return *make_submission(spec, false);
  };
  EXPECT_EQ(made(R"({"type":"file","path":"/in"})").input, "/in");
  EXPECT_EQ(made(R"({"type":"service"})").input_tasks, "all");
  EXPECT_EQ(made(R"({"type":"service","ranks":"0-1"})").input_tasks, "0-1");
  EXPECT_EQ(make_submission(spec_with(R"({"per_slot":1})"), false)->input_tasks, "");
}

}  // namespace
}  // namespace holon::instance
