// job_files.hpp - the files that were added to one job, on this node: written before its tasks
// start, gone with the last of them, with the rights of the tasks' user.
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
  // `user`: the owner of the files; "": this process's user. `lineage`: of the job's tasks.
  JobFiles(transport::Reactor& reactor, Processes& processes, JobProcesses& job, std::string user,
           std::string lineage);
  JobFiles(const JobFiles&) = delete;
  JobFiles& operator=(const JobFiles&) = delete;

  // `done` is called once, never from in here, with nothing or the reason why the files are
  // missing. Not called after stop(). Errors: denied (the user may not write there, or may have no
  // process), system.
  void place(const std::vector<msg::File>& files, std::function<void(const Status&)> done);
  bool is_placed() const { return is_placed_; }
  void stop();
  // The path of the folder. REQUIRES: is_placed().
  const std::string& path() const { return folder_->path(); }
  // Removes the folder with all that tasks have put there. False: that is done; else `done` is
  // called with what went wrong ("": nothing) after the only attempt: the next agent removes the
  // rest. REQUIRES: no process of the job is left.
  bool remove(std::function<void(const std::string& trouble)> done);
  // The process last started for any of this; 0: none.
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
  bool may_be_left_ = false;    // by a process that has begun and has not answered yet
  transport::UniqueFd line_;    // of a process that writes them as the user
  std::unique_ptr<Hook> hook_;  // the process at work; nullptr: none has run
  transport::Subscription telling_;
};

// Removes the folders of jobs that killed agents have left on this node, by processes of their
// owners beside the agent: it may be much. Once for each agent.
class LeftFiles {
 public:
  // `bases`: the directories of such folders. O(entries of these).
  LeftFiles(Processes& processes, ProcessTracking& tracking, const std::set<std::string>& bases);

 private:
  void remove(Processes& processes, ProcessTracking& tracking, const std::string& base,
              const std::string& owner);

  std::vector<transport::Subscription> ends_;
};

}  // namespace holon::launch
