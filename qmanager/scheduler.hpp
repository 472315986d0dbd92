// scheduler.hpp - which job next, where, when: a deterministic state machine without I/O.
//
// Events and `now` go in, decisions come out. The caller journals a decision, acts on it, and reports what happened as
// the next event. The scheduler already holds the resources of every Start it returns.
// Not thread-safe: one owner.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "base/strong.hpp"
#include "base/time.hpp"
#include "resource/allocation.hpp"
#include "resource/jobspec/jobspec.hpp"

namespace holon::resource {
class ResourceStore;
}

namespace holon::qmanager {

struct QueueConfig {
  std::string policy = "fcfs";           // fcfs, easy, hybrid, conservative
  std::int64_t queue_depth = 32;         // pending jobs looked at in a pass, at most 1,000,000
  std::int64_t reservation_depth = 64;   // of hybrid; easy is 1, conservative all
  std::int64_t max_reservation_depth = 100'000;
};

struct SchedulerConfig {
  QueueConfig defaults;
  std::map<std::string, QueueConfig> queues;  // by name; empty: one queue called "default"
  std::string default_queue = "default";
};

struct JobRequest {
  JobId id;
  std::string queue;     // empty: the default queue
  std::string user;
  std::uint32_t urgency = 16;  // 0 holds, 31 expedites
  Time submitted = 0;
  Duration limit = 0;    // ticks; 0: until the horizon
  std::shared_ptr<const resource::Jobspec> spec;
};

enum class Selection { immediate, backfill, reserved };

struct Start { JobId job; resource::Allocation allocation; Selection selection; };
struct Reserve { JobId job; Time when; };           // the job is planned to start then (t_estimate)
struct Reject { JobId job; std::string reason; };   // it can never run
struct Wait { JobId job; std::string reason; };     // not now; sent when the reason changes
using Decision = std::variant<Start, Reserve, Reject, Wait>;

// What a pass may cost before it must hand back; it goes on where it stopped at the next step().
struct Budget { std::int64_t jobs = INT64_MAX; };

struct StepResult {
  std::vector<Decision> decisions;
  bool more = false;             // the budget ran out: call again
  std::optional<Time> wake;      // nothing to do before this time unless an event comes
};

class Scheduler {
 public:
  // The store must outlive the scheduler. Errors: invalid_argument naming the key and what is accepted.
  static Result<Scheduler> create(SchedulerConfig config, resource::ResourceStore& store);
  Scheduler(Scheduler&&) noexcept;
  Scheduler& operator=(Scheduler&&) noexcept;
  ~Scheduler();

  // Takes the job into its queue. A value with a reason: refused, it can never run (nothing is kept).
  // Errors: exists, not_found (queue).
  Result<std::optional<Reject>> submit(JobRequest job, Time now);
  // After a restart: a job that already runs, with the R it was given.
  Status recover(JobRequest job, const resource::Allocation& allocation);
  // The job is over (or was cancelled while running): its resources are free from now.
  Status finish(JobId job, Time now);
  // Takes a pending job out. Errors: not_found.
  Status cancel(JobId job, Time now);
  Status set_urgency(JobId job, std::uint32_t urgency);
  // Resources came, went or changed status, or the horizon moved: blocked jobs are looked at again.
  void resources_changed();

  StepResult step(Time now, Budget budget = {});

  std::size_t pending() const;
  std::size_t running() const;
  // The last known reason or planned start of a pending job. Errors: not_found.
  struct Outlook { std::string reason; std::optional<Time> planned_start; std::size_t position = 0; };
  Result<Outlook> outlook(JobId job) const;
  const SchedulerConfig& config() const;
  void check_invariants() const;

 private:
  struct State;
  explicit Scheduler(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace holon::qmanager
