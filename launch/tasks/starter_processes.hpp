// starter_processes.hpp - the tasks of an instance that serves several users: the starter
// (starter/wire.hpp) starts them, and a keeper each watches, signals and ends them.
//
// Processes for no user, as programs that the broker has run beside the agent, are the agent's own.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "launch/tasks/processes.hpp"
#include "starter/request.hpp"
#include "starter/wire.hpp"
#include "transport/unique_fd.hpp"

namespace holon::launch {

class StarterProcesses final : public Processes {
 public:
  // `starter`: the connection that this process has inherited.
  StarterProcesses(transport::Reactor& reactor, transport::UniqueFd starter,
                   std::unique_ptr<Processes> own, std::uint64_t task_descriptors);
  ~StarterProcesses() override;

  bool serves_users() const override { return true; }
  tl::expected<pid_t, SpawnError> spawn(const SpawnRequest& request) override;
  int open_file(const std::string& user, const std::string& path, int flags, int mask) override;
  // The start of a task when it began: its keeper may have reaped it since.
  std::uint64_t start_of(pid_t process) const override {
    const auto known = task_guards_.find(process);
    return known == task_guards_.end() ? own_->start_of(process) : known->second.start;
  }
  Result<transport::Subscription> on_end(pid_t process,
                                         std::function<void(const transport::ChildExit&)> ended,
                                         std::function<void()> before_reap) override;
  void signal_group(pid_t leader, int signal) override;
  bool clear(const msg::ProcessId& leader) override;
  // Tasks that an earlier agent left have ended with its connections.
  std::size_t kill_sessions(const std::vector<msg::ProcessId>&, const std::string&) override {
    return 0;
  }

 private:
  struct TaskGuard {
    transport::UniqueFd line;
    transport::Subscription readable;
    std::function<void(const transport::ChildExit&)> ended;
    std::uint64_t start = 0;   // the task's, as ProcessId::start
    std::uint64_t number = 0;  // unlike a process's number, never reused
    bool was_told = false;     // told to end all
  };
  // The keeper of processes that an ended task has left behind.
  struct Left {
    transport::UniqueFd line;
    bool was_told = false;
  };
  struct Answer {
    starter::Told told;
    transport::UniqueFd file;
  };
  std::optional<Answer> hear(int line, Duration patience, const std::string& user);
  Duration patience_with(const std::string& user) const;
  tl::expected<pid_t, SpawnError> await(transport::UniqueFd line, const SpawnRequest& request);
  void read(pid_t task);
  void lose(pid_t task);
  void ended(pid_t task, const starter::Told& told);

  transport::Reactor& reactor_;
  transport::UniqueFd starter_;
  std::unique_ptr<Processes> own_;
  std::uint64_t task_descriptors_;
  std::uint64_t last_ = 0;
  std::map<pid_t, TaskGuard> task_guards_;  // of running tasks
  std::map<std::pair<pid_t, std::uint64_t>, Left> left_;
  std::set<std::string> slow_;  // users whose files or folders have delayed this process
};

// Errors: system.
Result<std::unique_ptr<Processes>> starter_processes(transport::Reactor& reactor, int starter);

}  // namespace holon::launch
