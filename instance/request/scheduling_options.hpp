// scheduling_options.hpp - what a job asks of the scheduler beside resources, read from the
// jobspec's attributes.system: `bank` (the account, as in Flux) and our own `holon` object.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/boxed.hpp"
#include "base/idset.hpp"
#include "base/result.hpp"
#include "instance/request/indices.hpp"
#include "qmanager/request.hpp"
#include "resource/jobspec/jobspec.hpp"

namespace holon::instance {

// What tells the tasks of an array apart: the task at place i has the index first + i * step, or
// the i-th of `indices` where there are any, and the entry i where there are entries (as many as
// tasks then).
struct Array {
  std::int64_t first = 1, step = 1;  // at most kMostIndex
  Indices indices;
  std::vector<std::string> entries;
  std::uint64_t max_running = 0;           // so many tasks at a time; 0: no bound
  std::optional<std::uint64_t> max_fails;  // with one more that fails all others are cancelled
  bool open = false;  // it may get more tasks (job.extend), and is not over before it is closed

  std::int64_t index_at(std::uint64_t place) const;
  // So many tasks from this place on have consecutive indices, at least.
  std::uint64_t run_at(std::uint64_t place) const;
  // nullopt: it has no such index. (How many tasks it has is not known here.)
  std::optional<std::uint64_t> place_of(std::uint64_t index) const;
};
inline constexpr std::int64_t kMostIndex = 1'000'000'000;

struct SchedulingOptions {
  std::string account;  // attributes.system.bank
  // attributes.system.holon:
  std::string group;
  std::string qos;
  std::vector<qmanager::Consumes> consumes;  // licenses: {"matlab": 2}; licenses_per_slot
  Boxed<resource::Count> slots;  // "4-16": a range; the count in the jobspec is the least
  std::string environment;       // of the configuration (Grid Engine's parallel environment)
  JobId reservation;             // the advance reservation it runs in; 0: none
  bool reserve = true;           // may hold a reservation while it waits (Grid Engine's -R)
  std::uint32_t requeue = 0;     // it may run so many times more after it has failed
  Idset retry_on;                // exit codes of failures that are tried again, beside lost nodes
  bool immediate = false;        // starts in the first pass or fails (-now y)
  bool own = false;              // of an instance: its user's own, which `user.instance` tells
  bool preemptible = false;      // jobs of queues that preempt may take its place
  std::int64_t memory = 0;       // bytes that each task may use; 0: no bound
  int checkpoint_signal = 0;     // that its tasks get before; 0: none
  std::optional<Array> array;
};

// Slots as Grid Engine's users write them: "4-16", "4-", "-16", "2,4,8", "1-3,5-6"; and "3+".
// Errors: invalid_argument.
Result<resource::Count> read_slots(const std::string& word, std::string_view unit = "slots");

// Times that a job may run again, at most.
inline constexpr std::uint32_t kMostRetries = 1'000;

// "75", "1-3,75", "any" (1-255). Errors: invalid_argument.
Result<Idset> read_exit_codes(const std::string& word);

// `system` is an object. Errors: invalid_argument with the pointer: an unknown key of `holon`, a
// value that does not fit.
Result<SchedulingOptions> read_wishes(const nlohmann::json& system);

}  // namespace holon::instance
