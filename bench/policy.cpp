// What a policy in Lua costs: a call of a hook beside what Lua itself takes for it, and a pass in
// which every waiting job is asked for its place.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <lua.hpp>
#include <memory>
#include <string>

#include "policy/program.hpp"
#include "qmanager/job.hpp"
#include "qmanager/machine/flat_machine.hpp"
#include "qmanager/scheduler.hpp"

namespace holon {
namespace {

constexpr const char* kBodies[] = {"return 1", "return job.waited / job.limit",
                                   "return job.waited / job.limit - view.free"};

std::string text_of(std::int64_t body) {
  return std::string("function priority(job, view) ") + kBodies[body] + " end";
}

class Still : public qmanager::QueueView {
 public:
  const std::string& name() const override { return name_; }
  Time now() const override { return 3'600'000; }
  Time wall_time(Time when) const override { return when; }
  std::int64_t second_of_day() const override { return 0; }
  std::int64_t ticks_per_second() const override { return 1000; }
  std::int64_t procs() const override { return 64; }
  std::int64_t free_procs() const override { return 8; }
  std::int64_t pending() const override { return 100; }
  std::int64_t reserved() const override { return 0; }
  qmanager::UserUse user(const std::string&) const override { return {}; }
  qmanager::Window window() const override { return {}; }
  Time grant_ends() const override { return kTimeMax; }

 private:
  std::string name_ = "default";
};

// The same function over tables, called without a sandbox, its limits, and what a job and a view
// are.
void lua_itself(benchmark::State& state) {
  lua_State* const lua = luaL_newstate();
  const std::string tables = "job = {waited = 3600, limit = 600}  view = {free = 8}  ";
  if (luaL_dostring(lua, (tables + text_of(state.range(0))).c_str()) != LUA_OK) std::abort();
  for (auto _ : state) {
    lua_getglobal(lua, "priority");
    lua_getglobal(lua, "job");
    lua_getglobal(lua, "view");
    if (lua_pcall(lua, 2, 2, 0) != LUA_OK) std::abort();
    benchmark::DoNotOptimize(lua_tonumber(lua, -2));
    lua_pop(lua, 2);
  }
  lua_close(lua);
  state.SetLabel(kBodies[state.range(0)]);
}
BENCHMARK(lua_itself)->DenseRange(0, 2);

void hook(benchmark::State& state) {
  const auto program = policy::compile("mine.lua", text_of(state.range(0)));
  if (!program) std::abort();
  const auto hooks = (*program)->hooks();
  const Still view;
  qmanager::Job job;
  const qmanager::JobView seen{job, 600'000, view.now(), 1000};
  for (auto _ : state) {
    hooks->begin_pass(view.now(), 1'000'000);
    benchmark::DoNotOptimize(hooks->rank(seen, view));
  }
  if (!hooks->status().trouble.empty()) std::abort();
  state.SetLabel(kBodies[state.range(0)]);
}
BENCHMARK(hook)->DenseRange(0, 2);

// A pass after one job's end: so many jobs wait behind a full machine, and all are asked.
void pass_after_an_end(benchmark::State& state) {
  const auto pending = static_cast<std::uint64_t>(state.range(0));
  qmanager::SchedulerConfig config;
  const auto program = policy::compile("mine.lua", "base = 'easy' " + text_of(1));
  if (!program) std::abort();
  config.programs["mine.lua"] = *program;
  config.defaults.policy = "mine.lua";
  config.defaults.queue_depth = 1'000'000;
  auto scheduler =
      *qmanager::Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(1024));
  const auto submit = [&](std::uint64_t id, std::int64_t procs) {
    qmanager::JobRequest job;
    job.id = JobId{id};
    job.procs = procs;
    job.limit = static_cast<Duration>(600 + (id * 104729) % 90'000) * 1000;
    benchmark::DoNotOptimize(scheduler.submit(std::move(job), 0));
  };
  for (std::uint64_t id = 1; id <= 1024; ++id) submit(id, 1);
  std::vector<JobId> running;
  Time now = 1000;
  for (const auto& decision : scheduler.step(now).decisions)
    if (const auto* start = std::get_if<qmanager::Start>(&decision)) running.push_back(start->job);
  for (std::uint64_t id = 1025; id <= 1024 + pending; ++id)
    submit(id, static_cast<std::int64_t>(2 + (id * 7919) % 500));
  const std::int64_t before = scheduler.queues().front().hooks->calls;
  std::size_t next = 0;
  for (auto _ : state) {
    if (next == running.size()) return state.SkipWithError("no job is left to end");
    now += 10'000;
    benchmark::DoNotOptimize(scheduler.finish(running[next++], now));
    benchmark::DoNotOptimize(scheduler.step(now));
  }
  const auto asked = scheduler.queues().front().hooks->calls - before;
  state.counters["calls_a_pass"] =
      static_cast<double>(asked) / static_cast<double>(state.iterations());
}
BENCHMARK(pass_after_an_end)
    ->Arg(1'000)
    ->Arg(10'000)
    ->Iterations(50)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace holon
