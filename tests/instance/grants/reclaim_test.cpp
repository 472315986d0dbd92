// What an elastic child has beyond its own goes to who waits for it, as its jobs end.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "msg/grant.hpp"
#include "tests/instance/grants/sound_tree.hpp"
#include "tests/instance/live.hpp"
#include "tests/instance/tree/tree.hpp"

namespace holon::instance {
namespace {

using testing::eventually;
using testing::JobOptions;
using testing::Live;

class Reclaimed : public ::testing::Test {
 protected:
  void TearDown() override { testing::expect_sound_tree(live); }
  static JobOptions cores(std::int64_t count) {
    JobOptions options;
    options.cores = count;
    options.duration = 300;
    return options;
  }
  static std::string gate(const std::string& path, int i) {
    return path.substr(1) + std::to_string(i);
  }
  // Jobs of one core, each of which runs until it is let go.
  void fill(const std::string& path, int count) const {
    for (int i = 0; i < count; ++i) live.job(live.gated(gate(path, i)), cores(1), path);
  }
  void let_go(const std::string& path, int from, int to) const {
    for (int i = from; i < to; ++i) live.release(gate(path, i));
  }
  std::int64_t running_in(const std::string& path) const {
    const auto node = live.status(path);
    return node ? static_cast<std::int64_t>(node->running) : -1;
  }
  std::int64_t cores_of(const std::string& path) const {
    const auto node = live.status(path);
    return node ? node->cores : -1;
  }
  // Cores that the child is to give back.
  std::int64_t asked_back_from(const std::string& path) const {
    std::int64_t cores = 0;
    if (const auto reply = live.call<msg::GrantReply>("grant.show", msg::Empty{}, path))
      for (const auto& part : reply->held)
        if (part.state == "asked back") cores += part.cores;
    return cores;
  }
  void expect_all_completed(const std::string& path, std::uint64_t count) const {
    for (std::uint64_t id = 1; id <= count; ++id)
      EXPECT_EQ(live.wait_one(id, path).result, "COMPLETED") << id;
  }
  static std::vector<std::string> elastic() { return {"grant.max=8", "grant.idle=1h"}; }

  std::uint64_t ask_by_hand(std::int64_t count, const std::string& path) const {
    JobOptions options;
    options.tasks = count;
    options.duration = 600;
    const auto answer = live.call<msg::GrantAnswer>(
        "grant.ask", msg::GrantAsk{Live::request({"grant"}, options).jobspec}, path);
    EXPECT_TRUE(answer) << answer.error().what;
    return answer && answer->is_here ? static_cast<std::uint64_t>(answer->cores) : 0;
  }

  const Live live{
      {"--resources", "node=1/core=8", "--conf", "grant.hold=0", "--conf", "queue.policy=easy"}};
  const std::uint64_t first = live.child({2}, "", elastic());
};

TEST_F(Reclaimed, GoesToAJobThatWaitsAboveAndEndsNoneThatRuns) {
  fill("/1", 8);
  ASSERT_TRUE(eventually([&] { return running_in("/1") == 8; })) << running_in("/1");
  const auto above = live.job(live.gated("above"), cores(3));
  // As many as it needs, though the child has six beyond its own.
  ASSERT_TRUE(eventually([&] { return asked_back_from("/1") >= 3; })) << asked_back_from("/1");
  EXPECT_LE(asked_back_from("/1"), 4);
  EXPECT_EQ(running_in("/1"), 8);
  EXPECT_EQ(live.record(above).state, "SCHED");
  let_go("/1", 0, 8);
  live.when_running(above);
  expect_all_completed("/1", 8);
  live.release("above");
  EXPECT_EQ(live.wait_one(above).result, "COMPLETED");
}

TEST_F(Reclaimed, GoesToAChildThatHasLess) {
  ASSERT_EQ(live.child({2}, "", elastic()), 2u);
  fill("/1", 8);
  ASSERT_TRUE(eventually([&] { return running_in("/1") == 6; })) << running_in("/1");
  fill("/2", 4);
  ASSERT_TRUE(eventually([&] { return asked_back_from("/1") == 1; })) << asked_back_from("/1");
  EXPECT_EQ(running_in("/2"), 2);
  let_go("/1", 0, 6);
  EXPECT_TRUE(eventually([&] { return running_in("/2") == 3; })) << running_in("/2");
  EXPECT_EQ(cores_of("/2"), 3);
  EXPECT_EQ(cores_of("/1"), 5) << "the other would not be better off with one more";
  let_go("/1", 6, 8);
  let_go("/2", 0, 4);
  expect_all_completed("/1", 8);
  expect_all_completed("/2", 4);
}

// Somebody was told until when it is there.
TEST_F(Reclaimed, WhatAPersonHasAskedForStays) {
  fill("/1", 4);
  ASSERT_TRUE(eventually([&] { return running_in("/1") == 4; })) << running_in("/1");
  ASSERT_EQ(ask_by_hand(4, "/1"), 4u);
  const auto above = live.job(live.gated("above"), cores(2));
  ASSERT_TRUE(eventually([&] { return asked_back_from("/1") == 2; })) << asked_back_from("/1");
  let_go("/1", 0, 4);
  expect_all_completed("/1", 4);
  live.when_running(above);
  EXPECT_EQ(cores_of("/1"), 6) << "its own, and what it was asked for";
  live.release("above");
  EXPECT_EQ(live.wait_one(above).result, "COMPLETED");
}

// What somebody asks for by hand in the child that has it all would be paid for by that child.
TEST_F(Reclaimed, AJobThatNothingHelpsIsInNobodysWay) {
  fill("/1", 8);
  ASSERT_TRUE(eventually([&] { return running_in("/1") == 8; })) << running_in("/1");
  ASSERT_EQ(ask_by_hand(2, "/1"), 0u) << "it waits";
  JobOptions small = cores(1);
  small.duration = 60;
  const auto above = live.job(live.gated("above"), small);
  ASSERT_TRUE(eventually([&] { return asked_back_from("/1") > 0; }));
  let_go("/1", 0, 8);
  live.when_running(above);
  live.release("above");
  expect_all_completed("/1", 8);
}

// A grandchild's person: the child between them passes the wish on.
TEST_F(Reclaimed, WhatAPersonBelowHasAskedForStays) {
  ASSERT_EQ(live.child({1}, "/1"), 1u);
  ASSERT_EQ(ask_by_hand(3, "/1/1"), 0u) << "the child has one core left, and asks for more";
  ASSERT_TRUE(eventually([&] { return cores_of("/1/1") == 4; })) << cores_of("/1/1");
  for (const auto& job : live.jobs(false, false))
    if (job.name == "grant") {
      EXPECT_EQ(job.urgency, 16u) << "no child has thought of it by itself";
    }
}

class HeldForLonger : public ::testing::Test {
 protected:
  void TearDown() override { testing::expect_sound_tree(live); }
  const Live live{{"--resources", "node=1/core=4", "--conf", "grant.hold=3s"}};
};

TEST_F(HeldForLonger, NothingIsTakenBefore) {
  ASSERT_EQ(live.child({1}, "", {"grant.max=4", "grant.idle=1h"}), 1u);
  for (int i = 0; i < 4; ++i) live.job(live.gated(std::to_string(i)), {1, 300}, "/1");
  ASSERT_TRUE(eventually([&] {
    const auto node = live.status("/1");
    return node && node->running == 4;
  }));
  const auto above = live.job(live.gated("above"), {1, 300});
  const auto times_of = [&](const std::string& event) {
    std::vector<double> times;
    const auto info = live.call<msg::JobInfoReply>("job.info", msg::JobInfoRequest{1});
    std::istringstream lines(info ? info->eventlog : "");
    for (std::string line; std::getline(lines, line);)
      if (const auto event_of_line = nlohmann::json::parse(line); event_of_line["name"] == event)
        times.push_back(event_of_line["timestamp"].get<double>());
    return times;
  };
  ASSERT_TRUE(eventually([&] { return !times_of("grant-recall").empty(); }));
  const auto given = times_of("grant-extend");
  ASSERT_EQ(given.size(), 3u);
  EXPECT_GE(times_of("grant-recall").front() - given.front(), 2.9);
  for (int i = 0; i < 4; ++i) live.release(std::to_string(i));
  live.when_running(above);
  live.release("above");
  EXPECT_EQ(live.wait_one(above).result, "COMPLETED");
}

}  // namespace
}  // namespace holon::instance
