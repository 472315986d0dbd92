// scheduler.cpp - events in: each changes the state and says what the next pass has to do. Nothing
// is decided here.
#include "qmanager/scheduler.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/core.h>

#include "qmanager/engine/admit.hpp"
#include "qmanager/engine/pass.hpp"
#include "qmanager/engine/policy_view.hpp"
#include "qmanager/machine/environment_machine.hpp"
#include "qmanager/machine/pool_machine.hpp"
#include "qmanager/make_queue.hpp"

namespace holon::qmanager {

Scheduler::Scheduler(std::unique_ptr<State> state) : state_(std::move(state)) {}
Scheduler::Scheduler(Scheduler&&) noexcept = default;
Scheduler& Scheduler::operator=(Scheduler&&) noexcept = default;
Scheduler::~Scheduler() = default;

Result<Scheduler> Scheduler::create(SchedulerConfig config, std::unique_ptr<Machine> machine) {
  if (config.queues.empty()) config.queues.emplace(config.default_queue, config.defaults);
  auto state = std::make_unique<State>(std::make_shared<const SchedulerConfig>(std::move(config)));
  for (const auto& [name, queue_config] : state->config.queues) {
    Result<Queue> queue = make_queue(name, queue_config, state->config);
    if (!queue) return tl::unexpected(queue.error());
    state->queues.push_back(std::move(*queue));
  }
  if (const std::string& name = state->config.default_queue;
      !name.empty() && !state->config.queues.contains(name))
    return fail(Errc::invalid_argument, fmt::format("there is no queue \"{}\"", name),
                "default-queue");
  const PriorityConfig& priority = state->config.priority;
  if (priority.interval < 1 || priority.fairshare.interval < 1 || priority.fairshare.depth < 1 ||
      priority.fairshare.depth > 1000)
    return fail(Errc::invalid_argument,
                "an interval is at least a tick, and the depth of fairshare from 1 to 1000",
                "priority");
  if (constexpr Duration kMost = kTimeMax / 2000; priority.fairshare.interval > kMost)
    return fail(
        Errc::invalid_argument,
        fmt::format("an interval of fairshare is {} at most", state->config.length_text(kMost)),
        "priority");
  for (const Queue& queue : state->queues)
    state->counts_bypass =
        state->counts_bypass || queue.config.threshold.type == ReservationThreshold::Type::bypass;
  const auto bypass = static_cast<std::size_t>(Factor::bypass);
  state->counts_bypass = state->counts_bypass || priority.factors[bypass].weight != 0;
  state->limiter.edit() = Limiter(state->config.limits, state->config.qos);
  state->limits_stop_aging =
      priority.ages() && ((priority.accrual != Accrual::always && state->limiter->counts_idle()) ||
                          (priority.accrual == Accrual::full_policy && state->limiter->active()));
  state->fairshare.edit() = Fairshare(priority.fairshare);
  for (std::size_t i = 0; i < kFactors; ++i)
    if (component_of(static_cast<Factor>(i)) == Component::fairshare)
      state->counts_usage = state->counts_usage || priority.factors[i].weight != 0;
  for (const Queue& queue : state->queues)
    state->counts_usage = state->counts_usage || queue.hooks != nullptr;
  if (state->config.awaited) machine->expect_growth();
  auto pools = global_pools(state->config);
  if (auto of_queues = queue_pools(state->config); !of_queues.empty()) {
    state->has_hosts = machine->add_host_pools(of_queues);
    if (!state->has_hosts) pools.merge(std::move(of_queues));
  }
  if (!pools.empty()) machine = std::make_unique<PoolMachine>(std::move(machine), pools);
  if (state->config.environments.size() > 1)
    machine = std::make_unique<EnvironmentMachine>(std::move(machine), state->config.environments);
  state->machine = std::move(machine);
  return Scheduler(std::move(state));
}

Scheduler::State& Scheduler::change() {
  state_->whole.reset();
  return *state_;
}

namespace {

Result<std::size_t> queue_index(const Scheduler::State& state, const std::string& asked) {
  const std::string& name = asked.empty() ? state.config.default_queue : asked;
  for (std::size_t i = 0; i < state.queues.size(); ++i)
    if (state.queues[i].name == name) return i;
  std::string known;
  for (const Queue& queue : state.queues) known += (known.empty() ? "" : ", ") + queue.name;
  return fail(Errc::not_found,
              (name.empty() ? "a queue must be named: there is no default queue"
                            : fmt::format("there is no queue \"{}\"", name)) +
                  fmt::format("; there {} {}", state.queues.size() == 1 ? "is" : "are", known),
              "queue");
}

Result<Job*> add_job(Scheduler::State& state, JobRequest request) {
  if (state.find(request.id) != nullptr || state.in_advance->contains(request.id) ||
      state.advances.contains(request.id))
    return fail(Errc::exists, fmt::format("job {} is here already", request.id.value()));
  if (request.urgency > kUrgencyExpedite)
    return fail(Errc::invalid_argument,
                fmt::format("urgency {} is not from 0 to 31", request.urgency), "urgency");
  if (request.limit < 0) return fail(Errc::invalid_argument, "the time limit is negative", "limit");
  const Result<std::size_t> queue = queue_index(state, request.queue);
  if (!queue) return tl::unexpected(queue.error());
  auto job = std::make_unique<Job>();
  job->queue = *queue;
  request.queue = state.queues[*queue].name;
  job->request = std::move(request);
  Job* added = job.get();
  state.add(std::move(job));
  return added;
}

void measure(Scheduler::State& state, Job& job) {
  if (job.request.procs <= 0) job.request.procs = state.machine->procs_of(job.request);
  job.procs = job.request.procs;
  job.demand = demand_of(job.request, job.procs, *state.machine);
  job.shape = state.machine->shape_of(job.request);
  if (job.shape >= state.shapes.size()) state.shapes.resize(job.shape + 1);
}

// Whether the policy of its queue takes it; not asked of one that was taken before a restart.
std::optional<std::string> refused_by_policy(Scheduler::State& state, const Job& job, Time now) {
  const Queue& queue = state.queue_of(job);
  if (!queue.hooks || job.request.admitted || !queue.hooks->has(Hook::admit)) return std::nullopt;
  Opinion opinion =
      queue.hooks->ask(Hook::admit, state.view_of(job, now), PolicyView(state, queue, now));
  if (opinion.yes.value_or(true)) return std::nullopt;
  return opinion.reason.empty() ? fmt::format("{} refuses it", queue.config.policy)
                                : std::move(opinion.reason);
}

// What is too large for the nodes that are here waits for those that are still to come.
Result<std::optional<std::string>> refused_by_machine(Scheduler::State& state, const Job& job,
                                                      Time now) {
  auto refusal = state.machine->refuses(job.request, now, state.length_of(job));
  const bool is_refused = refusal && *refusal;
  if (!is_refused || !state.config.awaited || state.machine->placeable(job.request) ||
      state.config.awaited().empty())
    return refusal;
  return std::nullopt;
}

void place_in_queue(Scheduler::State& state, Job& job, Time now) {
  if (state.is_ranked(job)) state.rank(job, now);
  job.key = state.key_of(job);
  state.enqueue(job);
}

}  // namespace

Result<std::optional<Reject>> Scheduler::submit(JobRequest request, Time now) {
  State& s = change();
  const JobId id = request.id;
  if (request.advance.value() != 0) return submit_within(s, std::move(request), now);
  const Result<Job*> added = add_job(s, std::move(request));
  if (!added) return tl::unexpected(added.error());
  Job& job = **added;
  Queue& queue = s.queue_of(job);
  const auto forget = [&] { s.forget(id); };
  if (s.qos_of(job).use_reserved) {
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
  if (auto too_large = s.config.limits.refuses(job.procs, s.length_of(job))) {
    forget();
    ++queue.counts.rejected;
    return Reject{id, std::move(*too_large)};
  }
  s.clock = std::max(s.clock, now);
  if (auto unwanted = refused_by_policy(s, job, now)) {
    forget();
    ++queue.counts.rejected;
    return Reject{id, std::move(*unwanted)};
  }
  place_in_queue(s, job, now);
  ++queue.counts.submitted;
  if (!job.request.admitted) s.tell_policy("submit", job, now);
  if (job.request.immediate) s.immediate.push_back(id);
  return std::nullopt;
}

Status Scheduler::recover(JobRequest request, const resource::Allocation& allocation) {
  State& s = change();
  const JobId id = request.id;
  if (request.advance.value() != 0) {
    Status recovered = recover_within(s, std::move(request), allocation);
    if (recovered) s.count_usage(*s.within(id)->state_->find(id));
    return recovered;
  }
  const Result<Job*> added = add_job(s, std::move(request));
  if (!added) return tl::unexpected(added.error());
  const auto refusal = admit(s, (**added).request, s.queue_of(**added), Arrives::with_resources);
  if (!refusal) {
    s.forget(id);
    return tl::unexpected(refusal.error());
  }
  measure(s, **added);
  if (Status held = s.machine->impose((**added).request, allocation); !held) {
    s.forget(id);
    return held;
  }
  (**added).key = s.key_of(**added);
  s.run(**added, allocation.when);
  s.freed();
  return {};
}

Status Scheduler::finish(JobId id, Time now) {
  State& s = change();
  if (Scheduler* inner = s.within(id)) {
    const Job* const within = inner->state_->find(id);
    if (s.counts_usage && within != nullptr && within->place == Job::Place::running) {
      s.fairshare.edit().advance(now);
      s.fairshare.edit().ended(within->request, within->procs);
    }
    Status finished = inner->finish(id, now);
    if (!finished) return finished;
    // What it had in one that is over is free for everybody.
    if (s.advances.at(s.in_advance->at(id)).over(now)) s.freed();
    s.in_advance.edit().erase(id);
    return finished;
  }
  Job* job = s.find(id);
  if (job == nullptr || job->place != Job::Place::running)
    return fail(Errc::not_found, fmt::format("job {} is not running", id.value()));
  s.machine->release(id, now);
  s.intruders.erase(id);
  s.running_by_end.edit().erase({job->planned_end, id});
  s.limiter.edit().ended(*job);
  s.clock = std::max(s.clock, now);
  if (s.counts_usage) {
    s.fairshare.edit().advance(now);
    s.fairshare.edit().ended(job->request, job->procs);
  }
  for (Queue& queue : s.queues)
    if (queue.config.chunk_duration > 0)
      queue.chunk_until = saturating_add(now, queue.config.chunk_duration);
  ++s.queue_of(*job).counts.finished;
  s.tell_policy("finish", *job, now);
  --s.running;
  s.forget(id);
  s.freed();
  s.released = true;
  return {};
}

Status Scheduler::set_end(JobId id, Time end, Time now) {
  State& s = change();
  if (Scheduler* inner = s.within(id)) return inner->set_end(id, end, now);
  Job* job = s.find(id);
  if (job == nullptr || job->place != Job::Place::running)
    return fail(Errc::not_found, fmt::format("job {} is not running", id.value()));
  if (end <= job->started) return fail(Errc::invalid_argument, "a job ends after its start", "end");
  // It holds what it has as long as nobody says that it is over.
  const Time least = saturating_add(std::max(job->started, now), 1);
  end = std::max(std::min(end, s.machine->horizon().end), least);
  s.clock = std::max(s.clock, now);
  // What a job holds that is past its end is settled anew in each pass.
  if (end == job->planned_end || s.intruders.contains(id)) return {};
  Status moved = s.machine->set_end(id, end);
  if (!moved && !s.bookings->empty()) {
    for (std::size_t queue = 0; queue < s.queues.size(); ++queue) s.unbook_queue(queue);
    s.freed();
    moved = s.machine->set_end(id, end);
  }
  if (!moved) return moved;
  s.released = s.released || end < job->planned_end;
  s.moved_end(*job, end);
  s.freed();
  return {};
}

Result<Time> Scheduler::set_limit(JobId id, Duration limit, Time now) {
  State& s = change();
  if (Scheduler* inner = s.within(id)) return inner->set_limit(id, limit, now);
  Job* job = s.find(id);
  if (job == nullptr || job->place != Job::Place::running)
    return fail(Errc::not_found, fmt::format("job {} is not running", id.value()));
  if (limit < 0) return fail(Errc::invalid_argument, "the time limit is negative", "limit");
  const Duration before = std::exchange(job->request.limit, limit);
  const Time end = saturating_add(job->started, s.length_of(*job));
  if (Status moved = set_end(id, end, now); !moved) {
    job->request.limit = before;
    return tl::unexpected(moved.error());
  }
  return job->planned_end;
}

Result<std::optional<Reject>> Scheduler::replace(JobRequest request, Time now) {
  State& s = change();
  const JobId id = request.id;
  if (Scheduler* inner = s.within(id)) {
    const Advance& advance = s.advances.at(s.in_advance->at(id));
    request.advance = {};  // within, it is a job like any other
    return inner->replace(std::move(request), std::max(now, advance.request.when.begin));
  }
  Job* job = s.find(id);
  if (job == nullptr || job->place == Job::Place::running)
    return fail(Errc::not_found, fmt::format("job {} is not pending", id.value()));
  std::vector<QueueCounts> counts;  // it is one job, before and after
  for (const Queue& queue : s.queues) counts.push_back(queue.counts);
  s.tell_policy("cancel", *job, now);
  s.dequeue(*job, now);
  Job before = *job;
  before.booked = false;
  before.why = Why::not_considered;
  s.forget(id);
  auto taken = submit(std::move(request), now);
  for (std::size_t i = 0; i < counts.size(); ++i) s.queues[i].counts = counts[i];
  if (!taken || *taken) {
    place_in_queue(s, s.add(std::make_unique<Job>(std::move(before))), now);
    return taken;
  }
  Job& changed = *s.find(id);
  s.dequeue(changed, now);
  changed.bypassed = before.bypassed;
  changed.fixed_priority = before.fixed_priority;
  changed.uncounted = before.uncounted;
  changed.uncounted_since = before.uncounted_since;
  place_in_queue(s, changed, now);
  return std::nullopt;
}

Status Scheduler::cancel(JobId id, Time now) {
  State& s = change();
  if (Scheduler* inner = s.within(id)) {
    Status cancelled = inner->cancel(id, now);
    if (cancelled) s.in_advance.edit().erase(id);
    return cancelled;
  }
  Job* job = s.find(id);
  if (job == nullptr || job->place == Job::Place::running)
    return fail(Errc::not_found, fmt::format("job {} is not pending", id.value()));
  s.tell_policy("cancel", *job, now);
  s.dequeue(*job, now);
  ++s.queue_of(*job).counts.cancelled;
  s.forget(id);
  return {};
}

namespace {

// `change` sets what the priority comes from.
template <class Change>
Status reprioritize(Scheduler::State& s, JobId id, Change change) {
  Job* job = s.find(id);
  if (job == nullptr) return fail(Errc::not_found, fmt::format("there is no job {}", id.value()));
  ++s.queue_of(*job).counts.reprioritized;
  if (job->place == Job::Place::running) {
    change(*job);
    return {};
  }
  // A promise was made for the old place in the queue.
  s.dequeue(*job, s.clock);
  change(*job);
  place_in_queue(s, *job, s.clock);
  return {};
}

}  // namespace

Status Scheduler::set_urgency(JobId id, std::uint32_t urgency) {
  if (urgency > kUrgencyExpedite)
    return fail(Errc::invalid_argument, fmt::format("urgency {} is not from 0 to 31", urgency),
                "urgency");
  if (Scheduler* inner = change().within(id)) return inner->set_urgency(id, urgency);
  return reprioritize(*state_, id, [urgency](Job& job) {
    job.request.urgency = urgency;
    job.fixed_priority.reset();
  });
}

Status Scheduler::set_priority(JobId id, std::int64_t priority) {
  if (Scheduler* inner = change().within(id)) return inner->set_priority(id, priority);
  return reprioritize(*state_, id, [priority](Job& job) { job.fixed_priority = priority; });
}

Status Scheduler::enable_queue(const std::string& name, bool enabled) {
  const Result<std::size_t> queue = queue_index(change(), name);
  if (!queue) return tl::unexpected(queue.error());
  state_->queues[*queue].enabled = enabled;
  for (auto& [id, advance] : state_->advances)
    if (Status told = advance.inner->enable_queue(name, enabled); !told) return told;
  return {};
}

Status Scheduler::start_queue(const std::string& name, bool started) {
  const Result<std::size_t> queue = queue_index(change(), name);
  if (!queue) return tl::unexpected(queue.error());
  state_->queues[*queue].started = started;
  // Promises that cannot be kept meanwhile are in nobody's way.
  if (!started) state_->unbook_queue(*queue);
  state_->freed();
  for (auto& [id, advance] : state_->advances)
    if (Status told = advance.inner->start_queue(name, started); !told) return told;
  return {};
}

void Scheduler::resources_changed() {
  State& s = change();
  s.machine->resources_changed();
  for (auto& [id, advance] : s.advances) advance.inner->resources_changed();
  for (JobId id : std::exchange(s.aside.edit(), {})) {
    place_in_queue(s, *s.find(id), s.clock);
  }
  s.freed();
}

StepResult Scheduler::step(Time now, Budget budget) {
  return Pass(change(), now, budget).run();
}

std::size_t Scheduler::pending() const {
  std::size_t pending = state_->jobs().size() - state_->running;
  for (const auto& [id, advance] : state_->advances) pending += advance.inner->pending();
  return pending;
}
std::size_t Scheduler::running() const {
  std::size_t running = state_->running;
  for (const auto& [id, advance] : state_->advances) running += advance.inner->running();
  return running;
}
const SchedulerConfig& Scheduler::config() const {
  return state_->config;
}

void Scheduler::check_invariants() const {
  const State& s = *state_;
  s.machine->check_invariants();
  for (const auto& [id, advance] : s.advances) advance.inner->check_invariants();
  for (const auto& [job, advance] : *s.in_advance)
    if (!s.advances.contains(advance) || s.within(job)->state_->find(job) == nullptr) std::abort();
  std::size_t listed = 0;
  std::size_t held = 0;
  std::size_t running = 0;
  std::size_t booked = 0;
  for (const Queue& queue : s.queues) {
    listed += queue.pending.size();
    held += queue.held;
  }
  for (const auto& [id, job] : s.jobs()) {
    if (job->place == Job::Place::pending) --listed;
    if (job->place == Job::Place::held) --held;
    if (job->place == Job::Place::running && !s.running_by_end->contains({job->planned_end, id}))
      std::abort();
    if (job->booked &&
        (job->place != Job::Place::pending || !s.bookings->contains({*job->planned, id})))
      std::abort();
    if (job->place == Job::Place::aside && !s.aside->contains(id)) std::abort();
    running += job->place == Job::Place::running;
    booked += job->booked;
  }
  if (listed != 0 || held != 0 || running != s.running || running != s.running_by_end->size() ||
      booked != s.bookings->size())
    std::abort();
}

}  // namespace holon::qmanager
