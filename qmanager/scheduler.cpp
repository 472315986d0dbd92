// scheduler.cpp - events in: each changes the state and says what the next pass has to do. Nothing
// is decided here.
#include "qmanager/scheduler.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/core.h>

#include "qmanager/engine/admit.hpp"
#include "qmanager/engine/order.hpp"
#include "qmanager/engine/pass/pass.hpp"
#include "qmanager/engine/pass/replan.hpp"
#include "qmanager/engine/policy_view.hpp"
#include "qmanager/machine/environment_machine.hpp"
#include "qmanager/machine/pool_machine.hpp"
#include "qmanager/make_queue.hpp"

namespace holon::qmanager {

Scheduler::Scheduler(std::unique_ptr<State> state) : state_(std::move(state)) {}
Scheduler::Scheduler(Scheduler&&) noexcept = default;
Scheduler& Scheduler::operator=(Scheduler&&) noexcept = default;
Scheduler::~Scheduler() = default;

namespace {

Status check_config(const SchedulerConfig& config) {
  if (const std::string& name = config.default_queue;
      !name.empty() && !config.queues.contains(name))
    return fail(Errc::invalid_argument, fmt::format("there is no queue \"{}\"", name),
                "default-queue");
  const PriorityConfig& priority = config.priority;
  if (priority.interval < 1 || priority.fairshare.interval < 1 || priority.fairshare.depth < 1 ||
      priority.fairshare.depth > 1000)
    return fail(Errc::invalid_argument,
                "an interval is at least a tick, and the depth of fairshare from 1 to 1000",
                "priority");
  if (constexpr Duration kMost = kTimeMax / 2000; priority.fairshare.interval > kMost)
    return fail(Errc::invalid_argument,
                fmt::format("an interval of fairshare is {} at most", config.length_text(kMost)),
                "priority");
  return {};
}

Result<Queues> make_queues(const SchedulerConfig& config) {
  Queues queues;
  for (const auto& [name, queue_config] : config.queues) {
    Result<Queue> queue = make_queue(name, queue_config, config);
    if (!queue) return tl::unexpected(queue.error());
    queues.all.push_back(std::move(*queue));
  }
  return queues;
}

Accounts open_accounts(const SchedulerConfig& config, const Queues& queues) {
  const PriorityConfig& priority = config.priority;
  Accounts accounts;
  accounts.limiter.edit() = Limiter(config.limits, config.qos);
  accounts.fairshare.edit() = Fairshare(priority.fairshare);
  const auto bypass = static_cast<std::size_t>(Factor::bypass);
  accounts.counts_bypass = priority.factors[bypass].weight != 0;
  for (const Queue& queue : queues.all) {
    if (queue.config.threshold.type == ReservationThreshold::Type::bypass)
      accounts.counts_bypass = true;
    if (queue.hooks != nullptr) accounts.counts_usage = true;
  }
  for (std::size_t i = 0; i < kFactors; ++i)
    if (component_of(static_cast<Factor>(i)) == Component::fairshare)
      accounts.counts_usage = accounts.counts_usage || priority.factors[i].weight != 0;
  const Limiter& limiter = *accounts.limiter;
  accounts.has_limits = limiter.active();
  accounts.ages = priority.ages();
  accounts.limits_stop_aging =
      accounts.ages && ((priority.accrual != Accrual::always && limiter.counts_idle()) ||
                        (priority.accrual == Accrual::full_policy && limiter.active()));
  return accounts;
}

// The machine, with what the configuration counts over it.
std::unique_ptr<Machine> with_layers(std::unique_ptr<Machine> machine,
                                     const SchedulerConfig& config, bool has_hosts) {
  if (config.awaited) machine->expect_growth();
  auto pools = global_pools(config);
  if (!has_hosts) pools.merge(queue_pools(config));
  if (!pools.empty()) machine = std::make_unique<PoolMachine>(std::move(machine), pools);
  if (config.environments.size() > 1)
    machine = std::make_unique<EnvironmentMachine>(std::move(machine), config.environments);
  return machine;
}

}  // namespace

Result<Scheduler> Scheduler::create(SchedulerConfig config, std::unique_ptr<Machine> machine) {
  if (config.queues.empty()) config.queues.emplace(config.default_queue, config.defaults);
  auto state = std::make_unique<State>(std::make_shared<const SchedulerConfig>(std::move(config)));
  Result<Queues> queues = make_queues(state->config());
  if (!queues) return tl::unexpected(queues.error());
  if (Status sound = check_config(state->config()); !sound) return tl::unexpected(sound.error());
  state->queues() = std::move(*queues);
  state->accounts() = open_accounts(state->config(), state->queues());
  for (const Queue& queue : state->queues().all)
    if (queue.config.preempt.mode != PreemptMode::off) state->preemption().active = true;
  const auto of_hosts = queue_pools(state->config());
  state->has_hosts = !of_hosts.empty() && machine->add_host_pools(of_hosts);
  state->plan().machine = with_layers(std::move(machine), state->config(), state->has_hosts);
  return Scheduler(std::move(state));
}

Scheduler::State& Scheduler::change() {
  state_->whole = {};
  return *state_;
}

namespace {

Result<std::size_t> queue_index(const Scheduler::State& state, const std::string& asked) {
  const std::string& name = asked.empty() ? state.config().default_queue : asked;
  for (std::size_t i = 0; i < state.queues().all.size(); ++i)
    if (state.queues().all[i].name == name) return i;
  std::string known;
  for (const Queue& queue : state.queues().all) known += (known.empty() ? "" : ", ") + queue.name;
  return fail(
      Errc::not_found,
      (name.empty() ? "a queue must be named: there is no default queue"
                    : fmt::format("there is no queue \"{}\"", name)) +
          fmt::format("; there {} {}", state.queues().all.size() == 1 ? "is" : "are", known),
      "queue");
}

Result<Job*> add_job(Scheduler::State& state, JobRequest&& request) {
  if (state.jobs().find(request.id) != nullptr || state.advances().of_job->contains(request.id) ||
      state.advances().all.contains(request.id))
    return fail(Errc::exists,
                job_in_words(request.id, state.config().job_text) + " is here already");
  if (request.urgency > kUrgencyExpedite)
    return fail(Errc::invalid_argument,
                fmt::format("urgency {} is not from 0 to 31", request.urgency), "urgency");
  if (request.limit < 0) return fail(Errc::invalid_argument, "the time limit is negative", "limit");
  const Result<std::size_t> queue = queue_index(state, request.queue);
  if (!queue) return tl::unexpected(queue.error());
  request.queue = state.queues().all[*queue].name;
  auto job = std::make_unique<Job>(*queue, std::move(request));
  Job* added = job.get();
  state.jobs().add(std::move(job));
  return added;
}

void measure(Scheduler::State& state, Job& job) {
  if (job.request.procs <= 0) job.request.procs = state.plan().machine->procs_of(job.request);
  job.procs = job.request.procs;
  job.demand = demand_of(job.request, job.procs, *state.plan().machine);
  job.shape = state.plan().machine->shape_of(job.request);
  job.pools = state.queues().pools_of(job.request);
  if (job.shape >= state.plan().shapes.size()) state.plan().shapes.resize(job.shape + 1);
}

// Why the queue's policy refuses the job; not asked for a job accepted before a restart.
std::optional<std::string> refused_by_policy(Scheduler::State& state, const Job& job, Time now) {
  const Queue& queue = state.queues().of(job);
  if (!queue.hooks || job.request.admitted || !queue.hooks->has(Hook::admit)) return std::nullopt;
  Opinion opinion =
      queue.hooks->ask(Hook::admit, view_of(state, job, now), PolicyView(state, queue, now));
  if (opinion.yes.value_or(true)) return std::nullopt;
  return opinion.reason.empty() ? fmt::format("{} refuses it", queue.config.policy)
                                : std::move(opinion.reason);
}

// Why the machine refuses it; a job too large for now waits while nodes are to come.
Result<std::optional<std::string>> refused_by_machine(Scheduler::State& state, const Job& job,
                                                      Time now) {
  auto refusal = state.plan().machine->refuses(job.request, now, state.queues().length_of(job));
  const bool is_refused = refusal && *refusal;
  if (!is_refused || !state.config().awaited || state.plan().machine->placeable(job.request) ||
      state.config().awaited(job.request).empty())
    return refusal;
  return std::nullopt;
}

void place_in_queue(Scheduler::State& state, Job& job, Time now) {
  state.plan().machine->expect(job.request);
  if (is_ranked(state.queues(), job)) rank(state, job, now);
  job.key = key_of(state, job);
  enqueue(state, job);
}

// Brings back a job that stood aside; without a policy its key is already what the list needs.
void bring_back(Scheduler::State& state, Job& job, Time now) {
  if (is_ranked(state.queues(), job)) return place_in_queue(state, job, now);
  state.plan().machine->expect(job.request);
  enqueue(state, job);
}

}  // namespace

Result<std::optional<Reject>> Scheduler::submit(JobRequest request, Time now) {
  State& s = change();
  const JobId id = request.id;
  if (request.advance.value() != 0) return submit_within(s, std::move(request), now);
  const Result<Job*> added = add_job(s, std::move(request));
  if (!added) return tl::unexpected(added.error());
  Job& job = **added;
  Queue& queue = s.queues().of(job);
  const auto forget = [&] { s.jobs().forget(id); };
  if (qos_of(s.config(), job).use_reserved) {
    std::string reason =
        fmt::format("jobs of QOS {} run in advance reservations only", job.request.qos);
    forget();
    ++queue.counts.rejected;
    return Reject{id, std::move(reason)};
  }
  if (!queue.enabled) {
    Error error{Errc::denied, fmt::format("queue {} takes no jobs now", queue.name), "queue"};
    forget();
    return tl::unexpected(std::move(error));
  }
  Result<std::optional<std::string>> refusal = admit(s, job.request, queue);
  if (refusal && !*refusal) refusal = refused_by_machine(s, job, now);
  if (!refusal || *refusal) {
    forget();
    if (!refusal) return tl::unexpected(refusal.error());
    ++queue.counts.rejected;
    return Reject{id, std::move(**refusal)};
  }
  measure(s, job);
  if (auto too_large = s.config().limits.refuses(job.procs, s.queues().length_of(job))) {
    forget();
    ++queue.counts.rejected;
    return Reject{id, std::move(*too_large)};
  }
  s.progress().clock = std::max(s.progress().clock, now);
  if (auto unwanted = refused_by_policy(s, job, now)) {
    forget();
    ++queue.counts.rejected;
    return Reject{id, std::move(*unwanted)};
  }
  place_in_queue(s, job, now);
  ++queue.counts.submitted;
  if (!job.request.admitted) tell_policy(s, "submit", job, now);
  if (job.request.immediate) s.queues().immediate.push_back(id);
  return std::nullopt;
}

Status Scheduler::recover(JobRequest request, const resource::Allocation& allocation) {
  State& s = change();
  const JobId id = request.id;
  if (request.advance.value() != 0) {
    Status recovered = recover_within(s, std::move(request), allocation);
    if (recovered) s.accounts().job_runs(*s.advances().within(id)->state_->jobs().find(id));
    return recovered;
  }
  const Result<Job*> added = add_job(s, std::move(request));
  if (!added) return tl::unexpected(added.error());
  const auto refusal = admit(s, (**added).request, s.queues().of(**added), Arrives::with_resources);
  if (!refusal) {
    s.jobs().forget(id);
    return tl::unexpected(refusal.error());
  }
  measure(s, **added);
  s.plan().machine->expect((**added).request);
  if (Status held = s.plan().machine->impose((**added).request, allocation); !held) {
    s.jobs().forget(id);
    return held;
  }
  (**added).key = key_of(s, **added);
  run(s, **added, allocation.when);
  freed(s);
  return {};
}

Status Scheduler::finish(JobId id, Time now) {
  State& s = change();
  if (Scheduler* inner = s.advances().within(id)) {
    const Job* const within = inner->state_->jobs().find(id);
    if (within != nullptr && within->place == Job::Place::running)
      s.accounts().job_ends(*within, now);
    Status finished = inner->finish(id, now);
    if (!finished) return finished;
    // The units that the job had in a reservation which is over are free for everybody.
    if (s.advances().all.at(s.advances().of_job->at(id)).over(now)) freed(s);
    s.advances().of_job.edit().erase(id);
    return finished;
  }
  Job* job = s.jobs().find(id);
  if (job == nullptr || job->place != Job::Place::running)
    return fail(Errc::not_found, job_in_words(id, s.config().job_text) + " is not running");
  s.plan().machine->release(id, now);
  release_lent(s, *job, now);
  s.advances().intruders.erase(id);
  s.preemption().no_candidate(id);
  s.plan().running.edit().erase({job->planned_end, id});
  s.accounts().limiter.edit().ended(*job);
  s.progress().clock = std::max(s.progress().clock, now);
  s.accounts().job_ends(*job, now);
  for (Queue& queue : s.queues().all)
    if (queue.config.chunk_duration > 0)
      queue.chunk_until = saturating_add(now, queue.config.chunk_duration);
  ++s.queues().of(*job).counts.finished;
  tell_policy(s, "finish", *job, now);
  s.jobs().forget(id);
  freed(s);
  s.progress().released = true;
  return {};
}

Status Scheduler::set_end(JobId id, Time end, Time now) {
  State& s = change();
  if (Scheduler* inner = s.advances().within(id)) return inner->set_end(id, end, now);
  Job* job = s.jobs().find(id);
  if (job == nullptr || job->place != Job::Place::running)
    return fail(Errc::not_found, job_in_words(id, s.config().job_text) + " is not running");
  if (end <= job->started) return fail(Errc::invalid_argument, "a job ends after its start", "end");
  // The job holds its units as long as nobody says that it is over.
  const Time least = saturating_add(std::max(job->started, now), 1);
  end = std::max(std::min(end, s.plan().machine->horizon().end), least);
  if (job->preempted_for.value() != 0) end = std::min(end, std::max(job->planned_end, least));
  s.progress().clock = std::max(s.progress().clock, now);
  // Each pass settles anew the units of a job that is past its end.
  if (end == job->planned_end || s.advances().intruders.contains(id)) return {};
  if (job->lent) {
    const LentParts lent = *job->lent;
    Status moved = hold_lent(s, *job, lent, end, now);
    if (moved) moved_end(s, *job, end);
    return moved;
  }
  Status moved = s.plan().machine->set_end(id, end);
  // Which of the reservations made anew in each pass are in the plan depends on who asked for them:
  // they give way first, so that no kept one does for their sake.
  for (const Kept kept : {Kept::stay, Kept::go}) {
    if (moved || s.plan().reservations->empty()) break;
    for (std::size_t queue = 0; queue < s.queues().all.size(); ++queue)
      if (kept == Kept::go || !s.queues().all[queue].policy.keep)
        unreserve_queue(s, queue, s.progress().clock);
    freed(s);
    s.progress().sliced = false;
    moved = s.plan().machine->set_end(id, end);
  }
  if (!moved) return moved;
  s.progress().released = s.progress().released || end < job->planned_end;
  moved_end(s, *job, end);
  freed(s);
  return {};
}

Result<Time> Scheduler::set_limit(JobId id, Duration limit, Time now) {
  State& s = change();
  if (Scheduler* inner = s.advances().within(id)) return inner->set_limit(id, limit, now);
  Job* job = s.jobs().find(id);
  if (job == nullptr || job->place != Job::Place::running)
    return fail(Errc::not_found, job_in_words(id, s.config().job_text) + " is not running");
  if (limit < 0) return fail(Errc::invalid_argument, "the time limit is negative", "limit");
  const Duration before = std::exchange(job->request.limit, limit);
  const Time end = saturating_add(job->started, s.queues().length_of(*job));
  const Time gone = s.plan().machine->end_of_nodes(id);
  if (end > job->planned_end && std::min(end, s.plan().machine->horizon().end) > gone) {
    job->request.limit = before;
    return fail(
        Errc::overcommitted,
        fmt::format("a node it runs on is there until {} only",
                    s.config().show_time ? s.config().show_time(gone, now) : std::to_string(gone)));
  }
  if (Status moved = set_end(id, end, now); !moved) {
    job->request.limit = before;
    return tl::unexpected(moved.error());
  }
  return job->planned_end;
}

Result<std::optional<Reject>> Scheduler::replace(JobRequest request, Time now) {
  State& s = change();
  const JobId id = request.id;
  if (Scheduler* inner = s.advances().within(id)) {
    const Advance& advance = s.advances().all.at(s.advances().of_job->at(id));
    request.advance = {};  // within, it is a job like any other
    return inner->replace(std::move(request), std::max(now, advance.request.when.begin));
  }
  Job* job = s.jobs().find(id);
  if (job == nullptr || job->place == Job::Place::running)
    return fail(Errc::not_found, job_in_words(id, s.config().job_text) + " is not pending");
  std::vector<QueueCounts> counts;  // it is one job, before and after
  for (const Queue& queue : s.queues().all) counts.push_back(queue.counts);
  tell_policy(s, "cancel", *job, now);
  dequeue(s, *job, now);
  Job before = *job;
  before.reserved = false;
  before.why = Why::not_considered;
  s.jobs().forget(id);
  auto taken = submit(std::move(request), now);
  for (std::size_t i = 0; i < counts.size(); ++i) s.queues().all[i].counts = counts[i];
  if (!taken || *taken) {
    place_in_queue(s, s.jobs().add(std::make_unique<Job>(std::move(before))), now);
    return taken;
  }
  Job& changed = *s.jobs().find(id);
  dequeue(s, changed, now);
  changed.bypassed = before.bypassed;
  changed.fixed_priority = before.fixed_priority;
  changed.uncounted = before.uncounted;
  changed.uncounted_since = before.uncounted_since;
  place_in_queue(s, changed, now);
  return std::nullopt;
}

Status Scheduler::cancel(JobId id, Time now) {
  State& s = change();
  if (Scheduler* inner = s.advances().within(id)) {
    Status cancelled = inner->cancel(id, now);
    if (cancelled) s.advances().of_job.edit().erase(id);
    return cancelled;
  }
  Job* job = s.jobs().find(id);
  if (job == nullptr || job->place == Job::Place::running)
    return fail(Errc::not_found, job_in_words(id, s.config().job_text) + " is not pending");
  tell_policy(s, "cancel", *job, now);
  dequeue(s, *job, now);
  ++s.queues().of(*job).counts.cancelled;
  s.jobs().forget(id);
  return {};
}

Status Scheduler::withdraw(JobId id, Time now) {
  State& s = change();
  if (Scheduler* inner = s.advances().within(id)) {
    Status gone = inner->withdraw(id, now);
    if (gone) s.advances().of_job.edit().erase(id);
    return gone;
  }
  const Job* job = s.jobs().find(id);
  if (job == nullptr)
    return fail(Errc::not_found, "there is no " + job_in_words(id, s.config().job_text));
  QueueCounts& counts = s.queues().of(*job).counts;
  if (Status gone = cancel(id, now); !gone) return gone;
  --counts.submitted;
  --counts.cancelled;
  return {};
}

namespace {

// Applies `change`, which sets what the priority comes from.
template <class Change>
Status reprioritize(Scheduler::State& s, JobId id, Change change) {
  Job* job = s.jobs().find(id);
  if (job == nullptr)
    return fail(Errc::not_found, "there is no " + job_in_words(id, s.config().job_text));
  ++s.queues().of(*job).counts.reprioritized;
  if (job->place == Job::Place::running) {
    change(*job);
    return {};
  }
  // The job's reservation was made for its old place in the queue.
  dequeue(s, *job, s.progress().clock);
  change(*job);
  place_in_queue(s, *job, s.progress().clock);
  return {};
}

}  // namespace

Status Scheduler::set_urgency(JobId id, std::uint32_t urgency) {
  if (urgency > kUrgencyExpedite)
    return fail(Errc::invalid_argument, fmt::format("urgency {} is not from 0 to 31", urgency),
                "urgency");
  if (Scheduler* inner = change().advances().within(id)) return inner->set_urgency(id, urgency);
  return reprioritize(*state_, id, [urgency](Job& job) {
    job.request.urgency = urgency;
    job.fixed_priority.reset();
  });
}

Status Scheduler::set_priority(JobId id, std::int64_t priority) {
  if (Scheduler* inner = change().advances().within(id)) return inner->set_priority(id, priority);
  return reprioritize(*state_, id, [priority](Job& job) { job.fixed_priority = priority; });
}

Status Scheduler::enable_queue(const std::string& name, bool enabled) {
  const Result<std::size_t> queue = queue_index(change(), name);
  if (!queue) return tl::unexpected(queue.error());
  state_->queues().all[*queue].enabled = enabled;
  for (auto& [id, advance] : state_->advances().all)
    if (Status told = advance.inner->enable_queue(name, enabled); !told) return told;
  return {};
}

Status Scheduler::start_queue(const std::string& name, bool started) {
  const Result<std::size_t> queue = queue_index(change(), name);
  if (!queue) return tl::unexpected(queue.error());
  state_->queues().all[*queue].started = started;
  // Reservations that cannot be kept meanwhile are in no job's way.
  if (!started) unreserve_queue(*state_, *queue, state_->progress().clock);
  freed(*state_);
  for (auto& [id, advance] : state_->advances().all)
    if (Status told = advance.inner->start_queue(name, started); !told) return told;
  return {};
}

namespace {

// Gives back reservations that would outlast one of their nodes; the next step() makes them again.
void unreserve_too_long(Scheduler::State& s) {
  std::vector<Job*> lost;
  for (const auto& [when, id] : *s.plan().reservations)
    if (s.plan().machine->end_of_nodes(id) < s.plan().machine->holding(id).when.end)
      lost.push_back(s.jobs().find(id));
  for (Job* const job : lost) {
    unreserve(s, *job, s.progress().clock);
    job->why = Why::not_considered;
  }
}

}  // namespace

void Scheduler::resources_changed() {
  State& s = change();
  // A node that is back, or stays longer, may have room before a kept reservation.
  if (s.plan().machine->resources_changed()) s.progress().released = true;
  for (auto& [id, advance] : s.advances().all) advance.inner->resources_changed();
  for (JobId id : std::exchange(s.queues().aside.edit(), {})) {
    bring_back(s, *s.jobs().find(id), s.progress().clock);
  }
  unreserve_too_long(s);
  freed(s);
}

StepResult Scheduler::step(Time now, Budget budget) {
  return run_pass(change(), now, budget);
}

std::size_t Scheduler::pending() const {
  std::size_t pending = state_->jobs().all().size() - state_->plan().running->size();
  for (const auto& [id, advance] : state_->advances().all) pending += advance.inner->pending();
  return pending;
}
std::size_t Scheduler::running() const {
  std::size_t running = state_->plan().running->size();
  for (const auto& [id, advance] : state_->advances().all) running += advance.inner->running();
  return running;
}
const SchedulerConfig& Scheduler::config() const {
  return state_->config();
}

void Scheduler::check_invariants() const {
  const State& s = *state_;
  s.plan().machine->check_invariants();
  for (const auto& [id, advance] : s.advances().all) advance.inner->check_invariants();
  for (const auto& [job, advance] : *s.advances().of_job)
    if (!s.advances().all.contains(advance) ||
        s.advances().within(job)->state_->jobs().find(job) == nullptr)
      std::abort();
  std::size_t listed = 0;
  std::size_t held = 0;
  std::size_t running = 0;
  std::size_t reserved = 0;
  for (const Queue& queue : s.queues().all) {
    listed += queue.pending.size();
    held += queue.held;
    std::size_t waiting = 0;
    for (const auto& [pools, jobs] : queue.waiting) waiting += jobs;
    if (waiting != queue.pending.size()) std::abort();
  }
  for (const auto& [id, job] : s.jobs().all()) {
    if (job->place == Job::Place::pending) --listed;
    if (job->place == Job::Place::held) --held;
    if (job->place == Job::Place::running && !s.plan().running->contains({job->planned_end, id}))
      std::abort();
    if (job->reserved && (job->place != Job::Place::pending ||
                          !s.plan().reservations->contains({*job->planned, id})))
      std::abort();
    if (job->place == Job::Place::aside && !s.queues().aside->contains(id)) std::abort();
    running += job->place == Job::Place::running;
    reserved += job->reserved;
  }
  if (listed != 0 || held != 0 || running != s.plan().running->size() ||
      reserved != s.plan().reservations->size())
    std::abort();
}

}  // namespace holon::qmanager
