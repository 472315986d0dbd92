#include "msg/job_filter.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>

#include "msg/glob.hpp"

namespace holon::msg {
namespace {

constexpr auto kStates = std::to_array<std::string_view>(
    {"INACTIVE", "COMPLETED", "FAILED", "CANCELED", "TIMEOUT", "REJECTED", "PENDING", "RUNNING",
     "NEW", "DEPEND", "PRIORITY", "SCHED", "RUN", "CLEANUP", "SUSPENDED"});
constexpr std::size_t kLongestName = 256;  // bytes, of a pattern
constexpr std::size_t kOfEnded = 6;        // the first ones

bool is_in(const std::string& word, const JobRecord& job) {
  if (word == job.state || (job.state == "INACTIVE" && word == job.result)) return true;
  const bool runs = job.state == "RUN" || job.state == "CLEANUP";
  if (word == "RUNNING") return runs;
  if (word == "SUSPENDED") return job.t_suspended != 0;
  return word == "PENDING" && !runs && job.state != "INACTIVE";
}

}  // namespace

std::span<const std::string_view> filter_states() {
  return kStates;
}

Status check_filter(const JobFilter& filter) {
  // The number is bounded, as each state is held against each job.
  if (filter.states.size() > kStates.size())
    return fail(Errc::invalid_argument,
                fmt::format("{} states; there are {}", filter.states.size(), kStates.size()),
                "filter.states");
  if (filter.name.size() > kLongestName)
    return fail(
        Errc::invalid_argument,
        fmt::format("has {} bytes; at most {} are accepted", filter.name.size(), kLongestName),
        "filter.name");
  if (auto good = check_glob(filter.name); !good)
    return fail(good.error().code, good.error().what, "filter.name");
  for (const auto& state : filter.states)
    if (std::find(kStates.begin(), kStates.end(), state) == kStates.end())
      return fail(Errc::invalid_argument,
                  fmt::format("'{}' is no state; accepted are {}", state, fmt::join(kStates, ", ")),
                  "filter.states");
  return {};
}

bool matches(const JobFilter& filter, const JobRecord& job) {
  const auto& states = filter.states;
  if (!states.empty() && std::none_of(states.begin(), states.end(),
                                      [&](const std::string& word) { return is_in(word, job); }))
    return false;
  if (filter.since > 0 && job.state == "INACTIVE" && job.t_inactive < filter.since) return false;
  if (filter.until > 0 && (job.state != "INACTIVE" || job.t_inactive >= filter.until)) return false;
  if (!filter.user.empty() && filter.user != job.user) return false;
  if (!filter.queue.empty() && filter.queue != job.queue) return false;
  return filter.name.empty() || fnmatch(filter.name.c_str(), job.name.c_str(), 0) == 0;
}

bool asks_for_ended(const JobFilter& filter) {
  return std::find_first_of(filter.states.begin(), filter.states.end(), kStates.begin(),
                            kStates.begin() + kOfEnded) != filter.states.end();
}

bool asks_for_ended_only(const JobFilter& filter) {
  const auto is_of_ended = [](const std::string& word) {
    const auto end = kStates.begin() + kOfEnded;
    return std::find(kStates.begin(), end, word) != end;
  };
  return !filter.states.empty() &&
         std::all_of(filter.states.begin(), filter.states.end(), is_of_ended);
}

const std::string& state_word(const JobRecord& job) {
  static const std::string kSuspended = "SUSPENDED";
  if (job.t_suspended != 0) return kSuspended;
  return job.state == "INACTIVE" && !job.result.empty() ? job.result : job.state;
}

std::string label_of(const JobRecord& job) {
  if (job.array == 0 || job.tasks > 0) return std::to_string(job.id);
  return fmt::format("{}.{}", job.array, job.index);
}

std::string shown_path(const JobRecord& job) {
  return job.path.substr(0, job.path.rfind('/') + 1) + label_of(job);
}

std::string tasks_text(const JobRecord& job) {
  std::string text;
  const auto add = [&text](std::uint64_t tasks, const char* word) {
    if (tasks > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", tasks, word);
  };
  add(job.tasks_pending, "waiting");
  add(job.tasks_running, "running");
  add(job.tasks_completed, "completed");
  add(job.tasks_failed, "failed");
  add(job.tasks_cancelled, "cancelled");
  if (job.tasks_open) text += text.empty() ? "open" : ", open";
  return text;
}

}  // namespace holon::msg
