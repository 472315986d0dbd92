// What a policy keeps in `state`: it is the same text whatever the order it was made in, is read
// back as it was, has an end, and goes with the policy from broker to broker and into questions.
#include <map>

#include "tests/policy/asked.hpp"

namespace holon::policy {
namespace {

std::unique_ptr<qmanager::PolicyHooks> hooks_of(const std::string& text) {
  return compiled(text)->hooks();
}

constexpr const char* kAllKinds = R"lua(
if not state.filled then
  state.filled = true
  state.whole, state.least, state.real = 7, math.mininteger, 0.1
  state.large, state.small, state.three = math.huge, -math.huge, 3.0
  state[3], state[-1], state[2.5], state[false] = "three", "minus", "half", "no"
  state.text = "a\"b\\c\n\0\255 end"
  state.deep = {{{empty = {}}}}
end
function admit() return true end)lua";

TEST(PolicyState, IsReadBackAsItWas) {
  const auto hooks = hooks_of(kAllKinds);
  const std::string kept = hooks->state();
  EXPECT_EQ(kept,
            "{[-1] = \"minus\", [2.5] = \"half\", [3] = \"three\", "
            "[\"deep\"] = {[1] = {[1] = {[\"empty\"] = {}}}}, [\"filled\"] = true, "
            "[\"large\"] = 1e999, [\"least\"] = 0x8000000000000000, [\"real\"] = 0.1, "
            "[\"small\"] = -1e999, [\"text\"] = \"a\\\"b\\\\c\\010\\000\\255 end\", "
            "[\"three\"] = 3.0, [\"whole\"] = 7, [false] = \"no\"}");
  const auto other = hooks_of(std::string("assert(not state.filled or math.type(state.three) == "
                                          "'float' and state.least == math.mininteger)\n") +
                              kAllKinds);
  ASSERT_TRUE(other->restore(kept));
  EXPECT_EQ(other->state(), kept);
  EXPECT_EQ(other->twin()->state(), kept);
}

TEST(PolicyState, WhatIsNoStateIsRefusedAndChangesNothing) {
  const auto hooks = hooks_of(kAllKinds);
  const std::string before = hooks->state();
  for (const char* text : {"7", "{", "{} error('no')", "nil", "{} while true do end", "function"})
    EXPECT_FALSE(hooks->restore(text)) << text;
  EXPECT_EQ(hooks->state(), before);
  EXPECT_NE(refusal_of("base = 'easy'  state = {}").find("fill it"), std::string::npos);
}

struct Kept {
  std::map<std::string, std::string> last;  // by queue
  int times = 0;
  std::string trouble;
};

// The jobs under the policy, and what a broker would have written down after each pass.
Kept kept_of(const std::string& text, std::int64_t jobs) {
  Kept kept;
  const sim::Workload workload = made_up(3, jobs);
  sim::SimOptions options;
  options.config = config_with(text);
  options.watch = [&](Time, qmanager::Scheduler& scheduler, const qmanager::StepResult&) {
    for (const auto& [queue, policy, state, advance] : scheduler.take_policy_states()) {
      kept.last[queue] = state;
      ++kept.times;
      EXPECT_EQ(policy, "mine.lua");
    }
  };
  const auto result =
      sim::simulate(workload, std::make_unique<qmanager::FlatMachine>(workload.max_procs), options);
  EXPECT_TRUE(result) << to_string(result.error());
  kept.trouble = result->queues[0].hooks->trouble;
  return kept;
}

TEST(PolicyState, IsTakenWhereItHasChanged) {
  const Kept kept =
      kept_of("function on_event(event) state[event] = (state[event] or 0) + 1 end", 50);
  EXPECT_EQ(kept.last.at("default"), "{[\"finish\"] = 50, [\"start\"] = 50, [\"submit\"] = 50}");
  EXPECT_EQ(kept.trouble, "");
  EXPECT_EQ(kept_of("function priority(job) return -job.limit end", 50).times, 0);
  EXPECT_EQ(kept_of("state.n = 1 function on_event() state.n = 1 end", 50).times, 1);
}

// It stays as it was taken last, and the policy goes on.
TEST(PolicyState, WhatCannotBeKeptIsSaidOnce) {
  struct Case {
    const char* change;
    const char* said;
  };
  for (const Case& one : {
           Case{"state.f = print or assert", "state[\"f\"] is a function; kept are numbers"},
           Case{"state.me = state", "is nested more than 16 deep"},
           Case{"state[{}] = 1", "state has a table as a key"},
           Case{"state.job = job", "state[\"job\"] is a userdata"},
           Case{"state = {}", "'state' was replaced by something else"},
           Case{"state.long = ('x'):rep(65000) state.more = ('x'):rep(65000)",
                "state takes more than 64 KiB as text"},
           Case{"if state[1] then return end local x = ('x'):rep(90) "
                "for i = 1, 700 do state[#state + 1] = i .. x end",
                "state takes more than 64 KiB as text"},
       }) {
    const Kept kept = kept_of(
        std::string("function on_event(event, job)\n  if job.id < 5 then state.n = job.id return "
                    "end\n  ") +
            one.change + "\nend",
        40);
    EXPECT_NE(kept.trouble.find(one.said), std::string::npos) << kept.trouble;
    EXPECT_EQ(kept.last.at("default").substr(0, 7), "{[\"n\"] ") << one.change;
    EXPECT_LT(kept.last.at("default").size(), 20u) << one.change;
  }
}

// As a broker that is killed after any pass: whoever begins with what was written down decides as
// the one that went on.
TEST(PolicyState, GoesOnWhereItWas) {
  const std::string text = R"lua(
    state.n = state.n or 0
    function on_event(event, job) state.n = (state.n * 31 + job.id + #event) % 1009 end
    function priority(job) return (state.n * job.id) % 17 end)lua";
  const sim::Workload workload = made_up(7, 120);
  const auto starts = [&](bool anew) {
    sim::SimOptions options;
    options.config = config_with(text);
    options.check_invariants = true;
    std::string kept;
    int pass = 0;
    options.watch = [&](Time, qmanager::Scheduler& scheduler, const qmanager::StepResult&) {
      for (auto& one : scheduler.take_policy_states()) kept = std::move(one.state);
      if (anew && ++pass % 3 == 0) {
        EXPECT_TRUE(scheduler.restore_policy_state("default", kept));
      }
    };
    const auto result = sim::simulate(
        workload, std::make_unique<qmanager::FlatMachine>(workload.max_procs), options);
    std::vector<std::optional<Time>> all;
    for (const auto& job : result->jobs) all.push_back(job.start);
    return all;
  };
  EXPECT_EQ(starts(true), starts(false));
}

// In an advance reservation a policy has a state of its own.
TEST(PolicyState, OfAnAdvanceReservationIsItsOwn) {
  const std::string text =
      "state.n = state.n or 0  function on_event(event, job) state.n = state.n * 31 + job.id end";
  const auto fresh = [&] {
    auto scheduler =
        qmanager::Scheduler::create(config_with(text), std::make_unique<qmanager::FlatMachine>(4));
    EXPECT_TRUE(scheduler);
    qmanager::AdvanceRequest advance;
    advance.resources.id = JobId{1};
    advance.resources.procs = 2;
    advance.resources.user = "ada";
    advance.when = {0, 1000};
    EXPECT_FALSE(scheduler->reserve_ahead(advance, 0)->refused);
    return std::move(*scheduler);
  };
  const auto submit = [](qmanager::Scheduler& scheduler, std::uint64_t id, std::uint64_t advance) {
    qmanager::JobRequest job;
    job.id = JobId{id};
    job.procs = 4;
    if (advance != 0) job.procs = 2;
    job.user = "ada";
    job.limit = 10;
    job.advance = JobId{advance};
    EXPECT_FALSE(scheduler.submit(job, 0)->has_value());
  };
  const auto states = [](qmanager::Scheduler& scheduler) {
    std::map<std::uint64_t, std::string> all;
    for (const auto& one : scheduler.take_policy_states()) all[one.advance.value()] = one.state;
    return all;
  };
  qmanager::Scheduler scheduler = fresh();
  submit(scheduler, 2, 0);
  submit(scheduler, 3, 1);
  const auto kept = states(scheduler);
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_NE(kept.at(0), kept.at(1));
  EXPECT_TRUE(states(scheduler).empty()) << "nothing is new";
  qmanager::Scheduler other = fresh();
  ASSERT_TRUE(other.restore_policy_state("default", kept.at(1), JobId{1}));
  submit(other, 4, 1);
  submit(scheduler, 4, 1);
  EXPECT_EQ(states(other).at(1), states(scheduler).at(1));
  EXPECT_FALSE(other.restore_policy_state("default", kept.at(1), JobId{9}));
}

// ---- another policy while jobs wait

TEST(PolicySwap, NobodyIsStartedTwiceAndReservationsOfPoliciesThatKeepThemAreKept) {
  const char* const kTexts[] = {
      "base = 'easy'  function priority(job) return -job.limit end",
      "base = 'conservative'  function priority(job) return job.cores end",
      "base = 'hybrid:4'  function may_backfill(job) return job.id % 3 > 0 end",
      "base = 'easy'  function priority(job) return math.random() end",
  };
  std::vector<std::shared_ptr<const qmanager::PolicyProgram>> programs;
  for (const char* text : kTexts) programs.push_back(compiled(text));
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Dice dice(seed);
    const sim::Workload workload = made_up(seed, 120);
    sim::SimOptions options;
    options.config = config_with(kTexts[0]);
    options.check_invariants = true;
    options.watch = [&](Time now, qmanager::Scheduler& scheduler, const qmanager::StepResult&) {
      if (dice(0, 9) > 0) return;
      const auto which = static_cast<std::size_t>(dice(0, 3));
      ASSERT_TRUE(scheduler.set_policy("default", "p" + std::to_string(which) + ".lua",
                                       programs[which], now));
      scheduler.check_invariants();
    };
    const auto result = sim::simulate(
        workload, std::make_unique<qmanager::FlatMachine>(workload.max_procs), options);
    ASSERT_TRUE(result) << to_string(result.error());
    for (const auto& job : result->jobs) {
      ASSERT_TRUE(job.start);
      ASSERT_LE(*job.start, *job.first_planned) << "seed " << seed;
    }
  }
}

// Jobs of an advance reservation, made before or after the policy was changed.
TEST(PolicySwap, JobsInAdvanceReservationsFollow) {
  const auto shortest = compiled("function priority(job) return -job.limit end");
  for (const bool before : {true, false}) {
    auto scheduler = qmanager::Scheduler::create(config_with("base = 'fcfs'"),
                                                 std::make_unique<qmanager::FlatMachine>(4));
    ASSERT_TRUE(scheduler);
    const auto swap = [&] { return scheduler->set_policy("default", "s.lua", shortest, 0); };
    if (before) {
      ASSERT_TRUE(swap());
    }
    qmanager::AdvanceRequest advance;
    advance.resources.id = JobId{1};
    advance.resources.procs = 4;
    advance.resources.user = "ada";
    advance.when = {0, 1000};
    const auto held = scheduler->reserve_ahead(advance, 0);
    ASSERT_TRUE(held && !held->refused);
    for (const std::uint64_t id : {2, 3}) {
      qmanager::JobRequest job;
      job.id = JobId{id};
      job.procs = 4;
      job.user = "ada";
      job.limit = id == 2 ? 100 : 50;
      job.advance = JobId{1};
      const auto taken = scheduler->submit(job, 0);
      ASSERT_TRUE(taken && !*taken);
    }
    if (!before) {
      ASSERT_TRUE(swap());
    }
    const auto result = scheduler->step(0);
    const auto* const start = std::get_if<qmanager::Start>(&result.decisions.at(0));
    ASSERT_NE(start, nullptr);
    EXPECT_EQ(start->job, JobId{3}) << before;
  }
}

TEST(PolicySwap, IsRefusedWhole) {
  sim::Workload workload = made_up(1, 30);
  sim::SimOptions options;
  options.config = config_with("function priority(job) return -job.limit end");
  int tried = 0;
  options.watch = [&](Time now, qmanager::Scheduler& scheduler, const qmanager::StepResult&) {
    if (++tried > 1) return;
    EXPECT_FALSE(scheduler.set_policy("none", "easy", nullptr, now));
    EXPECT_FALSE(scheduler.set_policy("default", "slow", nullptr, now));
    EXPECT_FALSE(scheduler.set_policy("default", "none.lua", nullptr, now));
    EXPECT_EQ(scheduler.queues().at(0).policy, "mine.lua");
    EXPECT_TRUE(scheduler.set_policy("default", "easy", nullptr, now));
    EXPECT_EQ(scheduler.queues().at(0).policy, "easy");
    EXPECT_FALSE(scheduler.queues().at(0).hooks);
  };
  EXPECT_TRUE(sim::simulate(workload, std::make_unique<qmanager::FlatMachine>(workload.max_procs),
                            options));
}

// ---- what would be

// Jobs that take the whole of their limit, all there from the begin: what is foreseen is what
// comes.
TEST(Forecast, IsWhatComes) {
  sim::Workload workload = made_up(5, 60);
  for (sim::TraceJob& job : workload.jobs) job.submit = 0, job.run = job.limit;
  const std::string shortest = "base = 'easy'  function priority(job) return -job.limit end";
  sim::SimOptions options;
  options.config = config_with("base = 'easy'");
  qmanager::Scheduler::Starts foreseen, foreseen_shortest;
  const auto program = compiled(shortest);
  options.watch = [&](Time now, qmanager::Scheduler& scheduler, const qmanager::StepResult&) {
    if (!foreseen.empty()) return;
    const auto never = [] { return false; };
    foreseen = scheduler.forecast(now, never);
    foreseen_shortest = scheduler.forecast_with("default", "s.lua", program, now, never)->starts;
    EXPECT_TRUE(scheduler.forecast(now, [] { return true; }).empty());
  };
  const auto result =
      sim::simulate(workload, std::make_unique<qmanager::FlatMachine>(workload.max_procs), options);
  ASSERT_TRUE(result);
  std::size_t waited = 0;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    if (*result->jobs[i].start == 0) continue;
    ++waited;
    EXPECT_EQ(foreseen.at(JobId(static_cast<std::uint64_t>(workload.jobs[i].id))),
              *result->jobs[i].start);
  }
  EXPECT_EQ(foreseen.size(), waited);
  EXPECT_EQ(foreseen_shortest.size(), waited);
  EXPECT_NE(foreseen, foreseen_shortest);
}

}  // namespace
}  // namespace holon::policy
