// Preemption: as drawings, and against a brute force over all sets of preemptible jobs.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "qmanager/machine/flat_machine.hpp"
#include "scenario.hpp"

namespace holon::tests {
namespace {

using qmanager::PreemptMode;
using qmanager::SchedulerConfig;

// Two queues, of which "urgent" preempts. It is the first of them by its name, too.
SchedulerConfig two_queues(const std::string& policy_name, PreemptMode mode, Duration grace) {
  SchedulerConfig config = policy(policy_name);
  config.queues["work"] = config.defaults;
  config.queues["urgent"] = config.defaults;
  config.queues["urgent"].preempt = {mode, grace};
  config.default_queue = "work";
  return config;
}

struct PreemptCase {
  const char* name;
  const char* policy;
  PreemptMode mode;
  Duration grace;
  int nodes;
  const char* jobs;
  const char* want;
};

const PreemptCase kPreemptCases[] = {
    {"off: nobody gives way", "fcfs", PreemptMode::off, 0, 2, R"(
     #  job submit nodes limit runs
        A   0      2     6     6    preemptible=yes
        U   2      1     2     2    queue=urgent)",
     R"(
      n0 |AAAAAAUU|
      n1 |AAAAAA..|
)"},
    {"cancel: what it has done is lost", "fcfs", PreemptMode::cancel, 0, 2, R"(
        A   0      2     6     6    preemptible=yes
        U   2      1     2     2    queue=urgent)",
     R"(
      n0 |AAUU|
      n1 |AA..|
)"},
    {"requeue: it begins anew when there is room", "fcfs", PreemptMode::requeue, 0, 2, R"(
        A   0      2     6     6    preemptible=yes
        U   2      1     2     2    queue=urgent)",
     R"(
      n0 |AAUUAAAAAA|
      n1 |AA..AAAAAA|
)"},
    {"one that is not preemptible stays", "easy", PreemptMode::requeue, 0, 2, R"(
        A   0      2     6     6
        U   2      1     2     2    queue=urgent)",
     R"(
      n0 |AAAAAAUU|
      n1 |AAAAAA..|
)"},
    {"a queue that does not preempt waits", "easy", PreemptMode::requeue, 0, 2, R"(
        A   0      2     6     6    preemptible=yes
        B   2      1     2     2)",
     R"(
      n0 |AAAAAABB|
      n1 |AAAAAA..|
)"},
    {"a preemptible job takes nobody's place", "easy", PreemptMode::requeue, 0, 2, R"(
        A   0      2     6     6    preemptible=yes
        U   2      1     2     2    queue=urgent preemptible=yes)",
     R"(
      n0 |AAAAAAUU|
      n1 |AAAAAA..|
)"},
    {"the one that started last gives way", "easy", PreemptMode::cancel, 0, 3, R"(
        A   0      1     9     9    preemptible=yes
        B   1      1     9     9    preemptible=yes
        C   2      1     9     9    preemptible=yes
        U   4      1     2     2    queue=urgent)",
     R"(
      n0 |AAAAAAAAA.|
      n1 |.BBBBBBBBB|
      n2 |..CCUU....|
)"},
    {"the least urgent one gives way", "easy", PreemptMode::cancel, 0, 2, R"(
        A   0      1     9     9    preemptible=yes urgency=5
        B   1      1     9     9    preemptible=yes
        U   4      1     2     2    queue=urgent)",
     R"(
      n0 |AAAAUU....|
      n1 |.BBBBBBBBB|
)"},
    {"small ones are spared where a large one is enough", "easy", PreemptMode::cancel, 0, 3, R"(
        A   0      2     9     9    preemptible=yes
        B   1      1     9     9    preemptible=yes
        U   4      2     2     2    queue=urgent)",
     R"(
      n0 |AAAAUU....|
      n1 |AAAAUU....|
      n2 |.BBBBBBBBB|
)"},
    {"all stay where all of them would not be enough", "easy", PreemptMode::cancel, 0, 3, R"(
        A   0      2     5     5    preemptible=yes
        B   0      1     9     9
        U   2      3     2     2    queue=urgent)",
     R"(
      n0 |AAAAA....UU|
      n1 |AAAAA....UU|
      n2 |BBBBBBBBBUU|
)"},
    {"one that checkpoints has the grace", "easy", PreemptMode::requeue, 3, 1, R"(
        A   0      1     9     9    preemptible=yes checkpoints=yes
        U   2      1     2     2    queue=urgent)",
     R"(
      n0 |AAAAAUUAAAAAAAAA|
)"},
    {"one that ends within the grace is complete", "easy", PreemptMode::requeue, 3, 1, R"(
        A   0      1     9     4    preemptible=yes checkpoints=yes
        U   2      1     2     2    queue=urgent)",
     R"(
      n0 |AAAAUU|
)"},
    {"who is about to end is waited for", "easy", PreemptMode::cancel, 3, 2, R"(
        A   0      1     4     4
        B   0      1     9     9    preemptible=yes
        U   2      1     2     2    queue=urgent)",
     R"(
      n0 |AAAAUU...|
      n1 |BBBBBBBBB|
)"},
    {"its place is kept from those in front while they end", "easy", PreemptMode::requeue, 3, 1,
     R"(
        A   0      1     9     9    preemptible=yes checkpoints=yes
        B   1      1     2     2
        U   2      1     2     2    queue=urgent)",
     R"(
      n0 |AAAAAUUAAAAAAAAABB|
)"},
    {"what is reserved for a job that is not preemptible is not taken", "conservative",
     PreemptMode::cancel, 0, 2, R"(
        A   0      1     4     4
        B   0      1     9     9    preemptible=yes
        C   1      1     3     3
        U   2      2     2     2    queue=urgent)",
     R"(
      n0 |AAAACCCUU|
      n1 |BBBBBBBUU|
)"},
    {"fcfs: those behind it wait for it", "fcfs", PreemptMode::requeue, 3, 3, R"(
        A   0      2     9     4    preemptible=yes checkpoints=yes
        U   2      3     2     2    queue=urgent
        V   3      1     1     1    queue=urgent)",
     R"(
      n0 |AAAAUUV|
      n1 |AAAAUU.|
      n2 |....UU.|
)"},
};

TEST(Preempt, AsDrawn) {
  for (const PreemptCase& c : kPreemptCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(gantt(run({.nodes = c.nodes,
                         .jobs = parse_jobs(c.jobs),
                         .config = two_queues(c.policy, c.mode, c.grace)})),
              c.want);
  }
}

TEST(Preempt, AllJobsOfAQueueMayBePreemptible) {
  SchedulerConfig config = two_queues("easy", PreemptMode::cancel, 0);
  config.queues["work"].preemptible = true;
  EXPECT_EQ(
      gantt(run(
          {.nodes = 1, .jobs = parse_jobs("A 0 1 9 9\nU 2 1 2 2 queue=urgent"), .config = config})),
      "\n      n0 |AAUU|\n");
}

// ---- the brute force

constexpr int kMachineNodes = 6;

struct WatchedJob {
  qmanager::JobRequest request;
  Time planned_end = 0;
  bool told = false;  // to end
};

// Could `procs` begin by `by` and last for `length` beside these spans?
bool has_room(const std::vector<std::pair<Interval, std::int64_t>>& spans, std::int64_t procs,
              Duration length, Time now, Time by) {
  for (Time begin = now; begin <= by; ++begin) {
    bool free = true;
    for (Time t = begin; t < begin + length && free; ++t) {
      std::int64_t used = 0;
      for (const auto& [when, held] : spans) used += when.begin <= t && t < when.end ? held : 0;
      free = used + procs <= kMachineNodes;
    }
    if (free) return true;
  }
  return false;
}

// Looks on at a simulation: what is preempted was preemptible, ran, and could not be spared.
class PreemptWitness {
 public:
  PreemptWitness(const std::vector<ScenarioJob>& jobs, Duration grace) : grace_(grace) {
    for (const ScenarioJob& job : jobs) known_[job.request.id].request = job.request;
  }

  void look(Time now, const qmanager::Scheduler& scheduler, const qmanager::StepResult& step) {
    std::map<JobId, std::vector<JobId>> victims;
    for (const qmanager::Decision& decision : step.decisions) {
      if (const auto* start = std::get_if<qmanager::Start>(&decision)) {
        known_.at(start->job).planned_end = start->allocation.when.end;
        known_.at(start->job).told = false;
        running_.insert(start->job);
      }
      if (const auto* preempt = std::get_if<qmanager::Preempt>(&decision)) {
        WatchedJob& victim = known_.at(preempt->job);
        EXPECT_TRUE(victim.request.preemptible);
        EXPECT_FALSE(known_.at(preempt->for_job).request.preemptible);
        EXPECT_TRUE(running_.contains(preempt->job));
        EXPECT_FALSE(std::exchange(victim.told, true));
        victims[preempt->for_job].push_back(preempt->job);
        ++preempted;
      }
    }
    if (victims.size() == 1) check(now, scheduler, victims.begin()->first, victims.begin()->second);
    if (victims.empty() && !step.more) check_nobody_could(now, scheduler);
  }
  int preempted = 0, checked = 0, left = 0;

 private:
  using Spans = std::vector<std::pair<Interval, std::int64_t>>;

  // The plan without the job and without reservations of preemptible ones.
  Spans plan_without(Time now, const qmanager::Scheduler& scheduler, JobId job,
                     const std::set<JobId>& unspared) const {
    Spans spans;
    for (const qmanager::PlannedSpan& span : scheduler.plan(now)) {
      const WatchedJob& known = known_.at(span.job);
      if (span.job == job || (span.reserved && known.request.preemptible)) continue;
      Interval when = span.when;
      if (unspared.contains(span.job)) when.end = known.planned_end;
      spans.emplace_back(when, span.procs);
    }
    return spans;
  }

  void check(Time now, const qmanager::Scheduler& scheduler, JobId id,
             const std::vector<JobId>& victims) {
    const qmanager::JobRequest& job = known_.at(id).request;
    const Time by = now + std::max<Duration>(1, grace_);
    EXPECT_TRUE(has_room(plan_without(now, scheduler, id, {}), job.procs, job.limit, now, by))
        << "job " << id.value() << " has no room at " << now;
    for (const JobId spared : victims)
      EXPECT_FALSE(
          has_room(plan_without(now, scheduler, id, {spared}), job.procs, job.limit, now, by))
          << "job " << spared.value() << " could be spared at " << now;
    ++checked;
  }

  // With all preemptible jobs gone the first of the queue would have no room.
  void check_nobody_could(Time now, const qmanager::Scheduler& scheduler) {
    std::optional<qmanager::JobRequest> first;
    for (const auto& [id, known] : known_) {
      const auto outlook = scheduler.outlook(id);
      if (known.request.queue != "urgent" || known.request.preemptible || !outlook) continue;
      if (!first && outlook->position == 0) first = known.request;
    }
    if (!first) return;
    const Time by = now + std::max<Duration>(1, grace_);
    if (has_room(plan_without(now, scheduler, first->id, {}), first->procs, first->limit, now, by))
      return;  // it starts by then
    Spans spans;
    for (const qmanager::PlannedSpan& span : scheduler.plan(now)) {
      const WatchedJob& known = known_.at(span.job);
      if (span.job == first->id || (span.reserved && known.request.preemptible)) continue;
      Interval when = span.when;
      if (known.request.preemptible)
        when.end = std::min(when.end, now + (known.request.checkpoints ? by - now : 1));
      spans.emplace_back(when, span.procs);
    }
    EXPECT_FALSE(has_room(spans, first->procs, first->limit, now, by))
        << "job " << first->id.value() << " could have had room at " << now;
    ++left;
  }

  Duration grace_;
  std::map<JobId, WatchedJob> known_;
  std::set<JobId> running_;
};

std::vector<ScenarioJob> mixed_jobs(unsigned seed) {
  std::mt19937 dice(seed);
  std::vector<ScenarioJob> jobs = random_jobs(seed, 40, kMachineNodes);
  for (ScenarioJob& job : jobs) {
    job.trace.limit = std::max<Duration>(job.trace.limit, 1);
    job.request.limit = job.trace.limit;
    if (dice() % 3 == 0) {
      job.request.queue = "urgent";
    } else {
      job.request.preemptible = dice() % 3 != 0;
      job.request.checkpoints = dice() % 2 == 0;
    }
    job.request.urgency = 10 + dice() % 3;
  }
  return jobs;
}

sim::SimResult simulate_mixed(const std::vector<ScenarioJob>& jobs, const SchedulerConfig& config,
                              PreemptWitness* witness) {
  sim::Workload workload;
  for (const ScenarioJob& job : jobs) workload.jobs.push_back(job.trace);
  sim::SimOptions options;
  options.config = config;
  options.check_invariants = true;
  if (witness != nullptr)
    options.watch = [witness](Time now, qmanager::Scheduler& scheduler,
                              const qmanager::StepResult& step) {
      witness->look(now, scheduler, step);
    };
  auto result = sim::simulate(
      workload, std::make_unique<qmanager::FlatMachine>(kMachineNodes), options,
      [&](const sim::TraceJob& job) { return jobs[static_cast<std::size_t>(job.id) - 1].request; });
  EXPECT_TRUE(result);
  return std::move(*result);
}

TEST(Preempt, NeverMoreThanIsNeeded) {
  int preempted = 0, checked = 0, left = 0;
  for (unsigned seed = 0; seed < 120; ++seed)
    for (const char* policy_name : {"fcfs", "easy", "conservative"}) {
      SCOPED_TRACE(std::string(policy_name) + ", seed " + std::to_string(seed));
      const auto jobs = mixed_jobs(seed);
      const PreemptMode mode = seed % 2 == 0 ? PreemptMode::requeue : PreemptMode::cancel;
      const Duration grace = seed % 4;
      PreemptWitness witness(jobs, grace);
      const sim::SimResult result =
          simulate_mixed(jobs, two_queues(policy_name, mode, grace), &witness);
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        const bool is_victim = !result.jobs[i].lost.empty();
        EXPECT_TRUE(result.jobs[i].start || (is_victim && mode == PreemptMode::cancel))
            << "job " << i + 1 << ": " << result.jobs[i].refused;
      }
      preempted += witness.preempted, checked += witness.checked, left += witness.left;
    }
  EXPECT_GT(preempted, 500);
  EXPECT_GT(checked, 300);
  EXPECT_GT(left, 100);
}

TEST(Preempt, ChangesNothingWhereNobodyPreempts) {
  for (unsigned seed = 0; seed < 60; ++seed)
    for (const char* policy_name : {"fcfs", "easy", "hybrid:3", "conservative"}) {
      SCOPED_TRACE(std::string(policy_name) + ", seed " + std::to_string(seed));
      auto jobs = mixed_jobs(seed);
      const auto off = simulate_mixed(jobs, two_queues(policy_name, PreemptMode::off, 0), nullptr);
      for (ScenarioJob& job : jobs) job.request.preemptible = false;
      const auto plain =
          simulate_mixed(jobs, two_queues(policy_name, PreemptMode::off, 0), nullptr);
      const auto on =
          simulate_mixed(jobs, two_queues(policy_name, PreemptMode::requeue, 2), nullptr);
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        EXPECT_EQ(off.jobs[i].start, plain.jobs[i].start) << "job " << i + 1;
        EXPECT_EQ(on.jobs[i].start, plain.jobs[i].start) << "job " << i + 1;
      }
    }
}

// ---- what a restart leaves

TEST(Preempt, ARestartKeepsThePlaceForTheJobThatWaitsForIt) {
  auto scheduler = qmanager::Scheduler::create(two_queues("easy", PreemptMode::requeue, 5),
                                               std::make_unique<qmanager::FlatMachine>(2));
  ASSERT_TRUE(scheduler);
  auto jobs = parse_jobs(R"(
      A 0 2 20 20 preemptible=yes checkpoints=yes
      B 0 1 2  2
      U 0 2 4  4  queue=urgent)");
  ASSERT_TRUE(scheduler->submit(jobs[0].request, 0));
  const auto first = scheduler->step(0);
  ASSERT_EQ(first.decisions.size(), 1u);
  const auto held = std::get<qmanager::Start>(first.decisions[0]).allocation;
  ASSERT_TRUE(scheduler->submit(jobs[2].request, 1));
  const auto told = scheduler->step(1);
  const qmanager::Preempt* preempt = nullptr;
  for (const auto& decision : told.decisions)
    if (const auto* one = std::get_if<qmanager::Preempt>(&decision)) preempt = one;
  ASSERT_NE(preempt, nullptr);
  EXPECT_EQ(preempt->end, 6);
  const auto explained = scheduler->explain(JobId{3}, 1);
  ASSERT_TRUE(explained);
  EXPECT_EQ(explained->reason, "job 1 is preempted for it, by 6 at the latest");
  EXPECT_EQ(scheduler->queues().back().counts.preempted, 1);

  auto again = qmanager::Scheduler::create(two_queues("easy", PreemptMode::requeue, 5),
                                           std::make_unique<qmanager::FlatMachine>(2));
  ASSERT_TRUE(again);
  ASSERT_TRUE(again->recover(jobs[0].request, held));
  ASSERT_TRUE(again->recover_preemption(JobId{1}, JobId{3}, preempt->end, 3));
  ASSERT_TRUE(again->submit(jobs[1].request, 3));
  ASSERT_TRUE(again->submit(jobs[2].request, 3));
  auto more = again->step(3);
  while (more.more) more = again->step(3);
  ASSERT_TRUE(again->finish(JobId{1}, 4));
  std::vector<JobId> started;
  do {
    more = again->step(4);
    for (const auto& decision : more.decisions) {
      if (const auto* start = std::get_if<qmanager::Start>(&decision))
        started.push_back(start->job);
      EXPECT_EQ(std::get_if<qmanager::Preempt>(&decision), nullptr);
    }
  } while (more.more);
  EXPECT_EQ(started, (std::vector{JobId{3}}));
  again->check_invariants();
}

}  // namespace
}  // namespace holon::tests
