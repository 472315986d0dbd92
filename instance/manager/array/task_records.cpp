// The part of the JobManager that shows the tasks of an array to callers that count them: many at a
// time, and without asking the scheduler about each. And the array of tasks that are over.
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

// Reads an array that is over and keeps it: neighbouring tasks are asked for in turn. Jobs that are
// no tasks are kept, too, without what they ask for: thousands may wait for one of them.
Result<std::shared_ptr<const ActiveJob>> JobManager::over_array(JobId task) const {
  using Found = std::shared_ptr<const ActiveJob>;
  if (last_over_ && last_over_->id <= task) {
    const std::uint64_t place = task.value() - last_over_->id.value();
    const std::uint64_t count = last_over_->submission->count;
    if (!is_array(*last_over_) && place < count) return Found();
    if (is_array(*last_over_) && place > 0 && place <= count) return last_over_;
  }
  const auto batch = journal_.batch_of(task);
  if (!batch && batch.error().code == Errc::not_found) return Found();
  if (!batch) return tl::unexpected(batch.error());
  const auto tasks = journal_.tasks_of_array(batch->first);
  if (!tasks) return tl::unexpected(tasks.error());
  if (!*tasks) {
    Submission jobs;
    jobs.first = batch->first;
    jobs.count = batch->count;
    last_over_ = std::make_shared<const ActiveJob>(
        ActiveJob{batch->first, std::make_shared<const Submission>(std::move(jobs)), {}, {}});
  }
  if (!*tasks || task == batch->first) return Found();
  // An open array has kept more numbers than it had tasks.
  if (task.value() - batch->first.value() > **tasks) return Found();
  const auto events = journal_.events_of(batch->first);
  if (!events) return tl::unexpected(events.error());
  auto submission = kept_submission(batch->jobspec, batch->is_instance);
  if (!submission) return tl::unexpected(submission.error());
  submission->first = batch->first;
  submission->count = **tasks;
  ActiveJob array{batch->first, nullptr, {}, {}};
  for (const Event& event : *events)
    if (auto next = apply(array.life, event)) array.life = std::move(*next);
  set_default_limit(*submission, array.life.default_limit);
  array.submission = std::make_shared<const Submission>(std::move(*submission));
  last_over_ = std::make_shared<const ActiveJob>(std::move(array));
  return last_over_;
}

}  // namespace holon::instance
