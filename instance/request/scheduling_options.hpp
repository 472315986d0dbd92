// scheduling_options.hpp - a job's options for the scheduler beside resources, read from the
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

// The indices and entries of an array's tasks: the task at place i has the index first + i * step,
// or the i-th of `indices` if there are any, and the entry i if there are entries (then as many as
// tasks).
struct Array {
  std::int64_t first = 1, step = 1;  // at most kMostIndex
  Indices indices;
  std::vector<std::string> entries;
  std::uint64_t max_running = 0;           // tasks at a time; 0: no bound
  std::optional<std::uint64_t> max_fails;  // if more tasks fail, all others are cancelled
  bool open = false;  // more tasks may come (job.extend); it is not over before it is closed

  std::int64_t index_at(std::uint64_t place) const;
  // At least so many tasks from this place on have consecutive indices.
  std::uint64_t run_at(std::uint64_t place) const;
  // nullopt: no task has this index. (How many tasks there are is not known here.)
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
  std::string environment;       // parallel environment of the configuration, as in Grid Engine
  JobId reservation;             // the advance reservation it runs in; 0: none
  bool reserve = true;           // may hold a reservation while it waits (Grid Engine's -R)
  std::uint32_t requeue = 0;     // how often it may run again after it has failed
  Idset retry_on;                // exit codes that are tried again, beside lost nodes
  bool immediate = false;        // starts in the first pass or fails (-now y)
  bool own = false;              // an instance of its user's own, which `user.instance` returns
  bool goes_on = false;          // an instance that may run again, from its own journal
  bool preemptible = false;      // jobs of queues that preempt may take its place
  std::int64_t memory = 0;       // bytes that each task may use; 0: no bound
  int checkpoint_signal = 0;     // sent to its tasks before that; 0: none
  std::optional<Array> array;
  // A grant: the job holds what this child instance has got beyond its own job, and runs nothing.
  // Submitted by the instance itself (instance/grants) for the child's ask of that number.
  JobId grant_to;  // 0: it is no grant
  std::uint64_t ask = 0;
  std::uint64_t child_epoch = 0;  // of the process that has asked (Children::epoch_of); 0: unknown
  bool by_itself = false;         // no person has asked for it: an elastic child has
  // The job holds what this instance has lent to the one above, and runs nothing. Submitted by the
  // instance itself (instance/grants).
  bool lends = false;
  bool runs_nothing() const { return grant_to.value() != 0 || lends; }
};

// Slots as Grid Engine's users write them: "4-16", "4-", "-16", "2,4,8", "1-3,5-6"; and "3+".
// Errors: invalid_argument.
Result<resource::Count> read_slots(const std::string& word, std::string_view unit = "slots");

// The largest number of times that a job may run again.
inline constexpr std::uint32_t kMostRetries = 1'000;

// "75", "1-3,75", "any" (1-255). Errors: invalid_argument.
Result<Idset> read_exit_codes(const std::string& word);

// REQUIRES: `system` is an object. Errors: invalid_argument with the pointer: an unknown key of
// `holon`, a value that does not fit.
Result<SchedulingOptions> read_wishes(const nlohmann::json& system);

}  // namespace holon::instance
