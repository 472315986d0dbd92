// agent.hpp - the process on each node that starts and watches tasks: `holon agent`, a hidden verb.
//
// One thread. All orders come from the broker (messages.hpp); the agent decides nothing but how to
// end a job whose time is up, and to end itself when no broker has asked for it during the orphan
// timeout.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"
#include "launch/tasks/known_machine.hpp"
#include "launch/node.hpp"
#include "launch/tasks/environment.hpp"
#include "launch/tasks/processes.hpp"
#include "transport/reactor.hpp"
#include "transport/rpc.hpp"

namespace holon::launch {

struct AgentOptions {
  std::string broker_uri;
  std::string secret;  // shown to the broker in every hello
  std::uint32_t rank = 0;
  std::string hostname;                // "": gethostname(2)
  Duration orphan_timeout = 3600'000;  // ms without a broker after which it kills its jobs and
                                       // ends; 0: never
  std::string cpuset;  // numbering frame of a child instance, from HOLON_CPUSET; "": what this
                       // process may use
  std::string log_level = "warn";  // to stderr: trace, debug, info, warn, error, off
  std::string cgroup;              // directory in which each job gets a cgroup; "": jobs get none
  pid_t supervisor = 0;            // the parent it must not outlive; 0: it may
  int starter =
      -1;  // descriptor: tasks are started by the starter, as their users; -1: as this process
  std::uint64_t most_memory = 0;  // bytes that its node may offer; 0: all it has
  // For an agent on another node than its broker's (remote/): the keys for the connection. It opens
  // a socket on its node and passes requests on. Empty: the agent is beside the broker.
  transport::Security security;
  Duration lasts = 0;  // ms from its beginning until its node is gone; 0: not known
  std::string batch_system, batch_job;  // as in Hello
  // Also for such an agent: where its socket is, removed when it ends in order; "": a directory of
  // its own.
  std::string runtime_dir;
  bool at_hand = false;  // a person has started it: Ctrl-C ends it in order
};

// The process's exit codes.
enum AgentExit { kAgentDone = 0, kAgentCouldNotBegin = 1, kAgentRefused = 2, kAgentOrphaned = 3 };

// Makes the calling process a subreaper and reaps its children: one agent a process.
class Agent {
 public:
  // What the agent runs on.
  struct Ground {
    Node node;
    NodeFrame frame;
    std::unique_ptr<Processes> processes;
    std::string topology = {};  // the one it shows; "": that of `node`
    KnownMachine shown = {};    // to the agents of child instances
  };

  // An agent on this machine. Errors: invalid_argument (uri, cpuset), system.
  static Result<std::unique_ptr<Agent>> create(transport::Reactor& reactor, AgentOptions options);
  static Result<std::unique_ptr<Agent>> create(transport::Reactor& reactor, AgentOptions options,
                                               Ground ground);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Kills what runs, each job with its grace; has ended when the results were acknowledged or
  // `wait` ms have passed since the last job's end.
  void shut_down(Duration wait);
  // Likewise, in a hurry: nobody would restart it, and the next user of the cores is waiting.
  void lose_supervisor();
  // True while the agent has no connection to a broker and runs no job.
  bool is_left_alone() const;
  // Set when the agent has ended; the reactor is then stopped.
  std::optional<int> exit_code() const;

 private:
  class Impl;
  explicit Agent(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Runs until told to shut down (by the broker or SIGTERM), refused, or orphaned. Returns the
// process's exit code, an AgentExit.
int agent_main(const AgentOptions& options);

}  // namespace holon::launch
