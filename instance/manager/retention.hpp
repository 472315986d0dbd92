// retention.hpp - what jobs leave behind does not grow for ever: the oldest jobs that are over are
// forgotten once they are more than journal.keep, or older than journal.keep-age, with their
// outputs and the folders of children. A little in each turn, so that nobody waits for it.
#pragma once
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <unordered_set>

#include "instance/journal/after_commit.hpp"
#include "instance/journal/journal.hpp"
#include "instance/manager/manager.hpp"
#include "msg/instance.hpp"

namespace holon::instance {

// Removes folders with all that is in them, a few entries at a time.
class SlowRemoval {
 public:
  void add(std::filesystem::path folder) { folders_.push_back(std::move(folder)); }
  // Removes at most `entries`. True: there is more. What cannot be removed stays.
  bool step(std::size_t entries);

 private:
  std::deque<std::filesystem::path> folders_;  // the last one is emptied first
  std::set<std::filesystem::path> stay_;       // folders inside those that cannot be removed
};

class Retention {
 public:
  // `keep`: how many jobs are kept, 0: all; `age`: for how long, 0: for ever. All arguments but
  // `state_dir` must outlive the Retention.
  Retention(Journal& journal, JobManager& jobs, AfterCommit& after_commit, std::uint64_t keep,
            Duration age, std::string state_dir);

  // Call before the commit. True: there is more to do, in the next turn.
  bool turn(Time now);
  // A job has ended. Its empty output files, if the instance named them, are removed after the
  // commit.
  void ended(const msg::JobRecord& record);
  // Called after ended(): the job left no empty files, so none is looked for.
  void left_no_files(JobId job);
  // Called when jobs first .. stop - 1 are to be forgotten with the next commit.
  std::function<void(JobId first, JobId stop)> on_forgetting = [](JobId, JobId) {};
  // Called when jobs were forgotten and that is committed.
  std::function<void()> on_forgotten = [] {};

 private:
  bool forget_some(Time now);
  void remove_outputs(JobId first, JobId stop) const;
  void remove_lost_folders();

  Journal& journal_;
  JobManager& jobs_;
  AfterCommit& after_commit_;
  std::uint64_t keep_;
  Duration age_;
  std::string output_dir_, children_dir_;
  SlowRemoval removal_;
  std::unordered_set<JobId> without_files_;  // jobs that ended in this turn
  bool forgets_ = false;                     // until at most `keep_` are left
  bool forgets_below_ = true;                // an earlier broker may have left some
  bool began_ = false;
  Time not_before_ = 0;
};

}  // namespace holon::instance
