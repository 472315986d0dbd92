// program_here.hpp - the program of `holon alloc`: it runs here, in the foreground of this
// terminal, for as long as its child instance lives.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cli/connect.hpp"
#include "cli/verb.hpp"

namespace holon::cli {

struct ProgramEnd {
  int code = 0;            // the program's, 128+N when signal N ended it
  int asked_by = 0;        // the signal that asked this process to end; 0: none did
  bool outlived = false;   // its instance ended before the program did
  bool timed_out = false;  // the instance ended by its time limit
};

// Runs `command`, or the user's shell, with HOLON_URI set to `uri`, until it ends. Ctrl-C is its
// own. SIGTERM and SIGHUP are passed on to it; when `job`, whose instance it works in, is over, it
// gets SIGHUP, as at the end of a terminal. In both cases SIGKILL follows. Errors: system.
Result<ProgramEnd> run_here(Invocation& call, Client& client, std::uint64_t job,
                            const std::vector<std::string>& command, const std::string& uri);

}  // namespace holon::cli
