// spawn.hpp - pipes and processes for the supervisor.
#pragma once
#include <sys/types.h>

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "transport/unique_fd.hpp"

namespace holon::instance {

struct Pipe {
  transport::UniqueFd read, write;  // closed on exec
};
Result<Pipe> make_pipe();

struct Program {
  std::vector<std::string> argv;                // argv[0] is searched in PATH
  std::vector<int> keep = {};                   // inherited descriptors beside 0, 1, 2
  bool own_group = false;                       // the process leads a process group of its own
  int input = -1;                               // becomes its standard input; -1: ours
  int output = -1;                              // becomes its standard output; -1: ours
  std::vector<std::string> unset = {};          // variables to leave out
  std::map<std::string, std::string> set = {};  // variables beside ours
  bool keeps_ignored = false;  // keeps kEndingSignals ignored that this process ignores (nohup)
};
// Starts the program with default signal actions but for `keeps_ignored`, no signal blocked, and
// our environment but for `unset` and `set`. Errors: not_found, system.
Result<pid_t> spawn(const Program& program);

// Blocks signals in the calling thread, and in threads it starts; not in what spawn() starts.
void block_signals(std::span<const int> signals);

// Makes `fd` refer to `file`; if that fails `fd` stays as it was. REQUIRES: `fd` is open
// (take_standard_descriptors()).
void redirect(int fd, const char* file, int flags);

}  // namespace holon::instance
