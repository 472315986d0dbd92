// array.hpp - an array: many equal tasks that are one job, kept by ranges and exceptions.
//
// An array of N tasks takes N + 1 numbers: its own, by which it is known ("7"), and behind it one
// for each task ("7.12" is the task with the index 12). Its own number is an active job whose life
// is the array's: what waits for the array, or looks at it, needs to know nothing of tasks. A task
// is an active job of its own only from the moment it is given to the scheduler until it is over:
// before, it is a number in a range here, and after that a short row of the journal.
//
// The scheduler is given so many tasks that no pass could tell them from all: more than could run
// side by side, and behind them as many as a pass looks at that stay pending.
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
  bool open = false;         // it may get more tasks, and is not over before it is closed
  std::uint64_t room = 0;    // numbers that are its tasks', or will be while it is open
  Idset waiting;             // numbers of tasks that the scheduler has not heard of
  Idset blocked;             // of those that wait for the same task of another array (aftercorr)
  std::uint64_t active = 0;  // tasks that are jobs of their own
  std::uint64_t queued = 0;  // of these, those that the scheduler may start
  std::uint64_t completed = 0, failed = 0, cancelled = 0;  // over; a time limit is a failure
  int status = 0;                                          // as from wait(2), the worst of these
  std::int64_t cpu_ms = 0, max_rss_kb = 0;
  std::uint64_t timeout = 0;                          // of the failed ones
  std::uint64_t started = 0;                          // of those that are over
  std::int64_t wait_ms = 0, run_ms = 0, core_ms = 0;  // of these (msg::Usage)

  JobId first() const { return JobId(id.value() + 1); }
  std::uint64_t count() const { return submission->count; }
  bool contains(JobId job) const {
    return id <= job && job.value() - id.value() <= submission->count;
  }
  // Has nothing happened of this task yet?
  bool holds_back(JobId task) const {
    return waiting.contains(task.value()) || blocked.contains(task.value());
  }
  bool is_over() const { return !open && waiting.empty() && blocked.empty() && active == 0; }
  // `count` tasks of such a life are over.
  void add_ended(const Lifecycle& life, std::uint64_t count);
  // The fields of its record about tasks that are over.
  void show_ended(msg::JobRecord& record) const;
};

// An open array has numbers for so many tasks beyond those that it begins with.
inline constexpr std::uint64_t kRoomOfOpen = 100'000;

// first .. last leave `set`. O(ranges).
void remove_range(Idset& set, std::uint64_t first, std::uint64_t last);

// Which indices the tasks of an array have, and which numbers.
struct ArrayShape {
  JobId id;  // the array's
  std::uint64_t tasks = 0;
  Array array;  // without entries

  // nullopt: it has no such index.
  std::optional<JobId> number_of(std::uint64_t index) const;
  Idset indices_of(const Idset& numbers) const;
  // All where there are no indices. Errors: not_found (it has no task with one of them).
  Result<Idset> numbers_of(const Idset& indices) const;
  // Why there is no task with an index of these.
  std::string refusal(std::uint64_t first_index, std::uint64_t last_index) const;
};

// Is it an array as a whole, or a task of one?
bool is_array(const ActiveJob& job);
bool is_array_task(const ActiveJob& job);
// The array that a task, or the array itself, belongs to.
JobId array_of(const ActiveJob& job);
}  // namespace holon::instance
