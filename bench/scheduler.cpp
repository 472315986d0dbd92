// What the scheduler costs per job and per pass, as the queue grows.
#include <benchmark/benchmark.h>

#include <malloc.h>

#include <chrono>
#include <memory>

#include <fmt/core.h>

#include "bench/traces.hpp"
#include "qmanager/machine/flat_machine.hpp"
#include "qmanager/scheduler.hpp"
#include "resource/formats/readers.hpp"
#include "resource/store.hpp"
#include "sim/simulate.hpp"

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

// ---- a graph of nodes with 16 cores each

using Specs = std::vector<std::shared_ptr<const resource::Jobspec>>;

// [n]: n whole nodes.
Specs node_specs(std::int64_t most) {
  Specs specs(1);
  for (std::int64_t n = 1; n <= most; ++n) {
    resource::JobShape shape;
    shape.nodes = shape.tasks = n;
    shape.cores_per_task = 16;
    shape.command = {"true"};
    specs.push_back(std::make_shared<const resource::Jobspec>(*resource::jobspec_for(shape)));
  }
  return specs;
}

double heap_bytes() {
  const auto info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

// A pass after one job's end: range(0) jobs wait behind range(1) busy nodes, at most range(2) are
// looked at. Jobs of 2 to 501 nodes with 90,000 different limits. Also what a pending job weighs.
void graph_pass_after_an_end(benchmark::State& state, const char* policy) {
  const auto pending = static_cast<std::uint64_t>(state.range(0));
  const auto nodes = static_cast<std::uint64_t>(state.range(1));
  auto store = *resource::ResourceStore::load(
      *resource::read_shape(fmt::format("node={}/core=16", nodes)), {});
  qmanager::SchedulerConfig config;
  config.defaults.policy = policy;
  config.defaults.queue_depth = state.range(2);
  auto scheduler = *qmanager::Scheduler::create(config, store);
  const Specs specs = node_specs(501);
  Time now = 1;
  std::vector<JobId> running;
  const auto submit = [&](std::uint64_t id, std::uint64_t size, Duration limit) {
    qmanager::JobRequest job = request(id, 0, limit);
    job.spec = specs[size];
    benchmark::DoNotOptimize(scheduler.submit(std::move(job), 0));
  };
  for (std::uint64_t id = 1; id <= nodes; ++id) submit(id, 1, 600 + (id * 104729) % 90'000);
  for (bool more = true; more;) {
    const auto step = scheduler.step(now);
    more = step.more || !step.decisions.empty();
    for (const auto& decision : step.decisions)
      if (const auto* start = std::get_if<qmanager::Start>(&decision))
        running.push_back(start->job);
  }
  const double before = heap_bytes();
  for (std::uint64_t id = nodes + 1; id <= nodes + pending; ++id)
    submit(id, 2 + (id * 7919) % std::min<std::uint64_t>(500, nodes - 1),
           600 + (id * 104729) % 90'000);
  state.counters["B/job"] = (heap_bytes() - before) / static_cast<double>(pending);
  scheduler.step(now);
  std::size_t next = 0;
  for (auto _ : state) {
    if (next == running.size()) return state.SkipWithError("no job is left to end");
    benchmark::DoNotOptimize(scheduler.finish(running[next++], ++now));
    benchmark::DoNotOptimize(scheduler.step(now));
  }
}
BENCHMARK_CAPTURE(graph_pass_after_an_end, easy_by_queue, "easy")
    ->ArgsProduct({{1'000, 10'000, 100'000}, {1'024}, {1'000'000}})
    ->Iterations(40)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(graph_pass_after_an_end, easy_by_nodes, "easy")
    ->ArgsProduct({{10'000}, {256, 1'024, 4'096, 16'384}, {1'000'000}})
    ->Iterations(40)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(graph_pass_after_an_end, easy_by_depth, "easy")
    ->ArgsProduct({{100'000}, {1'024}, {32, 1'000, 10'000, 1'000'000}})
    ->Iterations(40)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(graph_pass_after_an_end, hybrid, "hybrid")
    ->ArgsProduct({{100'000}, {1'024}, {1'000'000}})
    ->Iterations(20)
    ->Unit(benchmark::kMillisecond);

// ---- questions between two decisions

double since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

// After each job's end and the pass it causes, one job in the middle of the queue is asked about:
// `first` and `again` in ms; `event` is what the next end and its pass cost. range(0) jobs wait
// behind range(1) busy nodes; with range(2) every other one asks for cores on any node, so that
// reservations are held in the graph.
void question(benchmark::State& state, const char* policy) {
  const auto pending = static_cast<std::uint64_t>(state.range(0));
  const auto nodes = static_cast<std::uint64_t>(state.range(1));
  const bool mixed = state.range(2) != 0;
  auto store = *resource::ResourceStore::load(
      *resource::read_shape(fmt::format("node={}/core=16", nodes)), {});
  qmanager::SchedulerConfig config;
  config.defaults.policy = policy;
  config.tell_waits = false;
  auto scheduler = *qmanager::Scheduler::create(config, store);
  const Specs specs = node_specs(501);
  resource::JobShape three;
  three.tasks = 3;
  three.command = {"true"};
  const auto cores = std::make_shared<const resource::Jobspec>(*resource::jobspec_for(three));
  Time now = 1;
  std::vector<JobId> running;
  const auto submit = [&](std::uint64_t id, std::uint64_t size, Duration limit) {
    qmanager::JobRequest job = request(id, 0, limit);
    job.spec = mixed && id > nodes && id % 2 == 1 ? cores : specs[size];
    benchmark::DoNotOptimize(scheduler.submit(std::move(job), 0));
  };
  for (std::uint64_t id = 1; id <= nodes; ++id) submit(id, 1, 600 + (id * 104729) % 90'000);
  for (bool more = true; more;) {
    const auto step = scheduler.step(now);
    more = step.more || !step.decisions.empty();
    for (const auto& decision : step.decisions)
      if (const auto* start = std::get_if<qmanager::Start>(&decision))
        running.push_back(start->job);
  }
  for (std::uint64_t id = nodes + 1; id <= nodes + pending; ++id)
    submit(id, 2 + (id * 7919) % std::min<std::uint64_t>(500, nodes - 1),
           600 + (id * 104729) % 90'000);
  scheduler.step(now);
  std::size_t next = 0;
  double first = 0, again = 0, event = 0;
  for (auto _ : state) {
    if (next == running.size()) return state.SkipWithError("no job is left to end");
    auto begin = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(scheduler.finish(running[next++], ++now));
    benchmark::DoNotOptimize(scheduler.step(now));
    event += since(begin);
    begin = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(scheduler.explain(JobId{nodes + pending / 2}, now));
    first += since(begin);
    begin = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(scheduler.explain(JobId{nodes + pending / 2 + 1}, now));
    again += since(begin);
  }
  const auto rounds = static_cast<double>(state.iterations());
  state.counters["first"] = first / rounds;
  state.counters["again"] = again / rounds;
  state.counters["event"] = event / rounds;
}
BENCHMARK_CAPTURE(question, easy, "easy")
    ->ArgsProduct({{1'000, 100'000}, {1'024, 16'384}, {0, 1}})
    ->Iterations(20)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(question, conservative, "conservative")
    ->ArgsProduct({{100'000}, {1'024}, {0, 1}})
    ->Iterations(10)
    ->Unit(benchmark::kMillisecond);

// ---- whole logs, where they are at hand

void replay(benchmark::State& state, const char* trace, const char* policy) {
  const auto workload = bench::workload_of(trace);
  if (!workload) return state.SkipWithError("no such log in the folder HOLON_TRACES");
  sim::SimOptions options;
  options.config.defaults.policy = policy;
  options.config.defaults.queue_depth = 1'000'000;
  for (auto _ : state)
    benchmark::DoNotOptimize(sim::simulate(
        *workload, std::make_unique<qmanager::FlatMachine>(workload->max_procs), options));
  state.counters["jobs"] = static_cast<double>(workload->jobs.size());
}
BENCHMARK_CAPTURE(replay, kth_easy, "kth-sp2-full28481.swf", "easy")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replay, kth_conservative, "kth-sp2-full28481.swf", "conservative")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replay, curie_easy, "curie-30k.swf", "easy")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace holon
