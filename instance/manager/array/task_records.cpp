// The part of the JobManager that shows the tasks of an array to callers that count them: many at a
// time, and without asking the scheduler about each.
#include "instance/job/array.hpp"
#include "instance/job/ended.hpp"
#include "instance/manager/manager.hpp"

namespace holon::instance {

msg::JobRecord JobManager::bare_record(const ActiveJob& job) const {
  auto record = record_of_job(job, path_, output_directory_, clock_);
  record.queue = queue_of(*job.submission);
  return record;
}

void JobManager::add_active_tasks(const JobArray& array, TaskRecords& tasks) const {
  const JobId last(array.id.value() + array.count());
  for (auto task = jobs_.upper_bound(array.id); task != jobs_.end() && task->first <= last; ++task)
    tasks.records.emplace_back(bare_record(task->second), 1);
  const ActiveJob& whole = jobs_.at(array.id);
  for (const Idset* held : {&array.waiting, &array.blocked}) {
    if (held->empty()) continue;
    ActiveJob task{JobId(held->first()), array.submission, fresh_task(whole.life), {}};
    if (whole.life.state == JobState::depend) task.life.state = JobState::depend;
    tasks.records.emplace_back(bare_record(task), held->count());
  }
}

Result<JobManager::TaskRecords> JobManager::task_records(JobId after, bool all,
                                                         std::size_t limit) const {
  TaskRecords tasks;
  std::shared_ptr<const ActiveJob> over;
  const JobArray* const array = array_with(after);
  if (array == nullptr) {
    auto found = over_array(JobId(after.value() + 1));
    if (!found) return tl::unexpected(found.error());
    over = std::move(*found);
    if (over == nullptr) return tasks;
  }
  const ActiveJob& whole = array != nullptr ? jobs_.at(array->id) : *over;
  tasks.last = JobId(whole.id.value() + whole.submission->count);
  if (array != nullptr && after == array->id) add_active_tasks(*array, tasks);
  if (!all || after >= tasks.last) return tasks;
  const auto rows =
      journal_.ended_tasks(JobId(after.value() + 1), tasks.last.value() - after.value(), limit);
  if (!rows) return tl::unexpected(rows.error());
  for (const EndedTasks& row : *rows) {
    auto life = unpack_ended(row.life, whole.life);
    if (!life) return tl::unexpected(life.error());
    tasks.records.emplace_back(bare_record({row.first, whole.submission, std::move(*life), {}}),
                               row.count);
  }
  tasks.more = rows->size() == limit;
  if (tasks.more) tasks.last = JobId(rows->back().first.value() + rows->back().count - 1);
  return tasks;
}

}  // namespace holon::instance
