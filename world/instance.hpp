// instance.hpp - an instance of a world: the real broker and its real agents, each in a process,
// and a supervisor that is a model.
//
// A root may have several hosts: its agents but that of rank 0 are then on host 1, 2, ..., ask for
// their place as `holon agent --join` does, and when one ends the world starts another there. Those
// of a child over several agents of its parent are started by these, as a part of the job each.
//
// The model starts again what crashes, sends signals and ends as instance/assembly/supervisor.cpp
// does it; the real one is made of fork, pipes and /proc. The program that an instance runs is as
// long as its job says, and its end ends the instance.
#pragma once
#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "instance/assembly/child_agent.hpp"
#include "instance/basics/options.hpp"
#include "instance/broker/broker.hpp"
#include "instance/process/crash_guard.hpp"
#include "launch/agent.hpp"
#include "launch/remote/invitation.hpp"
#include "launch/tasks/processes.hpp"
#include "msg/instance.hpp"
#include "transport/rpc.hpp"
#include "transport/unique_fd.hpp"
#include "world/seams/process.hpp"
#include "world/seams/timeline.hpp"

namespace holon::world {

class Machine;
struct Task;

class BrokerProcess final : public Process {
 public:
  BrokerProcess(Machine& machine, const std::string& name, pid_t pid,
                instance::BrokerOptions options, std::function<void()> on_ready, int host);
  ~BrokerProcess() override;
  // The real instance; nullptr: it has no resources yet, or could not begin.
  const instance::Instance* core() const { return broker_ ? broker_->core() : nullptr; }
  void tell(const std::function<void(instance::Broker&)>& what);

 private:
  std::unique_ptr<instance::Broker> broker_;
};

class AgentProcess final : public Process {
 public:
  // `owner`: the agent's instance, asked for when it has its place; nullptr: that is over.
  AgentProcess(Machine& machine, const std::string& name, pid_t pid,
               std::function<class Instance*()> owner, int host);
  ~AgentProcess() override;
  void begin(launch::AgentOptions how);
  // Joins from another host than the broker's: first it asks for its place, with this key.
  void join(const std::string& address, const transport::Security& as,
            const launch::msg::JoinRequest& ask);
  // Joins in the same way, asking again for a minute as long as no broker answers.
  void join_patiently(const launch::Invitation& invitation, const launch::msg::JoinRequest& ask);
  // Begins an agent that a child's parent has started: first it asks the parent for that key.
  void ask_parent(const instance::ChildAgentOptions& how);
  void tell(const std::function<void(launch::Agent&)>& what);
  // Sends SIGTERM.
  void terminate();
  // ms until its node is gone, told by the agent, from its beginning on; 0: the node stays.
  Duration lasts = 0;
  std::string batch_job;  // the one its node is in; "": none
  // Called when the agent has been given a place.
  std::function<void()> on_place = [] {};

 protected:
  void after_turn() override;

 private:
  void call_for_place();
  void hear_place(const Result<std::string>& answer);
  void call_parent();
  void hear_parent(const Result<std::string>& answer);
  void reach(const std::string& uri, const std::string& name, const transport::Security& as);
  void leave_owner();

  Machine& machine_of_;
  std::function<Instance*()> find_owner_;
  Instance* owner_ = nullptr;
  std::uint32_t rank_ = 0;
  instance::ChildAgentOptions of_child_;
  bool is_of_child_ = false;
  bool waits_for_place_ = false;  // as launch::ask_for_place() does
  std::string address_;
  launch::msg::JoinRequest ask_;
  transport::Security invited_;
  transport::Subscription patience_, again_;
  std::unique_ptr<transport::Client> admission_;
  std::unique_ptr<launch::Agent> agent_;
};

// Keeps all instances of a world, and agents that no supervisor looks after.
class Instances {
 public:
  virtual ~Instances() = default;
  virtual void add(std::unique_ptr<class Instance> instance) = 0;
  virtual void add(std::unique_ptr<AgentProcess> agent) = 0;
  virtual void remove(const AgentProcess& agent) = 0;
  // Is there an agent on this host that was started by hand (holon join)?
  virtual bool is_added_by_hand(int host) const = 0;
  // The instance at this path that is not over; nullptr: none.
  virtual Instance* find(const std::string& path) const = 0;
};

class Instance {
 public:
  struct Begin {
    std::string path = "/";  // of the job that the instance is
    std::string state_dir;
    std::vector<std::string> conf;
    std::string resources;  // of a root
    std::uint32_t agents = 1;
    std::vector<std::string> hosts;  // names, where each has an agent
    bool on_hosts = false;           // of a child: its root has several hosts
    int host = 0;                    // where it runs
    std::string parent_uri, token;
    bool goes_on = false;
    pid_t task = 0;       // the task of its parent's agent that it is
    Micros program = 0;   // how long it runs once it is ready; 0: until it is told to end
    bool system = false;  // it serves several users
    // In an instance for several users: for the children that it makes for each of them.
    std::vector<std::string> own_conf = {};
    std::string user = {};      // the user of such a child; "": as the one above
    bool is_idle_over = false;  // it ends when it has had nothing to do for a while
    Micros late = 0;            // some agents on other hosts begin so much later, at most
    bool exit_on_loss = false;  // it ends with the first node that it loses
    Duration limit = 0;         // ms after which a root ends (-t); 0: never
  };
  Instance(Machine& machine, Instances& all, Begin begin);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  // Begins another instance, or an agent of one, as a task of this instance's agent.
  void begin_child(Task& task, const launch::SpawnRequest& request);

  const std::string& path() const { return begin_.path; }
  const std::string& token() const { return begin_.token; }
  const std::string& parent_uri() const { return begin_.parent_uri; }
  const std::string& state_dir() const { return begin_.state_dir; }
  pid_t task() const { return begin_.task; }
  std::string uri() const { return "ipc://" + options_.runtime_dir + "/broker"; }
  bool is_root() const { return begin_.task == 0; }
  const std::string& user() const { return begin_.user; }
  int host() const { return begin_.host; }
  const std::string& agent_secret(std::uint32_t rank) const {
    return options_.secrets.agents[rank];
  }
  // Has it an agent for each of its hosts, of which one may be the only one for now?
  bool has_hosts() const { return !begin_.hosts.empty(); }
  // The ranks of its agents by host, with those that came later and those that are away.
  const std::map<int, std::uint32_t>& ranks() const { return ranks_; }
  std::optional<std::uint32_t> rank_on(int host) const;
  AgentProcess* agent_on(int host) const;
  // Adds an agent that this instance did not start, when it has its place, until it ends.
  void attach(std::uint32_t rank, AgentProcess* agent);
  void detach(const AgentProcess& agent) {
    std::erase_if(attached_, [&](const auto& one) { return one.second == &agent; });
  }
  // The instance above, if it is not over.
  const Instance* above() const;
  bool over() const { return over_; }
  bool ready() const { return ready_ && !ending_ && !over_; }
  BrokerProcess* broker() const { return broker_.get(); }
  // The agent; nullptr: there is none just now.
  AgentProcess* agent(std::uint32_t rank) const;
  std::uint32_t agents() const { return begin_.agents; }
  const instance::Instance* core() const {
    return broker_ && broker_->alive() ? broker_->core() : nullptr;
  }

  // Handles a signal to its supervisor.
  void on_signal(int number);
  // Kills its supervisor: broker and agent notice, and end.
  void lose_supervisor();
  // Removes all its processes at once; none of their connections is closed.
  void vanish();
  int code() const { return code_; }

  // Adds this host to a root by an agent started by hand; `placed` is called once the agent has
  // been given a place.
  void join_by_hand(int host, const launch::Invitation& invitation, Duration lasts,
                    std::function<void()> placed);
  Micros begun() const { return begun_; }  // its first broker

  // Called when an agent on another host than the instance's own is given a place.
  std::function<void(int host)> on_place = [](int) {};
  // Called when it can be used.
  std::function<void(const Instance&)> on_ready = [](const Instance&) {};
  // Called when it begins its end, or has been killed.
  std::function<void(const Instance&)> on_ending = [](const Instance&) {};
  // Called when a broker was made from what the journal says.
  std::function<void(Instance&)> on_recovered = [](Instance&) {};

 private:
  void start_broker();
  void start_agent(std::uint32_t rank);
  bool is_on_hosts() const { return is_root() ? has_hosts() : begin_.on_hosts; }
  bool is_far(std::uint32_t rank) const { return has_hosts() && rank > 0; }
  // The number of agents it starts itself: all of a root, the first of a child over several.
  std::uint32_t own_agents() const { return is_root() || !has_hosts() ? begin_.agents : 1; }
  void open_to_hosts();
  Begin own_instance(const launch::SpawnRequest& request) const;
  void begin_instance(Task& task, Begin child);
  void begin_agent_of_child(Task& task, instance::ChildAgentOptions how);
  void begin_agent(std::uint32_t rank);
  void far_agent_ended(std::uint32_t rank, pid_t pid);
  void clear_unknown_left_by(pid_t agent, std::uint32_t rank);
  void broker_ended(bool killed, int code);
  void agent_ended(std::uint32_t rank, bool killed, int code);
  void restart(instance::CrashGuard& guard, const std::function<void()>& start);
  void stop();
  void finish_agents();
  bool needs_agent(std::uint32_t rank) const;
  void agent_ended_at_end(std::uint32_t rank, pid_t pid);
  bool has_agents() const;
  void kill_agents(const std::string& how);
  void finish_if_all_gone();
  void become_over(int status);
  void claim();
  void later(Micros delay, std::function<void()> action);

  Machine& machine_;
  Instances& all_;
  Begin begin_;
  transport::UniqueFd lock_;  // of its state directory
  instance::BrokerOptions options_;
  std::unique_ptr<BrokerProcess> broker_;
  std::map<std::uint32_t, AgentProcess*> attached_;
  std::map<int, std::uint32_t> ranks_;
  struct Agent {
    std::unique_ptr<AgentProcess> process;
    instance::CrashGuard guard;
  };
  std::vector<Agent> agents_;  // its own, by rank
  instance::CrashGuard broker_guard_;
  bool had_broker_ = false, ready_ = false, ending_ = false, alone_ = false, over_ = false;
  int code_ = 0;
  Micros broker_started_ = 0, begun_ = 0;
  std::shared_ptr<bool> there_ = std::make_shared<bool>(true);
};

}  // namespace holon::world
