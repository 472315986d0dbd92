// supervisor.hpp - the process that an instance hangs on: it starts broker, agent and initial
// program.
//
// It does as little as it can, so that it has little to die of: it restarts a broker or an agent
// that crashed, ends the instance when the initial program ends, and leaves no process behind, nor
// lets any that is left of earlier runs be there when cores are given away. It is a subreaper:
// whatever loses its parent below becomes its child.
#pragma once
#include <functional>
#include <string>

#include "config/config.hpp"
#include "instance/assembly/nodes.hpp"
#include "instance/basics/options.hpp"

namespace holon::instance {

// Of `holon start`.
inline constexpr int kExitFailed = 1;        // the instance could not start
inline constexpr int kExitUsage = 2;         // the command line or a configuration is wrong
inline constexpr int kExitOneOfSeveral = 4;  // a task that would make an instance of its own

// Runs the instance to its end; its directories are there, and the runtime directory goes with it.
// `on_ready` is called once with the broker's uri, or `on_refused` where it cannot begin: another
// instance has the state directory. `cpuset`: HOLON_CPUSET of a child, else empty.
// Returns the process's exit code, see start_main().
// `nodes`: besides this one.
int supervise(const BrokerOptions& options, const config::Config& config, const Nodes& nodes,
              const std::string& cpuset, std::function<void(const std::string& uri)> on_ready,
              const std::function<void(const Error& why)>& on_refused);

// A message of `holon start` on standard error.
void say(const std::string& text);

}  // namespace holon::instance
