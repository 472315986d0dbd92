#include "instance/job/array.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "instance/job/active_job.hpp"
#include "launch/exit_code.hpp"

namespace holon::instance {
namespace {

// The status as from wait(2); a task that was lost or could not be started has none of its own.
int status_of_life(const Lifecycle& life) {
  constexpr int kFailed = 1 << 8;
  if (life.finished && life.status != 0) return life.status;
  return result_of(life) == "COMPLETED" ? 0 : kFailed;
}

}  // namespace

void JobArray::add_ended(const Lifecycle& life, std::uint64_t n) {
  const std::string result = result_of(life);
  (result == "COMPLETED" ? completed : result == "CANCELED" ? cancelled : failed) += n;
  if (const int theirs = status_of_life(life);
      launch::exit_code_of(theirs) > launch::exit_code_of(status))
    status = theirs;
  timeout += result == "TIMEOUT" ? n : 0;
  cpu_ms += life.cpu_ms;
  max_rss_kb = std::max(max_rss_kb, life.max_rss_kb);
  const Time over = life.finished ? life.t_finish : life.t_inactive;
  latest = std::max(latest, over);
  if (!life.started) return;
  const Duration ran = std::max<Duration>(0, over - life.t_start);
  started += n;
  wait_ms += std::max<Duration>(0, life.t_start - life.t_submit);
  run_ms += ran;
  core_ms += ran * std::max<std::int64_t>(0, life.place.cores);
}

void JobArray::show_ended(msg::JobRecord& record) const {
  record.tasks_completed = completed;
  record.tasks_failed = failed;
  record.tasks_cancelled = cancelled;
  record.tasks_timeout = timeout;
  record.tasks_started = started;
  record.tasks_wait_ms = wait_ms;
  record.tasks_run_ms = run_ms;
  record.tasks_core_ms = core_ms;
}

void remove_range(Idset& set, std::uint64_t first, std::uint64_t last) {
  if (first == last) {
    set.erase(first);
    return;
  }
  Idset range;
  range.insert(first, last);
  set = without(set, range);
}

// Where all are short, which may be one of thousands of portions of a set, only what is behind them
// is moved, not all of it copied.
void remove_ids(Idset& set, const Idset& gone) {
  constexpr std::uint64_t kShort = 16;
  const auto ranges = gone.ranges();
  const bool are_short = std::all_of(ranges.begin(), ranges.end(), [](const Idset::Range& range) {
    return range.last - range.first < kShort;
  });
  if (!are_short) set = without(set, gone);
  if (!are_short || set.empty()) return;
  for (const auto& range : ranges)
    for (auto id = range.first; id <= range.last; ++id) set.erase(id);
}

std::optional<JobId> ArrayShape::number_of(std::uint64_t index) const {
  const auto place = array.place_of(index);
  if (!place || *place >= tasks) return std::nullopt;
  return JobId(id.value() + 1 + *place);
}

// Where the array's indices are ranges, neighbouring tasks have neighbouring indices.
Idset ArrayShape::indices_of(const Idset& numbers) const {
  Idset indices;
  for (const auto& range : numbers.ranges())
    for (auto number = range.first; number <= range.last;) {
      const std::uint64_t place = number - id.value() - 1;
      const auto index = static_cast<std::uint64_t>(array.index_at(place));
      const std::uint64_t run = std::min(array.run_at(place), range.last - number + 1);
      indices.insert(index, index + run - 1);
      number += run;
    }
  return indices;
}

Result<Idset> ArrayShape::numbers_of(const Idset& indices) const {
  Idset numbers;
  if (indices.empty()) {
    numbers.insert(id.value() + 1, id.value() + tasks);
    return numbers;
  }
  for (const auto& range : indices.ranges()) {
    // No more indices than the array has tasks can be right.
    if (range.last - range.first >= tasks)
      return fail(Errc::not_found, refusal(range.first, range.last));
    const auto first = number_of(range.first), last = number_of(range.last);
    // The ends of the range are as far apart as their tasks: the array has every index in it.
    if (first && last && last->value() - first->value() == range.last - range.first) {
      numbers.insert(first->value(), last->value());
      continue;
    }
    std::uint64_t index = range.first;
    while (index < range.last && number_of(index)) ++index;
    return fail(Errc::not_found, refusal(index, index));
  }
  return numbers;
}

std::string ArrayShape::refusal(std::uint64_t first_index, std::uint64_t last_index) const {
  const std::string wanted = last_index > first_index
                                 ? fmt::format("{}-{}", first_index, last_index)
                                 : std::to_string(first_index);
  const std::string has =
      !array.indices.empty()
          ? array.indices.str()
          : fmt::format("{} to {}{}", array.first, array.index_at(tasks - 1),
                        array.step > 1 ? fmt::format(" in steps of {}", array.step) : "");
  return fmt::format("array {} has no task {}.{}; its indices are {}", id.value(), id.value(),
                     wanted, has);
}

bool is_array(const ActiveJob& job) {
  return job.submission->wishes.array && job.id == job.submission->first;
}

bool is_array_task(const ActiveJob& job) {
  return job.submission->wishes.array && job.id != job.submission->first;
}

JobId array_of(const ActiveJob& job) {
  return job.submission->wishes.array ? job.submission->first : JobId(0);
}

}  // namespace holon::instance
