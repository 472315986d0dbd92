// The examples of docs/examples/policies, in the simulator: each does what it says.
#include <fstream>

#include "places.hpp"  // written by CMake
#include "qmanager/machine/store_machine.hpp"
#include "resource/formats/readers.hpp"
#include "sim/graph_machine.hpp"
#include "tests/policy/asked.hpp"

namespace holon::policy {
namespace {

constexpr Time kHour = 3600;

std::string example(const char* name) {
  std::ifstream in(std::string(HOLON_SOURCE_DIR "/docs/examples/policies/") + name);
  return {std::istreambuf_iterator<char>(in), {}};
}

using Attributes = std::map<std::string, std::string>;

struct ExampleJob {
  Time submit;
  std::int64_t procs;
  Duration limit;
  Attributes attributes{};
};

// The jobs on 10 processors, each run to its limit; they are numbered from 1 on.
sim::SimResult run_jobs(const std::string& text, const std::vector<ExampleJob>& jobs) {
  sim::Workload workload;
  workload.max_procs = 10;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    sim::TraceJob job;
    job.id = static_cast<std::int64_t>(i) + 1;
    job.submit = jobs[i].submit;
    job.procs = jobs[i].procs;
    job.limit = job.run = jobs[i].limit;
    workload.jobs.push_back(job);
  }
  sim::SimOptions options;
  options.config = config_with(text);
  options.check_invariants = true;
  auto result = sim::simulate(workload, std::make_unique<qmanager::FlatMachine>(workload.max_procs),
                              options, [&](const sim::TraceJob& job) {
                                qmanager::JobRequest request = sim::flat_request(job);
                                request.attributes = std::make_shared<const Attributes>(
                                    jobs[static_cast<std::size_t>(job.id) - 1].attributes);
                                return request;
                              });
  EXPECT_TRUE(result) << to_string(result.error());
  EXPECT_EQ(result->queues[0].hooks->trouble, "");
  return std::move(*result);
}

std::vector<Time> starts_of(const sim::SimResult& result) {
  std::vector<Time> starts;
  for (const auto& job : result.jobs) starts.push_back(job.start.value_or(-1));
  return starts;
}

// The first that has to wait gets a reservation, and that is kept.
TEST(Examples, ShortestFirstWithABoundOnWaiting) {
  const std::string text = example("shortest-first.lua");
  EXPECT_EQ(starts_of(run_jobs(
                text, {{0, 10, 100}, {1, 10, 300}, {2, 10, 200}, {3, 10, 150}, {4, 10, 50}})),
            (std::vector<Time>{0, 100, 600, 450, 400}));
  // A job of two hours waits behind jobs of one hour that come without end, but for a day only.
  std::vector<ExampleJob> jobs = {{0, 10, kHour}, {1, 10, kHour}, {2, 10, 2 * kHour}};
  for (Time at = 3; at < 40 * kHour; at += kHour / 2) jobs.push_back({at, 10, kHour});
  const auto starts = starts_of(run_jobs(text, jobs));
  EXPECT_GE(starts[2], 24 * kHour);
  EXPECT_LE(starts[2], 27 * kHour);
}

TEST(Examples, EarliestDeadlineFirstAndNoForWhatCannotBeMet) {
  // The trace begins at midnight.
  const auto result =
      run_jobs(example("deadline.lua"), {{0, 10, kHour},
                                         {1, 10, kHour},
                                         {2, 10, kHour, {{"deadline", "23:00"}}},
                                         {3, 10, kHour, {{"deadline", "4:30"}}},
                                         {4, 10, 2 * kHour, {{"deadline", "01:59"}}},
                                         {5, 10, kHour}});
  EXPECT_EQ(starts_of(result), (std::vector<Time>{0, kHour, 3 * kHour, 2 * kHour, -1, 4 * kHour}));
  EXPECT_EQ(result.jobs[4].refused,
            "mine.lua:15: it may run for 7200 s, and its deadline is in 7136 s");
}

// Both wait from the begin, one with all its jobs behind those of the other.
TEST(Examples, CampaignsThatHaveUsedLeastGoFirst) {
  std::vector<ExampleJob> jobs;
  for (int i = 0; i < 4; ++i) jobs.push_back({0, 10, 100, {{"campaign", "a"}}});
  for (int i = 0; i < 4; ++i) jobs.push_back({1, 10, 100, {{"campaign", "b"}}});
  const auto starts = starts_of(run_jobs(example("campaigns.lua"), jobs));
  EXPECT_LT(starts[4], starts[2]);
  EXPECT_LT(starts[6], starts[3]);
}

TEST(Examples, WideJobsAtNight) {
  const Time noon = 12 * kHour;
  const std::string text = example("night-and-day.lua");
  // By day the wide job gets no reservation: narrow ones go on starting before it. At eight in the
  // evening it is first.
  std::vector<ExampleJob> jobs = {{noon, 5, kHour}, {noon + 1, 8, kHour}};
  for (Time at = noon + 2; at < 24 * kHour; at += kHour / 2) jobs.push_back({at, 5, kHour});
  const auto starts = starts_of(run_jobs(text, jobs));
  EXPECT_GE(starts[1], 20 * kHour);
  EXPECT_LE(starts[1], 21 * kHour);
}

// ---- properties of policies that nobody has thought about

// A policy whose functions say anything at all, some of which is wrong.
std::string random_policy(std::uint64_t seed) {
  Dice dice(seed);
  const char* const kBases[] = {"fcfs", "easy", "hybrid:3", "conservative"};
  const char* const kNumbers[] = {"math.random()",
                                  "job.waited / job.limit",
                                  "-job.cores",
                                  "math.random(1, 3) - 2",
                                  "job.id % 7",
                                  "view.free - job.cores",
                                  "(job.id % 5 == 0) and nil or job.limit",
                                  "(job.id % 9 == 0) and 0/0 or -job.id",
                                  "(job.id % 4 == 0) and {} or 1",
                                  "(math.random(10) == 1) and error('now') or 3",
                                  "(state[job.user] or 0) - job.cores",
                                  "(state.n or 0) % 5 * job.id"};
  const char* const kBooleans[] = {"math.random() < 0.5",
                                   "true",
                                   "false",
                                   "job.id % 2 == 0",
                                   "view.reserved < 3",
                                   "(math.random(5) == 1) and 'maybe' or nil",
                                   "(math.random(8) == 1) and error({}) or true",
                                   "job.cores <= view.free"};
  const char* const kAdmits[] = {"true",
                                 "job.id % 10 > 0, 'every tenth'",
                                 "job.cores < 60",
                                 "(state.n or 0) % 4 > 0",
                                 "(job.id % 6 == 0) and error({}) or true",
                                 "(math.random(7) == 1) and 0/0 or nil"};
  std::string text = std::string("base = '") + kBases[dice(0, 3)] + "'\n";
  const auto add = [&](const char* name, const char* body) {
    if (dice(0, 2) > 0)
      text += std::string("function ") + name + "(job, view) return " + body + " end\n";
  };
  add("admit", kAdmits[dice(0, 5)]);
  add("priority", kNumbers[dice(0, 11)]);
  add("may_reserve", kBooleans[dice(0, 7)]);
  add("may_backfill", kBooleans[dice(0, 7)]);
  const char* const kEvents[] = {
      "state.n = (state.n or 0) + 1", "state[job.user] = (state[job.user] or 0) + job.cores",
      "if job.id % 7 == 0 then error(event) end", "state[job.id] = event  state[job.id - 9] = nil",
      "state.n = job.id % 11 == 0 and state or job.id"};
  if (dice(0, 2) > 0)
    text += std::string("function on_event(event, job, view) ") + kEvents[dice(0, 4)] + " end\n";
  return text;
}

// Processors in use never are more than there are: the scheduler's own check is made as well.
void expect_sound(const sim::Workload& workload, const sim::SimResult& result) {
  std::vector<std::pair<Time, std::int64_t>> changes;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const sim::TraceJob& job = workload.jobs[i];
    // Nobody is left out without a word.
    if (!result.jobs[i].start) {
      ASSERT_TRUE(result.jobs[i].refused.starts_with("mine.lua")) << "job " << job.id;
      continue;
    }
    ASSERT_GE(*result.jobs[i].start, job.submit);
    changes.emplace_back(*result.jobs[i].start + job.run, -job.procs);
    changes.emplace_back(*result.jobs[i].start, job.procs);
  }
  std::sort(changes.begin(), changes.end());
  std::int64_t used = 0;
  for (const auto& [when, procs] : changes) ASSERT_LE(used += procs, workload.max_procs);
}

TEST(RandomPolicies, GiveNoUnitTwiceAndKeepTheirReservations) {
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    const std::string text = random_policy(seed);
    SCOPED_TRACE(text);
    const sim::Workload workload = made_up(seed, 120);
    const sim::SimResult result = simulated(workload, config_with(text), sim::Order::batch, true);
    expect_sound(workload, result);
    // A base whose order nobody changes makes its reservations anew.
    const bool keeps = text.find("function priority") != std::string::npos ||
                       text.find("function may_") != std::string::npos;
    for (std::size_t i = 0; i < workload.jobs.size() && keeps; ++i) {
      if (!result.jobs[i].start) continue;
      ASSERT_LE(*result.jobs[i].start, *result.jobs[i].first_planned)
          << "seed " << seed << ", job " << workload.jobs[i].id;
    }
  }
}

// Where units are told apart: the machine makes its own check after each pass.
TEST(RandomPolicies, GiveNoUnitTwiceOnNodes) {
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    const std::string text = random_policy(seed);
    SCOPED_TRACE(text);
    const sim::Workload workload = made_up(seed, 80);
    sim::SimOptions options;
    options.config = config_with(text);
    options.check_invariants = true;
    auto store = resource::ResourceStore::load(*resource::read_shape("rack=2/node=4/core=8"), {});
    ASSERT_TRUE(store) << to_string(store.error());
    const auto result =
        sim::simulate(workload, std::make_unique<qmanager::OwningStoreMachine>(std::move(*store)),
                      options, sim::graph_request);
    ASSERT_TRUE(result) << to_string(result.error());
    expect_sound(workload, *result);
  }
}

// Whoever waits is told why, or when they start, after each pass; where a function is the reason,
// it is named.
TEST(RandomPolicies, LetNobodyWaitWithoutAWord) {
  std::int64_t told = 0;
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    const std::string text = random_policy(seed);
    SCOPED_TRACE(text);
    const sim::Workload workload = made_up(seed, 80);
    sim::SimOptions options;
    options.config = config_with(text);
    options.watch = [&](Time, qmanager::Scheduler& scheduler, const qmanager::StepResult&) {
      for (const sim::TraceJob& job : workload.jobs) {
        const auto outlook = scheduler.outlook(JobId(static_cast<std::uint64_t>(job.id)));
        if (!outlook) continue;
        ASSERT_TRUE(!outlook->reason.empty() || outlook->planned_start) << job.id;
        ++told;
      }
    };
    ASSERT_TRUE(sim::simulate(workload, std::make_unique<qmanager::FlatMachine>(workload.max_procs),
                              options));
  }
  EXPECT_GT(told, 1'000);
}

TEST(RandomPolicies, DecideTheSameTwice) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const qmanager::SchedulerConfig config = config_with(random_policy(seed), seed % 2 == 0);
    const sim::Workload workload = made_up(seed, 120);
    const sim::SimResult a = simulated(workload, config);
    const sim::SimResult b = simulated(workload, config);
    for (std::size_t i = 0; i < workload.jobs.size(); ++i)
      ASSERT_EQ(a.jobs[i].start, b.jobs[i].start) << "seed " << seed;
    EXPECT_EQ(a.queues[0].hooks->calls, b.queues[0].hooks->calls);
    EXPECT_EQ(a.queues[0].hooks->trouble, b.queues[0].hooks->trouble);
  }
}

}  // namespace
}  // namespace holon::policy
