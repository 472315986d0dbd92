// The part of the JobManager that lets jobs wait for some tasks of an array ("afterok:7.3-9").
//
// A job waits for several tasks one at a time, and judges them once none has to be waited for any
// more: a job that waits for a million tasks is looked at once for each, and each look takes O(log)
// of what is active. The results are read from the journal once, at the last look.
#include <fmt/core.h>

#include "instance/job/array.hpp"
#include "instance/manager/manager.hpp"

namespace holon::instance {

// Errors: those of shape_of_array() and ArrayShape::numbers_of().
Result<Idset> JobManager::tasks_named(const Dependency& dependency) const {
  const auto shape = shape_of_array(dependency.job);
  if (!shape) return tl::unexpected(shape.error());
  return shape->numbers_of(dependency.indices);
}

// The first of these tasks that is not over (for `after`: that has not started, either); 0: there
// is none.
JobId JobManager::next_awaited(const Dependency& dependency, const Idset& numbers) const {
  for (const auto& range : numbers.ranges()) {
    JobId at(range.first - 1);
    while (true) {
      at = next_task(at, false);
      if (at.value() == 0 || at.value() > range.last) break;
      const ActiveJob* const job = find(at);
      if (dependency.scheme != Dependency::Scheme::after || job == nullptr || !job->life.started)
        return at;
    }
  }
  return JobId(0);
}

JobId JobManager::next_awaited(const Dependency& dependency) const {
  const auto numbers = tasks_named(dependency);
  return numbers ? next_awaited(dependency, *numbers) : JobId(0);
}

Standing JobManager::standing_of_tasks(const Dependency& dependency, Time now) const {
  const auto shape = shape_of_array(dependency.job);
  const auto numbers = tasks_named(dependency);
  // The journal has forgotten the array.
  if (!shape || !numbers) return judge(dependency, {false, "unknown"}, now, job_text());
  if (const JobId awaited = next_awaited(dependency, *numbers); awaited.value() != 0)
    return judge(dependency, {false, {}, awaited}, now, job_text());
  Standing all;
  const auto read = journal_.each_ended(
      JobId(shape->id.value() + 1), shape->tasks,
      [&](const EndedTasks& tasks, const std::string& result) {
        if (all.verdict != Standing::Verdict::met) return;
        Idset these;
        these.insert(tasks.first.value(), tasks.first.value() + tasks.count - 1);
        if (tasks.count > 1) these = common(these, *numbers);
        if (these.empty() || !numbers->contains(these.first())) return;
        // The first task stands for all: they are one row.
        const JobId first(these.first());
        const bool started =
            dependency.scheme != Dependency::Scheme::after || state_of_target(first).started;
        all = judge(dependency, {started, result, first}, now, job_text());
      });
  if (!read) return judge(dependency, {false, "unknown"}, now, job_text());
  return all;
}

}  // namespace holon::instance
