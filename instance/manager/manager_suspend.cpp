// The part of the JobManager that stops running jobs for a while (`holon suspend`, `holon resume`).
//
// A suspended job keeps what it holds, and its time limit counts on: the reservations of waiting
// jobs begin at its end. The journal has that the job is suspended; an agent that was away, or lost
// the message, is told at its next hello.
#include <fmt/core.h>

#include <set>

#include "instance/manager/manager.hpp"

namespace holon::instance {

Status JobManager::may_suspend(const ActiveJob& job) const {
  const std::string path = shown_path(job.id);
  const auto no = [](std::string why) { return fail(Errc::denied, std::move(why)); };
  if (is_array(job))
    return no(fmt::format("job {0} is an array: tasks of it can be suspended ({0}.1)", path));
  if (is_pending(job.life.state)) return no(fmt::format("job {} has not started", path));
  if (job.life.state != JobState::run) return no(fmt::format("job {} is being ended", path));
  if (job.submission->is_instance)
    return no(fmt::format(
        "job {0} is an instance: the jobs in it can be suspended (holon suspend -i {0})", path));
  if (job.submission->wishes.runs_nothing())
    return no(fmt::format("job {} is a grant, and runs nothing", path));
  if (next_step(job.life) == Step::watch) return {};
  return no(fmt::format("tasks of job {} are still being started", path));
}

Status JobManager::suspend(const std::vector<std::uint64_t>& ids, bool suspend, Time now) {
  std::vector<ActiveJob*> jobs;
  for (const auto id : std::set<std::uint64_t>(ids.begin(), ids.end())) {
    const auto job = find_active(JobId(id));
    if (!job) return tl::unexpected(job.error());
    if (auto may = may_suspend(**job); !may) return may;
    jobs.push_back(*job);
  }
  for (ActiveJob* const job : jobs) {
    if ((job->life.suspended != 0) == suspend) continue;
    if (suspend)
      post(*job, event::Suspend{}, now);
    else
      post(*job, event::Resume{}, now);
    outside_.changed(*job);
  }
  return {};
}

}  // namespace holon::instance
