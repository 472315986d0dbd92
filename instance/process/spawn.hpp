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
  std::vector<std::string> argv;                // argv[0] is looked for in PATH
  std::vector<int> keep = {};                   // descriptors it inherits beside 0, 1, 2
  bool own_group = false;                       // leads a process group of its own
  int input = -1;                               // becomes its standard input; -1: ours
  bool output_to_error = false;                 // what it writes goes to our standard error
  std::vector<std::string> unset = {};          // variables it does not get
  std::map<std::string, std::string> set = {};  // beside ours
  bool keeps_ignored = false;  // of kEndingSignals, what this process was told to ignore (nohup)
};
// Default signal actions but for `keeps_ignored`, nothing blocked, our environment but for `unset`
// and `set`. Errors: not_found, system.
Result<pid_t> spawn(const Program& program);

// Of the calling thread, and of threads it starts; not of what spawn() starts.
void block_signals(std::span<const int> signals);

// Makes `fd` refer to `file`; the process goes on with what it had if that fails. REQUIRES: `fd` is
// open (take_standard_descriptors()).
void redirect(int fd, const char* file, int flags);

}  // namespace holon::instance
