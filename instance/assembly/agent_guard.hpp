// agent_guard.hpp - the process that a launcher has started on a node keeps an agent there, as the
// supervisor does beside the broker: after one that died comes another, with the same place and
// socket and nothing left of what ran. So the launcher is not needed a second time: a broken
// connection of ssh, say, does not tell whether the agent has ended, too.
#pragma once
#include "launch/agent.hpp"

namespace holon::instance {

// Runs an agent with these options as a process of its own, and another whenever a signal has ended
// it. Returns the code of the one that ended in order, a launch::AgentExit; where agents die again
// and again, kAgentCouldNotBegin. `options.runtime_dir` is made here. `starter`: this process's
// connection to the starter to which the agent's is `options.starter`; -1: there is none.
int keep_agent(launch::AgentOptions options, int starter = -1);

}  // namespace holon::instance
