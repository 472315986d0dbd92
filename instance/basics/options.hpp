// options.hpp - how an instance is started: the options of `holon start`, and the entry points
// behind it.
//
// `holon start` becomes the supervisor (start_main). The supervisor writes its options to the
// runtime directory, starts `holon broker DIR` and `holon agent ...` as processes of their own, and
// runs the initial program.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "transport/curve/admission.hpp"

namespace holon::instance {

struct StartOptions {
  // The initial program and its arguments: its end ends the instance, its exit code is
  // start_main's. Empty: the user's shell if standard input is a terminal, an error otherwise,
  // unless `background`.
  std::vector<std::string> command;
  // Returns once the instance is up and its uri is printed; the instance ends by `holon shutdown`,
  // SIGTERM or its time limit.
  bool background = false;
  // A shape ("node=4/core=8,memory=16"), or the name of a file: JGF, Rv1 or hwloc XML. Empty: what
  // hwloc finds here.
  std::string resources;
  // `resources` is empty, and the instance keeps the declared ones of the journal in `state_dir`.
  bool keeps_declared = false;
  // Configuration in order, later wins: KEY=VALUE or the name of a TOML file (docs/config.md).
  std::vector<std::string> conf;
  // Journal and output files. Empty: a new directory below $XDG_STATE_HOME/holon or
  // ~/.local/state/holon. A directory with a journal: that instance continues, with its queued
  // jobs.
  std::string state_dir;
  // How many agents run on this machine; each stands for an equal part of the nodes of declared
  // resources.
  std::uint32_t agents = 1;
  // Other nodes to have an agent on, by ssh; this node is always the first, named or not. Empty:
  // those that a batch system has granted.
  std::vector<std::string> hosts;
  std::string name;           // for display; empty: the host's name, or the job's in a child
  std::int64_t limit_ms = 0;  // the instance ends in order after this time; 0: never
  bool journal = true;        // false: nothing is kept on disk, a broker crash loses everything
  // This is a child: the agent has handed over whose (start.cpp), and the parent's grant has its
  // resources.
  bool grant = false;
  // One of several tasks makes an instance of its own; of an allocation of several nodes only this
  // node is used.
  bool here = false;
  bool exit_on_loss = false;  // the instance ends when one of its nodes is lost for good
  bool verbose = false;       // log at level debug
  // The instance serves several users (users/): root started it, and it is not root any more. Its
  // processes are those of `account`, and its runtime directory is below `runtime_place`.
  bool system = false;
  bool own_policy = false;  // a child's: its user's policy file, if there is one, is its policy
  // The children that it plants, level by level, as --tree has them; "": none. With that, what of
  // the configuration is for the levels below it: "1:queue.policy=easy".
  std::string tree;
  std::vector<std::string> level_conf;
  bool web = false;  // `holon web` runs beside the broker, for as long as the instance does
  std::string account = "holon", runtime_place = "/run/holon";

  bool operator==(const StartOptions&) const = default;
};

// What the supervisor tells the broker: the file `instance.json` of the runtime directory.
struct BrokerOptions {
  StartOptions start;       // conf files as absolute names, state_dir filled in; no command
  std::string runtime_dir;  // 0700; holds the sockets, so it is short
  std::string binary;       // the holon program, absolute
  std::string parent_uri, job_path;  // of a child; else empty
  // A child that the instance above starts again from its journal, until it is ended for good.
  bool goes_on = false;
  std::uint64_t most_memory = 0;   // bytes that this machine may offer; 0: all it has
  std::vector<std::string> hosts;  // by rank; empty for an instance of one node
  // Inherited connections to the starter: the supervisor's, and its agent's; -1: there is none.
  int starter = -1, starter_of_agent = -1;
  int socket = -1;  // listens for agents on other nodes, inherited; -1: there are none

  // Never written: the supervisor hands them to each broker in a descriptor.
  struct Secrets {
    std::vector<std::string> agents;  // what this instance's agents show, by rank
    std::string token;                // what a child shows its parent
    std::string invitation;           // what agents of several nodes are handed
    struct Keys {
      transport::KeyPair server, join;         // the broker's, and the invitation's
      std::vector<transport::KeyPair> agents;  // by rank; that of rank 0 is empty
      bool operator==(const Keys&) const = default;
    } keys;  // for an instance of several nodes
    bool operator==(const Secrets&) const = default;
  } secrets;

  bool operator==(const BrokerOptions&) const = default;
};

// JSON text of the options, without the secrets, and back. Errors: invalid_argument with the field,
// or for text that is not UTF-8.
Result<std::string> write_options(const BrokerOptions& options);
Result<BrokerOptions> parse_options(std::string_view json);

// The origin of the state directory: "--state-dir", "default", or for a child "the instance above".
std::string state_dir_source(const BrokerOptions& options);

// `holon start`: runs the instance to its end. Returns the process's exit code: the initial
// program's (128+signal if a signal ended it), 0 for a background instance that came up or ended in
// order, 1 with a message on stderr when the instance could not start, 3 when the broker crashed
// again and again, 4 for one of several tasks (StartOptions::here).
// `when_up` is called with the uri of an instance in the background once it is up, before this
// process ends, and returns its exit code; without it the uri is printed.
int start_main(StartOptions options,
               const std::function<int(const std::string& uri)>& when_up = {});

// The secrets as text for a descriptor, and back. Errors: invalid_argument.
std::string write_secrets(const BrokerOptions::Secrets& secrets);
Result<BrokerOptions::Secrets> parse_secrets(std::string_view json);

// Descriptors that a broker inherits; -1: not given.
struct BrokerDescriptors {
  int ready = -1;     // gets one line when the broker listens: its uri
  int lifeline = -1;  // its end of file means that the supervisor is gone
  int pulse = -1;     // memory shared with the supervisor, pulse.hpp
  int secrets = -1;   // BrokerOptions::Secrets; without them no agent is taken
  int socket = -1;    // listens for agents on other nodes
};

// `holon broker RUNTIME_DIR`: started by the supervisor only.
int broker_main(const std::string& runtime_dir, const BrokerDescriptors& inherited);

}  // namespace holon::instance
