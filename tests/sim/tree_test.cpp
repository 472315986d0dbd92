// Trees of instances in virtual time: what must be the same as on one machine, and what lending
// wins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <fstream>

#include "places.hpp"  // written by CMake
#include "qmanager/machine/flat_machine.hpp"
#include "sim/swf.hpp"
#include "sim/tree/tree.hpp"

namespace holon::sim {
namespace {

using testing::HasSubstr;

const std::filesystem::path kSharedTraces =
    std::filesystem::path(HOLON_SOURCE_DIR) / ".." / "shared" / "traces";

std::string all_of_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TraceJob tree_job(std::int64_t id, Time submit, std::int64_t procs, Duration limit, Duration run,
                  const std::string& user = "u1") {
  TraceJob made;
  made.id = id;
  made.submit = submit;
  made.procs = procs;
  made.limit = limit;
  made.run = run;
  made.user = user;
  return made;
}

TreePlan plan_of(const std::string& toml, const std::string& policy = "easy") {
  auto plan = read_tree(toml, "tree.toml", 1);
  EXPECT_TRUE(plan) << to_string(plan.error());
  for (TreeInstance& instance : plan->instances) {
    instance.config.defaults.policy = policy;
    instance.config.defaults.queue_depth = 1'000'000;
  }
  return *plan;
}

SimOptions checked(const std::string& policy) {
  SimOptions options;
  options.config.defaults.policy = policy;
  options.config.defaults.queue_depth = 1'000'000;
  options.check_invariants = true;
  return options;
}

TreeResult played(const Workload& workload, const TreePlan& plan) {
  SimOptions options;
  options.check_invariants = workload.jobs.size() < 2000;
  auto result = simulate_tree(workload, plan, options);
  EXPECT_TRUE(result) << to_string(result.error());
  return *result;
}

std::vector<std::optional<Time>> starts_of(const SimResult& result) {
  std::vector<std::optional<Time>> starts;
  for (const JobOutcome& outcome : result.jobs) starts.push_back(outcome.start);
  return starts;
}

std::vector<std::optional<Time>> flat_starts(const Workload& workload, std::int64_t procs,
                                             const std::string& policy) {
  SimOptions options = checked(policy);
  options.check_invariants = false;
  return starts_of(*simulate(workload, std::make_unique<qmanager::FlatMachine>(procs), options));
}

Workload random_workload(std::int64_t procs, int most = 60) {
  Workload workload;
  const int count = *rc::gen::inRange(1, most);
  Time submit = 0;
  for (int i = 0; i < count; ++i) {
    submit += *rc::gen::inRange(0, 12);
    const Duration limit = *rc::gen::inRange(1, 40);
    workload.jobs.push_back(tree_job(i + 1, submit, *rc::gen::inRange<std::int64_t>(1, procs + 1),
                                     limit, *rc::gen::inRange<Duration>(1, limit + 1),
                                     "u" + std::to_string(*rc::gen::inRange(1, 7))));
  }
  return workload;
}

const std::vector<std::string> kPolicies = {"fcfs", "easy", "conservative"};

// The root owns all and has no jobs; its one child owns nothing.
std::string one_child(std::int64_t procs) {
  return "[instance.site]\nowned = " + std::to_string(procs) +
         "\nelastic = \"plan\"\n"
         "[instance.team]\nparent = \"site\"\nelastic = \"plan\"\n";
}

std::string children(int k, std::int64_t each, const std::string& mode) {
  std::string toml;
  for (int i = 1; i <= k; ++i)
    toml += "[instance.c" + std::to_string(i) + "]\nowned = " + std::to_string(each) +
            "\nelastic = \"" + mode + "\"\n";
  return toml;
}

// ---- identities

RC_GTEST_PROP(Tree, OneElasticChildStartsEveryJobAsTheFlatMachine, ()) {
  const Workload workload = random_workload(10);
  for (const std::string& policy : kPolicies) {
    const TreeResult result = played(workload, plan_of(one_child(10), policy));
    RC_ASSERT(starts_of(result.whole) == flat_starts(workload, 10, policy));
  }
}

// What each child would do by itself.
void expect_separate(const Workload& workload, const TreePlan& plan, std::int64_t each,
                     const std::string& policy) {
  const TreeResult result = played(workload, plan);
  for (const std::size_t child : plan.route.to) {
    Workload mine;
    std::vector<std::optional<Time>> got;
    for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
      if (result.dealt_to[i] != child) continue;
      mine.jobs.push_back(workload.jobs[i]);
      got.push_back(result.whole.jobs[i].start);
    }
    EXPECT_EQ(got, flat_starts(mine, each, policy)) << plan.instances[child].name;
  }
  EXPECT_TRUE(result.moves.empty());
}

RC_GTEST_PROP(Tree, ChildrenThatLendNothingAreAsSeparateMachines, ()) {
  const Workload workload = random_workload(6);
  for (const std::string& policy : kPolicies)
    expect_separate(workload, plan_of(children(3, 5, "off"), policy), 5, policy);
}

class TreeOnTraces : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(TreeOnTraces, IdentitiesHold) {
  const auto& [name, policy] = GetParam();
  const auto path = kSharedTraces / (std::string(name) + ".swf");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "NO TRACES: nothing was compared";
  Workload workload = read_swf(all_of_file(path), {})->workload;
  if (workload.jobs.size() > 6000) workload.jobs.resize(6000);
  const std::int64_t procs = workload.max_procs;
  const TreeResult result = played(workload, plan_of(one_child(procs), policy));
  EXPECT_EQ(starts_of(result.whole), flat_starts(workload, procs, policy));
  expect_separate(workload, plan_of(children(4, procs / 4, "off"), policy), procs / 4, policy);
}

INSTANTIATE_TEST_SUITE_P(All, TreeOnTraces,
                         testing::Combine(testing::Values("kth-sp2-5k", "sdsc-sp2-5k", "curie-30k"),
                                          testing::Values("fcfs", "easy", "conservative")));

// ---- loans

TEST(Tree, AnIdleInstanceLendsToAJobThatStartsNow) {
  Workload workload;
  workload.jobs = {tree_job(1, 0, 6, 100, 50, "a"), tree_job(2, 0, 2, 100, 100, "b")};
  TreePlan plan = plan_of(children(2, 4, "plan") +
                          "[route]\nby = \"user\"\nnames = {a = \"c1\", b = \"c2\"}\n"
                          "[cost]\nnotice = 60\n");
  const TreeResult result = played(workload, plan);
  EXPECT_EQ(result.whole.jobs[0].start, 0);
  ASSERT_EQ(result.moves.size(), 1u);
  EXPECT_EQ(result.moves[0].procs, 2);
  EXPECT_EQ(result.moves[0].to, 50);  // its job has ended
  EXPECT_EQ(result.ended_by_return, 0);
}

TEST(Tree, ALoanDelaysNobodyWhoWaitsAtTheLender) {
  // c1 is full. c2 has a job of 3 until 10, and one of 4 that waits for it; what is free until then
  // is lent only for so long.
  Workload workload;
  workload.jobs = {tree_job(1, 0, 4, 100, 100, "a"), tree_job(2, 0, 3, 10, 10, "b"),
                   tree_job(3, 1, 4, 10, 10, "b"), tree_job(4, 2, 1, 9, 5, "a"),
                   tree_job(5, 2, 1, 8, 5, "a")};
  const TreePlan plan = plan_of(children(2, 4, "plan") +
                                "[route]\nby = \"user\"\nnames = {a = \"c1\", b = \"c2\"}\n");
  const TreeResult result = played(workload, plan);
  EXPECT_EQ(result.whole.jobs[2].start, 10);
  EXPECT_EQ(result.whole.jobs[4].start, 2);  // ends by 10
  EXPECT_NE(result.whole.jobs[3].start, 2);  // would not
}

TEST(Tree, TheMinimumAndTheMaximumHold) {
  Workload workload;
  workload.jobs = {tree_job(1, 0, 6, 100, 50, "a"), tree_job(2, 0, 1, 1, 1, "b")};
  const std::string route = "[route]\nby = \"user\"\nnames = {a = \"c1\", b = \"c2\"}\n";
  EXPECT_FALSE(played(workload, plan_of("[instance.c1]\nowned = 4\nelastic = \"plan\"\n"
                                        "[instance.c2]\nowned = 4\nmin = 3\nelastic = \"plan\"\n" +
                                        route))
                   .whole.jobs[0]
                   .start);
  EXPECT_THAT(played(workload, plan_of("[instance.c1]\nowned = 4\nmax = 5\nelastic = \"plan\"\n"
                                       "[instance.c2]\nowned = 4\nelastic = \"plan\"\n" +
                                       route))
                  .whole.jobs[0]
                  .refused,
              HasSubstr("6 processors"));
}

TEST(Tree, MovesTakeTime) {
  Workload workload;
  workload.jobs = {tree_job(1, 0, 6, 100, 50, "a"), tree_job(2, 0, 1, 1, 1, "b")};
  const TreePlan plan = plan_of(children(2, 4, "plan") +
                                "[route]\nby = \"user\"\nnames = {a = \"c1\", b = \"c2\"}\n"
                                "[cost]\nmessage = 2\nagent-start = 3\nlaunch = 1\n");
  const TreeResult result = played(workload, plan);
  EXPECT_EQ(result.whole.jobs[0].start, 7);  // up, down, and the agents
  EXPECT_EQ(result.in_flight, 2 * 7 + 2 * 4);
}

TEST(Tree, AnEagerOwnerRecallsWhatPreemptibleJobsHave) {
  Workload workload;
  workload.jobs = {tree_job(1, 0, 8, 1000, 500, "a"), tree_job(2, 10, 4, 50, 50, "b")};
  workload.jobs[0].preemptible = true;
  const auto tree = [](const char* mode) {
    return plan_of(children(2, 4, mode) +
                   "[route]\nby = \"user\"\nnames = {a = \"c1\", b = \"c2\"}\n"
                   "[cost]\nnotice = 30\n");
  };
  const TreeResult planned = played(workload, tree("plan"));
  EXPECT_EQ(planned.whole.jobs[1].start, 500);
  EXPECT_EQ(planned.ended_by_return, 0);
  const TreeResult eager = played(workload, tree("eager"));
  EXPECT_EQ(eager.whole.jobs[1].start, 40);
  EXPECT_EQ(eager.ended_by_return, 1);
  EXPECT_EQ(eager.whole.jobs[0].start, 90);
}

// Whatever the jobs are: nobody has more than there is, all come back, all that can run does.
RC_GTEST_PROP(Tree, EveryJobThatFitsRunsAndAllComesBack, ()) {
  const Workload workload = random_workload(5);
  const std::string costs = *rc::gen::arbitrary<bool>()
                                ? "[cost]\nmessage = 1\nagent-start = 2\nnotice = 3\n"
                                : "[cost]\nnotice = 3\n";
  const TreePlan plan = plan_of(children(3, 5, "plan") + costs);
  const TreeResult result = played(workload, plan);
  std::map<Time, std::int64_t> used;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const JobOutcome& outcome = result.whole.jobs[i];
    RC_ASSERT(outcome.start.has_value());
    used[*outcome.start] += workload.jobs[i].procs;
    used[*outcome.start + workload.jobs[i].run] -= workload.jobs[i].procs;
  }
  std::int64_t now = 0;
  for (const auto& [when, change] : used) {
    now += change;
    RC_ASSERT(now <= 15);
  }
  for (const LoanRecord& move : result.moves) RC_ASSERT(move.to != kTimeMax);
  RC_ASSERT(result.ended_by_return == 0);
}

// ---- TREE.toml

std::string why_wrong(const std::string& toml) {
  const auto plan = read_tree(toml, "tree.toml", 1);
  return plan ? "" : to_string(plan.error());
}

TEST(TreeFile, WhatIsWrongIsNamed) {
  EXPECT_THAT(why_wrong(""), HasSubstr("no [instance.NAME] is there"));
  EXPECT_THAT(why_wrong("[instance.a]\nowned = 4\ncolour = 1\n"),
              HasSubstr("tree.toml:3: colour: not known; accepted are"));
  EXPECT_THAT(why_wrong("[instance.a]\nowned = -1\n"), HasSubstr("tree.toml:2: owned"));
  EXPECT_THAT(why_wrong("[instance.a]\nowned = 4\nelastic = \"yes\"\n"),
              HasSubstr("\"off\", \"plan\" or \"eager\""));
  EXPECT_THAT(why_wrong("[instance.a]\nowned = 4\nparent = \"b\"\n"), HasSubstr("\"b\""));
  EXPECT_THAT(why_wrong("[instance.a]\n"), HasSubstr("owns a processor"));
  EXPECT_THAT(why_wrong("[instance.a]\nowned = 4\n[route]\nto = [\"b\"]\n"),
              HasSubstr("the name of an instance"));
  EXPECT_THAT(why_wrong("[instance.a]\nowned = 4\n[cost]\nmessage = -1\n"), HasSubstr("seconds"));
  EXPECT_THAT(why_wrong("[instance.a"), HasSubstr("tree.toml:1"));
  EXPECT_THAT(why_wrong("a = " + std::string(10'000, '[')), HasSubstr("too deep"));
}

TEST(TreeFile, SaysWhoIsAboveWhom) {
  const TreePlan plan = plan_of(
      "[instance.a]\nparent = \"z\"\nowned = 4\nweight = 2.5\nconf = {\"queue.policy\" = "
      "\"fcfs\"}\n"
      "[instance.b]\nparent = \"a\"\nowned = \"node=2/core=4\"\nmin = 1\nmax = 20\n"
      "[instance.z]\n[cost]\nnotice = 60\n");
  ASSERT_EQ(plan.instances.size(), 3u);
  EXPECT_EQ(plan.instances[0].name, "z");
  EXPECT_EQ(plan.instances[1].weight, 2.5);
  EXPECT_EQ(plan.instances[1].conf, std::vector<std::string>{"queue.policy=fcfs"});
  EXPECT_EQ(plan.instances[2].owned, 8);
  EXPECT_EQ(plan.instances[2].parent, 1u);
  EXPECT_EQ(plan.route.to, std::vector<std::size_t>{2});  // the leaf
  EXPECT_EQ(plan.costs.notice, 60);
}

TEST(TreeRoute, UsersGoByWorkToWhoHasTheLeast) {
  Workload workload;
  workload.jobs = {tree_job(1, 0, 1, 10, 10, "small"), tree_job(2, 0, 9, 10, 10, "large"),
                   tree_job(3, 0, 5, 10, 10, "middle")};
  EXPECT_EQ(deal(workload, {RouteBy::load, {1, 2}, {}}), (std::vector<std::size_t>{2, 1, 2}));
  EXPECT_EQ(deal(workload, {RouteBy::user, {1, 2}, {{"middle", 1}}}),
            (std::vector<std::size_t>{1, 2, 1}));
}

TEST(TreeText, TellsOfAllAndOfEach) {
  Workload workload;
  workload.jobs = {tree_job(1, 0, 6, 100, 50, "a"), tree_job(2, 0, 2, 100, 100, "b")};
  const TreePlan plan = plan_of(children(2, 4, "plan"));
  const TreeResult result = played(workload, plan);
  const std::string table = tree_table(workload, plan, result);
  EXPECT_THAT(table, HasSubstr("INSTANCE"));
  EXPECT_THAT(table, HasSubstr("\nc1 "));
  EXPECT_THAT(table, HasSubstr("jobs ended by a return 0"));
  EXPECT_THAT(tree_json(workload, plan, result), HasSubstr("\"instance\": \"c2\""));
  const auto runs = tree_runs(workload, plan, result);
  ASSERT_EQ(runs.size(), 3u) << "the whole, and two that got jobs";
  EXPECT_EQ(runs[0].name, "all");
  EXPECT_EQ(runs[0].metrics.jobs, 2u);
  EXPECT_EQ(runs[2].name, "c2");
}

}  // namespace
}  // namespace holon::sim
