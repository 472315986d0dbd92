// guest.hpp - a node that somebody adds to an instance with `holon join`, for a test: a process
// that ends with it.
#pragma once
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "instance/process/spawn.hpp"
#include "places.hpp"  // written by CMake
#include "tests/instance/live.hpp"

namespace holon::instance::testing {

class Guest {
 public:
  // `environment`: beside the test's own.
  Guest(const std::string& key, const std::string& name, const std::vector<std::string>& more = {},
        std::map<std::string, std::string> environment = {}) {
    Program program{{HOLON_BINARY, "join", "--key", key, "--name", name}, {}, true};
    program.argv.insert(program.argv.end(), more.begin(), more.end());
    program.set = std::move(environment);
    const auto pid = spawn(program);
    EXPECT_TRUE(pid) << to_string(pid.error());
    pid_ = pid.value_or(0);
  }
  ~Guest() {
    if (pid_ <= 0) return;
    for (const pid_t agent : children_of(pid_)) kill(agent, SIGCONT);
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  void signal(int number) const { kill(pid_, number); }
  // To the agent that it keeps.
  void signal_agent(int number) const {
    for (const pid_t agent : children_of(pid_)) kill(agent, number);
  }
  // No process is left there that could start another agent.
  void lose_for_good() const {
    const auto agents = children_of(pid_);
    kill(pid_, SIGKILL);
    for (const pid_t agent : agents) kill(agent, SIGKILL);
  }
  // Its exit code, once it has ended.
  int wait() {
    int status = -1;
    EXPECT_GT(waitpid(std::exchange(pid_, 0), &status, 0), 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = 0;
};

// What a command writes, standard error too, and its exit code.
inline std::pair<std::string, int> said_by(const std::string& command) {
  FILE* const out = popen((command + " 2>&1").c_str(), "r");
  EXPECT_NE(out, nullptr);
  std::string said;
  for (int c = 0; (c = std::fgetc(out)) != EOF;) said += static_cast<char>(c);
  const int status = pclose(out);
  return {said, WIFEXITED(status) ? WEXITSTATUS(status) : -1};
}

}  // namespace holon::instance::testing
