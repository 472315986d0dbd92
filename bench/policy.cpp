// What a policy in Lua costs: a call of a hook beside what Lua itself takes for it, passes in which
// those are asked for their place for whom it matters, or all that wait, a whole log beside the
// built-in policy, and the longest turn that a policy can make which means harm.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <lua.hpp>
#include <memory>
#include <string>

#include "bench/traces.hpp"
#include "policy/program.hpp"
#include "qmanager/job.hpp"
#include "qmanager/machine/flat_machine.hpp"
#include "qmanager/scheduler.hpp"
#include "sim/simulate.hpp"

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

// A pass after one job's end: so many jobs wait behind a full machine. Those are asked who could
// start, or with `every` all: a policy that has a say in who overtakes makes the order matter.
void pass_after_an_end(benchmark::State& state, bool every) {
  const auto pending = static_cast<std::uint64_t>(state.range(0));
  qmanager::SchedulerConfig config;
  const auto program = policy::compile(
      "mine.lua", "base = 'easy' " + text_of(1) +
                      (every ? " function may_backfill(job, view) return job.cores > 0 end" : ""));
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
BENCHMARK_CAPTURE(pass_after_an_end, some, false)
    ->Arg(1'000)
    ->Arg(10'000)
    ->Iterations(50)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pass_after_an_end, every, true)
    ->Arg(1'000)
    ->Arg(10'000)
    ->Iterations(50)
    ->Unit(benchmark::kMillisecond);

// ---- a whole log, where it is at hand

void replay(benchmark::State& state, const char* trace, const char* text) {
  const auto workload = bench::workload_of(trace);
  if (!workload) return state.SkipWithError("no such log in the folder HOLON_TRACES");
  sim::SimOptions options;
  options.config.defaults.policy = "easy";
  options.config.defaults.queue_depth = 1'000'000;
  options.config.priority.ticks_per_second = 1;
  if (*text != '\0') {
    const auto program = policy::compile("mine.lua", text);
    if (!program) std::abort();
    options.config.programs["mine.lua"] = *program;
    options.config.defaults.policy = "mine.lua";
  }
  double calls = 0;
  for (auto _ : state) {
    const auto result = sim::simulate(
        *workload, std::make_unique<qmanager::FlatMachine>(workload->max_procs), options);
    if (!result) std::abort();
    if (const auto& hooks = result->queues.front().hooks; hooks) {
      if (!hooks->trouble.empty()) return state.SkipWithError(hooks->trouble.c_str());
      calls = static_cast<double>(hooks->calls);
    }
  }
  state.counters["calls"] = calls;
}
BENCHMARK_CAPTURE(replay, kth_easy, "kth-sp2-full28481.swf", "")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replay, kth_lua_limit, "kth-sp2-full28481.swf",
                  "base = 'easy' function priority(job) return -job.limit end")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replay, kth_lua_expansion, "kth-sp2-full28481.swf",
                  "base = 'easy' function priority(job) return job.waited / job.limit end")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replay, kth_lua_users, "kth-sp2-full28481.swf",
                  "base = 'easy' function priority(job, view) "
                  "return job.waited / job.limit - view.user(job.user).running end")
    ->Unit(benchmark::kMillisecond);

// ---- policies that mean harm

constexpr const char* kHarm[] = {
    "while true do end",
    "local t = {} while true do t[#t + 1] = {} end",
    "local s = 'x' while true do s = s .. s end",
    "return ('a'):rep(60000):find('.-.-.-.-b')",
    "return ('x'):rep(1e9)",
    "local function f() return 1 + f() end return f()",
    "error({})",
    "return coroutine.yield()",
    "return 0/0",
    "table.sort({3, 2, 1}, function() while true do end end)",
    "local n = 0 for i = 1, 19000 do n = n + i end return n",
    "local n for i = 1, 1500 do n = i .. '' end return #n",
    "far = far or {} for i = 1, 3000 do far[1 + (i + n % 7) * 2^-50] = i end return 1",
    "far = far or {} m = (m or 0) % 5000 + 1 far[1 + m * 2^-50] = m "
    "for i = 1, 300 do n = far[1.5] or n end return n",
    "local function made() return {"
    "a1=1,a2=1,a3=1,a4=1,a5=1,a6=1,a7=1,a8=1,a9=1,b1=1,b2=1,b3=1,b4=1,b5=1,b6=1,b7=1,b8=1,"
    "b9=1,c1=1,c2=1,c3=1,c4=1,c5=1,c6=1,c7=1,c8=1,c9=1,d1=1,d2=1,d3=1,d4=1,d5=1,d6=1} end "
    "kept = kept or {} if #kept < 2500 then for i = 1, 5 do kept[#kept + 1] = made() end end "
    "for i = 1, 5 do made() end return 1",
};

// The longest turn of a scheduler in which 300 jobs wait, in CPU time, which is what an answer of
// the instance may have to wait for. The numbers say where in kHarm what the policy does stands.
void longest_turn(benchmark::State& state) {
  constexpr std::uint64_t kJobs = 300;
  const char* const body = kHarm[state.range(0)];
  qmanager::SchedulerConfig config;
  const auto program = policy::compile(
      "mine.lua", std::string("base = 'easy' function priority(job, view) local n = view.now ") +
                      body + " end function may_backfill(job, view) " + body + " end");
  if (!program) std::abort();
  config.programs["mine.lua"] = *program;
  config.defaults.policy = "mine.lua";
  config.defaults.queue_depth = 1'000'000;
  double longest = 0;
  for (auto _ : state) {
    auto scheduler =
        *qmanager::Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(64));
    Time now = 0;
    for (std::uint64_t id = 1; id <= kJobs; ++id) {
      qmanager::JobRequest job;
      job.id = JobId{id};
      job.procs = 1 + static_cast<std::int64_t>(id % 64);
      job.limit = 600'000;
      benchmark::DoNotOptimize(scheduler.submit(std::move(job), now));
    }
    for (int turn = 0; turn < 30; ++turn) {
      now += 1000;
      const std::clock_t before = std::clock();
      const auto result = scheduler.step(now);
      longest =
          std::max(longest, 1e3 * static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC);
      for (const auto& decision : result.decisions)
        if (const auto* start = std::get_if<qmanager::Start>(&decision))
          benchmark::DoNotOptimize(scheduler.finish(start->job, now + 1));
    }
  }
  state.counters["longest_ms"] = longest;
  state.SetLabel(body);
}
BENCHMARK(longest_turn)
    ->DenseRange(0, static_cast<int>(std::size(kHarm)) - 1)
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace holon
