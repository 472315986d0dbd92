#include "qmanager/engine/pass/overruns.hpp"

#include <algorithm>
#include <functional>

#include "qmanager/engine/pass/replan.hpp"

namespace holon::qmanager {

// A job past its planned end is assumed to need a sixteenth of its age more: few corrections for
// jobs that overrun for long, short waits for the others.
Time stretched_end(Time began, Time now) {
  return saturating_add(now, std::max<Duration>(1, distance(began, now) / 16));
}

namespace {

// Only the end of the resources' lease, beyond which nothing is planned, or an advance reservation
// can be in the way now: up to it the job keeps its units, then it intrudes. Returns the new end.
Time stretch(Parts<const SchedulerConfig, Plan, Advances> s, const Job& job, Time now) {
  const JobId id = job.request.id;
  look_at(s.config(), id);
  std::vector<Time> ends{stretched_end(job.started, now)};
  for (const auto& [advance, held] : s.advances().all)
    if (held.request.when.begin > now) ends.push_back(held.request.when.begin);
  std::sort(ends.begin() + 1, ends.end(), std::greater<>());
  for (const Time end : ends) {
    if (end <= ends.front() && s.plan().machine->set_end(id, end)) return end;
  }
  if (!s.advances().all.empty() && now < s.plan().machine->horizon().end)
    s.advances().intruders.emplace(id,
                                   Intruder{s.plan().machine->units_of(id), {job.started, now}});
  return kTimeMax;
}

}  // namespace

void hold_overruns(Parts<const SchedulerConfig, Jobs, Plan, Progress, Queues, Accounts, Advances> s,
                   Time now) {
  if (s.progress().boundary && now >= *s.progress().boundary) freed(s);
  if (s.config().ends_on_limit)
    for (const auto& [end, id] : *s.plan().running) {
      if (end > now) break;
      s.plan().machine->vacate(id, now);
    }
  const Time late = s.config().ends_on_limit ? now : saturating_add(now, 1);
  std::vector<JobId> over;
  for (const auto& [end, id] : *s.plan().running) {
    if (end >= late) break;
    over.push_back(id);
  }
  if (over.empty()) return;
  drop_reservations(s, now, Kept::go);
  freed(s);
  s.progress().sliced = false;
  for (JobId id : over) {
    if (s.advances().intruders.contains(id)) continue;  // hold_intruders() sees to it
    Job& job = *s.jobs().find(id);
    moved_end(s, job, stretch(s, job, now));
  }
}

}  // namespace holon::qmanager
