// exit_code.hpp - the end of a process as a shell reports it.
#pragma once
#include <sys/wait.h>

namespace holon::launch {

// 0 to 255, or 128+N for signal N. `wait_status` is that of waitpid(2).
inline int exit_code_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace holon::launch
