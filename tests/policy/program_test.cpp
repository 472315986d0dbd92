// Policies in Lua against the built-in ones and against simulations of their own.
#include "policy/program.hpp"

#include <algorithm>

#include "tests/policy/asked.hpp"
#include "tests/policy/in_order.hpp"

namespace holon::policy {
namespace {

using qmanager::SchedulerConfig;

SchedulerConfig built_in(const std::string& name) {
  SchedulerConfig config;
  config.defaults.policy = name;
  config.defaults.queue_depth = 1'000'000;
  return config;
}

void expect_same_starts(const SchedulerConfig& mine, const SchedulerConfig& theirs,
                        const char* what) {
  for (const auto order : {sim::Order::batch, sim::Order::event})
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      const sim::Workload workload = made_up(seed, 250);
      const sim::SimResult a = simulated(workload, mine, order, true);
      const sim::SimResult b = simulated(workload, theirs, order);
      for (std::size_t i = 0; i < workload.jobs.size(); ++i)
        ASSERT_EQ(a.jobs[i].start, b.jobs[i].start)
            << what << ", seed " << seed << ", job " << workload.jobs[i].id;
      for (const auto& queue : a.queues) {
        const std::string trouble = queue.hooks ? queue.hooks->trouble : "";
        ASSERT_EQ(trouble, "") << what;
      }
    }
}

TEST(LuaPolicy, ABaseAloneIsThatPolicy) {
  for (const char* base : {"fcfs", "easy", "hybrid:4", "conservative", "conservative-rebuild"})
    expect_same_starts(config_with("base = '" + std::string(base) + "'"), built_in(base), base);
}

TEST(LuaPolicy, FcfsWrittenAgain) {
  expect_same_starts(
      config_with(
          "function may_backfill() return false end  function may_reserve() return false end"),
      built_in("fcfs"), "fcfs");
}

constexpr const char* kBackfill = "function may_backfill() return true end\n";

TEST(LuaPolicy, EasyWrittenAgain) {
  const std::string text =
      kBackfill + std::string("function may_reserve(job, view) return view.reserved == 0 end");
  expect_same_starts(config_with(text), built_in("easy"), "easy, reservations kept");
  expect_same_starts(config_with(text, false), built_in("easy"), "easy");
}

TEST(LuaPolicy, HybridWrittenAgain) {
  expect_same_starts(
      config_with(
          kBackfill + std::string("function may_reserve(job, view) return view.reserved < 8 end"),
          false),
      built_in("hybrid:8"), "hybrid");
}

TEST(LuaPolicy, ConservativeWrittenAgain) {
  const std::string text = kBackfill + std::string("function may_reserve() return true end");
  expect_same_starts(config_with(text, false), built_in("conservative-rebuild"), "rebuild");
  expect_same_starts(config_with(text), built_in("conservative"), "conservative");
}

// Who makes reservations anew in each pass starts some job later than first planned: no policy
// that keeps promises has these start times, and so `keep-promises = false` belongs to the two
// above.
TEST(LuaPolicy, HybridAndRebuildDelayReservationsOfTheirOwn) {
  for (const char* base : {"hybrid:8", "conservative-rebuild"}) {
    int broken = 0;
    for (std::uint64_t seed = 1; seed <= 8; ++seed)
      for (const auto& job : simulated(made_up(seed, 250), built_in(base)).jobs)
        broken += job.first_planned && *job.start > *job.first_planned;
    EXPECT_GT(broken, 0) << base;
  }
}

TEST(LuaPolicy, ShortestFirstIsWhatASimulationOfItsOwnSays) {
  const SchedulerConfig config =
      config_with("base = 'fcfs'  function priority(job) return -job.limit end");
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const sim::Workload workload = made_up(seed, 300);
    const sim::SimResult result = simulated(workload, config);
    const auto want = in_order(workload, [](const sim::TraceJob& job) { return job.limit; });
    for (std::size_t i = 0; i < want.size(); ++i)
      ASSERT_EQ(result.jobs[i].start, want[i]) << "seed " << seed << ", job " << i + 1;
  }
}

// Fractions order as whole numbers do, below zero as well.
TEST(LuaPolicy, PrioritiesAreRealNumbers) {
  const SchedulerConfig whole = config_with("function priority(job) return -job.limit end");
  for (const char* text : {"function priority(job) return 1 / job.limit end",
                           "function priority(job) return -job.limit / 1e9 end",
                           "function priority(job) return 1e300 - job.limit * 1e290 end"})
    expect_same_starts(config_with(text), whole, text);
}

TEST(LuaPolicy, APolicyIsAskedForItsUsersAndItsWindow) {
  const SchedulerConfig config = config_with(R"lua(
    base = "easy"
    function priority(job, view)
      local mine = view.user(job.user)
      assert(mine.running >= 0 and mine.cores >= mine.running and mine.used >= 0)
      assert(view.window.cores >= 0 and view.window.seconds >= 0 and view.grant.ends > view.now)
      assert(view.free >= 0 and view.free <= view.cores and view.cores == 64)
      assert(view.pending >= 0 and view.name == "default" and job.queue == "default")
      assert(job.waited >= 0 and job.submitted <= view.now and job.attributes.none == nil)
      assert(job.cores >= 1 and job.nodes >= 1 and job.slots >= 1 and job.gpus == 0)
      return -mine.used
    end
    function on_event(event, job, view) assert(job.id >= 1 and #event > 3) end)lua");
  const sim::SimResult result = simulated(made_up(3, 300), config, sim::Order::batch, true);
  ASSERT_TRUE(result.queues[0].hooks);
  EXPECT_EQ(result.queues[0].hooks->trouble, "");
  EXPECT_GT(result.queues[0].hooks->calls, 600);
}

TEST(LuaPolicy, SaysNoWithAReasonAndItsPlace) {
  const SchedulerConfig config = config_with(R"lua(
function admit(job, view)
  if job.cores > 8 then return false, job.cores .. " cores are too many" end
end)lua");
  sim::Workload workload = made_up(1, 1);
  workload.jobs[0].procs = 9;
  const sim::SimResult result = simulated(workload, config);
  EXPECT_EQ(result.jobs[0].refused, "mine.lua:2: 9 cores are too many");
  const SchedulerConfig bytes =
      config_with("function admit() return false, '\\xff\\n\\0' .. ('x'):rep(1000) end");
  EXPECT_EQ(simulated(workload, bytes).jobs[0].refused, "mine.lua:1: ???" + std::string(197, 'x'));
}

// In the words that `holon explain` shows.
TEST(LuaPolicy, WhyAJobWaitsIsToldInItsWordsWithTheirPlace) {
  auto scheduler = *qmanager::Scheduler::create(config_with(R"lua(base = "easy"
function priority(job) return job.id == 4 and 1 or 0, "the fourth is urgent" end
function may_backfill() return false, "in line, please" end
function may_reserve(job) return job.id ~= 3, "not the third" end)lua"),
                                                std::make_unique<qmanager::FlatMachine>(4));
  for (std::uint64_t id = 1; id <= 4; ++id) {
    qmanager::JobRequest job;
    job.id = JobId{id};
    job.procs = id == 1 ? 3 : id == 3 ? 1 : 4;
    job.limit = 600;
    ASSERT_TRUE(scheduler.submit(std::move(job), 0));
    scheduler.step(static_cast<Time>(id));
  }
  const auto explained = [&](std::uint64_t id) {
    const auto why = scheduler.explain(JobId{id}, 5);
    EXPECT_TRUE(why) << to_string(why.error());
    return why ? why->reason : std::string();
  };
  EXPECT_NE(explained(3).find("mine.lua:3: in line, please"), std::string::npos) << explained(3);
  EXPECT_NE(explained(4).find("mine.lua:2: the fourth is urgent"), std::string::npos)
      << explained(4);
}

TEST(LuaPolicy, WhatIsWrongWithATextIsSaidWithItsPlace) {
  EXPECT_EQ(refusal_of("-- \xff"), "mine.lua: it is not UTF-8");
  EXPECT_NE(refusal_of(std::string(70'000, ' ')).find("has 65536 at most"), std::string::npos);
  EXPECT_EQ(refusal_of("x ="), "mine.lua:1: unexpected symbol near <eof>");
  EXPECT_TRUE(
      refusal_of("base = 'fast'").starts_with("mine.lua: base: \"fast\" is no policy; accepted: "));
  EXPECT_NE(refusal_of("priority = 7").find("priority is a number, not a function"),
            std::string::npos);
  EXPECT_NE(refusal_of("function prio() end").find("it says nothing; accepted: base, and"),
            std::string::npos);
  EXPECT_EQ(refusal_of("\nos.exit()"), "mine.lua:2: attempt to index a nil value (global 'os')");
}

// ---- policies that fail

constexpr const char* kBodies[] = {
    "while true do end",
    "local t = {} while true do t[#t + 1] = {} end",
    "return ('a'):rep(60000):find('.-.-.-.-b')",
    "local function f() return 1 + f() end return f()",
    "error({})",
    "error('no')",
    "return coroutine.yield()",
    "return ('x'):rep(1e9)",
    "return 0/0",
    "return {}",
    "return function() end",
    "return job",
    "job.cores = 1",
    "table.sort({3, 2, 1}, function() while true do end end)",
    "return job.nothing",
    "return view.user()",
    "return view.user({})",
    "view.now = 3",
    "job.attributes.x = 1",
};

// The base policy decides for a hook that fails, each time, and for good in the end.
TEST(LuaPolicy, AFailingPolicyIsItsBase) {
  for (const char* hook : {"admit", "priority", "may_reserve", "may_backfill", "on_event"})
    for (const char* body : kBodies) {
      const std::string parameters =
          std::string(hook) == "on_event" ? "(event, job, view)" : "(job, view)";
      const std::string text =
          "base = 'easy'\nfunction " + std::string(hook) + parameters + " " + body + " end";
      const sim::Workload workload = made_up(5, 60);
      const sim::SimResult mine =
          simulated(workload, config_with(text, false), sim::Order::batch, true);
      const sim::SimResult base = simulated(workload, built_in("easy"));
      const bool harmless =
          std::string(hook) == "on_event" && std::string(body).starts_with("return") &&
          (std::string(body) == "return 0/0" || std::string(body) == "return {}" ||
           std::string(body) == "return function() end" || std::string(body) == "return job");
      for (std::size_t i = 0; i < workload.jobs.size(); ++i)
        ASSERT_EQ(mine.jobs[i].start, base.jobs[i].start) << text;
      ASSERT_TRUE(mine.queues[0].hooks);
      EXPECT_EQ(mine.queues[0].hooks->trouble.empty(), harmless) << text;
      EXPECT_TRUE(harmless || mine.queues[0].hooks->trouble.starts_with("mine.lua:2: "))
          << mine.queues[0].hooks->trouble;
    }
}

TEST(LuaPolicy, ItIsGivenUpAfterTenFailuresInARow) {
  const sim::SimResult result =
      simulated(made_up(5, 60), config_with("function priority() return nil + 1 end"));
  const qmanager::HookStatus& hooks = *result.queues[0].hooks;
  EXPECT_TRUE(hooks.given_up);
  EXPECT_EQ(hooks.troubles, kMostTroubles);
  EXPECT_EQ(hooks.base, "fcfs");
  EXPECT_EQ(hooks.trouble, "mine.lua:1: attempt to perform arithmetic on a nil value");
}

// One that stays just below what a call may take is stopped by what a pass may take.
TEST(LuaPolicy, APassIsBoundedToo) {
  const SchedulerConfig config = config_with(
      "function priority(job, view) local n = view.now for i = 1, 19000 do n = n + i end "
      "return n end");
  sim::Workload workload = made_up(5, 600);
  for (sim::TraceJob& job : workload.jobs) job.submit = 0;
  const sim::SimResult result = simulated(workload, config);
  EXPECT_NE(result.queues[0].hooks->trouble.find("steps in a pass"), std::string::npos);
  EXPECT_TRUE(std::all_of(result.jobs.begin(), result.jobs.end(),
                          [](const auto& job) { return job.start.has_value(); }));
}

// Calls that are each shorter than what is looked at at once are no cheaper together.
TEST(LuaPolicy, ATurnOfShortCallsIsBoundedToo) {
  constexpr std::int64_t kJobs = 5'000;
  constexpr std::int64_t kInstructions = 900;  // of each call
  auto scheduler = *qmanager::Scheduler::create(
      config_with("base = 'easy' function priority(job) local n = job.waited "
                  "for i = 1, 900 do end return n end"),
      std::make_unique<qmanager::FlatMachine>(64));
  for (std::int64_t id = 1; id <= kJobs; ++id) {
    qmanager::JobRequest job;
    job.id = JobId{static_cast<std::uint64_t>(id)};
    job.procs = 64;
    job.limit = 600;
    ASSERT_TRUE(scheduler.submit(std::move(job), 0));
  }
  const std::int64_t before = scheduler.queues().at(0).hooks->calls;
  scheduler.step(1000);
  const qmanager::HookStatus hooks = *scheduler.queues().at(0).hooks;
  const std::int64_t calls = hooks.calls - before;
  EXPECT_GT(calls, 1000);
  EXPECT_LT(calls * kInstructions, kPassSteps + kPassStepsEach * kJobs + kCallSteps);
  EXPECT_NE(hooks.trouble.find("steps in a pass"), std::string::npos);
}

// So is what is submitted at once, whatever each call takes.
TEST(LuaPolicy, AdmissionIsBoundedToo) {
  const SchedulerConfig config = config_with(
      "function admit(job) local n = 0 for i = 1, 19000 do n = n + i end return false end");
  sim::Workload workload = made_up(5, 2000);
  for (sim::TraceJob& job : workload.jobs) job.submit = 0;
  const sim::SimResult result = simulated(workload, config);
  const qmanager::HookStatus& hooks = *result.queues[0].hooks;
  EXPECT_EQ(hooks.trouble,
            "mine.lua:1: admit: it takes more than 5000000 steps between two passes");
  EXPECT_LT(hooks.calls, 200);
  const auto refused = std::count_if(result.jobs.begin(), result.jobs.end(),
                                     [](const auto& job) { return !job.refused.empty(); });
  EXPECT_EQ(refused, hooks.calls);
}

TEST(LuaPolicy, DecidesTheSameTwice) {
  const std::string text = R"lua(
    base = "easy"
    local seen = {}
    function priority(job, view)
      seen[job.user] = (seen[job.user] or 0) + 1
      local sum = 0
      for user, n in pairs(seen) do sum = sum + #user * n end
      return math.random() * sum - job.limit
    end
    function may_backfill(job) return math.random(3) > 1, "the dice say no" end)lua";
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const sim::Workload workload = made_up(seed, 300);
    const sim::SimResult a = simulated(workload, config_with(text), sim::Order::batch, true);
    const sim::SimResult b = simulated(workload, config_with(text));
    for (std::size_t i = 0; i < workload.jobs.size(); ++i)
      ASSERT_EQ(a.jobs[i].start, b.jobs[i].start);
    EXPECT_EQ(a.queues[0].hooks->trouble, "");
  }
}

// Nobody is asked for a priority where the order makes no difference. A hook that has no opinion is
// one more reason to ask, and nothing else; an engine without shortcuts asks always, and looks at
// everybody anew.
TEST(LuaPolicy, WhoIsNotAskedWouldHaveMadeNoDifference) {
  const char* const kPriorities[] = {
      "return job.waited / job.limit", "return (view.now * job.id) % 97",
      "return view.user(job.user).running - job.cores * job.waited % 13",
      "return job.id % 2 == 0 and job.waited or nil"};
  const std::string asks = "function may_backfill() end";
  std::int64_t asked_less = 0;
  const auto check = [&](const std::string& text, bool keep, std::uint64_t seed) {
    const sim::Workload workload = made_up(seed, 150);
    const sim::SimResult less = simulated(workload, config_with(text, keep));
    const sim::SimResult more = simulated(workload, config_with(text + asks, keep));
    SchedulerConfig thorough = config_with(text, keep);
    thorough.shortcuts = false;
    const sim::SimResult most = simulated(workload, thorough);
    for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
      ASSERT_EQ(less.jobs[i].start, more.jobs[i].start)
          << text << "seed " << seed << ", keep " << keep << ", job " << i + 1;
      ASSERT_EQ(less.jobs[i].start, most.jobs[i].start)
          << text << "without shortcuts, seed " << seed << ", keep " << keep << ", job " << i + 1;
    }
    asked_less += more.queues[0].hooks->calls - less.queues[0].hooks->calls;
  };
  for (const char* base : {"fcfs", "easy", "hybrid:3", "conservative", "conservative-rebuild"})
    for (const char* priority : kPriorities)
      for (const bool keep : {true, false})
        for (std::uint64_t seed = 1; seed <= 6; ++seed)
          check("base = '" + std::string(base) + "'\nfunction priority(job, view) " + priority +
                    " end\n",
                keep, seed);
  EXPECT_GT(asked_less, 0);
}

// A hook is asked less than a priority could be: what was made of unchanging facts lasts.
TEST(LuaPolicy, APriorityOfUnchangingFactsIsAskedForOnce) {
  const sim::Workload workload = made_up(2, 400);
  const auto calls = [&](const char* text) {
    return simulated(workload, config_with(text)).queues[0].hooks->calls;
  };
  EXPECT_EQ(calls("function priority(job) return -job.limit * job.cores end"), 400);
  EXPECT_GT(calls("function priority(job) return job.waited end"), 800);
  EXPECT_GT(calls("function priority(job) return math.random() end"), 800);
}

}  // namespace
}  // namespace holon::policy
