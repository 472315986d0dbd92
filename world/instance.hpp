// instance.hpp - an instance of a world: the real broker and its real agents, each in a process,
// and a supervisor that is a model.
//
// A root may have several hosts: its agents but that of rank 0 are then on host 1, 2, ..., ask for
// their place as `holon agent --join` does, and when one ends somebody starts another there.
//
// The model starts again what crashes, sends signals and ends as instance/process/supervisor.cpp
// does it; the real one is made of fork, pipes and /proc. The program that an instance runs is as
// long as its job says, and its end ends the instance.
#pragma once
#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "instance/broker.hpp"
#include "instance/options.hpp"
#include "instance/process/crash_guard.hpp"
#include "launch/agent.hpp"
#include "launch/tasks/processes.hpp"
#include "transport/rpc.hpp"
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
  // nullptr: it has no resources yet, or could not begin.
  const instance::Core* core() const { return broker_ ? broker_->core() : nullptr; }
  void tell(const std::function<void(instance::Broker&)>& what);

 private:
  std::unique_ptr<instance::Broker> broker_;
};

class AgentProcess final : public Process {
 public:
  AgentProcess(Machine& machine, const std::string& name, pid_t pid, class Instance& owner,
               int host);
  ~AgentProcess() override;
  void begin(launch::AgentOptions how);
  // Of one on another host than its broker's: first it asks for its place, with this key.
  void join(const std::string& address, const transport::Security& as, std::uint32_t rank);
  void tell(const std::function<void(launch::Agent&)>& what);

 protected:
  void after_turn() override;

 private:
  void hear_place(const std::string& address, const Result<std::string>& answer);

  Machine& machine_of_;
  Instance& owner_;
  transport::Security invited_;
  std::unique_ptr<transport::Client> joining_;
  std::unique_ptr<launch::Agent> agent_;
};

// Keeps all instances of a world.
class Instances {
 public:
  virtual ~Instances() = default;
  virtual void add(std::unique_ptr<class Instance> instance) = 0;
};

class Instance {
 public:
  struct Begin {
    std::string path = "/";  // of the job that it is
    std::string state_dir;
    std::vector<std::string> conf;
    std::string resources;  // of a root
    std::uint32_t agents = 1;
    std::uint32_t hosts = 1;  // of a root: more than one have an agent each
    int host = 0;             // where it runs
    std::string parent_uri, token;
    pid_t task = 0;      // that it is, of its parent's agent
    Micros program = 0;  // how long it runs once it is ready; 0: until it is told to end
  };
  Instance(Machine& machine, Instances& all, Begin begin);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  // A task of its agent is another instance.
  void begin_child(Task& task, const launch::SpawnRequest& request);

  const std::string& path() const { return begin_.path; }
  const std::string& token() const { return begin_.token; }
  const std::string& parent_uri() const { return begin_.parent_uri; }
  const std::string& state_dir() const { return begin_.state_dir; }
  pid_t task() const { return begin_.task; }
  std::string uri() const { return "ipc://" + options_.runtime_dir + "/broker"; }
  bool is_root() const { return begin_.task == 0; }
  int host() const { return begin_.host; }
  const std::string& agent_secret(std::uint32_t rank) const {
    return options_.secrets.agents[rank];
  }
  bool has_hosts() const { return begin_.hosts > 1; }
  bool over() const { return over_; }
  bool ready() const { return ready_ && !ending_ && !over_; }
  BrokerProcess* broker() const { return broker_.get(); }
  // nullptr: there is none just now.
  AgentProcess* agent(std::uint32_t rank) const { return agents_[rank].process.get(); }
  std::uint32_t agents() const { return begin_.agents; }
  const instance::Core* core() const {
    return broker_ && broker_->alive() ? broker_->core() : nullptr;
  }

  // Of its supervisor.
  void on_signal(int number);
  // Its supervisor is killed: broker and agent notice, and end.
  void lose_supervisor();
  // All of it is gone at once, and nobody is told.
  void vanish();
  int code() const { return code_; }

  std::function<void()> on_over = [] {};
  // A broker was made from what the journal says.
  std::function<void(Instance&)> on_recovered = [](Instance&) {};

 private:
  void start_broker();
  void start_agent(std::uint32_t rank);
  bool is_far(std::uint32_t rank) const { return has_hosts() && rank > 0; }
  void begin_agent(std::uint32_t rank);
  void far_agent_ended(std::uint32_t rank, pid_t pid);
  void broker_ended(bool killed, int code);
  void agent_ended(std::uint32_t rank, bool killed);
  void restart(instance::CrashGuard& guard, const std::function<void()>& start);
  void stop();
  void finish_agents();
  bool has_agents() const;
  void kill_agents(const std::string& how);
  void finish_if_all_gone();
  void become_over(int status);
  void later(Micros delay, std::function<void()> action);

  Machine& machine_;
  Instances& all_;
  Begin begin_;
  instance::BrokerOptions options_;
  std::unique_ptr<BrokerProcess> broker_;
  struct Agent {
    std::unique_ptr<AgentProcess> process;
    instance::CrashGuard guard;
  };
  std::vector<Agent> agents_;  // by rank
  instance::CrashGuard broker_guard_;
  bool had_broker_ = false, ready_ = false, ending_ = false, alone_ = false, over_ = false;
  int code_ = 0;
  Micros broker_started_ = 0;
  std::shared_ptr<bool> there_ = std::make_shared<bool>(true);
};

}  // namespace holon::world
