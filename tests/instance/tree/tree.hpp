// tree.hpp - the processes of the instances of a tree, and the end of several at once.
#pragma once
#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "tests/instance/live.hpp"

namespace holon::instance::testing {

struct InstanceProcesses {
  pid_t supervisor = 0, broker = 0, agent = 0;
};

// REQUIRES: the instance answers.
inline InstanceProcesses processes_of(const Live& live, const std::string& path) {
  InstanceProcesses found;
  const auto node = live.status(path);
  EXPECT_TRUE(node) << path << ": " << node.error().what;
  if (!node) return found;
  found.broker = static_cast<pid_t>(node->pid);
  found.supervisor = parent_of(found.broker);
  for (const pid_t pid : children_of(found.supervisor))
    if (command_of(pid).find(" agent ") != std::string::npos) found.agent = pid;
  return found;
}

// Returns once the next broker of the instance is up. REQUIRES: the instance answers.
inline void kill_broker_of(const Live& live, const std::string& path) {
  const pid_t before = processes_of(live, path).broker;
  signal_process(before, SIGKILL);
  ASSERT_TRUE(eventually([&] {
    const auto node = live.status(path);
    return node && node->pid != before && node->health == "up";
  }));
}

// None of them sees another one's end.
inline void kill_at_once(const std::vector<pid_t>& pids) {
  for (const pid_t pid : pids) signal_process(pid, SIGSTOP);
  for (const pid_t pid : pids) signal_process(pid, SIGKILL);
}

}  // namespace holon::instance::testing
