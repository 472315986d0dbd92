// spawn.cpp - what the agent adds to posix_spawn + wait: /bin/true, one after the other and two in
// flight.
#include <benchmark/benchmark.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>

#include "launch/jobs.hpp"

extern char** environ;

namespace holon::launch {
namespace {

pid_t raw_spawn() {
  const std::array<const char*, 2> argv = {"true", nullptr};
  pid_t pid = -1;
  posix_spawn(&pid, "/bin/true", nullptr, nullptr, const_cast<char**>(argv.data()), environ);
  return pid;
}

// The machine's own rate.
void BM_PosixSpawnAndWait(benchmark::State& state) {
  const auto in_flight = state.range(0);
  std::int64_t running = 0;
  for (auto _ : state) {
    if (running == in_flight && waitpid(-1, nullptr, 0) > 0) --running;
    if (raw_spawn() > 0) ++running;
  }
  while (running > 0 && waitpid(-1, nullptr, 0) > 0) --running;
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_PosixSpawnAndWait)->ArgName("in_flight")->Arg(1)->Arg(2)->UseRealTime();

// The spawner alone: process group, signals, descriptors, and binding or not.
void BM_SpawnerAndWait(benchmark::State& state) {
  auto spawner = std::move(*Spawner::create());
  const auto node = std::move(*Node::discover(""));
  const auto mask = *node.cpus_of(*Idset::parse("0"));
  const std::vector<std::string> argv = {"/bin/true"};
  const std::vector<std::string> env = {"PATH=/usr/bin:/bin"};
  const std::string cwd = "/";
  for (auto _ : state) {
    const auto pid =
        spawner.spawn({argv, env, cwd, -1, -1, -1, state.range(0) != 0 ? &mask : nullptr});
    waitpid(*pid, nullptr, 0);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_SpawnerAndWait)->ArgName("bound")->Arg(0)->Arg(1)->UseRealTime();

// A whole job: environment, output file, watching, limits, result.
void BM_Jobs(benchmark::State& state) {
  const auto reactor = std::move(*transport::Reactor::create());
  auto node = std::move(*Node::discover(""));
  const std::size_t cores = node.cores();
  NodeFrame frame{node.cpuset(), {}, false, false};
  Jobs jobs(
      JobContext{*reactor, std::move(*own_processes(*reactor)), std::move(node), std::move(frame)});
  std::int64_t running = 0;
  std::uint64_t next = 0;
  jobs.on_finished([&](const msg::Finished& finished) {
    if (finished.exit_code != 0) state.SkipWithError("a job failed");
    --running;
  });
  msg::Program program;
  program.argv = {"true"};
  program.env = current_environment();
  program.cwd = "/";
  const std::string output =
      std::filesystem::temp_directory_path() / ("holon-bench-" + std::to_string(getpid()));
  for (auto _ : state) {
    reactor->run_until([&] { return running < state.range(0); }, 10000);
    jobs.acknowledge(jobs.unacknowledged(), {});
    msg::Start start;
    start.job = ++next;
    start.path = "/" + std::to_string(next);
    start.tasks = {{0, "", ""}};
    start.bind = state.range(1) != 0;
    start.cores = std::to_string(next % cores);
    start.output = output;
    start.limit = 60000;
    ++running;
    benchmark::DoNotOptimize(jobs.start({{program}, {start}}));
  }
  reactor->run_until([&] { return running == 0; }, 10000);
  std::filesystem::remove(output);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Jobs)
    ->ArgNames({"in_flight", "bound"})
    ->Args({1, 0})
    ->Args({1, 1})
    ->Args({2, 0})
    ->Args({2, 1})
    ->UseRealTime();

}  // namespace
}  // namespace holon::launch
