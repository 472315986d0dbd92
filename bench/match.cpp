// Matches per second on the cluster of the peers' table: cluster > rack (64 nodes) > node > 2
// sockets of 16 cores and a gpu each. The text of R is not part of it; end to end is bench.py
// against `holon query`.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>

#include "resource/graph/spec.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "resource/store.hpp"

namespace {

using namespace holon;            // NOLINT: a program, not a header
using namespace holon::resource;  // NOLINT

GraphSpec machine(std::int64_t nodes) {
  GraphSpec spec;
  const auto root = spec.add("cluster", 0, GraphSpec::kNone);
  std::uint32_t rack = root;
  for (std::int64_t n = 0; n < nodes; ++n) {
    if (n % 64 == 0) rack = spec.add("rack", n / 64, root);
    const auto rank = static_cast<std::int32_t>(n);
    const auto node = spec.add("node", n, rack, rank);
    for (std::int64_t s = 0; s < 2; ++s) {
      const auto socket = spec.add("socket", s, node, rank);
      for (std::int64_t c = 0; c < 16; ++c) spec.add("core", s * 16 + c, socket, rank);
      spec.add("gpu", s, socket, rank);
    }
  }
  return spec;
}

Jobspec one_core() {
  return jobspec_for({}).value();
}

Jobspec whole_nodes(std::int64_t nodes) {
  JobShape shape;
  shape.nodes = shape.tasks = nodes;
  shape.exclusive = true;
  return jobspec_for(shape).value();
}

ResourceStore store_of(const GraphSpec& spec, const std::string& policy) {
  StoreOptions options;
  options.match_policy = policy;
  return ResourceStore::load(spec, options).value();
}

// Matches until the machine is full (or `most` for every 1,024 nodes), then gives all back and
// begins again.
void until_full(benchmark::State& bench, const std::string& policy, const Jobspec& spec,
                std::uint64_t most) {
  most = most * static_cast<std::uint64_t>(bench.range(0)) / 1024;
  const GraphSpec graph = machine(bench.range(0));
  ResourceStore store = store_of(graph, policy);
  std::uint64_t job = 0;
  for (auto _ : bench) {
    auto outcome = store.match(JobId{++job}, spec, MatchOp::allocate, 0, 3600);
    const bool full = !outcome || !std::holds_alternative<Allocation>(*outcome);
    benchmark::DoNotOptimize(outcome);
    if (!full && job < most) continue;
    bench.PauseTiming();
    for (const JobId held : store.jobs()) benchmark::DoNotOptimize(store.release(held));
    job = 0;
    bench.ResumeTiming();
  }
  bench.SetItemsProcessed(bench.iterations());
}

// Jobs of many sizes, each allocated or reserved; the shape of the peers' mix.
void mix(benchmark::State& bench) {
  const GraphSpec graph = machine(bench.range(0));
  std::mt19937 random(7);
  for (auto _ : bench) {
    bench.PauseTiming();
    ResourceStore store = store_of(graph, "first");
    bench.ResumeTiming();
    for (std::int64_t job = 1; job <= bench.range(1); ++job) {
      const auto size = static_cast<std::int64_t>(std::exp2(random() % 700 / 100.0));
      const auto duration = 600 * (1 + static_cast<Duration>(random() % 120));
      auto outcome = store.match(JobId{static_cast<std::uint64_t>(job)}, whole_nodes(size),
                                 MatchOp::allocate_orelse_reserve, 0, duration);
      benchmark::DoNotOptimize(outcome);
    }
  }
  bench.SetItemsProcessed(bench.iterations() * bench.range(1));
}
BENCHMARK(mix)->ArgsProduct({{1024}, {250, 500, 1000, 2000, 4000}})->Unit(benchmark::kMillisecond);

void load(benchmark::State& bench) {
  const GraphSpec graph = machine(bench.range(0));
  for (auto _ : bench) benchmark::DoNotOptimize(store_of(graph, "first"));
}
BENCHMARK(load)->Arg(128)->Arg(1024)->Arg(4096)->Arg(16384)->Unit(benchmark::kMillisecond);

void add(const std::string& policy) {
  const auto name = [&](const char* what) { return std::string(what) + "/" + policy; };
  const auto run = [policy](const Jobspec& spec, std::uint64_t most) {
    return [=](benchmark::State& bench) { until_full(bench, policy, spec, most); };
  };
  const auto sizes = [](benchmark::internal::Benchmark* bench) {
    for (const std::int64_t nodes : {128, 1024, 4096, 16384}) bench->Arg(nodes);
  };
  sizes(benchmark::RegisterBenchmark(name("one_core").c_str(), run(one_core(), 30'000)));
  sizes(benchmark::RegisterBenchmark(name("one_node").c_str(), run(whole_nodes(1), 1'000)));
  sizes(benchmark::RegisterBenchmark(name("16_nodes").c_str(), run(whole_nodes(16), 60)));
}

const bool kRegistered = [] {
  for (const char* policy : {"first", "low", "high", "lonode", "hinode", "lonodex", "locality"})
    add(policy);
  return true;
}();

}  // namespace
