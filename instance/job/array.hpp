// array.hpp - an array: many equal tasks that are one job, kept by ranges and exceptions.
//
// An array of N tasks takes N + 1 numbers: the array's own ("7") and, behind it, one for each task
// ("7.12" is the task with the index 12). The array's number is an active job whose life is the
// array's: code that waits for the array, or shows it, need not know of tasks. A task is an active
// job of its own only from when the scheduler gets it until it is over: before that it is a number
// in a range here, after it a short row of the journal.
//
// The scheduler gets enough tasks that a pass decides as if it had all of them: more than could run
// side by side, and behind these as many pending ones as a pass looks at.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/idset.hpp"
#include "base/result.hpp"
#include "instance/job/job.hpp"
#include "instance/request/submission.hpp"
#include "msg/instance.hpp"

namespace holon::instance {

struct ActiveJob;

struct JobArray {
  JobId id;
  std::shared_ptr<const Submission> submission;
  bool open = false;         // more tasks may come; it is not over before it is closed
  std::uint64_t room = 0;    // numbers of its tasks, with those that it may grow into while open
  Idset waiting;             // numbers of tasks that the scheduler has not been given
  Idset blocked;             // tasks that wait for the same task of another array (aftercorr)
  std::uint64_t active = 0;  // tasks that are jobs of their own
  std::uint64_t queued = 0;  // active tasks that the scheduler may start
  std::uint64_t completed = 0, failed = 0, cancelled = 0;  // over; a time limit is a failure
  int status = 0;                                          // as from wait(2), the tasks' worst
  std::int64_t cpu_ms = 0, max_rss_kb = 0;
  std::uint64_t timeout = 0;                          // failed tasks that reached their limit
  std::uint64_t started = 0;                          // tasks that are over and had started
  std::int64_t wait_ms = 0, run_ms = 0, core_ms = 0;  // sums over those (msg::Usage)
  Time latest = 0;  // when the last of these was over, or the array closed or cancelled

  JobId first() const { return JobId(id.value() + 1); }
  std::uint64_t count() const { return submission->count; }
  bool contains(JobId job) const {
    return id <= job && job.value() - id.value() <= submission->count;
  }
  // Has nothing happened to this task yet?
  bool holds_back(JobId task) const {
    return waiting.contains(task.value()) || blocked.contains(task.value());
  }
  bool is_over() const { return !open && waiting.empty() && blocked.empty() && active == 0; }
  // Counts `count` more tasks as over, each with this life.
  void add_ended(const Lifecycle& life, std::uint64_t count);
  // Writes the fields of the array's record that are about tasks that are over.
  void show_ended(msg::JobRecord& record) const;
};

// An open array has numbers for this many tasks beyond those that it begins with.
inline constexpr std::uint64_t kRoomOfOpen = 100'000;

// Removes first .. last from `set`. O(ranges).
void remove_range(Idset& set, std::uint64_t first, std::uint64_t last);
// Removes the ids that `gone` has, too.
void remove_ids(Idset& set, const Idset& gone);

// The indices and the numbers of an array's tasks.
struct ArrayShape {
  JobId id;  // the array's
  std::uint64_t tasks = 0;
  Array array;  // without entries

  // The number of the task with this index; nullopt: there is none.
  std::optional<JobId> number_of(std::uint64_t index) const;
  Idset indices_of(const Idset& numbers) const;
  // No indices means all tasks. Errors: not_found (no task has one of the indices).
  Result<Idset> numbers_of(const Idset& indices) const;
  // Why no task has an index in this range.
  std::string refusal(std::uint64_t first_index, std::uint64_t last_index) const;
};

// Is the job an array as a whole, or a task of one?
bool is_array(const ActiveJob& job);
bool is_array_task(const ActiveJob& job);
// The array that a task, or the array itself, belongs to.
JobId array_of(const ActiveJob& job);
}  // namespace holon::instance
