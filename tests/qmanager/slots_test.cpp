// Grid Engine's slot ranges, parallel environments, and consumables of queues.
#include <gtest/gtest.h>

#include <random>

#include "qmanager/machine/flat_machine.hpp"
#include "qmanager/slots.hpp"
#include "resource/formats/readers.hpp"
#include "resource/store.hpp"
#include "scenario.hpp"

namespace holon::tests {
namespace {

using qmanager::AllocationRule;
using qmanager::SchedulerConfig;
using SlotsKind = AllocationRule::Kind;

const Drawing kDrawings[] = {
    {"4-16: the most that fit now", [](SchedulerConfig&) {}, 6, R"(
        A   0      2     3     3
        B   0      1     4     4   slots=2-16)",
     R"(
      n0 |AAA.|
      n1 |AAA.|
      n2 |BBBB|
      n3 |BBBB|
      n4 |BBBB|
      n5 |BBBB|
)"},
    {"a list: the largest of it that fits", [](SchedulerConfig&) {}, 6, R"(
        A   0      1     3     3
        B   0      1     2     2   slots=2,4,8)",
     R"(
      n0 |AAA|
      n1 |BB.|
      n2 |BB.|
      n3 |BB.|
      n4 |BB.|
      n5 |...|
)"},
    {"4-: without an upper end", [](SchedulerConfig&) {}, 5, R"(
        A   0      1     2     2   slots=4+)",
     R"(
      n0 |AA|
      n1 |AA|
      n2 |AA|
      n3 |AA|
      n4 |AA|
)"},
    // B's booking at 3 finds 3 slots free until its end: A2 ends then, A1 goes on. It is not made
    // larger by A1's early end at 5.
    {"a booking is made at the earliest time for the smallest number, with the most that fit then",
     [](SchedulerConfig&) {}, 4, R"(
        A   0      1     9     5
        C   0      3     3     3
        B   0      1     4     4   slots=2-4)",
     R"(
      n0 |AAAAA..|
      n1 |CCCBBBB|
      n2 |CCCBBBB|
      n3 |CCCBBBB|
)"},
    {"it takes no more than its user's limit leaves",
     [](SchedulerConfig& c) { limit(c, "user", "ann", "max-proc", "3"); }, 5,
     R"(
        A   0      1     2     2   user=ann
        B   0      1     2     2   user=ann slots=1-5)",
     R"(
      n0 |AA|
      n1 |BB|
      n2 |BB|
      n3 |..|
      n4 |..|
)"},
    {"a licence for each slot bounds the slots", [](SchedulerConfig& c) { c.pools["lic"] = 7; }, 5,
     R"(
        A   0      1     2     2   slots=1-5 each=lic:2
        B   0      1     2     2   uses=lic:1
        C   0      1     2     2   uses=lic:1)",
     R"(
      n0 |AACC|
      n1 |AA..|
      n2 |AA..|
      n3 |BB..|
      n4 |....|
)"},
    {"a parallel environment's slots are shared by all its jobs",
     [](SchedulerConfig& c) {
       c.environments["mpi"] = {.slots = 4, .rule = {SlotsKind::fill_up, 0}};
     },
     6,
     R"(
        A   0      3     2     2   pe=mpi
        B   0      2     2     2   pe=mpi
        C   0      1     2     2   slots=1-9 pe=mpi)",
     R"(
      n0 |AABB|
      n1 |AABB|
      n2 |AA..|
      n3 |CC..|
      n4 |....|
      n5 |....|
)"},
    {"a queue's slots and its own licences",
     [](SchedulerConfig& c) {
       c.queues["q"] = c.queues["r"] = c.defaults;
       c.queues["q"].slots = 2;
       c.queues["q"].pools["lic"] = 1;
       c.pools["lic"] = 2;
       c.default_queue = "q";
     },
     5, R"(
        A   0      2     2     2   queue=q uses=lic:1
        B   0      1     2     2   queue=q
        C   0      1     1     1   queue=r uses=lic:1
        D   0      1     1     1   queue=r uses=lic:1)",
     R"(
      n0 |AABB|
      n1 |AA..|
      n2 |CD..|
      n3 |....|
      n4 |....|
)"},
};

TEST(Slots, Drawings) {
  expect_drawings(kDrawings, "easy");
}

TEST(Slots, RangesWithoutSenseAreRefused) {
  auto scheduler =
      *qmanager::Scheduler::create(policy("easy"), std::make_unique<qmanager::FlatMachine>(4));
  qmanager::JobRequest job;
  job.id = JobId{1};
  job.slots = resource::Count{.min = 0, .max = 4, .values = {}};
  EXPECT_EQ(scheduler.submit(job, 0).error().code, Errc::invalid_argument);
  job.slots = resource::Count{.min = 5, .max = 9, .values = {}};
  const auto refused = scheduler.submit(job, 0);
  ASSERT_TRUE(refused);
  EXPECT_TRUE(refused->has_value()) << "the machine has four";
  job.slots.reset();
  job.procs = 1;
  job.environment = "none";
  EXPECT_EQ(scheduler.submit(job, 0).error().code, Errc::not_found);
  EXPECT_EQ(scheduler.pending(), 0u);
}

// By trying every way to give slots to hosts.
bool can_spread(const AllocationRule& rule, std::int64_t count,
                const std::vector<std::int64_t>& free, std::size_t host = 0) {
  if (count == 0) return true;
  if (host == free.size()) return false;
  for (std::int64_t given = 0; given <= std::min(count, free[host]); ++given) {
    if (rule.kind == SlotsKind::per_host && given != 0 && given != rule.slots) continue;
    if (rule.kind == SlotsKind::one_host && given != 0 && given != count) continue;
    if (can_spread(rule, count - given, free, host + 1)) return true;
  }
  return false;
}

// Slot by slot, as sge_pe(5) tells it.
std::vector<std::int64_t> one_by_one(SlotsKind kind, std::int64_t count,
                                     std::vector<std::int64_t> free) {
  std::vector<std::int64_t> given(free.size());
  while (count > 0) {
    for (std::size_t host = 0; host < free.size() && count > 0; ++host) {
      do {
        if (free[host] == 0) break;
        --free[host], ++given[host], --count;
      } while (kind == SlotsKind::fill_up && count > 0);
    }
  }
  return given;
}

TEST(AllocationRules, AgreeWithTryingEverything) {
  for (unsigned seed = 1; seed <= 3000; ++seed) {
    std::mt19937 random(seed);
    const auto up_to = [&](int most) {
      return static_cast<std::int64_t>(random() % unsigned(most));
    };
    std::vector<std::int64_t> free(static_cast<std::size_t>(1 + up_to(5)));
    for (auto& slots : free) slots = up_to(6);
    for (const SlotsKind kind :
         {SlotsKind::per_host, SlotsKind::one_host, SlotsKind::fill_up, SlotsKind::round_robin}) {
      const AllocationRule rule{kind, kind == SlotsKind::per_host ? 1 + up_to(4) : 0};
      std::int64_t most = 0;
      for (std::int64_t count = 1; count <= 30; ++count) {
        const auto given = spread(rule, count, free);
        ASSERT_EQ(given.has_value(), can_spread(rule, count, free)) << "seed " << seed;
        if (!given) continue;
        most = count;
        std::int64_t sum = 0;
        for (std::size_t host = 0; host < free.size(); ++host) {
          ASSERT_LE((*given)[host], free[host]);
          sum += (*given)[host];
        }
        ASSERT_EQ(sum, count);
        if (kind == SlotsKind::fill_up || kind == SlotsKind::round_robin) {
          ASSERT_EQ(*given, one_by_one(kind, count, free)) << "seed " << seed << " count " << count;
        }
      }
      ASSERT_EQ(most_that_spread(rule, 30, free), most) << "seed " << seed;
    }
  }
}

TEST(AllocationRules, AreReadAsGridEngineWritesThem) {
  EXPECT_EQ(*qmanager::parse_allocation_rule("4"), (AllocationRule{SlotsKind::per_host, 4}));
  EXPECT_EQ(*qmanager::parse_allocation_rule("$pe_slots"),
            (AllocationRule{SlotsKind::one_host, 0}));
  EXPECT_EQ(*qmanager::parse_allocation_rule("$fill_up"), (AllocationRule{SlotsKind::fill_up, 0}));
  EXPECT_EQ(*qmanager::parse_allocation_rule("$round_robin"),
            (AllocationRule{SlotsKind::round_robin, 0}));
  for (const char* wrong : {"0", "-1", "fill_up", "", "4 "})
    EXPECT_FALSE(qmanager::parse_allocation_rule(wrong)) << wrong;
}

// ---- on a resource graph

resource::ResourceStore hosts(const char* shape) {
  return *resource::ResourceStore::load(*resource::read_shape(shape), {});
}

qmanager::JobRequest slot_job(std::uint64_t id, std::int64_t count, Duration limit,
                              const char* range = nullptr) {
  qmanager::JobRequest job;
  job.id = JobId{id};
  job.limit = limit;
  resource::JobShape shape;
  shape.tasks = count;
  shape.command = {"true"};
  job.spec = std::make_shared<const resource::Jobspec>(*resource::jobspec_for(shape));
  if (range != nullptr) job.slots = *resource::parse_count(range);
  return job;
}

// Cores of each node that the decision for the job gives it, "4,4,0".
std::string by_node(const resource::ResourceStore& store, const qmanager::StepResult& step,
                    JobId id) {
  const auto& graph = store.graph();
  std::map<resource::VertexId, int> cores;
  for (const auto v : graph.by_type("node")) cores[v] = 0;
  for (const auto& decision : step.decisions) {
    const auto* start = std::get_if<qmanager::Start>(&decision);
    if (start == nullptr || start->job != id) continue;
    for (const auto& share : start->allocation.shares) {
      const auto v = *graph.find_uniq(share.uniq_id);
      if (graph[v].type != *graph.words().types.find("core") || share.amount == 0) continue;
      ++cores[graph.ancestor_of_type(v, *graph.words().types.find("node"))];
    }
  }
  std::string text;
  for (const auto& [node, count] : cores) text += (text.empty() ? "" : ",") + std::to_string(count);
  return text;
}

TEST(SlotsOverTheGraph, ARangeGetsTheMostThatFit) {
  auto store = hosts("node=4/core=4");
  auto scheduler = *qmanager::Scheduler::create(policy("easy"), store);
  ASSERT_TRUE(scheduler.submit(slot_job(1, 5, 10), 0));
  ASSERT_TRUE(scheduler.submit(slot_job(2, 1, 10, "4-9"), 0));
  ASSERT_TRUE(scheduler.submit(slot_job(3, 1, 10, "3,6"), 0));
  scheduler.step(0);
  const auto plan = scheduler.plan(0);
  ASSERT_EQ(plan.size(), 3u);
  EXPECT_EQ(plan[0].procs, 5);
  EXPECT_EQ(plan[1].procs, 9);
  EXPECT_EQ(plan[2].procs, 6) << "booked at 10, when all is free";
  scheduler.check_invariants();
}

struct RuleCase {
  const char* rule;
  const char* range;
  const char* want;  // with 2 of the last node's four cores taken
};

TEST(SlotsOverTheGraph, ParallelEnvironmentsSpreadOverHosts) {
  for (const RuleCase& c :
       {RuleCase{"$fill_up", "7", "4,3,0"}, RuleCase{"$round_robin", "7", "3,2,2"},
        RuleCase{"$pe_slots", "4", "4,0,0"}, RuleCase{"3", "6", "3,3,0"},
        RuleCase{"2", "4", "2,2,0"}, RuleCase{"$round_robin", "4-99", "4,4,2"},
        RuleCase{"$pe_slots", "1-99", "4,0,0"}, RuleCase{"3", "2-99", "3,3,0"},
        RuleCase{"3", "4,5,9", "0,0,0"}, RuleCase{"$pe_slots", "5", "0,0,0"}}) {
    SCOPED_TRACE(std::string(c.rule) + " " + c.range);
    auto store = hosts("node=3/core=4");
    SchedulerConfig config = policy("easy");
    config.environments["pe"] = {.slots = {}, .rule = *qmanager::parse_allocation_rule(c.rule)};
    auto scheduler = *qmanager::Scheduler::create(config, store);
    ASSERT_TRUE(scheduler.submit(slot_job(1, 2, 10), 0));
    scheduler.step(0);
    auto job = slot_job(2, 1, 10, c.range);
    job.environment = "pe";
    const auto refused = scheduler.submit(job, 0);
    ASSERT_TRUE(refused);
    const auto step = scheduler.step(0);
    EXPECT_EQ(by_node(store, step, JobId{2}), c.want);
    scheduler.check_invariants();
    store.check_invariants();
  }
}

// Two requests of one shape: that the first can be spread says nothing about the second.
TEST(SlotsOverTheGraph, ARangeThatCannotBeSpreadIsRefusedAfterOneThatCan) {
  auto store = hosts("node=3/core=4");
  SchedulerConfig config = policy("easy");
  config.environments["pe"] = {.slots = {}, .rule = *qmanager::parse_allocation_rule("3")};
  auto scheduler = *qmanager::Scheduler::create(config, store);
  auto good = slot_job(1, 1, 10, "2,3");
  auto bad = slot_job(2, 1, 10, "2,4");
  good.environment = bad.environment = "pe";
  EXPECT_FALSE(scheduler.submit(good, 0)->has_value());
  EXPECT_TRUE(scheduler.submit(bad, 0)->has_value());
}

// Grid Engine's complex_values of a host: a pool in each host, of which a slot takes some. Columns
// are minutes, rows the hosts; a cell lists who has scratch there.
TEST(HostConsumables, AreCountedOnEachHostAndForEachSlot) {
  auto store = hosts("node=2/core=4,scratch=10");
  auto scheduler = *qmanager::Scheduler::create(policy("easy"), store);
  const auto with_scratch = [](std::uint64_t id, std::int64_t slots, std::int64_t each,
                               Duration t) {
    auto job = slot_job(id, slots, t);
    auto spec = *job.spec;
    resource::Request scratch = spec.resources.front().with.front();
    scratch.type = "scratch";
    scratch.count.min = scratch.count.max = each;
    spec.resources.front().with.push_back(scratch);
    job.spec = std::make_shared<const resource::Jobspec>(spec);
    return job;
  };
  ASSERT_TRUE(scheduler.submit(with_scratch(1, 1, 11, 9), 0)->has_value())
      << "more than a host has";
  // A and B have six on a host each; C would need six; D takes what is left of A's host,
  // also beside C's reservation there; E needs five for each of two slots, B's whole host.
  const std::pair<char, qmanager::JobRequest> jobs[] = {
      {'A', with_scratch(2, 1, 6, 4)}, {'B', with_scratch(3, 1, 6, 6)},
      {'C', with_scratch(4, 1, 6, 3)}, {'D', with_scratch(5, 1, 4, 9)},
      {'E', with_scratch(6, 2, 5, 2)},
  };
  std::map<JobId, std::string> rows;
  std::map<JobId, Time> ends;
  for (const auto& [name, job] : jobs) ASSERT_FALSE(scheduler.submit(job, 0)->has_value());
  for (Time now = 0; now < 14; ++now) {
    for (const auto& [id, end] : ends) {
      if (end != now) continue;
      ASSERT_TRUE(scheduler.finish(id, now));
    }
    const auto step = scheduler.step(now);
    if (now == 0) {
      EXPECT_NE(scheduler.outlook(JobId{4})->reason.find("scratch"), std::string::npos)
          << scheduler.outlook(JobId{4})->reason;
    }
    for (const auto& decision : step.decisions)
      if (const auto* start = std::get_if<qmanager::Start>(&decision)) {
        const Duration limit = jobs[start->job.value() - 2].second.limit;
        ends[start->job] = now + limit;
        std::string& row = rows[start->job];
        row = std::string(static_cast<std::size_t>(now), '.') +
              std::string(static_cast<std::size_t>(limit), jobs[start->job.value() - 2].first);
      }
    scheduler.check_invariants();
    store.check_invariants();
  }
  std::string drawing = "\n";
  for (const auto& [id, row] : rows) drawing += row + "\n";
  EXPECT_EQ(drawing, R"(
AAAA
BBBBBB
....CCC
DDDDDDDDD
......EE
)");
}

// Many jobs of all kinds on a graph: nothing is held twice (the store says so after each pass),
// each host split is the rule's, everybody runs, and what is booked is what starts.
TEST(SlotsOverTheGraph, RandomMixes) {
  for (unsigned seed = 1; seed <= 25; ++seed) {
    std::mt19937 random(seed);
    const auto up_to = [&](int most) { return static_cast<int>(random() % unsigned(most)); };
    auto store = hosts("node=3/core=4");
    SchedulerConfig config = policy(seed % 3 == 0   ? "easy"
                                    : seed % 3 == 1 ? "conservative"
                                                    : "hybrid:4");
    for (const char* rule : {"2", "$pe_slots", "$fill_up", "$round_robin"})
      config.environments[rule] = {
          .slots = up_to(2) == 0 ? std::optional<std::int64_t>(8) : std::nullopt,
          .rule = *qmanager::parse_allocation_rule(rule)};
    config.pools["lic"] = 9;
    std::vector<ScenarioJob> jobs = random_jobs(seed, 40, 8);
    for (ScenarioJob& job : jobs) {
      const char* const environments[] = {
          "", "", "2", "$pe_slots", "$fill_up", "$round_robin", "$*", "$[fr]*"};
      const char* environment = environments[up_to(8)];
      const int least = std::string(environment) == "$pe_slots" ? 1 + up_to(4)
                        : std::string(environment) == "2"       ? 2 * (1 + up_to(3))
                                                                : 1 + up_to(8);
      const std::string range = std::to_string(least) + "-" + std::to_string(least + up_to(5));
      auto request = slot_job(std::uint64_t(job.trace.id), least, job.trace.limit,
                              up_to(2) == 0 ? range.c_str() : nullptr);
      request.environment = environment;
      request.submitted = job.trace.submit;
      if (up_to(3) == 0) request.consumes.push_back({"lic", 1, true});
      job.request = request;
    }
    auto scheduler = *qmanager::Scheduler::create(config, store);
    // Play it: ends as planned by run time.
    std::multimap<Time, JobId> ends;
    std::size_t next = 0, started = 0;
    Time now = 0;
    std::optional<Time> wake;
    while (next < jobs.size() || !ends.empty()) {
      Time at = kTimeMax;
      if (next < jobs.size()) at = std::min(at, jobs[next].trace.submit);
      if (!ends.empty()) at = std::min(at, ends.begin()->first);
      if (wake) at = std::min(at, *wake);
      now = std::max(now, at);
      while (!ends.empty() && ends.begin()->first <= now) {
        ASSERT_TRUE(scheduler.finish(ends.begin()->second, now));
        ends.erase(ends.begin());
      }
      for (; next < jobs.size() && jobs[next].trace.submit <= now; ++next) {
        const auto refused = scheduler.submit(jobs[next].request, now);
        ASSERT_TRUE(refused) << to_string(refused.error());
        ASSERT_FALSE(*refused) << (**refused).reason;
      }
      const auto step = scheduler.step(now);
      scheduler.check_invariants();
      store.check_invariants();
      wake = step.wake;
      for (const auto& decision : step.decisions) {
        const auto* start = std::get_if<qmanager::Start>(&decision);
        if (start == nullptr) continue;
        ++started;
        const auto& job = jobs[start->job.value() - 1];
        ends.emplace(now + job.trace.run, start->job);
        std::int64_t cores = 0;
        std::map<resource::VertexId, std::int64_t> split;
        const auto& graph = store.graph();
        for (const auto& share : start->allocation.shares) {
          const auto v = *graph.find_uniq(share.uniq_id);
          if (graph[v].type != *graph.words().types.find("core") || share.amount == 0) continue;
          ++cores;
          ++split[graph.ancestor_of_type(v, *graph.words().types.find("node"))];
        }
        if (job.request.slots) {
          EXPECT_EQ(resource::largest_count(*job.request.slots, cores), cores);
        }
        if (job.request.environment == "2") {
          for (const auto& [node, count] : split) EXPECT_EQ(count, 2);
        }
        if (job.request.environment == "$pe_slots") {
          EXPECT_EQ(split.size(), 1u);
        }
      }
    }
    EXPECT_EQ(started, jobs.size()) << "seed " << seed;
  }
}

TEST(Queues, JobsKeepToTheNodesOfTheirQueue) {
  auto store = hosts("node=3/core=4");
  ASSERT_TRUE(store.set_property("/cluster0/node1", "fast", ""));
  SchedulerConfig config = policy("easy");
  config.queues["fast"] = config.queues["any"] = config.defaults;
  config.queues["fast"].properties = {"fast"};
  config.default_queue = "any";
  auto scheduler = *qmanager::Scheduler::create(config, store);
  auto job = slot_job(1, 4, 10);
  job.queue = "fast";
  ASSERT_TRUE(scheduler.submit(job, 0));
  EXPECT_EQ(by_node(store, scheduler.step(0), JobId{1}), "0,4,0");
  auto too_large = slot_job(2, 5, 10);
  too_large.queue = "fast";
  const auto refused = scheduler.submit(too_large, 0);
  ASSERT_TRUE(refused);
  EXPECT_TRUE(refused->has_value()) << "its queue has one node of four cores";
  scheduler.check_invariants();
}

}  // namespace
}  // namespace holon::tests
