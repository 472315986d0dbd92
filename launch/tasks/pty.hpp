// pty.hpp - a task at a terminal: `holon run --pty` makes this process the task, and it runs the
// program in a pseudo terminal, whose other end is the person's terminal.
#pragma once
#include <string>
#include <vector>

namespace holon::launch {

struct PtyOptions {
  std::string socket;             // where the person's side listens (terminal_relay.hpp)
  std::vector<std::string> argv;  // REQUIRES: not empty
};

// Ends with the program's exit code, 128+N if signal N ended it, 125 if there was no terminal to
// run it in. SIGTERM and the like are passed on to the program; when the person's side goes, the
// program gets SIGHUP, as from any terminal.
int pty_main(const PtyOptions& options);

}  // namespace holon::launch
