// What the server knows of a tree, from the parts of its streams.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/web/jobs.hpp"
#include "web/answers.hpp"

namespace holon::web {
namespace {

using nlohmann::json;
using testing::ended_job;
using testing::part_with;
using testing::running_job;
using testing::waiting_job;

TEST(Model, KnowsTheJobsOfAnInstanceAndOfThoseBelow) {
  Model model;
  model.take("/", part_with({waiting_job(1, 10), running_job(2, 20, "n1")}, true), 100);
  model.take("/2", part_with({waiting_job(1, 30, "/2")}, true), 100);
  EXPECT_EQ(model.jobs_below("/", true).size(), 3u);
  EXPECT_EQ(model.jobs_below("/2", true).size(), 1u);
  ASSERT_NE(model.job("/2/1"), nullptr);
  EXPECT_EQ(model.job("/2/1")->t_submit, 30);
  EXPECT_EQ(model.job("/9/1"), nullptr);
  EXPECT_EQ(model.job("nothing"), nullptr);
}

TEST(Model, APathThatOnlyBeginsAlikeIsNotBelow) {
  EXPECT_TRUE(is_below("/3/7", "/3"));
  EXPECT_TRUE(is_below("/3", "/3"));
  EXPECT_FALSE(is_below("/31", "/3"));
  EXPECT_TRUE(is_below("/31", "/"));
}

TEST(Model, ASnapshotTakesThePlaceOfWhatWasKnown) {
  Model model;
  model.take("/", part_with({waiting_job(1, 10), waiting_job(2, 20)}, true), 100);
  model.take("/", part_with({waiting_job(2, 20)}, true), 100);
  EXPECT_EQ(model.jobs_below("/", true).size(), 1u);
  EXPECT_EQ(model.find("/")->waiting.size(), 1u);
}

TEST(Model, TheOldestWaitEndsWithItsJob) {
  Model model;
  model.take("/", part_with({waiting_job(1, 10), waiting_job(2, 20)}, true), 100);
  EXPECT_EQ(model.find("/")->waiting.begin()->first, 10);
  model.take("/", part_with({running_job(1, 50, "n1")}), 100);
  EXPECT_EQ(model.find("/")->waiting.begin()->first, 20);
}

TEST(Model, TheLongestWaitsAreThoseOfAllInstancesBelow) {
  Model model;
  model.take("/", part_with({waiting_job(1, 10), waiting_job(2, 40)}, true), 100);
  model.take("/5", part_with({waiting_job(1, 30, "/5"), waiting_job(2, 20, "/5")}, true), 100);
  using Ids = std::map<std::string, std::vector<std::uint64_t>>;
  EXPECT_EQ(model.waiting_longest("/", 3), (Ids{{"/", {1}}, {"/5", {2, 1}}}));
  EXPECT_EQ(model.waiting_longest("/5", 1), (Ids{{"/5", {2}}}));
  EXPECT_EQ(model.waiting_longest("/7", 1), Ids());
}

TEST(Model, AReasonIsTakenOnlyForWhatStillWaits) {
  Model model;
  model.take("/", part_with({waiting_job(1, 10), running_job(2, 20, "n1")}, true), 100);
  auto first = waiting_job(1, 10), second = waiting_job(2, 20);
  first.reason = second.reason = "the node is drained";
  const auto before = model.version();
  model.take_reasons("/", {first, second});
  EXPECT_EQ(model.job("/1")->reason, "the node is drained");
  EXPECT_EQ(model.job("/2")->reason, "") << "it has started since";
  EXPECT_EQ(model.version(), before + 1);
  model.take_reasons("/", {first, second});
  EXPECT_EQ(model.version(), before + 1) << "as it was";
}

TEST(Model, CoresOfChildrenAreGivenUntilTheyEnd) {
  Model model;
  auto child = running_job(1, 10, "n1");
  child.is_instance = true;
  child.ncores = 4;
  model.take("/", part_with({child}, true), 100);
  EXPECT_EQ(model.find("/")->given, 4);
  child.state = "INACTIVE";
  model.take("/", part_with({child}), 100);
  EXPECT_EQ(model.find("/")->given, 0);
}

TEST(Model, WhatAChildHasBeyondItsOwnIsExtraThereAndLentAbove) {
  Model model;
  auto child = running_job(1, 10, "n1");
  child.is_instance = true;
  child.ncores = 5;
  model.take("/", part_with({child, running_job(2, 20, "n1")}, true), 100);
  auto below = part_with({}, true);
  below.node[0].cores = 5;
  model.take("/1", below, 100);
  EXPECT_EQ(model.extra("/1"), 0);
  EXPECT_EQ(model.lent("/"), 0);
  const auto seen = model.version();
  const auto moved = model.find("/")->moved, moved_below = model.find("/1")->moved;
  auto extend = part_with({child});
  extend.events = {{1, 90, "grant-extend", R"({"grant": 2, "cores": 3})"}};
  model.take("/", extend, 100);
  below.anew = false;
  below.node[0].cores = 8;
  model.take("/1", below, 100);
  EXPECT_EQ(model.extra("/1"), 3);
  EXPECT_EQ(model.extra("/"), 0);
  EXPECT_EQ(model.lent("/"), 3);
  EXPECT_EQ(model.find("/")->grants.at(2), 1u);
  EXPECT_GT(model.find("/")->moved, moved);
  EXPECT_GT(model.find("/1")->moved, moved_below);
  const auto told = json::parse(state_json(model, {"/", seen, false, 100}));
  ASSERT_EQ(told["instances"].size(), 2u) << "the line above shows it, too";
  EXPECT_EQ(told["instances"][0]["lent"], 3);
  EXPECT_EQ(told["instances"][1]["extra"], 3);
}

// What a child asks for is a job above before it moves, and is asked for from both when it is there
// and when it is over: a promise or a no is then to be seen.
TEST(Model, AGrantThatIsAskedForIsLookedAt) {
  Model model;
  auto child = running_job(1, 10, "n1");
  child.is_instance = true;
  model.take("/", part_with({child, running_job(3, 10, "n1")}, true), 100);
  model.take("/1", part_with({}, true), 100);
  model.take("/3", part_with({}, true), 100);
  const auto moved = [&](const char* path) { return model.find(path)->moved; };
  const auto above = moved("/"), below = moved("/1"), beside = moved("/3");
  auto grant = waiting_job(2, 20);
  grant.command = "grant to /1";
  auto asked = part_with({grant, waiting_job(4, 20)});
  asked.events = {{2, 20, "submit", "{}"}, {4, 20, "submit", "{}"}};
  model.take("/", asked, 100);
  EXPECT_EQ(moved("/"), above + 1);
  EXPECT_EQ(moved("/1"), below + 1);
  asked.events = {{2, 90, "clean", "{}"}};
  model.take("/", asked, 100);
  EXPECT_EQ(moved("/1"), below + 2);
  EXPECT_EQ(moved("/3"), beside);
}

TEST(Model, OfForgottenGrantsNothingIsKept) {
  constexpr std::uint64_t kMost = 100;
  Model model(kMost);
  model.take("/", part_with({running_job(1, 10, "n1")}, true), 100);
  for (std::uint64_t id = 2; id < 1'000; ++id) {
    auto part = part_with({ended_job(id, {20, 30}, "n1"), running_job(1, 10, "n1")});
    part.events = {{1, 90, "grant-extend", fmt::format(R"({{"grant": {}, "cores": 1}})", id)}};
    model.take("/", part, 100);
  }
  EXPECT_LT(model.find("/")->grants.size(), 2 * kMost);
  EXPECT_TRUE(model.find("/")->grants.contains(999));
}

// Otherwise those who look would ask for each other's sake, for ever.
TEST(Model, WhatIsAsItWasIsNoChange) {
  Model model;
  model.take("/", part_with({}, true), 100);
  msg::Span span;
  span.id = 3;
  model.take_plan("/", {span});
  msg::ResourceReply resources;
  resources.R = R"({"execution": {"nodelist": ["n1"], "R_lite": [{"rank": "0", "children": {}}]}})";
  model.take_resources("/", resources);
  GrantView grant;
  msg::GrantPart lent;
  lent.path = "/1";
  lent.units = "3";
  grant.now.given = {lent};
  grant.history = {{50, "offered", "{}"}};
  model.take_grants("/", grant);
  const auto version = model.version();
  model.take_plan("/", {span});
  model.take_resources("/", resources);
  model.take_grants("/", grant);
  EXPECT_EQ(model.version(), version);
  span.begin = 5;
  model.take_plan("/", {span});
  resources.nodes_down = "n1";
  model.take_resources("/", resources);
  grant.history.push_back({60, "settled", "{}"});
  model.take_grants("/", grant);
  EXPECT_EQ(model.version(), version + 3);
}

TEST(Model, AnArrayIsDrawnByItsTasksOnceTheyAreKnown) {
  Model model;
  auto array = running_job(1, 10, "");
  array.array = 1;
  array.tasks = 2;
  model.take("/", part_with({array}, true), 100);
  EXPECT_EQ(model.jobs_below("/", true).size(), 1u);
  auto task = running_job(2, 10, "n1");
  task.array = 1;
  task.index = 0;
  model.take_jobs("/", {task}, 100);
  ASSERT_EQ(model.jobs_below("/", true).size(), 1u);
  EXPECT_EQ(model.jobs_below("/", true)[0]->id, 2u);
  ASSERT_EQ(model.jobs_below("/", false).size(), 1u);
  EXPECT_EQ(model.jobs_below("/", false)[0]->id, 1u);
}

TEST(Model, ForgetsTheOldestJobsThatAreOver) {
  Model model(100);
  std::vector<msg::JobRecord> jobs = {waiting_job(1, 1)};
  for (std::uint64_t id = 2; id <= 1'000; ++id)
    jobs.push_back(ended_job(id, {static_cast<Time>(id), static_cast<Time>(id) + 1}, "n1"));
  model.take("/", part_with(jobs, true), 2'000);
  EXPECT_LE(model.find("/")->jobs.size(), 113u);
  EXPECT_NE(model.job("/1"), nullptr) << "it waits";
  EXPECT_NE(model.job("/1000"), nullptr);
  EXPECT_EQ(model.job("/2"), nullptr);
}

TEST(State, TellsOnlyWhatHasChangedSince) {
  Model model;
  model.take("/", part_with({}, true), 100);
  const auto seen = model.version();
  model.take("/1", part_with({}, true), 100);
  const auto all = json::parse(state_json(model, {"/", 0, false, 100}));
  const auto later = json::parse(state_json(model, {"/", seen, false, 100}));
  EXPECT_EQ(all["instances"].size(), 2u);
  EXPECT_TRUE(all["anew"]);
  ASSERT_EQ(later["instances"].size(), 1u);
  EXPECT_EQ(later["instances"][0]["path"], "/1");
  EXPECT_FALSE(later["anew"]);
  EXPECT_EQ(later["version"], model.version());
}

TEST(State, WhatAJobIsCalledIsTextWhateverIsInIt) {
  Model model;
  auto job = waiting_job(1, 10);
  job.name = "</script><script>alert(1)</script>\xff";
  model.take("/", part_with({job}, true), 100);
  const auto list = list_json(model, {"/", "", 0, 10});
  ASSERT_TRUE(list);
  const auto parsed = json::parse(*list);
  EXPECT_EQ(parsed["jobs"][0]["name"], "</script><script>alert(1)</script>\xef\xbf\xbd");
}

TEST(Hosts, HaveTheCoresOfRAndTheirState) {
  msg::ResourceReply reply;
  reply.R = R"({"version": 1, "execution": {"nodelist": ["n[1-3]"], "R_lite": [
    {"rank": "0-1", "children": {"core": "0-7", "gpu": "0"}}, {"rank": "2", "children": {"core": "0-3"}}]}})";
  reply.nodes_allocated = "n1";
  reply.nodes_down = "n3";
  reply.nodes_drained = {{"n2", "bad memory", 5, false, false}};
  const auto hosts = hosts_of(reply);
  ASSERT_EQ(hosts.size(), 3u);
  EXPECT_EQ(hosts[0].cores, 8);
  EXPECT_EQ(hosts[0].gpus, 1);
  EXPECT_EQ(hosts[0].state, "busy");
  EXPECT_EQ(hosts[1].state, "drained");
  EXPECT_EQ(hosts[1].reason, "bad memory");
  EXPECT_EQ(hosts[2].cores, 4);
  EXPECT_EQ(hosts[2].state, "down");
}

TEST(Hosts, OfSomethingThatIsNoRAreNone) {
  msg::ResourceReply reply;
  for (const char* R : {"", "[]", "{", R"({"execution": 3})", R"({"execution": {"R_lite": 7}})"}) {
    reply.R = R;
    EXPECT_TRUE(hosts_of(reply).empty()) << R;
  }
}

TEST(Metrics, AreOpenMetrics) {
  Model model;
  model.take("/", part_with({waiting_job(1, 10'000)}, true), 100);
  const std::string text = metrics_text(model, 7);
  EXPECT_TRUE(text.ends_with("# EOF\n"));
  EXPECT_NE(text.find("# TYPE slurm_jobs_pending gauge\n"), std::string::npos);
  EXPECT_NE(text.find("holon_cores{instance=\"/\"} 8\n"), std::string::npos);
  EXPECT_NE(text.find("holon_oldest_wait_start_seconds{instance=\"/\"} 10\n"), std::string::npos);
}

}  // namespace
}  // namespace holon::web
