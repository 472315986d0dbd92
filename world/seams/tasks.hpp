// tasks.hpp - the tasks of a world: what agents start instead of processes of the operating system.
//
// A task uses the cores that it was given from its start until nothing of it is left. No two tasks
// that live may have a core in common, unless the one is a job of the instance that the other is.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "instance/job/job.hpp"
#include "instance/service/instance.hpp"
#include "launch/tasks/processes.hpp"
#include "launch/tracking/taken_units.hpp"
#include "world/seams/timeline.hpp"

namespace holon::world {

class Machine;
class Process;
class Instance;
class AgentProcess;

struct Task {
  pid_t pid = 0;
  std::uint64_t start = 0;
  pid_t parent = 0;  // the agent's
  int host = 0;
  std::string path;           // of the job; "": it is none
  std::uint32_t attempt = 0;  // of it, counted from 0
  int rank = 0;
  using Units = std::set<std::pair<std::string, std::int64_t>>;  // by node
  Units cores, gpus;
  bool cores_known = true;     // those of an instance are what its broker says
  bool running = true;         // something of it is there, and uses its cores
  bool told = false;           // its agent knows that it has ended
  bool ignores = false;        // SIGTERM
  bool survives = false;       // a part of it outlives its agent
  bool stopped = false;        // SIGSTOP
  std::function<void()> owed;  // done as soon as it goes on
  int saves = 0;               // times that it was told to save what it has done
  int status = 0;              // of wait(2)
  std::function<void(const transport::ChildExit&)> ended;
  std::function<void()> before_reap;
  Process* agent = nullptr;      // nullptr: gone
  Instance* instance = nullptr;  // the instance that it is, if any
  // For a child instance over several hosts: its agent on this one.
  AgentProcess* child_agent = nullptr;
};

// The course of one attempt of a job.
struct Attempt {
  std::set<int> started;           // ranks of tasks
  std::set<int> on_granted_nodes;  // of these, agents of a child on nodes that came later
  std::set<int> ended;             // of themselves
  std::set<int> ran_to_end;        // of themselves, with status 0
  std::set<int> codes;             // other than 0, with which tasks ended of themselves
  std::set<pid_t> agents;          // those that started them
  Micros last_end = 0;             // of a task of itself
  Micros began = 0, over = 0;      // the first start and the last end of a task
};
// Is this task of a child instance its agent on a whole node that a grant has brought?
bool is_of_grant(const instance::Lifecycle& job, int rank);
// Has the child instance still a part of which this is the task?
bool has_part(const instance::Lifecycle& job, int rank);
// How the jobs of a world's users ended, by path: the truth that records are compared with.
struct Truth {
  std::map<std::uint32_t, Attempt> attempts;
  int tasks = 0;                  // of the job
  std::set<std::string> indices;  // HOLON_ARRAY_INDEX of its tasks; "": there was none
};

class Tasks {
 public:
  explicit Tasks(Machine& machine) : machine_(machine) {}

  // The processes that the agent of `owner` uses.
  std::unique_ptr<launch::Processes> processes_of(Process& agent, Instance& owner);
  // Ends the agent's tasks with it; their leftovers go when they are looked for.
  void agent_is_gone(Process& agent);
  // Notes that the agent's knowledge of its tasks counts for nothing any more.
  void lose_agent(pid_t agent) { lost_agents_.insert(agent); }
  bool is_lost(pid_t agent) const { return lost_agents_.contains(agent); }
  // Ends the host with all that is on it.
  void host_died(int host);
  // Kills at once all that is left of the instance that this task is; 0: of all instances.
  void kill_below(pid_t instance);
  // Clears what a lost agent has left, as the supervisor does.
  void clear_left_by(pid_t agent);
  // The same, except for processes that the journal has for a job, or for one that is over.
  void clear_unknown_left_by(pid_t agent, const instance::Instance& core, std::uint32_t rank);
  // Sets the task that a process of an instance belongs to; 0: it is a root's.
  void adopt(pid_t process, pid_t parent) { parents_[process] = parent; }
  bool belongs_to(std::int64_t pid, const std::vector<instance::event::Process>& ancestors) const;
  // Ends the task that an instance was, or an agent of it.
  void end(pid_t pid, int status);
  // Notes that the agent is told to start this attempt of the job.
  void announce(pid_t agent, const std::string& path, std::uint32_t attempt) {
    announced_[{agent, path}] = attempt;
  }

  const std::map<pid_t, std::shared_ptr<Task>>& live() const { return live_; }
  const std::map<std::string, Truth>& truth() const { return truth_; }
  std::string example() const;  // of what lives

  // Used by the Processes of an agent.
  tl::expected<pid_t, launch::SpawnError> spawn(Process& agent, Instance& owner,
                                                const launch::SpawnRequest& request);
  std::shared_ptr<Task> find(pid_t pid) const;
  void signal(pid_t pid, int number);
  std::size_t kill_sessions(const std::vector<launch::msg::ProcessId>& leaders);
  // Like launch::end_on_taken_units(), of what jobs of this child run on the agent's host.
  std::size_t take(const Process& agent, const std::string& child, const launch::TakenUnits& taken);
  void tell(const std::shared_ptr<Task>& task);

 private:
  std::shared_ptr<Task> add(Process& agent, const launch::SpawnRequest& request);
  void note_start(const Process& agent, const Task& task, const launch::SpawnRequest& request,
                  const Instance& owner);
  bool is_on_granted_node(const Task& task, const Instance& owner) const;
  bool runs_already(const Task& task) const;
  bool is_below(pid_t process, pid_t above) const;
  void begin_work(const std::shared_ptr<Task>& task, const std::vector<std::string>& argv);
  void end_of_itself(const std::shared_ptr<Task>& task, int code);
  void go_on(Task& task);
  void save(const std::shared_ptr<Task>& task);
  std::shared_ptr<Task> add_command(Process& agent);
  pid_t begin_batch_command(Process& agent, const launch::SpawnRequest& request);
  pid_t begin_capture(Process& agent, const launch::SpawnRequest& request);
  void finish(const std::shared_ptr<Task>& task, int status);
  void take_grant(Task& task, const Instance& owner) const;
  void check_units(const Task& task, const Instance& owner);
  void check_grant(const Task& task, const Instance& owner);

  Machine& machine_;
  std::uint64_t last_start_ = 0;
  std::map<pid_t, std::shared_ptr<Task>> live_, all_;
  std::map<pid_t, pid_t> parents_;
  std::map<std::string, Truth> truth_;
  std::set<pid_t> lost_agents_;
  std::set<std::string> fenced_;                                      // children, by path
  std::map<std::pair<pid_t, std::string>, std::uint32_t> announced_;  // attempts
};

}  // namespace holon::world
