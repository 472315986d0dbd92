// lend.cpp - a running job that others use a part of until a time, and a job that is given exactly
// these resources.
//
// What comes back to the job is a span of the machine's plan that begins then, under a number of
// its own: whatever is placed on it ends before, and the job's end is that of both.
#include <algorithm>

#include <fmt/core.h>

#include "qmanager/engine/state.hpp"
#include "qmanager/reason.hpp"
#include "qmanager/scheduler.hpp"

namespace holon::qmanager {

using resource::Allocation;

namespace {

constexpr std::uint64_t kLentNumbers = std::uint64_t{1} << 62;  // no job has one of these
constexpr std::uint64_t kMostParts = 1024;                      // of a job

JobRequest holder_of(const Job& job, std::size_t part) {
  JobRequest holder;
  holder.id = number_of_part(job.request.id, part);
  holder.spec = job.request.spec;
  return holder;
}

void let_go(Scheduler::State& s, const Job& job, Time now) {
  s.plan().machine->release(job.request.id, now);
  release_lent(s, job, now);
}

// What the job has back of a part, and for how long: no time, if it is over before. What is late to
// come back comes back from the next moment on: whoever has it until then is past the time of the
// loan, and is held there from moment to moment.
Allocation part_back(const Job& job, const LentParts& lent, std::size_t part, Time end, Time now) {
  Allocation back = lent.parts[part];
  back.job = number_of_part(job.request.id, part);
  back.when = {std::max({job.started, back.when.begin, saturating_add(now, 1)}), end};
  return back;
}

// REQUIRES: nothing of it is held.
Status hold(Scheduler::State& s, const Job& job, const LentParts& lent, Time end, Time now) {
  Allocation rest = lent.rest;
  rest.job = job.request.id;
  rest.when = {job.started, end};
  if (Status held = s.plan().machine->impose(job.request, rest); !held) return held;
  for (std::size_t i = 0; i < lent.parts.size(); ++i) {
    const Allocation part = part_back(job, lent, i, end, now);
    if (part.when.empty()) continue;
    if (Status held = s.plan().machine->impose(holder_of(job, i), part); !held) return held;
    s.plan().lent.edit().emplace(part.when.begin, job.request.id);
  }
  return {};
}

void drop_all_reservations(Scheduler::State& s) {
  for (std::size_t queue = 0; queue < s.queues().all.size(); ++queue)
    unreserve_queue(s, queue, s.progress().clock);
  freed(s);
  s.progress().sliced = false;
}

}  // namespace

JobId number_of_part(JobId job, std::size_t part) {
  return JobId(kLentNumbers + job.value() * kMostParts + part);
}

JobId owner_of(JobId number) {
  return number.value() < kLentNumbers ? number
                                       : JobId((number.value() - kLentNumbers) / kMostParts);
}

// A part that could not be held is let go of with the others.
Status hold_lent(Scheduler::State& s, Job& job, const LentParts& lent, Time end, Time now) {
  const auto intruder = s.advances().intruders.find(job.request.id);
  if (intruder != s.advances().intruders.end() && lent.parts.empty()) {
    // What it holds beside an advance reservation is settled anew in each pass.
    release_lent(s, job, now);
    job.lent.reset();
    intruder->second.uses.allocation = lent.rest;
    freed(s);
    s.progress().released = true;
    return {};
  }
  const Allocation before = s.plan().machine->holding(job.request.id);
  const LentParts old = job.lent ? *job.lent : LentParts{before, {}};
  s.plan().machine->settle();
  let_go(s, job, now);
  job.lent = lent;
  Status held = hold(s, job, lent, end, now);
  if (!held) {
    let_go(s, job, now);
    drop_all_reservations(s);
    held = hold(s, job, lent, end, now);
  }
  if (!held) {
    let_go(s, job, now);
    job.lent = old;
    static_cast<void>(hold(s, job, old, job.planned_end, now));  // as it was a moment ago
  }
  if (job.lent && job.lent->parts.empty()) job.lent.reset();
  freed(s);
  s.progress().released = true;
  return held;
}

void release_lent(Scheduler::State& s, const Job& job, Time now) {
  if (!job.lent) return;
  for (std::size_t i = 0; i < job.lent->parts.size(); ++i)
    s.plan().machine->release(holder_of(job, i).id, now);
  std::erase_if(s.plan().lent.edit(),
                [&](const auto& back) { return back.second == job.request.id; });
}

void end_lent_by(Machine& machine, const Job& job, Time end, Time now) {
  if (!job.lent) return;
  for (std::size_t i = 0; i < job.lent->parts.size(); ++i) {
    const JobRequest holder = holder_of(job, i);
    machine.release(holder.id, now);
    const Allocation part = part_back(job, *job.lent, i, end, now);
    if (!part.when.empty()) static_cast<void>(machine.impose(holder, part));
  }
}

Status Scheduler::set_lent(JobId id, const LentParts& lent, Time now) {
  State& s = change();
  if (Scheduler* inner = s.advances().within(id)) return inner->set_lent(id, lent, now);
  Job* const job = s.jobs().find(id);
  if (job == nullptr || job->place != Job::Place::running)
    return fail(Errc::not_found, job_in_words(id, s.config().job_text) + " is not running");
  if (lent.parts.size() > kMostParts)
    return fail(Errc::out_of_range, fmt::format("it lends {} parts; at most {} are accepted",
                                                lent.parts.size(), kMostParts));
  s.progress().clock = std::max(s.progress().clock, now);
  return hold_lent(s, *job, lent, job->planned_end, now);
}

Status Scheduler::start_on(const JobRequest& request, const Allocation& allocation, Time now) {
  State& s = change();
  s.progress().clock = std::max(s.progress().clock, now);
  s.plan().machine->settle();
  if (recover(request, allocation)) return {};
  drop_all_reservations(s);
  return recover(request, allocation);
}

}  // namespace holon::qmanager
