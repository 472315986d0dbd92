// Planner operations per second, by the number of spans.
//
// The plan: 16,384 units; spans of up to 64 units and half a day begin at random seconds, one a
// minute on average, so that about 360 hold at a time and one lies over some 700 points. Rejected
// spans are drawn again. Queries take random amounts, lengths and times of the same ranges.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "resource/planner/planner.hpp"

namespace {

using holon::Duration;
using holon::Interval;
using holon::kTimeMax;
using holon::Time;
using holon::resource::Amount;
using holon::resource::Planner;
using holon::resource::SpanId;

constexpr Amount kTotal = 16'384;
constexpr Amount kWidest = 64;
constexpr Duration kLongest = 43'200;

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::int64_t from_to(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }

 private:
  std::mt19937_64 engine_;
};

struct Plan {
  Planner planner = *Planner::create(kTotal, {0, kTimeMax}, "core");
  std::vector<SpanId> ids;
  Time last = 0;  // spans begin before it
};

void add_one(Plan& plan, Random& random) {
  while (true) {
    const Time begin = random.from_to(0, plan.last);
    const Interval when{begin, begin + random.from_to(1, kLongest)};
    const auto id = plan.planner.add(random.from_to(1, kWidest), when);
    if (id) return plan.ids.push_back(*id);
  }
}

const Plan& plan_of(std::int64_t spans) {
  static std::map<std::int64_t, Plan> plans;
  Plan& plan = plans[spans];
  Random random(1);
  plan.last = spans * 60;
  while (static_cast<std::int64_t>(plan.ids.size()) < spans) add_one(plan, random);
  return plan;
}

// At a constant number of spans: what is added is taken out again, untimed.
void add_span(benchmark::State& state) {
  Plan plan = plan_of(state.range(0));
  Random random(2);
  std::vector<std::pair<Amount, Interval>> spans;
  constexpr int kBatch = 256;
  std::vector<SpanId> added;
  while (state.KeepRunningBatch(kBatch)) {
    state.PauseTiming();
    for (const SpanId id : added) (void)plan.planner.remove(id);
    added.clear();
    spans.clear();
    for (int i = 0; i < kBatch; ++i) {
      const Time begin = random.from_to(0, plan.last);
      spans.emplace_back(random.from_to(1, kWidest),
                         Interval{begin, begin + random.from_to(1, kLongest)});
    }
    state.ResumeTiming();
    for (const auto& [amount, when] : spans) {
      const auto id = plan.planner.add(amount, when);
      if (id) added.push_back(*id);
    }
  }
  state.SetItemsProcessed(state.iterations());
}

// From an empty planner to the number of spans.
void fill(benchmark::State& state) {
  for (auto _ : state) {
    Plan plan;
    plan.last = state.range(0) * 60;
    Random random(1);
    while (static_cast<std::int64_t>(plan.ids.size()) < state.range(0)) add_one(plan, random);
    state.counters["bytes/span"] =
        static_cast<double>(plan.planner.memory()) / static_cast<double>(plan.ids.size());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// All of them, in random order.
void rem_span(benchmark::State& state) {
  std::vector<SpanId> ids = plan_of(state.range(0)).ids;
  std::shuffle(ids.begin(), ids.end(), std::mt19937_64(3));
  for (auto _ : state) {
    state.PauseTiming();
    Planner planner = plan_of(state.range(0)).planner;
    state.ResumeTiming();
    for (const SpanId id : ids) benchmark::DoNotOptimize(planner.remove(id));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void avail_resources_at(benchmark::State& state) {
  const Plan& plan = plan_of(state.range(0));
  Random random(4);
  for (auto _ : state) benchmark::DoNotOptimize(plan.planner.free_at(random.from_to(0, plan.last)));
  state.SetItemsProcessed(state.iterations());
}

void avail_during(benchmark::State& state) {
  const Plan& plan = plan_of(state.range(0));
  Random random(5);
  for (auto _ : state) {
    const Time begin = random.from_to(0, plan.last);
    benchmark::DoNotOptimize(
        plan.planner.fits(random.from_to(1, kTotal), {begin, begin + random.from_to(1, kLongest)}));
  }
  state.SetItemsProcessed(state.iterations());
}

void time_first_from_0_nearly_full(benchmark::State& state) {
  const Plan& plan = plan_of(state.range(0));
  Random random(6);
  for (auto _ : state) {
    auto cursor = plan.planner.points_that_fit(kTotal - random.from_to(0, 100),
                                               random.from_to(1, kLongest), 0);
    benchmark::DoNotOptimize(cursor->next(plan.planner));
  }
  state.SetItemsProcessed(state.iterations());
}

void time_first_from_random(benchmark::State& state) {
  const Plan& plan = plan_of(state.range(0));
  Random random(7);
  for (auto _ : state) {
    auto cursor = plan.planner.points_that_fit(
        random.from_to(1, kTotal), random.from_to(1, kLongest), random.from_to(0, plan.last));
    benchmark::DoNotOptimize(cursor->next(plan.planner));
  }
  state.SetItemsProcessed(state.iterations());
}

void earliest_fit_from_random(benchmark::State& state) {
  const Plan& plan = plan_of(state.range(0));
  Random random(8);
  for (auto _ : state) {
    benchmark::DoNotOptimize(plan.planner.earliest_fit(
        random.from_to(1, kTotal), random.from_to(1, kLongest), random.from_to(0, plan.last)));
  }
  state.SetItemsProcessed(state.iterations());
}

// A conservative plan of a queue: each job at the earliest time that fits, searched from 0. Jobs of
// 1 to 1,024 of 1,024 nodes, small ones more often, a minute to half a day.
void plan_queue(benchmark::State& state) {
  struct Job {
    Amount nodes;
    Duration limit;
  };
  Random random(9);
  std::vector<Job> jobs;
  for (int i = 0; i < state.range(0); ++i)
    jobs.push_back(
        {random.from_to(1, Amount{1} << random.from_to(0, 10)), random.from_to(60, kLongest)});
  for (auto _ : state) {
    Planner planner = *Planner::create(1'024, {0, kTimeMax});
    for (const Job& job : jobs) {
      const Time start = **planner.earliest_fit(job.nodes, job.limit, 0);
      benchmark::DoNotOptimize(planner.add(job.nodes, {start, start + job.limit}));
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// As plan_queue, sizes evenly between 1 and all: every second job is wider than half, gaps stay
// open everywhere.
void plan_queue_wide(benchmark::State& state) {
  Random random(10);
  std::vector<std::pair<Amount, Duration>> jobs;
  for (int i = 0; i < state.range(0); ++i)
    jobs.emplace_back(random.from_to(1, 1'024), random.from_to(60, kLongest));
  for (auto _ : state) {
    Planner planner = *Planner::create(1'024, {0, kTimeMax});
    for (const auto& [nodes, limit] : jobs) {
      const Time start = **planner.earliest_fit(nodes, limit, 0);
      benchmark::DoNotOptimize(planner.add(nodes, {start, start + limit}));
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// The worst plan for a search: a comb of gaps, each one tick shorter than the request.
void earliest_fit_comb(benchmark::State& state) {
  Planner planner = *Planner::create(4, {0, kTimeMax});
  for (Time i = 0; i < state.range(0); ++i) (void)planner.add(1 + i % 4, {100 * i, 100 * i + 1});
  for (auto _ : state) benchmark::DoNotOptimize(planner.earliest_fit(4, 100, 0));
  state.SetItemsProcessed(state.iterations());
}

// The same with teeth of every height.
void earliest_fit_ragged_comb(benchmark::State& state) {
  Random random(11);
  Planner planner = *Planner::create(kTotal, {0, kTimeMax});
  for (Time i = 0; i < state.range(0); ++i)
    (void)planner.add(random.from_to(1, kTotal), {100 * i, 100 * i + 1});
  for (auto _ : state) benchmark::DoNotOptimize(planner.earliest_fit(kTotal, 100, 0));
  state.SetItemsProcessed(state.iterations());
}

void sizes(benchmark::internal::Benchmark* bench) {
  for (const std::int64_t spans : {1'000, 10'000, 100'000, 1'000'000}) bench->Arg(spans);
}

BENCHMARK(add_span)->Apply(sizes);
BENCHMARK(fill)->Apply(sizes)->Unit(benchmark::kMillisecond);
BENCHMARK(rem_span)->Apply(sizes)->Unit(benchmark::kMillisecond);
BENCHMARK(avail_resources_at)->Apply(sizes);
BENCHMARK(avail_during)->Apply(sizes);
BENCHMARK(time_first_from_0_nearly_full)->Apply(sizes);
BENCHMARK(time_first_from_random)->Apply(sizes);
BENCHMARK(earliest_fit_from_random)->Apply(sizes);
BENCHMARK(plan_queue)
    ->Arg(1'000)
    ->Arg(5'000)
    ->Arg(20'000)
    ->Arg(100'000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(plan_queue_wide)
    ->Arg(1'000)
    ->Arg(5'000)
    ->Arg(20'000)
    ->Arg(100'000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(earliest_fit_comb)->Arg(1'000)->Arg(10'000)->Arg(100'000);
BENCHMARK(earliest_fit_ragged_comb)->Arg(1'000)->Arg(10'000)->Arg(100'000);

}  // namespace
