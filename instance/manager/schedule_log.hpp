// schedule_log.hpp - Grid Engine's monitoring file in a live instance (`instance.monitor`): each
// pass of the scheduler appends a section with what it saw and decided to a file.
//
// Bounded: it takes at most a tenth of the broker's time. Where passes follow each other faster
// than that, a section stands for several of them; a job that ran only in between is in none. A
// file that cannot be written is reported once, and once more when it can be; scheduling goes on.
// The file is opened for each section, so that it may be moved away or cut at any time.
#pragma once
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/time.hpp"
#include "instance/journal/after_commit.hpp"
#include "instance/manager/manager.hpp"
#include "qmanager/engine/schedule_text.hpp"
#include "resource/graph/graph.hpp"

namespace holon::instance {

class ScheduleLog {
 public:
  // All arguments but the path must outlive the ScheduleLog.
  ScheduleLog(std::string path, JobManager& jobs, const resource::ResourceGraph& graph,
              AfterCommit& after_commit);

  // The job was given its resources.
  void started(JobId job) { starting_.insert(job); }
  // After the passes of a turn: their section is written after the commit, or kept for later.
  void turn(Time now);
  // When a kept section is to be written; nullopt: none is kept.
  std::optional<Time> next_turn() const;

 private:
  // Sets the pause after which `worked` (in microseconds) is a tenth of the time passed.
  void rest(Time from, std::int64_t worked);
  void tell(const std::string& problem);

  std::string path_;
  JobManager& jobs_;
  AfterCommit& after_commit_;
  qmanager::ScheduleText sections_;
  std::unordered_set<JobId> starting_;  // since the last section
  std::int64_t recorded_ = 0;           // passes that sections stand for
  Time not_before_ = 0;                 // of the next section
  bool failing_ = false;
};

}  // namespace holon::instance
