// The page of fixed records at a fixed time, in a real browser, compared with kept pictures and
// with kept places of its texts: browser/pictures.mjs. With HOLON_KEEP_PICTURES they are made anew.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "tests/web/browser/checks.hpp"
#include "tests/web/browser/fixed_page.hpp"
#include "tests/web/jobs.hpp"
#include "web/server.hpp"

namespace holon::web {
namespace {

using testing::ended_job;
using testing::part_with;
using testing::running_job;
using testing::waiting_job;

constexpr Time kFixedNow = 1'772'452'800'000;  // 2026-03-02 12:00:00 UTC
constexpr Time kMinute = 60'000;

Time minutes_ago(std::int64_t minutes) {
  return kFixedNow - minutes * kMinute;
}

msg::JobRecord described(msg::JobRecord job, const std::string& name, std::int64_t cores) {
  job.name = name;
  job.command = "./" + name + " --input west";
  job.ncores = cores;
  job.resources = std::to_string(cores) + (cores == 1 ? " core" : " cores");
  job.user = job.id % 3 == 0 ? "bob" : "ann";
  return job;
}

// Three hours: waves of jobs on four nodes that complete, some that fail, are cut off or cancelled.
std::vector<msg::JobRecord> past() {
  constexpr std::array kResults = {"COMPLETED", "COMPLETED", "COMPLETED", "FAILED",
                                   "COMPLETED", "COMPLETED", "TIMEOUT",   "COMPLETED",
                                   "CANCELED",  "COMPLETED", "COMPLETED"};
  std::vector<msg::JobRecord> jobs;
  for (std::uint64_t id = 10; id < 74; ++id) {
    const auto n = static_cast<std::int64_t>(id);
    const Time begin = minutes_ago(190 - 10 * ((n - 10) / 4)) + n * 7'000;
    const Time end = begin + kMinute * (3 + n * 5 % 7);
    auto job = described(ended_job(id, {begin, end}, "n" + std::to_string(1 + n % 4),
                                   kResults[id % kResults.size()]),
                         n % 4 == 3 ? "reduce" : "load", 1 + n % 4);
    job.t_submit = begin - kMinute * (n % 3);
    if (job.result == "TIMEOUT") job.reason = "its time limit was over";
    jobs.push_back(job);
  }
  return jobs;
}

msg::JobRecord held(msg::JobRecord job, std::int64_t minutes) {
  job.limit = minutes * kMinute;
  job.expiration = job.t_start + job.limit;
  return job;
}

// Two that run, a child with a core more than it began with, one that has a place and two that
// wait.
std::vector<msg::JobRecord> present() {
  auto child = held(described(running_job(80, minutes_ago(25), "n3"), "campaign", 4), 60);
  child.is_instance = true;
  auto grant = held(described(running_job(81, minutes_ago(12), "n3"), "grant", 1), 30);
  grant.command = "grant";
  auto planned = described(waiting_job(84, minutes_ago(9)), "wide", 12);
  planned.reason = "the 12 processors it needs are not free: 9 of 24 are";
  planned.t_estimate = minutes_ago(-20);
  auto behind = described(waiting_job(85, minutes_ago(4)), "wide", 12);
  behind.reason = "the 12 processors it needs are not free: 9 of 24 are";
  return {child,
          grant,
          held(described(running_job(82, minutes_ago(40), "n1"), "train", 6), 60),
          held(described(running_job(83, minutes_ago(8), "n2"), "train", 4), 45),
          planned,
          behind};
}

msg::TreeNode node_named(const std::string& name, std::int64_t cores, std::int64_t free) {
  msg::TreeNode node;
  node.name = name;
  node.policy = "easy";
  node.health = "up";
  node.nodes = 4;
  node.cores = cores;
  node.cores_free = free;
  node.t_started = minutes_ago(200);
  return node;
}

GrantView lent() {
  GrantView grant;
  grant.now.given = {{"/80", "extra", "held", "5", 1, 0, minutes_ago(-18), 81, "", ""},
                     {"/80", "owned", "held", "1-4", 4, 0, 0, 0, "", ""}};
  const auto entry = [](Time time, const char* name, const std::string& what) {
    return msg::GrantEvent{time, name,
                           std::string(R"({"is": ")") + name + R"(", "what": )" + what + "}"};
  };
  grant.history = {
      entry(minutes_ago(25), "began", R"({"child": 80, "units": "1-4"})"),
      entry(minutes_ago(20), "offered",
            R"({"child": 80, "extend": {"op": 1, "units": "5-6", "until": 1772452000000}})"),
      entry(minutes_ago(20), "settled", R"({"child": 80, "op": 1, "taken": true})"),
      entry(minutes_ago(14), "gone", R"({"child": 80, "units": "5-6"})"),
      entry(minutes_ago(12), "offered",
            R"({"child": 80, "extend": {"op": 2, "units": "5", "until": 1772453880000}})"),
      entry(minutes_ago(12), "settled", R"({"child": 80, "op": 2, "taken": true})")};
  return grant;
}

Model fixed_model() {
  Model model;
  auto jobs = past();
  for (auto& job : present()) jobs.push_back(job);
  auto part = part_with(std::move(jobs), true);
  part.events = {{83, minutes_ago(8), "start", "{}"}};
  part.node = {node_named("cluster", 32, 9)};
  part.node[0].running = 4;
  part.node[0].pending = 2;
  part.node[0].inactive = 64;
  part.node[0].failed = 18;
  part.node[0].cancelled = 6;
  part.node[0].expiration = minutes_ago(-160);
  model.take("/", part, kFixedNow);
  auto below =
      part_with({held(described(running_job(1, minutes_ago(10), "n3", "/80"), "inner", 5), 20),
                 described(waiting_job(2, minutes_ago(6), "/80"), "inner", 5)},
                true);
  below.node = {node_named("campaign", 5, 0)};
  below.node[0].running = below.node[0].pending = 1;
  below.node[0].expiration = minutes_ago(-35);
  model.take("/80", below, kFixedNow);
  msg::ResourceReply resources;
  resources.R = R"({"version": 1, "execution": {"nodelist": ["n[1-4]"], "R_lite": [
    {"rank": "0-3", "children": {"core": "0-7"}}]}})";
  resources.nodes_allocated = "n[1-3]";
  resources.nodes_down = "n4";
  model.take_resources("/", resources);
  msg::Span span;
  span.id = 84;
  span.path = "/84";
  span.name = "84 wide";
  span.kind = "reservation";
  span.begin = minutes_ago(-20);
  span.end = minutes_ago(-50);
  span.nodelist = "n[1-2]";
  span.nodes = 2;
  span.cores = 12;
  model.take_plan("/", {span});
  model.take_grants("/", lent());
  return model;
}

TEST(Pictures, OfFixedRecordsAreThoseThatAreKept) {
  if (!has_page()) GTEST_SKIP() << "there is no page in this build: npm or esbuild was missing";
  if (!testing::has_browser())
    GTEST_SKIP() << "there is no chromium, or npm could not fetch what drives it";
  const testing::FixedPage page(fixed_model(), kFixedNow);
  std::string home = ::testing::TempDir() + "holon-pictures-XXXXXX";
  ASSERT_NE(mkdtemp(home.data()), nullptr);
  EXPECT_GE(
      testing::run_checks(
          "pictures.mjs", home,
          {page.address(), std::to_string(kFixedNow), HOLON_SOURCE_DIR "/tests/web/browser/kept",
           std::getenv("HOLON_KEEP_PICTURES") != nullptr ? "keep" : "compare"}),
      8);
  std::filesystem::remove_all(home);
}

}  // namespace
}  // namespace holon::web
