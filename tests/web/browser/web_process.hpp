// web_process.hpp - `holon web` as a process beside a real instance.
#pragma once
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/instance/live.hpp"

namespace holon::web::testing {

class WebProcess {
 public:
  explicit WebProcess(const instance::testing::Live& live) : file_(live.dir() + "/web.json") {
    pid_ = fork();
    if (pid_ != 0) return;
    const int out = open(file_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    dup2(out, 1);
    setenv("HOLON_URI", live.uri().c_str(), 1);
    execl(HOLON_BINARY, "holon", "web", "--write", "--json", nullptr);
    _exit(127);
  }
  ~WebProcess() {
    kill(pid_, SIGTERM);
    int status = 0;
    waitpid(pid_, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  WebProcess(const WebProcess&) = delete;
  WebProcess& operator=(const WebProcess&) = delete;

  // What it said as it began.
  nlohmann::json said() const {
    nlohmann::json found;
    instance::testing::eventually([&] {
      found = nlohmann::json::parse(instance::testing::read_file(file_), nullptr, false);
      return found.is_object();
    });
    return found;
  }

 private:
  std::string file_;
  pid_t pid_ = -1;
};

// Runs a command of holon in an instance; it must succeed.
inline void holon_in(const instance::testing::Live& live, const std::string& words) {
  const std::string command =
      "HOLON_URI=" + live.uri() + " " HOLON_BINARY " " + words + " > /dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

}  // namespace holon::web::testing
