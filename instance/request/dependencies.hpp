// dependencies.hpp - what a job waits for before it is queued: other jobs of its instance, or a
// time (RFC 26, with Flux's schemes).
//
// Whether a dependency is met follows from the jobs' records alone, so that nothing has to be kept
// about it and a restarted broker finds the same answer.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/idset.hpp"
#include "base/result.hpp"
#include "base/strong.hpp"
#include "base/time.hpp"

namespace holon::instance {

struct Dependency {
  enum class Scheme : std::uint8_t {
    after,       // the job has started; also called afterstart
    afterany,    // it is over
    afterok,     // it has completed
    afternotok,  // it is over and has not completed
    aftercorr,   // of each task of an array: the same one of that array has completed
    singleton,   // no earlier job of the same user and name is active
    begin_time,  // it is `at`
  };
  Scheme scheme = Scheme::afterany;
  JobId job;         // of those that name one
  Idset indices;     // of the tasks of this array that it names; empty: the job as a whole
  Time at = 0;       // ms since the epoch
  std::string text;  // "afterok:7", for listings and event logs

  bool operator==(const Dependency&) const = default;
};

// attributes.system.dependencies: a list of {"scheme": "afterok", "value": "7"}; "7.12" and "7.3-9"
// are tasks of an array, and the value of begin-time is in seconds since the epoch. Errors:
// invalid_argument with the pointer.
Result<std::vector<Dependency>> read_dependencies(const nlohmann::json& system);

// What is known of the job that a dependency names.
struct TargetState {
  bool started = false;
  std::string result = {};  // empty: it is active
  std::string name = {};    // "7.12"; empty: the number that the dependency has
  bool fell = false;        // it never ran, as what it waited for itself cannot happen any more
};

// How one dependency stands, or all of a job's together.
struct Standing {
  enum class Verdict : std::uint8_t { met, open, impossible };
  Verdict verdict = Verdict::met;
  std::string text;  // what is waited for, or why it will never happen
};
// Of the schemes that name a job, but for aftercorr, and begin_time.
Standing judge(const Dependency& dependency, const TargetState& target, Time now);

// Who waits for whom or when: whom to look at again when a job starts or ends.
class WaitingRoom {
 public:
  void wait_for(JobId target, JobId waiter) { by_target_.emplace(target, waiter); }
  void wait_until(Time when, JobId waiter) { by_time_.emplace(when, waiter); }
  // `target` has started or ended: who waits for it is looked at in the next turn, and has to
  // wait_for() it again if that was not enough. O(waiters).
  void happened(JobId target) { happened(target, target); }
  void happened(JobId first, JobId last);  // the same of several
  void look_at(JobId waiter) { to_look_at_.insert(waiter); }
  // Removes and returns whom to look at now. O(them).
  std::set<JobId> called(Time now);
  // When somebody is to be looked at without a job starting or ending; nullopt: never.
  std::optional<Time> next() const;

 private:
  std::set<std::pair<JobId, JobId>> by_target_;
  std::set<std::pair<Time, JobId>> by_time_;
  std::set<JobId> to_look_at_;
};

}  // namespace holon::instance
