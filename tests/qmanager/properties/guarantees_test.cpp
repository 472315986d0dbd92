// What each policy guarantees, on random workloads. A failure names policy and seed.
#include <gtest/gtest.h>

#include "qmanager/machine/flat_machine.hpp"
#include "tests/qmanager/scenario.hpp"

namespace holon::tests {
namespace {

constexpr unsigned kSeeds = 400;

Outcome run_random(const std::string& name, unsigned seed, sim::Order order = sim::Order::batch) {
  const int nodes = 2 + static_cast<int>(seed % 7);
  return run({.nodes = nodes,
              .jobs = random_jobs(seed, 24, nodes),
              .config = policy(name),
              .order = order});
}

TEST(Guarantees, EveryJobRunsAndNoNodeIsHeldTwice) {
  for (const char* name :
       {"fcfs", "easy", "hybrid:3", "conservative", "conservative:2", "conservative-rebuild"})
    for (const sim::Order order : {sim::Order::batch, sim::Order::event})
      for (unsigned seed = 0; seed < kSeeds / 4; ++seed) {
        SCOPED_TRACE(std::string(name) + ", seed " + std::to_string(seed));
        const Outcome outcome = run_random(name, seed, order);
        for (const sim::JobOutcome& job : outcome.result.jobs)
          ASSERT_TRUE(job.start) << job.refused;
        ASSERT_NO_FATAL_FAILURE(expect_nothing_held_twice(outcome));
      }
}

TEST(Guarantees, FcfsStartsInQueueOrder) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    const Outcome outcome = run_random("fcfs", seed);
    for (std::size_t i = 1; i < outcome.jobs.size(); ++i)
      ASSERT_LE(outcome.start(i - 1), outcome.start(i)) << "seed " << seed;
  }
}

TEST(Guarantees, ConservativeStartsNobodyLaterThanFirstPlanned) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    const Outcome outcome = run_random("conservative", seed);
    for (std::size_t i = 0; i < outcome.jobs.size(); ++i)
      ASSERT_LE(outcome.start(i), outcome.result.jobs[i].first_planned.value())
          << "job " << i + 1 << ", seed " << seed;
  }
}

// The head's shadow time, from the running jobs' limits alone: the guarantee that EASY and hybrid
// make.
Time shadow_time(const Outcome& outcome, std::size_t head, Time now) {
  std::map<Time, std::int64_t> ends;
  std::int64_t free = outcome.nodes;
  for (std::size_t i = 0; i < outcome.jobs.size(); ++i) {
    const Time start = outcome.start(i);
    if (start > now || start + outcome.jobs[i].trace.run <= now) continue;
    free -= outcome.jobs[i].trace.procs;
    ends[start + outcome.jobs[i].trace.limit] += outcome.jobs[i].trace.procs;
  }
  if (free >= outcome.jobs[head].trace.procs) return now;
  for (const auto& [end, procs] : ends)
    if ((free += procs) >= outcome.jobs[head].trace.procs) return end;
  return kTimeMax;
}

TEST(Guarantees, TheHeadNeverStartsLaterThanFirstPlanned) {
  for (const char* name : {"easy", "hybrid:2", "hybrid:5", "conservative-rebuild"})
    for (unsigned seed = 0; seed < kSeeds; ++seed) {
      const Outcome outcome = run_random(name, seed);
      std::map<std::size_t, Time> first_planned;
      for (Time now = 0; now <= outcome.result.end; ++now) {
        std::size_t head = 0;  // the first job that was submitted and has not started
        while (head < outcome.jobs.size() && outcome.start(head) <= now) ++head;
        if (head == outcome.jobs.size() || outcome.jobs[head].trace.submit > now) continue;
        first_planned.try_emplace(head, shadow_time(outcome, head, now));
      }
      for (const auto& [head, when] : first_planned)
        ASSERT_LE(outcome.start(head), when) << name << ", job " << head + 1 << ", seed " << seed;
    }
}

// Reservations are in the plan with what runs: at no instant do both together need more nodes than
// there are.
TEST(Guarantees, NoStartOfAPassConflictsWithItsReservations) {
  for (const char* name : {"easy", "hybrid:3", "conservative", "conservative-rebuild"})
    for (unsigned seed = 0; seed < kSeeds / 4; ++seed) {
      const int nodes = 2 + static_cast<int>(seed % 7);
      const auto jobs = random_jobs(seed, 24, nodes);
      sim::Workload workload;
      for (const ScenarioJob& job : jobs) workload.jobs.push_back(job.trace);
      std::map<std::uint64_t, Interval> running;
      sim::SimOptions options;
      options.config = policy(name);
      options.watch = [&](Time now, const qmanager::Scheduler& scheduler,
                          const qmanager::StepResult& step) {
        for (const auto& decision : step.decisions) {
          if (const auto* start = std::get_if<qmanager::Start>(&decision))
            running[start->job.value()] = start->allocation.when;
        }
        std::map<Time, std::int64_t> change;
        const auto add = [&](std::uint64_t id, Interval when) {
          change[when.begin] += jobs[id - 1].trace.procs;
          change[when.end] -= jobs[id - 1].trace.procs;
        };
        for (const auto& [id, when] : running)
          if (now < when.begin + jobs[id - 1].trace.run) add(id, when);
        for (const ScenarioJob& job : jobs) {
          const auto outlook = scheduler.outlook(job.request.id);
          if (outlook && outlook->planned_start)
            add(job.request.id.value(),
                {*outlook->planned_start, *outlook->planned_start + job.trace.limit});
        }
        std::int64_t held = 0;
        for (const auto& [when, by] : change)
          ASSERT_LE(held += by, nodes) << name << ", seed " << seed << " at " << when;
      };
      ASSERT_TRUE(sim::simulate(workload, std::make_unique<qmanager::FlatMachine>(nodes), options));
      if (testing::Test::HasFatalFailure()) return;
    }
}

TEST(Guarantees, HybridOfOneIsEasyAndHybridOfAllIsConservativeWithRebuild) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    EXPECT_EQ(gantt(run_random("hybrid:1", seed)), gantt(run_random("easy", seed)))
        << "seed " << seed;
    EXPECT_EQ(gantt(run_random("hybrid:100000", seed)),
              gantt(run_random("conservative-rebuild", seed)))
        << "seed " << seed;
  }
}

TEST(Guarantees, TheSameInputGivesTheSameOutcome) {
  for (const char* name : {"easy", "conservative"})
    EXPECT_EQ(gantt(run_random(name, 7)), gantt(run_random(name, 7)));
}

// A pass that runs out of budget goes on where it stopped. Whatever the slices, EASY's head keeps
// its guarantee and every job runs; with slices larger than the queue nothing changes.
TEST(Guarantees, ABudgetChangesNothingButWhenTheWorkIsDone) {
  for (const char* name : {"fcfs", "easy", "hybrid:3", "conservative"})
    for (unsigned seed = 0; seed < kSeeds / 4; ++seed) {
      const Outcome whole = run_random(name, seed);
      const int nodes = whole.nodes;
      const auto jobs = random_jobs(seed, 24, nodes);
      sim::Workload workload;
      for (const ScenarioJob& job : jobs) workload.jobs.push_back(job.trace);
      sim::SimOptions options;
      options.config = policy(name);
      options.check_invariants = true;
      options.budget = {.jobs = 1 + static_cast<std::int64_t>(seed % 3)};
      const auto sliced =
          sim::simulate(workload, std::make_unique<qmanager::FlatMachine>(nodes), options);
      ASSERT_TRUE(sliced);
      for (std::size_t i = 0; i < jobs.size(); ++i)
        ASSERT_EQ(sliced->jobs[i].start, whole.result.jobs[i].start)
            << name << ", job " << i + 1 << ", seed " << seed;
    }
}

}  // namespace
}  // namespace holon::tests
