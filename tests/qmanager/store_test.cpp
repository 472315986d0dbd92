// The scheduler over the resource graph: the same decisions as over P processors, and what only a
// graph can ask for.
#include <gtest/gtest.h>

#include <random>

#include "qmanager/machine/flat_machine.hpp"
#include "qmanager/machine/store_machine.hpp"
#include "resource/formats/readers.hpp"
#include "resource/store.hpp"
#include "scenario.hpp"

namespace holon::tests {
namespace {

using qmanager::Scheduler;

resource::ResourceStore store_of(const std::string& shape, Interval horizon = {0, kTimeMax}) {
  resource::StoreOptions options;
  options.horizon = horizon;
  return *resource::ResourceStore::load(*resource::read_shape(shape), options);
}

std::shared_ptr<const resource::Jobspec> spec_of(std::int64_t tasks, std::int64_t nodes = 0,
                                                 std::int64_t gpus = 0, bool exclusive = false) {
  resource::JobShape shape;
  shape.tasks = tasks;
  shape.nodes = nodes;
  shape.gpus_per_task = gpus;
  shape.exclusive = exclusive;
  shape.command = {"true"};
  return std::make_shared<resource::Jobspec>(*resource::jobspec_for(shape));
}

qmanager::JobRequest job(std::uint64_t id, std::shared_ptr<const resource::Jobspec> spec,
                         Duration limit) {
  qmanager::JobRequest request;
  request.id = JobId{id};
  request.limit = limit;
  request.spec = std::move(spec);
  return request;
}

// "start 1 @0 immediate; reserve 2 @10; wait 3 (...)"
std::string told(const qmanager::StepResult& step) {
  std::string text;
  for (const auto& decision : step.decisions) {
    if (!text.empty()) text += "; ";
    if (const auto* start = std::get_if<qmanager::Start>(&decision)) {
      const char* const names[] = {"immediate", "backfill", "reserved"};
      text += "start " + std::to_string(start->job.value()) + " @" +
              std::to_string(start->allocation.when.begin) + " " +
              names[static_cast<int>(start->selection)];
    } else if (const auto* reserve = std::get_if<qmanager::Reserve>(&decision)) {
      text +=
          "reserve " + std::to_string(reserve->job.value()) + " @" + std::to_string(reserve->when);
    } else if (const auto* wait = std::get_if<qmanager::Wait>(&decision)) {
      text += "wait " + std::to_string(wait->job.value());
    } else {
      text += "reject " + std::to_string(std::get<qmanager::Reject>(decision).job.value());
    }
  }
  return text;
}

// There are enough processors, but not two nodes that nobody is on.
TEST(OverTheGraph, WhoWaitsForNodesIsToldWhoIsOnThem) {
  auto store = store_of("node=2/core=4");
  Scheduler scheduler = *Scheduler::create(policy("easy"), store);
  ASSERT_TRUE(scheduler.submit(job(1, spec_of(1), 60), 0));
  ASSERT_TRUE(scheduler.submit(job(2, spec_of(2, 2, 0, true), 30), 0));
  scheduler.step(0);
  const auto why = scheduler.explain(JobId{2}, 0);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->in_the_way, std::vector<JobId>{JobId{1}});
  EXPECT_EQ(why->reason, "the 2 nodes it needs are not free: 1 is");
}

TEST(OverTheGraph, NodesThatAreDrainedAreSaidToBe) {
  auto store = store_of("node=2/core=4");
  Scheduler scheduler = *Scheduler::create(policy("fcfs"), store);
  for (const auto v : store.graph().by_type("node")) store.set_drained(v, true);
  scheduler.resources_changed();
  ASSERT_TRUE(scheduler.submit(job(1, spec_of(1, 1), 60), 0));
  scheduler.step(0);
  EXPECT_EQ(scheduler.outlook(JobId{1})->reason, "all 2 nodes are drained");
}

// Under each policy, also one that would plan it: it is in nobody's way until the nodes are there.
TEST(OverTheGraph, WhatIsTooLargeWaitsForNodesThatAreStillToCome) {
  for (const char* name : {"fcfs", "easy", "conservative"}) {
    auto store = store_of("node=2/core=4");
    std::string awaited = "node2 has not come yet";
    auto config = policy(name);
    config.awaited = [&](const qmanager::JobRequest&) { return awaited; };
    Scheduler scheduler = *Scheduler::create(config, store);
    const auto taken = scheduler.submit(job(1, spec_of(12), 60), 0);
    ASSERT_TRUE(taken && !*taken) << name;
    ASSERT_TRUE(scheduler.submit(job(2, spec_of(1), 60), 0));
    scheduler.step(0);
    EXPECT_EQ(scheduler.running(), 1U) << name;
    EXPECT_EQ(scheduler.outlook(JobId{1})->reason,
              "it needs more than is here, and node2 has not come yet");
    ASSERT_TRUE(scheduler.finish(JobId{2}, 1));
    awaited.clear();
    ASSERT_TRUE(store.grow(*resource::read_shape("node=3/core=4")));
    scheduler.resources_changed();
    scheduler.step(1);
    EXPECT_EQ(scheduler.running(), 1U) << name << ": it has started";
    const auto refused = scheduler.submit(job(3, spec_of(16), 60), 1);
    EXPECT_TRUE(refused && *refused) << name << ": nobody is awaited any more";
    scheduler.check_invariants();
  }
}

TEST(OverTheGraph, AWindowLastsUntilTheFirstReservationOfItsCores) {
  auto store = store_of("node=1/core=4,gpu=1");
  Scheduler scheduler = *Scheduler::create(policy("easy"), store);
  resource::JobShape wide;
  wide.gpus_per_task = 1;
  wide.cores_per_task = 3;
  wide.command = {"true"};
  ASSERT_TRUE(scheduler.submit(job(1, spec_of(1, 0, 1), 60), 0));  // the GPU and a core
  ASSERT_TRUE(scheduler.submit(
      job(2, std::make_shared<resource::Jobspec>(*resource::jobspec_for(wide)), 30), 0));
  scheduler.step(0);
  // Two of the three free cores are reserved.
  EXPECT_EQ(scheduler.windows(0), (std::vector<qmanager::Window>{{3, 60}, {1, kTimeMax}}));
}

TEST(OverTheGraph, StartsAreTheSameAsOnAFlatMachine) {
  for (const char* name : {"fcfs", "easy", "hybrid:3", "conservative", "conservative-rebuild"})
    for (unsigned seed = 0; seed < 40; ++seed) {
      const int nodes = 2 + static_cast<int>(seed % 7);
      const auto jobs = random_jobs(seed, 24, nodes);
      sim::Workload workload;
      for (const ScenarioJob& j : jobs) workload.jobs.push_back(j.trace);
      sim::SimOptions options;
      options.config = policy(name);
      options.check_invariants = true;
      const auto flat =
          sim::simulate(workload, std::make_unique<qmanager::FlatMachine>(nodes), options);
      auto store = store_of("node=" + std::to_string(nodes) + "/core=1");
      const auto graph = sim::simulate(workload, std::make_unique<qmanager::StoreMachine>(store),
                                       options, [](const sim::TraceJob& trace) {
                                         auto request = sim::flat_request(trace);
                                         request.spec = spec_of(trace.procs);
                                         return request;
                                       });
      ASSERT_TRUE(flat && graph);
      for (std::size_t i = 0; i < jobs.size(); ++i)
        ASSERT_EQ(graph->jobs[i].start, flat->jobs[i].start)
            << name << ", seed " << seed << ", job " << i + 1 << ": " << graph->jobs[i].refused;
    }
}

// Whole nodes that are all alike are as interchangeable as cores: whether a job asks to be alone on
// them or for every core of them, starts are those of a machine with as many processors as there
// are nodes. Not so once somebody asks for single cores.
TEST(OverTheGraph, WholeNodesAreLikeProcessorsOfAFlatMachine) {
  for (const char* name : {"fcfs", "easy", "hybrid:3", "conservative", "conservative-rebuild"})
    for (unsigned seed = 0; seed < 40; ++seed) {
      const int nodes = 2 + static_cast<int>(seed % 7);
      const auto jobs = random_jobs(seed, 24, nodes);
      sim::Workload workload;
      for (const ScenarioJob& j : jobs) workload.jobs.push_back(j.trace);
      sim::SimOptions options;
      options.config = policy(name);
      options.check_invariants = true;
      const auto flat =
          sim::simulate(workload, std::make_unique<qmanager::FlatMachine>(nodes), options);
      const auto on_graph = [&](std::int64_t single_cores_from) {
        auto store = store_of("node=" + std::to_string(nodes) + "/socket=2/core=2,gpu=1");
        return sim::simulate(workload, std::make_unique<qmanager::StoreMachine>(store), options,
                             [&](const sim::TraceJob& trace) {
                               auto request = sim::flat_request(trace);
                               request.procs = 0;
                               if (trace.id >= single_cores_from)
                                 request.spec = spec_of(trace.procs);
                               else if (trace.id % 3 == 0)
                                 request.spec = spec_of(4 * trace.procs, trace.procs);
                               else
                                 request.spec = spec_of(trace.procs, trace.procs,
                                                        trace.id % 3 == 1 ? 1 : 0, true);
                               return request;
                             });
      };
      const auto graph = on_graph(INT64_MAX);
      const auto mixed = on_graph(15);
      ASSERT_TRUE(flat && graph && mixed);
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        ASSERT_EQ(graph->jobs[i].start, flat->jobs[i].start)
            << name << ", seed " << seed << ", job " << i + 1 << ": " << graph->jobs[i].refused;
        ASSERT_TRUE(mixed->jobs[i].start) << name << ", seed " << seed << ", job " << i + 1;
      }
    }
}

TEST(Uniform, OnlyWhereAnyCoresOrNodesWillDo) {
  using qmanager::cores_of_like_nodes;
  using qmanager::cores_of_whole_nodes;
  EXPECT_EQ(cores_of_like_nodes(store_of("rack=2/node=2/core=4,memory=8").graph()), 4);
  auto unlike = *resource::read_shape("node=2/core=4,gpu=1");
  auto store = *resource::ResourceStore::load(unlike, {});
  ASSERT_TRUE(store.shrink("/cluster0/node1/gpu0"));
  EXPECT_EQ(cores_of_like_nodes(store.graph()), std::nullopt);

  EXPECT_EQ(qmanager::single_cores(*spec_of(6)), 6);
  EXPECT_EQ(qmanager::single_cores(*spec_of(6, 2)), std::nullopt);
  EXPECT_EQ(qmanager::single_cores(*spec_of(6, 0, 1)), std::nullopt);
  EXPECT_EQ(cores_of_whole_nodes(*spec_of(8, 2), 4), 8);
  EXPECT_EQ(cores_of_whole_nodes(*spec_of(6, 2), 4), std::nullopt) << "leaves a core on each";
  EXPECT_EQ(cores_of_whole_nodes(*spec_of(2, 2, 0, true), 4), 8);
  EXPECT_EQ(cores_of_whole_nodes(*spec_of(8), 4), std::nullopt);
  auto constrained = *spec_of(2, 2, 0, true);
  constrained.constraints = {"properties", {"fast"}, {}};
  EXPECT_EQ(cores_of_whole_nodes(constrained, 4), std::nullopt);
}

// Jobs for whole nodes, for cores on one node and for cores anywhere, in one queue: invariants
// hold, everybody runs, and under conservative nobody later than first planned.
TEST(OverTheGraph, MixedShapesAllRunAndReservationsAreKept) {
  for (const char* name : {"fcfs", "easy", "hybrid:3", "conservative", "conservative-rebuild"})
    for (unsigned seed = 0; seed < 40; ++seed) {
      const auto jobs = random_jobs(seed, 24, 8);
      sim::Workload workload;
      for (const ScenarioJob& j : jobs) workload.jobs.push_back(j.trace);
      sim::SimOptions options;
      options.config = policy(name);
      options.check_invariants = true;
      auto store = store_of("node=3/core=4,gpu=1");
      const auto request_of = [](const sim::TraceJob& trace) {
        auto request = sim::flat_request(trace);
        request.procs = 0;
        if (trace.id % 4 == 0)
          request.spec = spec_of(1 + trace.procs % 3, 1 + trace.procs % 3, 0, true);
        else if (trace.id % 4 == 1)
          request.spec = spec_of(1 + trace.procs % 3, 1, trace.procs % 3 == 0 ? 1 : 0);
        else
          request.spec = spec_of(trace.procs);
        return request;
      };
      const auto run = sim::simulate(workload, std::make_unique<qmanager::StoreMachine>(store),
                                     options, request_of);
      ASSERT_TRUE(run);
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        ASSERT_TRUE(run->jobs[i].start)
            << name << ", seed " << seed << ", job " << i + 1 << ": " << run->jobs[i].refused;
        if (std::string(name) == "conservative") {
          ASSERT_LE(*run->jobs[i].start, *run->jobs[i].first_planned)
              << "seed " << seed << ", job " << i + 1;
        }
      }
    }
}

// What a clone learns of a new size it keeps to itself.
TEST(OverTheGraph, ACloneAnswersForASizeThatNobodyAskedForBefore) {
  auto store = store_of("node=2/core=4");
  qmanager::StoreMachine machine(store);
  ASSERT_TRUE(
      std::holds_alternative<resource::Allocation>(machine.start(job(1, spec_of(1), 10), 0, 10)));
  for (int cores = 2; cores <= 8; ++cores) {
    auto asks = job(2, spec_of(cores), 10);
    asks.procs = cores;
    EXPECT_EQ(machine.clone()->earliest(asks, {0, 0, 10}), cores < 8 ? 0 : 10) << cores;
  }
}

// Whatever is left out of the search for it: jobs of every kind, also without end and not before
// some time, under leases of several lengths.
TEST(OverTheGraph, TheEarliestStartIsTheFirstInstantAtWhichItFits) {
  int found = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto up_to = [&](int most) { return static_cast<int>(random() % unsigned(most)); };
    const Time lease = seed % 3 == 0 ? kTimeMax : 25 + up_to(10);
    auto store = store_of("node=3/core=4,gpu=1", {0, lease});
    qmanager::StoreMachine machine(store);
    machine.settle();
    const auto any_spec = [&]() {
      const int nodes = 1 + up_to(2);
      if (up_to(3) == 0) return spec_of(nodes, nodes, up_to(2));
      return up_to(2) == 0 ? spec_of(nodes, nodes, 0, true) : spec_of(1 + up_to(8));
    };
    for (std::uint64_t id = 1; id <= 12; ++id) {
      const Time begin = up_to(18);
      machine.hold_exactly(job(id, any_spec(), 0), {begin, begin + 1 + up_to(7)}, 0);
    }
    // What stays of a lease that was longer is in nobody's way.
    if (seed % 4 == 1) {
      ASSERT_TRUE(store.set_horizon({0, 20}));
    }
    if (up_to(4) == 0) {
      ASSERT_TRUE(store.set_status("/cluster0/node1", false));
    }
    machine.resources_changed();
    const Time last = std::min<Time>(machine.horizon().end, 100);
    for (std::uint64_t id = 101; id <= 106; ++id) {
      const auto asks = job(id, any_spec(), 0);
      const Time from = up_to(6);
      const Duration length = up_to(4) == 0 ? kTimeMax : 1 + up_to(9);
      std::optional<Time> want;
      for (Time t = from; t < last && !want; ++t) {
        const Time end = length == kTimeMax ? machine.horizon().end : t + length;
        if (std::holds_alternative<resource::NotNow>(machine.hold_exactly(asks, {t, end}, 0)))
          continue;
        machine.release(asks.id, 0);
        want = t;
      }
      EXPECT_EQ(machine.earliest(asks, {0, from, length}), want) << "job " << id;
      found += want.has_value();
    }
  }
  EXPECT_GT(found, 1000);
}

TEST(OverTheGraph, WhatCanNeverRunIsRefusedWithTheReason) {
  auto store = store_of("node=2/core=4");
  auto scheduler = *Scheduler::create(policy("easy"), store);
  const auto refused = scheduler.submit(job(1, spec_of(3, 3), 10), 0);
  ASSERT_TRUE(refused);
  ASSERT_TRUE(refused->has_value());
  EXPECT_NE((*refused)->reason.find("node"), std::string::npos) << (*refused)->reason;
  EXPECT_EQ(scheduler.pending(), 0u);
}

TEST(OverTheGraph, SelectionsAndPlansAreTold) {
  auto store = store_of("node=2/core=4");
  auto scheduler = *Scheduler::create(policy("easy"), store);
  ASSERT_TRUE(scheduler.submit(job(1, spec_of(4), 10), 0));
  ASSERT_TRUE(scheduler.submit(job(2, spec_of(8), 10), 0));
  ASSERT_TRUE(scheduler.submit(job(3, spec_of(2), 10), 0));
  ASSERT_TRUE(scheduler.submit(job(4, spec_of(2), 11), 0));
  EXPECT_EQ(told(scheduler.step(0)),
            "start 1 @0 immediate; wait 2; reserve 2 @10; start 3 @0 backfill; wait 4");
  EXPECT_EQ(scheduler.outlook(JobId{2})->planned_start, 10);
  EXPECT_NE(scheduler.outlook(JobId{4})->reason.find("reserved for"), std::string::npos);
  EXPECT_EQ(scheduler.plan(0).size(), 3u);
  ASSERT_TRUE(scheduler.finish(JobId{1}, 4));
  ASSERT_TRUE(scheduler.finish(JobId{3}, 4));
  EXPECT_EQ(told(scheduler.step(4)), "start 2 @4 reserved; wait 4");
  scheduler.check_invariants();
}

TEST(OverTheGraph, AWholeNodeThatIsSmallerThanThoseThatWereThereServesAsWell) {
  auto store = store_of("node=2/core=4");
  auto scheduler = *Scheduler::create(policy("easy"), store);
  ASSERT_TRUE(scheduler.submit(job(1, spec_of(2, 2, 0, true), 10), 0));
  ASSERT_TRUE(scheduler.submit(job(2, spec_of(1, 1, 0, true), 10), 0));
  EXPECT_EQ(told(scheduler.step(0)), "start 1 @0 immediate; wait 2");
  ASSERT_TRUE(store.grow(*resource::read_shape("node=3/core=2")));
  scheduler.resources_changed();
  EXPECT_EQ(told(scheduler.step(1)), "start 2 @1 immediate");
}

TEST(OverTheGraph, AJobForDownNodesStepsAsideAndComesBack) {
  for (const char* name : {"fcfs", "easy", "conservative"}) {
    SCOPED_TRACE(name);
    auto store = store_of("node=2/core=4");
    auto config = policy(name);
    config.defaults.queue_depth = 1;  // blocked jobs cost no depth
    auto scheduler = *Scheduler::create(config, store);
    ASSERT_TRUE(store.set_status("/cluster0/node1", false));
    scheduler.resources_changed();
    ASSERT_TRUE(scheduler.submit(job(1, spec_of(2, 2), 10), 0));
    ASSERT_TRUE(scheduler.submit(job(2, spec_of(2, 2), 10), 0));
    ASSERT_TRUE(scheduler.submit(job(3, spec_of(1, 1), 10), 0));
    EXPECT_EQ(told(scheduler.step(0)), "wait 1; wait 2; start 3 @0 immediate");
    EXPECT_NE(scheduler.outlook(JobId{1})->reason.find("down or drained"), std::string::npos);
    EXPECT_EQ(scheduler.queues().at(0).blocked, 2u);
    ASSERT_TRUE(store.set_status("/cluster0/node1", true));
    scheduler.resources_changed();
    EXPECT_EQ(told(scheduler.step(1)).substr(0, 9), "start 1 @");
    scheduler.check_invariants();
  }
}

// Maui's RESERVATIONRETRYTIME: 2 has both nodes from 10 on, and one of them is down then. 3 wants
// one.
TEST(OverTheGraph, AReservationThatIsDueWaitsForANodeForAsLongAsIsConfigured) {
  struct Case {
    Duration retry;
    Time back;  // when the node is up again
    const char* at_10;
    const char* at_12;
    const char* at_15;
  };
  for (const Case& c : {Case{0, 12, "start 3 @10", "", ""}, Case{5, 12, "", "start 2 @12", ""},
                        Case{5, 99, "", "", "start 3 @15"}}) {
    SCOPED_TRACE(c.retry + c.back);
    auto store = store_of("node=2/core=4");
    auto config = policy("conservative");
    config.defaults.reservation_retry = c.retry;
    auto scheduler = *Scheduler::create(config, store);
    ASSERT_TRUE(scheduler.submit(job(1, spec_of(8, 2), 10), 0));
    ASSERT_TRUE(scheduler.submit(job(2, spec_of(8, 2), 10), 0));
    ASSERT_TRUE(scheduler.submit(job(3, spec_of(3, 1), 20), 0));
    scheduler.step(0);
    ASSERT_TRUE(store.set_status("/cluster0/node1", false));
    scheduler.resources_changed();
    scheduler.step(5);
    ASSERT_TRUE(scheduler.finish(JobId{1}, 10));
    const auto starts = [&](Time now) {
      std::string all = told(scheduler.step(now));
      scheduler.check_invariants();
      store.check_invariants();
      return all.find("start") == std::string::npos ? "" : all.substr(all.find("start"));
    };
    EXPECT_EQ(starts(10).substr(0, 11), c.at_10);
    ASSERT_TRUE(store.set_status("/cluster0/node1", c.back == 12));
    scheduler.resources_changed();
    EXPECT_EQ(starts(12).substr(0, 11), c.at_12);
    EXPECT_EQ(starts(15).substr(0, 11), c.at_15);
  }
}

// What is in use until the lease ends, or without end, is not down: it may be given back earlier.
TEST(OverTheGraph, AJobForNodesThatAreUpAndInUseDoesNotStepAside) {
  auto store = store_of("node=2/core=4", {0, 100});
  auto scheduler = *Scheduler::create(policy("conservative"), store);
  ASSERT_TRUE(store.set_status("/cluster0/node1", false));
  scheduler.resources_changed();
  ASSERT_TRUE(scheduler.submit(job(1, spec_of(4, 1), 60), 0));
  ASSERT_TRUE(scheduler.submit(job(2, spec_of(4, 1), 50), 0));  // there is no place for it by 100
  ASSERT_TRUE(scheduler.submit(job(3, spec_of(4, 1), 30), 0));  // but for this one
  ASSERT_TRUE(scheduler.submit(job(4, spec_of(8, 2), 1), 0));
  scheduler.step(0);
  EXPECT_EQ(scheduler.outlook(JobId{3})->planned_start, 60);
  EXPECT_EQ(scheduler.queues().at(0).blocked, 1u) << "job 4 alone needs both nodes";
  ASSERT_TRUE(scheduler.finish(JobId{1}, 20));
  EXPECT_EQ(told(scheduler.step(20)), "start 3 @20 reserved") << "60 was planned at the latest";
  ASSERT_TRUE(scheduler.finish(JobId{3}, 50));
  EXPECT_EQ(told(scheduler.step(50)).substr(0, 11), "start 2 @50");
  scheduler.check_invariants();
}

TEST(OverTheGraph, AJobBehindOneWithoutEndWaitsForItsEndThoughAnotherNodeIsDown) {
  for (const char* name : {"fcfs", "easy", "conservative"}) {
    SCOPED_TRACE(name);
    auto store = store_of("node=2/core=4");
    auto scheduler = *Scheduler::create(policy(name), store);
    ASSERT_TRUE(store.set_status("/cluster0/node1", false));
    scheduler.resources_changed();
    ASSERT_TRUE(scheduler.submit(job(1, spec_of(4, 1), 0), 0));
    ASSERT_TRUE(scheduler.submit(job(2, spec_of(4, 1), 10), 0));
    scheduler.step(0);
    EXPECT_EQ(scheduler.outlook(JobId{2})->reason.find("down"), std::string::npos)
        << scheduler.outlook(JobId{2})->reason;
    ASSERT_TRUE(scheduler.finish(JobId{1}, 5));
    EXPECT_EQ(told(scheduler.step(5)), "start 2 @5 immediate");
    scheduler.check_invariants();
  }
}

TEST(OverTheGraph, NobodyIsStartedOnUnitsOfAJobThatOverran) {
  auto store = store_of("node=1/core=2");
  auto scheduler = *Scheduler::create(policy("easy"), store);
  ASSERT_TRUE(scheduler.submit(job(1, spec_of(1), 10), 0));
  ASSERT_TRUE(scheduler.submit(job(2, spec_of(2), 10), 0));
  ASSERT_TRUE(scheduler.submit(job(3, spec_of(1), 10), 0));
  EXPECT_EQ(told(scheduler.step(0)),
            "start 1 @0 immediate; wait 2; reserve 2 @10; start 3 @0 backfill");
  ASSERT_TRUE(scheduler.finish(JobId{3}, 10));
  // job 1 is late
  EXPECT_EQ(told(scheduler.step(10)).find("start"), std::string::npos);
  EXPECT_EQ(scheduler.running(), 1u);
  ASSERT_TRUE(scheduler.finish(JobId{1}, 15));
  EXPECT_EQ(told(scheduler.step(15)), "start 2 @15 reserved");
  scheduler.check_invariants();
}

TEST(OverTheGraph, AJobThatWouldOutliveTheLeaseIsToldSo) {
  auto store = store_of("node=1/core=2", {0, 100});
  auto scheduler = *Scheduler::create(policy("easy"), store);
  ASSERT_TRUE(scheduler.submit(job(1, spec_of(1), 101), 0));
  ASSERT_TRUE(scheduler.submit(job(2, spec_of(1), 100), 0));
  ASSERT_TRUE(scheduler.submit(job(3, spec_of(1), 0), 0));  // until the horizon
  EXPECT_EQ(told(scheduler.step(0)), "wait 1; start 2 @0 immediate; start 3 @0 immediate");
  EXPECT_NE(scheduler.outlook(JobId{1})->reason.find("lease"), std::string::npos);
  ASSERT_TRUE(scheduler.finish(JobId{2}, 10));
  ASSERT_TRUE(store.set_horizon({0, 1000}));
  scheduler.resources_changed();
  EXPECT_EQ(told(scheduler.step(10)), "start 1 @10 immediate");
  scheduler.check_invariants();
}

TEST(OverTheGraph, ARecoveredJobHoldsWhatItHeld) {
  auto store = store_of("node=1/core=2");
  auto scheduler = *Scheduler::create(policy("easy"), store);
  ASSERT_TRUE(scheduler.submit(job(1, spec_of(2), 10), 0));
  const auto step = scheduler.step(0);
  const auto allocation = std::get<qmanager::Start>(step.decisions.at(0)).allocation;

  auto store_again = store_of("node=1/core=2");
  auto again = *Scheduler::create(policy("easy"), store_again);
  ASSERT_TRUE(again.recover(job(1, spec_of(2), 10), allocation));
  ASSERT_TRUE(again.submit(job(2, spec_of(1), 5), 3));
  EXPECT_EQ(told(again.step(3)), "wait 2");
  EXPECT_EQ(again.plan(3).at(1).when, (Interval{10, 15}));
  ASSERT_TRUE(again.finish(JobId{1}, 4));
  EXPECT_EQ(told(again.step(4)), "start 2 @4 immediate")
      << "whoever looked at the plan left no trace";
  again.check_invariants();
}

}  // namespace
}  // namespace holon::tests
