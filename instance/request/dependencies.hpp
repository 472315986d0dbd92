// dependencies.hpp - the dependencies of a job before it is queued: other jobs of its instance, or
// a time (RFC 26, with Flux's schemes).
//
// Whether a dependency is met follows from the jobs' records alone, so that nothing else has to be
// kept about it and a restarted broker finds the same answer.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/idset.hpp"
#include "base/result.hpp"
#include "base/strong.hpp"
#include "base/text/job_words.hpp"
#include "base/time.hpp"

namespace holon::instance {

struct Dependency {
  enum class Scheme : std::uint8_t {
    after,       // the job has started; also called afterstart
    afterany,    // the job is over
    afterok,     // the job has completed
    afternotok,  // the job is over and has not completed
    aftercorr,   // for each task of an array: the task at its place has completed
    singleton,   // no earlier job of the same user and name is active
    begin_time,  // the time is `at`
  };
  Scheme scheme = Scheme::afterany;
  JobId job;         // of schemes that name a job
  Idset indices;     // the tasks of this array that it names; empty: the job as a whole
  Time at = 0;       // ms since the epoch
  std::string text;  // "afterok:7", for listings and event logs

  bool operator==(const Dependency&) const = default;
};

// attributes.system.dependencies: a list of {"scheme": "afterok", "value": "7"}; "7.12" and "7.3-9"
// are tasks of an array, and the value of begin-time is in seconds since the epoch. Errors:
// invalid_argument with the pointer.
Result<std::vector<Dependency>> read_dependencies(const nlohmann::json& system);

// The state of the job that a dependency names.
struct TargetState {
  bool started = false;
  std::string result = {};  // empty: the job is active
  JobId job{};              // the task of an array that is meant; 0: the job that is named
  bool fell = false;        // the job never ran, as its own dependency cannot be met any more
};

// The state of one dependency, or of all of a job's together.
struct Standing {
  enum class Verdict : std::uint8_t { met, open, impossible };
  Verdict verdict = Verdict::met;
  std::string text;                      // what is missing, or why it will never happen
  std::string_view kind = "dependency";  // JobRecord::waits_for of a job for which it is open
};
// Judges begin_time, and the schemes that name a job, except aftercorr.
Standing judge(const Dependency& dependency, const TargetState& target, Time now,
               const JobText& text);

// Which jobs wait for which job or time: the jobs to look at when a job starts or ends.
class WaitingRoom {
 public:
  void wait_for(JobId target, JobId waiter) { by_target_.emplace(target, waiter); }
  void wait_until(Time when, JobId waiter) { by_time_.emplace(when, waiter); }
  // `target` has started or ended: its waiters are looked at in the next turn, and have to
  // wait_for() it again if that was not enough. O(waiters).
  void happened(JobId target) { happened(target, target); }
  void happened(JobId first, JobId last);  // likewise, for several targets
  void look_at(JobId waiter) { to_look_at_.insert(waiter); }
  // Calls those whose time has come.
  void call_due(Time now);
  // Removes and returns the first job that is to be looked at; nullopt: there is none. O(log).
  std::optional<JobId> next_called();
  bool has_called() const { return !to_look_at_.empty(); }
  // When a job is to be looked at without another starting or ending; nullopt: never.
  std::optional<Time> next() const;

 private:
  std::set<std::pair<JobId, JobId>> by_target_;
  std::set<std::pair<Time, JobId>> by_time_;
  std::set<JobId> to_look_at_;
};

}  // namespace holon::instance
