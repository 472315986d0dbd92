// The largest requests to submit, which a broker reads a piece at a time: how many pieces each is
// tells how long the longest turn can be, whatever the machine does meanwhile.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/piecemeal.hpp"
#include "instance/job/graph_plan.hpp"
#include "instance/request/submission.hpp"
#include "msg/instance.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

using nlohmann::json;

json jobspec_of_one_core() {
  return json::parse(R"({"version":1,
    "resources":[{"type":"slot","count":1,"label":"t","with":[{"type":"core","count":1}]}],
    "tasks":[{"command":["true"],"slot":"t","count":{"per_slot":1}}],
    "attributes":{"system":{"duration":60}}})");
}

int pieces_of(std::function<void()> work) {
  Piecemeal all(std::move(work));
  int pieces = 1;
  while (all.go_on()) ++pieces;
  return pieces;
}

// A submission as it comes, read; and in how many pieces.
struct Read {
  std::optional<Result<Submission>> submission;
  int pieces = 0;
};
Read read_submit(const json& jobspec) {
  msg::SubmitRequest ask;
  ask.jobspec = jobspec.dump();
  const std::string payload = transport::pack(ask);
  Read read;
  read.pieces = pieces_of([&] {
    const auto got = transport::unpack<msg::SubmitRequest>(payload);
    read.submission = make_submission(got->jobspec, got->is_instance);
  });
  return read;
}

TEST(Largest, AnArrayOfAHundredAndThirtyThousandEntries) {
  constexpr std::size_t kEntries = 130'000;
  auto spec = jobspec_of_one_core();
  auto& entries = spec["attributes"]["system"]["holon"]["array"]["entries"] = json::array();
  for (std::size_t i = 0; i < kEntries; ++i) entries.push_back(fmt::format("entry {}", i));
  const auto read = read_submit(spec);
  ASSERT_TRUE(*read.submission) << to_string(read.submission->error());
  EXPECT_EQ((*read.submission)->wishes.array->entries.size(), kEntries);
  EXPECT_EQ((*read.submission)->wishes.array->entries.back(), "entry 129999");
  EXPECT_GE(read.pieces, 80);
}

TEST(Largest, AnEnvironmentOfSixtyFiveThousandVariables) {
  constexpr std::size_t kVariables = 65'000;
  auto spec = jobspec_of_one_core();
  auto& environment = spec["attributes"]["system"]["environment"];
  for (std::size_t i = 0; i < kVariables; ++i) environment[fmt::format("V{}", i)] = "x";
  const auto read = read_submit(spec);
  ASSERT_TRUE(*read.submission) << to_string(read.submission->error());
  EXPECT_EQ((*read.submission)->spec->environment.size(), kVariables);
  EXPECT_GE(read.pieces, 25);
}

TEST(Largest, TenThousandDependencies) {
  constexpr std::size_t kDependencies = 10'000;
  auto spec = jobspec_of_one_core();
  auto& all = spec["attributes"]["system"]["dependencies"] = json::array();
  for (std::size_t i = 0; i < kDependencies; ++i)
    all.push_back({{"scheme", "afterany"}, {"value", std::to_string(i + 1)}});
  const auto read = read_submit(spec);
  ASSERT_TRUE(*read.submission) << to_string(read.submission->error());
  EXPECT_EQ((*read.submission)->dependencies.size(), kDependencies);
  EXPECT_GE(read.pieces, 20);
}

TEST(Largest, WhatIsWrongIsToldAsOfASmallOne) {
  auto spec = jobspec_of_one_core();
  auto& entries = spec["attributes"]["system"]["holon"]["array"]["entries"] = json::array();
  for (std::size_t i = 0; i < 20'000; ++i) entries.push_back(fmt::format("entry {}", i));
  entries.push_back(7);
  const auto read = read_submit(spec);
  ASSERT_FALSE(*read.submission);
  EXPECT_NE(read.submission->error().where.find("entries/20000"), std::string::npos)
      << to_string(read.submission->error());
  const auto cut = spec.dump().substr(0, 300'000);
  std::optional<Result<Submission>> broken;
  pieces_of([&] { broken = make_submission(cut, false); });
  ASSERT_FALSE(*broken);
  EXPECT_EQ(to_string(broken->error()), to_string(make_submission(cut, false).error()));
}

// The pieces in which a graph is read as it comes.
int pieces_of_graph(const msg::GraphRequest& graph, std::size_t& specs) {
  const std::string payload = transport::pack(graph);
  return pieces_of([&] {
    const auto got = transport::unpack<msg::GraphRequest>(payload);
    specs = read_specs(*got)->size();
  });
}

TEST(Largest, AGraphInWhichNoTwoTasksAreAlike) {
  constexpr std::size_t kTasks = 5'000;
  msg::GraphRequest graph;
  graph.environment = {{"PATH", "/bin"}};
  for (std::size_t i = 0; i < kTasks; ++i) {
    auto spec = jobspec_of_one_core();
    spec["attributes"]["system"]["duration"] = i + 1;
    graph.specs.push_back({spec.dump(), 1, 16});
    graph.tasks.push_back({fmt::format("t{}", i), {static_cast<std::uint32_t>(i)}, {}, {}});
  }
  std::size_t specs = 0;
  EXPECT_GE(pieces_of_graph(graph, specs), 100);
  EXPECT_EQ(specs, kTasks);
}

TEST(Largest, AChainOfTwentyThousandTasks) {
  msg::GraphRequest graph;
  graph.specs.push_back({jobspec_of_one_core().dump(), 1, 16});
  for (std::size_t i = 0; i < 20'000; ++i) {
    msg::GraphTask task{fmt::format("t{}", i), {0}, {"true"}, {}};
    if (i > 0) task.after = {{"afterok", i - 1}};
    graph.tasks.push_back(std::move(task));
  }
  std::size_t specs = 0;
  EXPECT_GE(pieces_of_graph(graph, specs), 50);
  EXPECT_EQ(specs, 1u);
}

}  // namespace
}  // namespace holon::instance
