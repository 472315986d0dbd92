// What the scheduler costs per job and per pass, as the queue grows.
#include <benchmark/benchmark.h>

#include "qmanager/flat_machine.hpp"
#include "qmanager/scheduler.hpp"

namespace holon {
namespace {

qmanager::Scheduler make(const char* policy, std::int64_t procs, std::int64_t depth) {
  qmanager::SchedulerConfig config;
  config.defaults.policy = policy;
  config.defaults.queue_depth = depth;
  return *qmanager::Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(procs));
}

qmanager::JobRequest request(std::uint64_t id, std::int64_t procs, Duration limit) {
  qmanager::JobRequest job;
  job.id = JobId{id};
  job.procs = procs;
  job.limit = limit;
  return job;
}

// Submit, start and finish of short one-processor jobs that were all submitted at once.
void burst(benchmark::State& state) {
  const auto jobs = static_cast<std::uint64_t>(state.range(0));
  for (auto _ : state) {
    qmanager::Scheduler scheduler = make("easy", 8, 32);
    for (std::uint64_t id = 1; id <= jobs; ++id)
      benchmark::DoNotOptimize(scheduler.submit(request(id, 1, 1000), 0));
    std::vector<JobId> running;
    Time now = 0;
    do {
      ++now;
      for (JobId id : running) benchmark::DoNotOptimize(scheduler.finish(id, now));
      running.clear();
      for (const auto& decision : scheduler.step(now).decisions)
        if (const auto* start = std::get_if<qmanager::Start>(&decision))
          running.push_back(start->job);
    } while (!running.empty());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(burst)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

// A pass after one job's end, with so many pending behind a full machine of 1,024 nodes, all of
// them looked at.
void pass_after_an_end(benchmark::State& state, const char* policy) {
  const auto pending = static_cast<std::uint64_t>(state.range(0));
  qmanager::Scheduler scheduler = make(policy, 1024, 1'000'000);
  std::vector<JobId> running;
  for (std::uint64_t id = 1; id <= 1024 + pending; ++id)
    benchmark::DoNotOptimize(scheduler.submit(
        request(id, id <= 1024 ? 1 : 2 + (id * 7919) % 500, 600 + (id * 104729) % 90'000), 0));
  Time now = 1;
  for (const auto& decision : scheduler.step(now).decisions)
    if (const auto* start = std::get_if<qmanager::Start>(&decision)) running.push_back(start->job);
  std::size_t next = 0;
  for (auto _ : state) {
    if (next == running.size()) return state.SkipWithError("no job is left to end");
    benchmark::DoNotOptimize(scheduler.finish(running[next++], ++now));
    benchmark::DoNotOptimize(scheduler.step(now));
  }
}
BENCHMARK_CAPTURE(pass_after_an_end, easy, "easy")
    ->Arg(1'000)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Iterations(100)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pass_after_an_end, hybrid, "hybrid")
    ->Arg(1'000)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Iterations(100)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pass_after_an_end, conservative, "conservative")
    ->Arg(1'000)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Iterations(10)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace holon
