#include "qmanager/engine/pass/serving.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace holon::qmanager {

namespace {

void send_away(Advances& advances, Advance& advance, Time now, const std::string& reason,
               Deciding& deciding) {
  std::vector<JobId> all;
  for (const auto& [id, job] : advance.inner->state().jobs().all()) all.push_back(id);
  std::sort(all.begin(), all.end());
  for (const JobId id : all) {
    if (!advance.inner->cancel(id, now)) continue;  // it runs, and that has been told
    advances.of_job.edit().erase(id);
    deciding.pass_on(Reject{id, reason});
  }
}

// True: no job of the reservation runs any more, and its resources are free.
bool close_advance(Parts<Plan, Progress, Queues, Advances> s, JobId id, Advance& advance, Time now,
                   Deciding& deciding) {
  send_away(s.advances(), advance, now,
            fmt::format("advance reservation {} {}", id.value(),
                        advance.cancelled ? "was cancelled" : "is over"),
            deciding);
  if (advance.inner->running() > 0) return false;
  const std::vector<QueueStatus> within = advance.inner->queues();
  for (std::size_t i = 0; i < within.size(); ++i)
    s.queues().all[i].in_advances.add(within[i].counts);
  s.plan().machine->release(id, now);
  s.advances().intruders.erase(id);
  freed(s);
  return true;
}

StepResult step_within(Parts<Accounts, Advances> s, Advance& advance, Time now, Budget budget,
                       Deciding& deciding) {
  StepResult step = advance.inner->step(now, budget);
  for (Decision& decision : step.decisions) {
    if (const auto* reject = std::get_if<Reject>(&decision))
      s.advances().of_job.edit().erase(reject->job);
    if (const auto* start = std::get_if<Start>(&decision))
      s.accounts().job_runs(*advance.inner->state().jobs().find(start->job));
    deciding.pass_on(std::move(decision));
  }
  return step;
}

}  // namespace

void close_advances(Parts<Plan, Progress, Queues, Advances> s, Time now, Deciding& deciding) {
  auto& all = s.advances().all;
  for (auto at = all.begin(); at != all.end();)
    at = at->second.over(now) && close_advance(s, at->first, at->second, now, deciding)
             ? all.erase(at)
             : std::next(at);
}

Served serve_advances(Parts<Accounts, Advances> s, Time now, Budget budget, Deciding& deciding) {
  Served served;
  const auto wake_at = [&](Time t) {
    if (t > now && t != kTimeMax && (!served.wake || t < *served.wake)) served.wake = t;
  };
  for (auto& [id, advance] : s.advances().all) {
    const Interval when = advance.request.when;
    if (advance.over(now)) {
      wake_at(s.advances().intruders.at(id).when.end);
    } else if (now < when.begin) {
      wake_at(when.begin);
    } else {
      const StepResult step = step_within(s, advance, now, budget, deciding);
      served.more = served.more || step.more;
      if (step.wake) wake_at(*step.wake);
      wake_at(when.end);
    }
  }
  return served;
}

}  // namespace holon::qmanager
