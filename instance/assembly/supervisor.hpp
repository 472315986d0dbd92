// supervisor.hpp - the process that an instance depends on: it starts broker, agent and initial
// program.
//
// It does as little as it can, so that it has little to die of: it restarts a broker or an agent
// that crashed, ends the instance when the initial program ends, and leaves no process behind; nor
// is any process of earlier runs there when cores are given away. It is a subreaper: processes
// below it that lose their parent become its children.
#pragma once
#include <functional>
#include <string>

#include "config/config.hpp"
#include "instance/assembly/nodes.hpp"
#include "instance/basics/options.hpp"

namespace holon::instance {

// Exit codes of `holon start`.
inline constexpr int kExitFailed = 1;        // the instance could not start
inline constexpr int kExitUsage = 2;         // the command line or a configuration is wrong
inline constexpr int kExitGaveUp = 3;        // its broker or agent crashed again and again
inline constexpr int kExitTimeLimit = 124;   // its time limit ended the initial program
inline constexpr int kExitOneOfSeveral = 4;  // a task that would make an instance of its own

// Runs the instance to its end; its directories exist, and the runtime directory is removed with
// it. `on_ready` is called once with the broker's uri, or `on_refused` where the instance cannot
// begin: another has the state directory. `cpuset`: HOLON_CPUSET of a child, else empty. `nodes`:
// the other nodes. Returns the process's exit code, see start_main().
int supervise(const BrokerOptions& options, const config::Config& config, const Nodes& nodes,
              const std::string& cpuset, std::function<void(const std::string& uri)> on_ready,
              const std::function<void(const Error& why)>& on_refused);

// Writes a message of `holon start` to standard error.
void say(const std::string& text);

}  // namespace holon::instance
