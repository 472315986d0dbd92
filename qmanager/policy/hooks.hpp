// hooks.hpp - the seam for what a policy decides beyond settings: whoever implements it is asked at
// the places where the settings of the engine decide.
//
// A hook has an opinion or none; where it has none, the settings of its base policy decide. What a
// policy must not break is no matter of hooks: units, limits, leases, and reservations once made. A
// queue without a policy of this kind holds a null pointer.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"
#include "qmanager/windows.hpp"

namespace holon::qmanager {

struct Job;

enum class Hook : std::uint8_t {
  admit,         // is the job taken into its queue?
  priority,      // where does it stand in its queue? The largest number is looked at first
  may_reserve,   // does the job, which cannot start now, get a reservation?
  may_backfill,  // may it start, or be given a reservation, though a job in front of it waits?
  on_event,      // something has happened to the job
  score,         // how well is the job, which starts, placed on a node? The largest number is best
};
inline constexpr std::size_t kHooks = 6;

// A job as a hook sees it: valid while the hook is asked.
struct JobView {
  const Job& job;
  Duration limit = kTimeMax;  // ticks that the plan gives the job; kTimeMax: until the horizon
  Time now = 0;
  std::int64_t ticks_per_second = 1000;
};

// The use that the jobs of a user make of the whole scheduler.
struct UserUse {
  std::int64_t running = 0;  // jobs
  std::int64_t procs = 0;    // processors of these jobs
  double used = 0;           // processor-seconds lately, weighted as for fairshare
};

// Facts that a hook may know beside the job: valid while the hook is asked. Each value is found out
// when it is asked for.
class QueueView {
 public:
  virtual ~QueueView() = default;

  virtual const std::string& name() const = 0;
  virtual Time now() const = 0;
  // The time on people's clocks at `when`, in ticks, and the seconds since midnight there.
  virtual Time wall_time(Time when) const = 0;
  virtual std::int64_t second_of_day() const = 0;
  virtual std::int64_t ticks_per_second() const = 0;
  virtual std::int64_t procs() const = 0;       // of the machine
  virtual std::int64_t free_procs() const = 0;  // in the plan, now
  virtual std::int64_t pending() const = 0;     // jobs that wait in the queue
  virtual std::int64_t reserved() const = 0;    // of these hold, or are to be given, a reservation
  virtual UserUse user(const std::string& name) const = 0;
  virtual Window window() const = 0;    // the widest that is not reserved; 0 processors: none
  virtual Time grant_ends() const = 0;  // kTimeMax: never
};

// A node that a job could be placed on: valid while the hook is asked.
class PlaceView {
 public:
  virtual ~PlaceView() = default;

  virtual const std::string& name() const = 0;
  virtual const std::string& within() const = 0;  // path of the vertex above, "/cluster0/rack1"
  virtual std::int64_t procs() const = 0;         // in it
  virtual std::int64_t free_procs() const = 0;    // of these, now
  // running(): jobs with this attribute on this node. near(): on it or on nodes beside it.
  virtual std::int64_t running(const std::string& key, const std::string& value) const = 0;
  virtual std::int64_t near(const std::string& key, const std::string& value) const = 0;
};

// nullopt: no opinion, the base policy decides. The reason is for people, with its place.
struct Opinion {
  std::optional<bool> yes;
  std::string reason;
};

// A place in the queue; nullopt: that of the base policy.
struct Rank {
  std::optional<double> priority;
  std::string reason;
  bool lasts = false;  // made of what never changes: no need to ask again
};

struct HookStatus {
  std::string base{};     // the policy that decides where no hook does
  std::string trouble{};  // the last thing that went wrong, with its place; "": nothing did
  std::int64_t calls = 0;
  std::int64_t troubles = 0;  // calls that gave no answer
  bool given_up = false;      // the base policy has taken over
};

// A policy at work for one queue. Not thread-safe: one owner.
class PolicyHooks {
 public:
  virtual ~PolicyHooks() = default;

  // Is the hook asked? False for all once the policy was given up, or if this pass is done with it.
  virtual bool has(Hook hook) const = 0;
  // Begins a pass over so many jobs, before hooks are asked.
  virtual void begin_pass(Time now, std::size_t pending) = 0;
  // REQUIRES: a hook that answers yes or no.
  virtual Opinion ask(Hook hook, const JobView& job, const QueueView& queue) = 0;
  virtual Rank rank(const JobView& job, const QueueView& queue) = 0;
  // nullopt: no opinion, as good as 0; if no node has a score, the match policy decides.
  virtual std::optional<double> score(const JobView&, const PlaceView&, const QueueView&) {
    return std::nullopt;
  }
  // `kind`: "submit", "start", "finish", "cancel" or "reject".
  virtual void on_event(std::string_view kind, const JobView& job, const QueueView& queue) = 0;
  // The policy's state as a text, if it has changed since the last call; nullopt: nothing new.
  virtual std::optional<std::string> take_state() { return std::nullopt; }
  // The policy's state, changed or not.
  virtual std::string state() const { return {}; }
  // Begins anew with a text of take_state(). Errors: invalid_argument; nothing has changed then.
  virtual Status restore(const std::string&) { return {}; }
  // A copy of the policy for what-if: what the copy is asked is not seen here.
  virtual std::unique_ptr<PolicyHooks> twin() const = 0;
  virtual HookStatus status() const = 0;
};

// A policy as it was written, from which each queue that has it makes its own.
class PolicyProgram {
 public:
  virtual ~PolicyProgram() = default;

  // The name of a built-in policy (parse_policy).
  virtual const std::string& base() const = 0;
  virtual std::unique_ptr<PolicyHooks> hooks() const = 0;
};

// Is it the name of a program, "FILE.lua", not of a built-in policy?
bool is_policy_file(std::string_view policy);

}  // namespace holon::qmanager
