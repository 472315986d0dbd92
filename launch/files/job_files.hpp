// job_files.hpp - the files that were added to one job, on this node: written before its tasks
// start, gone with the last of them, with the rights of the user whose tasks they are.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launch/files/job_folder.hpp"
#include "launch/hook.hpp"
#include "launch/messages.hpp"
#include "launch/tasks/processes.hpp"
#include "launch/tracking/tracking.hpp"
#include "transport/reactor.hpp"

namespace holon::launch {

class JobFiles {
 public:
  // `user`: whose they are; "": this process's. `lineage`: of the job's tasks.
  JobFiles(transport::Reactor& reactor, Processes& processes, JobProcesses& job, std::string user,
           std::string lineage);
  JobFiles(const JobFiles&) = delete;
  JobFiles& operator=(const JobFiles&) = delete;

  // `done` is told once, never from in here: nothing, or why they are not there. Not called any
  // more after stop(). Errors: denied (the user may not write there, or may have no process),
  // system.
  void place(const std::vector<msg::File>& files, std::function<void(const Status&)> done);
  bool is_placed() const { return is_placed_; }
  void stop();
  // Of the folder. REQUIRES: is_placed().
  const std::string& path() const { return folder_->path(); }
  // Removes the folder with all that tasks have put there. False: it is done; else `done` is told
  // what went wrong ("": nothing did), once the only attempt is over: what it could not remove is
  // left to the next agent.
  // REQUIRES: no process of the job is left.
  bool remove(std::function<void(const std::string& trouble)> done);
  // That was started last for any of it; 0: none.
  msg::ProcessId process() const { return hook_ ? hook_->process() : msg::ProcessId{}; }

 private:
  void place_as_user(const std::vector<msg::File>& files, std::function<void(const Status&)> done);
  bool remove_quickly();
  Hook::What removal() const;

  transport::Reactor& reactor_;
  Processes& processes_;
  JobProcesses& job_;
  const std::string user_, lineage_;
  std::vector<std::string> names_;
  std::optional<JobFolder> folder_;
  bool is_placed_ = false;
  bool may_be_left_ = false;    // by a process that has begun with it and has said nothing yet
  transport::UniqueFd line_;    // of a process that writes them as the user
  std::unique_ptr<Hook> hook_;  // what runs for it; nullptr: nothing has
  transport::Subscription telling_;
};

// The folders of jobs that agents which were killed have left on this node are removed by processes
// of their owners, beside the agent: it may be much. Once for each agent.
class LeftFiles {
 public:
  // `bases`: where such folders are. O(entries of these).
  LeftFiles(Processes& processes, ProcessTracking& tracking, const std::set<std::string>& bases);

 private:
  void remove(Processes& processes, ProcessTracking& tracking, const std::string& base,
              const std::string& owner);

  std::vector<transport::Subscription> ends_;
};

}  // namespace holon::launch
