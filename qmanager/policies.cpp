// policies.cpp - the policy of a queue while its jobs wait: another one, what it keeps, and what
// would be if it were another one.
#include <algorithm>
#include <utility>

#include "qmanager/engine/order.hpp"
#include "qmanager/engine/policy_view.hpp"
#include "qmanager/make_queue.hpp"
#include "qmanager/scheduler.hpp"

namespace holon::qmanager {

namespace {

Queue* find_queue(Scheduler::State& s, const std::string& name) {
  const auto found = std::find_if(s.queues().all.begin(), s.queues().all.end(),
                                  [&](const Queue& queue) { return queue.name == name; });
  return found == s.queues().all.end() ? nullptr : &*found;
}

tl::unexpected<Error> no_queue(const std::string& name) {
  return fail(Errc::not_found, "there is no queue \"" + name + "\"", "queue");
}

// The queue as it is, under the other policy.
Result<Queue> queue_under(const Scheduler::State& s, const Queue& queue, const std::string& policy,
                          std::shared_ptr<const PolicyProgram> program) {
  SchedulerConfig all = s.config();
  if (program != nullptr) all.programs[policy] = std::move(program);
  QueueConfig config = queue.config;
  config.policy = policy;
  return make_queue(queue.name, config, all);
}

// Begins to count usage, which was not counted if only user-written policies look at it.
void begin_to_count_usage(Scheduler::State& s, Time now) {
  if (std::exchange(s.accounts().counts_usage, true)) return;
  s.accounts().fairshare.edit().advance(now);
  for (const auto& [end, id] : *s.plan().running)
    s.accounts().job_runs(*std::as_const(s.jobs()).find(id));
}

// Ranks and orders the queue's jobs by its present policy.
void order_anew(Scheduler::State& s, Queue& queue, Time now) {
  for (std::size_t slot = queue.pending.front(); slot < queue.pending.slots(); ++slot) {
    Job* const listed = queue.pending.at(slot);
    if (listed == nullptr) continue;
    Job& job = s.jobs().own(*listed);
    job.policy_word.reset();
    if (is_ranked(s.queues(), job)) rank(s, job, now);
  }
  queue.pending.reorder([&](Job* listed) {
    Job& job = s.jobs().own(*listed);
    return job.key = key_of(s, job);
  });
  renew_keys_aside(s, [&](const Queue& of) { return &of == &queue; });
}

}  // namespace

Status Scheduler::set_policy(const std::string& name, const std::string& policy,
                             std::shared_ptr<const PolicyProgram> program, Time now) {
  State& s = change();
  Queue* const queue = find_queue(s, name);
  if (queue == nullptr) return no_queue(name);
  Result<Queue> made = queue_under(s, *queue, policy, std::move(program));
  if (!made) return tl::unexpected(made.error());
  if (made->hooks != nullptr) {
    const bool same = queue->hooks != nullptr && queue->config.policy == policy;
    // A changed program may have no use for the state of the one before it: it then begins anew.
    if (same) static_cast<void>(made->hooks->restore(queue->hooks->state()));
    begin_to_count_usage(s, now);
    made->hooks->begin_pass(now, queue->pending.size());
  }
  queue->config = std::move(made->config);
  queue->policy = std::move(made->policy);
  queue->base = std::move(made->base);
  queue->hooks = std::move(made->hooks);
  queue->program = std::move(made->program);
  queue->backfill = made->backfill;
  queue->given_up = false;
  queue->ranked_at.reset();
  queue->ranks_change = false;
  order_anew(s, *queue, now);
  if (!queue->policy.keep)
    unreserve_queue(s, static_cast<std::size_t>(queue - s.queues().all.data()), s.progress().clock);
  freed(s);
  s.progress().sliced = false;
  for (auto& [id, advance] : s.advances().all)
    if (Status told = advance.inner->set_policy(name, policy, queue->program, now); !told)
      return told;
  return {};
}

std::vector<PolicyState> Scheduler::take_policy_states() {
  std::vector<PolicyState> states;
  for (Queue& queue : state_->queues().all)
    if (queue.hooks != nullptr)
      if (auto state = queue.hooks->take_state())
        states.push_back({queue.name, queue.config.policy, std::move(*state), {}});
  for (auto& [id, advance] : state_->advances().all)
    for (PolicyState& within : advance.inner->take_policy_states()) {
      within.advance = id;
      states.push_back(std::move(within));
    }
  return states;
}

std::vector<PolicyTrouble> Scheduler::policy_troubles() const {
  std::vector<PolicyTrouble> all;
  for (const Queue& queue : state_->queues().all)
    if (queue.hooks != nullptr)
      if (HookStatus status = queue.hooks->status(); !status.trouble.empty())
        all.push_back({queue.name, queue.config.policy, std::move(status)});
  return all;
}

std::string Scheduler::policy_state(const std::string& name) const {
  const Queue* const queue = find_queue(*state_, name);
  return queue == nullptr || queue->hooks == nullptr ? std::string() : queue->hooks->state();
}

Status Scheduler::restore_policy_state(const std::string& name, const std::string& state,
                                       JobId advance) {
  State& s = change();
  if (advance.value() != 0) {
    const auto found = s.advances().all.find(advance);
    if (found != s.advances().all.end())
      return found->second.inner->restore_policy_state(name, state);
    return fail(Errc::not_found,
                "there is no advance reservation " + std::to_string(advance.value()));
  }
  Queue* const queue = find_queue(s, name);
  if (queue == nullptr || queue->hooks == nullptr) return no_queue(name);
  return queue->hooks->restore(state);
}

// ---- what would be

namespace {

constexpr std::int64_t kJobsBetweenLooks = 1000;

// Planned ends of all that runs, in advance reservations as well.
std::vector<std::pair<Time, JobId>> planned_ends(const Scheduler::State& s) {
  std::vector<std::pair<Time, JobId>> ends(s.plan().running->begin(), s.plan().running->end());
  for (const auto& [id, advance] : s.advances().all) {
    const auto within = planned_ends(advance.inner->state());
    ends.insert(ends.end(), within.begin(), within.end());
  }
  return ends;
}

}  // namespace

// Makes a pass for each time at which something ends or is due.
Scheduler::Starts Scheduler::play(Time now, const std::function<bool()>& enough) {
  Starts starts;
  for (;;) {
    for (const auto& [end, id] : planned_ends(*state_))
      if (end <= now) static_cast<void>(finish(id, now));
    StepResult result;
    do {
      if (enough()) return starts;
      result = step(now, {kJobsBetweenLooks});
      for (const Decision& decision : result.decisions)
        if (const auto* start = std::get_if<qmanager::Start>(&decision))
          starts.emplace(start->job, now);
    } while (result.more);
    std::optional<Time> next = result.only_ages ? std::nullopt : result.wake;
    for (const auto& [end, id] : planned_ends(*state_)) next = std::min(next.value_or(end), end);
    if (!next || *next <= now || *next == kTimeMax) return starts;
    now = *next;
  }
}

Scheduler::Starts Scheduler::forecast(Time now, const std::function<bool()>& enough) const {
  return Scheduler(state_->fork()).play(now, enough);
}

Result<Scheduler::Forecast> Scheduler::forecast_with(const std::string& queue,
                                                     const std::string& policy,
                                                     std::shared_ptr<const PolicyProgram> program,
                                                     Time now,
                                                     const std::function<bool()>& enough) const {
  Scheduler fork(state_->fork());
  if (Status set = fork.set_policy(queue, policy, std::move(program), now); !set)
    return tl::unexpected(set.error());
  Forecast forecast{fork.play(now, enough), {}};
  if (const Queue* const played = find_queue(*fork.state_, queue); played->hooks != nullptr)
    forecast.asked = played->hooks->status();
  return forecast;
}

}  // namespace holon::qmanager
