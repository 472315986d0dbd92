// The part of the JobManager that keeps count of its jobs (job_counts.hpp). Tasks of arrays that
// the scheduler has not been given count with their array's state.
#include "instance/job/array.hpp"
#include "instance/manager/manager.hpp"

namespace holon::instance {
namespace {

constexpr std::size_t kEndedAtOnePass = 500;  // jobs that are over, in one portion

}  // namespace

// The queue as the job's record has it.
const std::string& JobManager::queue_of(const Submission& submission) const {
  return submission.queue.empty() ? scheduler_.config().default_queue : submission.queue;
}

JobCounts::Owner JobManager::owner_of(const ActiveJob& job) const {
  return {job.life.user, queue_of(*job.submission)};
}

JobManager::Counts JobManager::counts() const {
  const auto& row = counts_.total();
  const auto n = [&row](JobKind kind) { return row[static_cast<std::size_t>(kind)]; };
  Counts counts;
  counts.pending =
      n(JobKind::created) + n(JobKind::depend) + n(JobKind::priority) + n(JobKind::sched);
  counts.running = n(JobKind::run) + n(JobKind::cleanup) + n(JobKind::suspended);
  counts.cancelled = n(JobKind::canceled);
  counts.failed =
      n(JobKind::failed) + n(JobKind::canceled) + n(JobKind::timeout) + n(JobKind::rejected);
  counts.inactive = counts.failed + n(JobKind::completed);
  return counts;
}

// The kind of an array's tasks that the scheduler has not been given.
JobKind JobManager::held_kind(const JobArray& array) const {
  const bool waits = jobs_.at(array.id).life.state == JobState::depend;
  return waits ? JobKind::depend : JobKind::sched;
}

void JobManager::count_held_back(const JobArray& array, JobKind kind, std::int64_t n) {
  counts_.add(array.first(), owner_of(jobs_.at(array.id)), kind, n);
}

void JobManager::count_one(const ActiveJob& job, std::int64_t n) {
  if (!is_array(job)) counts_.add(job.id, owner_of(job), kind_of(job.life), n);
}

// Counts a job whose kind was `from`.
void JobManager::count(const ActiveJob& job, JobKind from) {
  if (is_array(job)) {
    const auto array = arrays_.find(job.id);
    if (from != JobKind::depend || job.life.state == JobState::depend || array == arrays_.end())
      return;
    const auto held =
        static_cast<std::int64_t>(array->second.waiting.count() + array->second.blocked.count());
    count_held_back(array->second, JobKind::depend, -held);
    return count_held_back(array->second, JobKind::sched, held);
  }
  if (is_array_task(job)) count_task(job, from == JobKind::sched);
  const JobKind to = kind_of(job.life);
  if (from == to) return;
  counts_.add(job.id, owner_of(job), from, -1);
  counts_.add(job.id, owner_of(job), to, 1);
}

std::map<std::string, JobManager::HeldBack> JobManager::held_back() const {
  std::map<std::string, HeldBack> held;
  for (const auto& [queue, n] : cancelled_unheard_) held[queue].cancelled = n;
  for (const auto& [id, array] : arrays_)
    held[queue_of(*array.submission)].waiting +=
        static_cast<std::int64_t>(array.waiting.count() + array.blocked.count());
  return held;
}

void JobManager::forgotten(const Forgotten& gone) {
  // Whose the rest of a half-forgotten array was could not be said.
  if (counts_.ended() == JobCounts::Ended::counting) counts_.stop_counting();
  for (const auto& row : gone.rows)
    counts_.add(row.id, {row.user, row.queue}, kind_of_result(row.result),
                -static_cast<std::int64_t>(row.count));
}

// A task's row has neither user nor queue: its array's has.
Status JobManager::count_ended_row(const EndedRow& row) {
  const JobKind kind = kind_of_result(row.result);
  const auto n = static_cast<std::int64_t>(row.count);
  if (!row.is_task) {
    if (!row.is_array) counts_.count_ended({row.user, row.queue}, kind, n);
    return {};
  }
  if (const JobArray* const array = array_with(row.id)) {
    counts_.count_ended(owner_of(jobs_.at(array->id)), kind, n);
    return {};
  }
  const auto over = over_array(row.id);
  if (!over) return tl::unexpected(over.error());
  if (*over) counts_.count_ended(owner_of(**over), kind, n);
  return {};
}

bool JobManager::count_some_ended() {
  using Ended = JobCounts::Ended;
  if (counts_.ended() == Ended::known || journal_.is_forgetting()) return false;
  if (counts_.ended() == Ended::unknown) counts_.begin_counting();
  const auto rows = journal_.ended_rows(counts_.counted_to(), kEndedAtOnePass);
  bool sound = rows.has_value();
  for (std::size_t i = 0; sound && i < rows->size(); ++i)
    sound = count_ended_row((*rows)[i]).has_value();
  if (!sound) return counts_.stop_counting(), false;
  const bool more = rows->size() == kEndedAtOnePass;
  counts_.counted_up_to(more ? std::optional(rows->back().id) : std::nullopt);
  return more;
}

}  // namespace holon::instance
