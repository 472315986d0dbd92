// The part of the JobManager that lets each task of an array wait for the task at the same place of
// another array (aftercorr).
//
// The results of tasks are in the journal, so nothing has to be kept about them: a restarted broker
// looks at all of them once, and from then on at those that end. That is done in the next turn,
// never in the middle of an end: a chain of such arrays may be long.
#include <fmt/core.h>

#include <algorithm>

#include "instance/job/array.hpp"
#include "instance/manager/manager.hpp"

namespace holon::instance {
namespace {

std::vector<JobId> targets_of(const Submission& submission) {
  std::vector<JobId> targets;
  for (const Dependency& d : submission.dependencies)
    if (d.scheme == Dependency::Scheme::aftercorr) targets.push_back(d.job);
  return targets;
}

// The task of `to` at the same place.
JobId counterpart(JobId task, JobId from, JobId to) {
  return JobId(task.value() - from.value() + to.value());
}

event::Exception never_met(JobId target, JobId task, const JobText& text) {
  return {"dependency", 0,
          fmt::format("aftercorr:{} can never be met: its task of the same place, {}, did not "
                      "complete",
                      target.value(), job_in_words(task, text))};
}

}  // namespace

// Errors: not_found, invalid_argument (one of them is no array, or they differ in size).
Status JobManager::check_counterparts(const Submission& submission, const Dependency& dependency,
                                      std::size_t place) const {
  const std::string where = fmt::format("/attributes/system/dependencies/{}", place);
  if (!submission.wishes.array)
    return fail(Errc::invalid_argument,
                dependency.text + ": only an array can wait task by task; afterok waits for all",
                where);
  if (submission.wishes.array->open)
    return fail(Errc::unsupported,
                dependency.text + ": an open array cannot wait task by task; afterok waits for all",
                where);
  if (const auto open = arrays_.find(dependency.job); open != arrays_.end() && open->second.open)
    return fail(Errc::denied,
                fmt::format("{}: array {} is open; `holon close {}` says that it has all its tasks",
                            dependency.text, dependency.job.value(), dependency.job.value()),
                where);
  const auto target = shape_of_array(dependency.job);
  if (!target)
    return fail(target.error().code, dependency.text + ": " + target.error().what, where);
  if (target->tasks == submission.count) return {};
  return fail(Errc::invalid_argument,
              fmt::format("{}: array {} has {} tasks, and this one {}; as many are accepted",
                          dependency.text, dependency.job.value(), target->tasks, submission.count),
              where);
}

void JobManager::block_tasks(JobArray& array) {
  const auto targets = targets_of(*array.submission);
  if (targets.empty()) return;
  array.blocked = std::exchange(array.waiting, {});
  for (const JobId target : targets) counterparts_.emplace(target, array.id);
  to_unblock_.insert(array.id);
  dirty_ = true;
}

// Notes that tasks of `array` are over.
void JobManager::tell_counterparts(JobId array, JobId first, JobId last,
                                   const std::string& result) {
  if (!counterparts_.contains(array)) return;
  ended_since_.push_back({array, first, last, result == "COMPLETED"});
  dirty_ = true;
}

// Settles all tasks whose counterparts are over. O(tasks over of the arrays waited for).
void JobManager::unblock(JobArray& array, Time now) {
  Idset free = array.blocked;
  std::vector<std::pair<Idset::Range, event::Exception>> never;
  for (const JobId target : targets_of(*array.submission)) {
    Idset completed;
    static_cast<void>(journal_.each_ended(
        JobId(target.value() + 1), array.count(),
        [&](const EndedTasks& tasks, const std::string& result) {
          const std::uint64_t first = counterpart(tasks.first, target, array.id).value();
          if (result == "COMPLETED")
            completed.insert(first, first + tasks.count - 1);
          else
            never.push_back(
                {{first, first + tasks.count - 1}, never_met(target, tasks.first, job_text())});
        }));
    free = common(free, completed);
  }
  const JobId id = array.id;
  array.blocked = without(array.blocked, free);
  for (const auto& range : free.ranges()) array.waiting.insert(range.first, range.last);
  if (!free.empty()) hungry_.insert(id);
  for (const auto& [range, why] : never) {
    Idset these;
    these.insert(range.first, range.last);
    const Idset affected = common(array.blocked, these);
    end_waiting(array, affected, why, now);
  }
  settle_array(id, now);
}

// Tasks first .. last of a blocked array may be queued, but only those whose counterparts have all
// completed.
void JobManager::let_in(JobArray& array, JobId first, JobId last) {
  const auto targets = targets_of(*array.submission);
  const auto is_free = [&](JobId task) {
    return std::all_of(targets.begin(), targets.end(), [&](JobId target) {
      return state_of_target(counterpart(task, array.id, target)).result == "COMPLETED";
    });
  };
  for (JobId task = first; task <= last; task = JobId(task.value() + 1)) {
    if (targets.size() > 1 && !is_free(task)) continue;
    array.blocked.erase(task.value());
    array.waiting.insert(task.value());
    hungry_.insert(array.id);
  }
}

// Some tasks of an array, `ended`, are over, and tasks of `waiter` wait for them.
void JobManager::settle_ended(const EndedRange& ended, JobId waiter, Time now) {
  const auto found = arrays_.find(waiter);
  if (found == arrays_.end()) return;
  JobArray& array = found->second;
  Idset these;
  these.insert(counterpart(ended.first, ended.array, waiter).value(),
               counterpart(ended.last, ended.array, waiter).value());
  const Idset affected = common(array.blocked, these);
  for (const auto& range : affected.ranges())
    if (ended.completed)
      let_in(array, JobId(range.first), JobId(range.last));
    else
      end_waiting(array, JobId(range.first), JobId(range.last),
                  never_met(ended.array, ended.first, job_text()), now);
  settle_array(waiter, now);
}

void JobManager::settle_counterparts(Time now) {
  if (to_unblock_.empty() && ended_since_.empty()) return;
  for (const JobId id : std::exchange(to_unblock_, {}))
    if (const auto found = arrays_.find(id); found != arrays_.end()) unblock(found->second, now);
  for (const EndedRange& ended : std::exchange(ended_since_, {})) {
    std::vector<JobId> waiters;
    const auto [begin, end] = counterparts_.equal_range(ended.array);
    for (auto it = begin; it != end; ++it) waiters.push_back(it->second);
    for (const JobId waiter : waiters) settle_ended(ended, waiter, now);
  }
  if (!ended_since_.empty()) dirty_ = true;
  std::erase_if(counterparts_, [this](const auto& pair) { return !arrays_.contains(pair.second); });
}

std::string JobManager::wait_of_blocked(const JobArray& array, JobId task) const {
  for (const JobId target : targets_of(*array.submission)) {
    const JobId other = counterpart(task, array.id, target);
    if (is_active(other))
      return fmt::format("waits for {}, the same task of array {}, to complete",
                         job_in_words(other, job_text()), target.value());
  }
  return "waits for the same task of another array";
}

}  // namespace holon::instance
