// advance.cpp - advance reservations. Each is a scheduler of its own over the resources it holds: a
// whole that is a part. Source: Grid Engine's qrsub(1).
#include "qmanager/engine/advance.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "qmanager/engine/admit.hpp"
#include "qmanager/engine/pass/pass.hpp"
#include "qmanager/reason.hpp"
#include "qmanager/slots.hpp"

namespace holon::qmanager {

using resource::Allocation;

namespace {

// The configuration inside an advance reservation: no limits, no slots of queues or environments;
// its pools have the amounts that were reserved.
SchedulerConfig config_within(const SchedulerConfig& outside, const JobRequest& asked,
                              std::int64_t slots) {
  SchedulerConfig config = outside;
  config.awaited = {};
  config.limits = {};
  config.pools.clear();
  for (const Consumes& use : asked.consumes)
    config.pools[use.pool] += use.per_slot ? use.amount * slots : use.amount;
  for (auto& [name, queue] : config.queues) {
    queue.pools.clear();
    queue.slots.reset();
  }
  for (auto& [name, environment] : config.environments) environment.slots.reset();
  return config;
}

// REQUIRES: the resources are held under its number, as for `held`.
Status open(Scheduler::State& s, AdvanceRequest request, const JobRequest& held) {
  const JobId id = request.resources.id;
  Result<std::unique_ptr<Machine>> machine = s.plan().machine->part(id);
  if (!machine) return tl::unexpected(machine.error());
  request.resources.procs = s.plan().machine->procs_held(id);
  request.resources.queue = held.queue;
  const std::int64_t slots = slots_with(held, request.resources.procs);
  auto inner =
      Scheduler::create(config_within(s.config(), request.resources, slots), std::move(*machine));
  if (!inner) return tl::unexpected(inner.error());
  Advance advance;
  advance.environment = s.plan().machine->settled(held).environment;
  advance.slots = slots;
  advance.inner = std::make_unique<Scheduler>(std::move(*inner));
  // The queues inside have the gates of the queues outside.
  for (const Queue& queue : s.queues().all) {
    if (!queue.enabled) static_cast<void>(advance.inner->enable_queue(queue.name, false));
    if (!queue.started) static_cast<void>(advance.inner->start_queue(queue.name, false));
    if (s.config().queues.at(queue.name).policy == queue.config.policy && !queue.hooks) continue;
    // The policy is the outside's too, which set_policy() may have changed by now.
    const Status set = advance.inner->set_policy(queue.name, queue.config.policy, queue.program,
                                                 s.progress().clock);
    if (!set) return set;
  }
  advance.request = std::move(request);
  s.advances().all.emplace(id, std::move(advance));
  return {};
}

Status check_new(const Scheduler::State& s, const AdvanceRequest& request) {
  const JobId id = request.resources.id;
  if (s.jobs().find(id) != nullptr || s.advances().of_job->contains(id) ||
      s.advances().all.contains(id))
    return fail(Errc::exists, fmt::format("number {} is taken", id.value()));
  if (request.when.empty() || request.when.end == kTimeMax)
    return fail(Errc::invalid_argument, "an advance reservation ends after it begins", "when");
  return {};
}

// The queue whose rules hold for the reservation, as they would for a job.
Result<const Queue*> queue_for(const Scheduler::State& s, const JobRequest& asked) {
  const std::string& name = asked.queue.empty() ? s.config().default_queue : asked.queue;
  for (const Queue& queue : s.queues().all)
    if (queue.name == name) return &queue;
  return fail(Errc::not_found, fmt::format("there is no queue \"{}\"", name), "queue");
}

bool may_use(const AdvanceRequest& advance, const std::string& user) {
  const auto& users = advance.users;
  return user == advance.resources.user ||
         std::find(users.begin(), users.end(), user) != users.end() ||
         std::find(users.begin(), users.end(), "*") != users.end();
}

// The resources of a reservation, held under its number, or why they are not.
struct HeldAhead {
  std::optional<Reject> refused;
  JobRequest held;                  // the resources asked for, as their queue makes them
  std::vector<Decision> decisions;  // of the pass that made way
};

Result<HeldAhead> hold_ahead(Scheduler::State& s, const AdvanceRequest& request, Time now) {
  const JobId id = request.resources.id;
  const auto refused = [id](std::string reason) {
    return HeldAhead{Reject{id, std::move(reason)}, {}, {}};
  };
  if (Status sound = check_new(s, request); !sound) return tl::unexpected(sound.error());
  HeldAhead ahead{{}, request.resources, {}};
  JobRequest& held = ahead.held;
  const Result<const Queue*> queue = queue_for(s, held);
  if (!queue) return tl::unexpected(queue.error());
  held.queue = (*queue)->name;
  auto refusal = admit(s, held, **queue);
  if (refusal && !*refusal) refusal = s.plan().machine->refuses(held, now, request.when.length());
  if (!refusal) return tl::unexpected(refusal.error());
  if (*refusal) return refused(std::move(**refusal));
  if (held.procs <= 0) held.procs = s.plan().machine->procs_of(held);
  ahead.decisions = make_way(s, now);
  Machine::Outcome outcome = s.plan().machine->hold_exactly(held, request.when, now);
  if (std::holds_alternative<Allocation>(outcome)) return ahead;
  const auto* not_now = std::get_if<resource::NotNow>(&outcome);
  const std::string outage = told_outage(s);
  return refused((not_now != nullptr && !not_now->reason.empty()
                      ? "what it asks for is not free then: " + not_now->reason
                      : std::string("what it asks for is not free over that time")) +
                 (outage.empty() ? "" : "; " + outage));
}

}  // namespace

// A fork is asked first, so that a refused request changes nothing.
Result<ReservedAhead> Scheduler::reserve_ahead(AdvanceRequest request, Time now) {
  request.when.begin = std::max(request.when.begin, now);
  const Result<HeldAhead> asked = hold_ahead(*state_->fork(), request, now);
  if (!asked) return tl::unexpected(asked.error());
  if (asked->refused) return ReservedAhead{asked->refused, {}};
  State& s = change();
  Result<HeldAhead> ahead = hold_ahead(s, request, now);
  if (!ahead) return tl::unexpected(ahead.error());
  if (!ahead->refused) {
    ++s.plan().version;
    const JobId id = request.resources.id;
    if (Status opened = open(s, std::move(request), ahead->held); !opened) {
      s.plan().machine->release(id, now);
      return tl::unexpected(opened.error());
    }
  }
  return ReservedAhead{std::move(ahead->refused), std::move(ahead->decisions)};
}

Status Scheduler::recover_advance(AdvanceRequest request, const Allocation& allocation) {
  State& s = change();
  request.when = allocation.when;
  if (Status sound = check_new(s, request); !sound) return sound;
  const Result<const Queue*> queue = queue_for(s, request.resources);
  if (!queue) return tl::unexpected(queue.error());
  JobRequest held = request.resources;
  held.queue = (*queue)->name;
  if (const auto refusal = admit(s, held, **queue, Arrives::with_resources); !refusal)
    return tl::unexpected(refusal.error());
  s.plan().machine->settle();
  if (Status imposed = s.plan().machine->impose(held, allocation); !imposed) return imposed;
  freed(s);
  return open(s, std::move(request), held);
}

Result<std::vector<JobId>> Scheduler::cancel_advance(JobId id, Time now) {
  State& s = change();
  const auto found = s.advances().all.find(id);
  if (found == s.advances().all.end())
    return fail(Errc::not_found, fmt::format("there is no advance reservation {}", id.value()));
  found->second.cancelled = true;
  s.progress().clock = std::max(s.progress().clock, now);
  s.progress().dirty = true;  // the next step sends its waiting jobs away
  std::vector<JobId> running;
  const State& inner = *found->second.inner->state_;
  for (const auto& [end, job] : *inner.plan().running) running.push_back(job);
  std::sort(running.begin(), running.end());
  return running;
}

std::vector<AdvanceStatus> Scheduler::advances() const {
  std::vector<AdvanceStatus> all;
  for (const auto& [id, advance] : state_->advances().all) {
    AdvanceStatus status;
    status.request = advance.request;
    const Interval when = advance.request.when;
    if (advance.cancelled || state_->progress().clock >= when.end)
      status.phase = AdvanceStatus::Phase::ending;
    else if (state_->progress().clock >= when.begin)
      status.phase = AdvanceStatus::Phase::active;
    status.pending = advance.inner->pending();
    status.running = advance.inner->running();
    status.procs = state_->plan().machine->procs_held(id);
    status.allocation = state_->plan().machine->holding(id);
    all.push_back(std::move(status));
  }
  return all;
}

bool Scheduler::may_use_advance(JobId id, const std::string& user) const {
  const auto advance = state_->advances().all.find(id);
  return advance != state_->advances().all.end() && may_use(advance->second.request, user);
}

// ---- jobs within

namespace {

// For a job within, the reservation is the whole machine: "this instance" in a refusal means the
// reservation.
std::string said_of(JobId advance, std::string reason) {
  static constexpr std::string_view kWhole = "this instance";
  const std::string name = fmt::format("advance reservation {}", advance.value());
  for (auto at = reason.find(kWhole); at != std::string::npos;
       at = reason.find(kWhole, at + name.size()))
    reason.replace(at, kWhole.size(), name);
  return reason;
}

}  // namespace

Result<std::optional<Reject>> submit_within(Scheduler::State& s, JobRequest job, Time now) {
  const JobId id = job.id;
  const auto found = s.advances().all.find(job.advance);
  if (found == s.advances().all.end() || found->second.cancelled ||
      now >= found->second.request.when.end)
    return Reject{id, fmt::format("there is no advance reservation {}", job.advance.value())};
  if (s.jobs().find(id) != nullptr || s.advances().of_job->contains(id) ||
      s.advances().all.contains(id))
    return fail(Errc::exists, job_in_words(id, s.config().job_text) + " is here already");
  const AdvanceRequest& advance = found->second.request;
  if (!may_use(advance, job.user))
    return Reject{id, fmt::format("advance reservation {} is not for user \"{}\"",
                                  job.advance.value(), job.user)};
  if (job.limit > advance.when.length())
    return Reject{id, fmt::format("asks for {}, advance reservation {} lasts {}",
                                  s.config().length_text(job.limit), job.advance.value(),
                                  s.config().length_text(advance.when.length()))};
  job.advance = {};  // the scheduler within takes it as an ordinary job
  auto refused = found->second.inner->submit(std::move(job), std::max(now, advance.when.begin));
  if (!refused) return refused;
  if (*refused)
    (*refused)->reason = said_of(found->first, std::move((*refused)->reason));
  else
    s.advances().of_job.edit().emplace(id, found->first);
  return refused;
}

Status recover_within(Scheduler::State& s, JobRequest job, const Allocation& allocation) {
  const JobId id = job.id;
  const auto found = s.advances().all.find(job.advance);
  if (found == s.advances().all.end())
    return fail(Errc::not_found,
                fmt::format("there is no advance reservation {}", job.advance.value()));
  const JobId advance = found->first;
  job.advance = {};
  Status recovered = found->second.inner->recover(std::move(job), allocation);
  if (recovered) s.advances().of_job.edit().emplace(id, advance);
  return recovered;
}

}  // namespace holon::qmanager
