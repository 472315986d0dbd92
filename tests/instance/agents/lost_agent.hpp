// lost_agent.hpp - an agent that does not come back.
#pragma once
#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "tests/instance/live.hpp"

namespace holon::instance::testing {

// Kills the agent of a rank more often than the supervisor starts it again. Its node stays down
// then; before, it may be down for a moment after each of the kills.
inline void kill_until_given_up(const Live& live, int rank) {
  EXPECT_TRUE(eventually([&] {
    if (const pid_t agent = live.agent(rank); agent != 0) kill(agent, SIGKILL);
    return read_file(live.dir() + "/state/instance.log").find("giving up") != std::string::npos;
  }));
}

}  // namespace holon::instance::testing
