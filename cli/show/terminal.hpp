// terminal.hpp - this terminal, lent to the task of `holon run --pty`.
//
// The task's side (launch/tasks/pty.hpp) connects when the job starts; until then the terminal is
// as it was, and Ctrl-C is ours. From then on every key is the task's.
#pragma once
#include <termios.h>

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "launch/tasks/terminal_relay.hpp"
#include "transport/reactor.hpp"

namespace holon::cli {

class Terminal {
 public:
  // Listens under a name of its own. Errors: system; invalid_argument if standard input is no
  // terminal.
  static Result<std::unique_ptr<Terminal>> create();
  ~Terminal();  // the terminal is as before
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  const std::string& socket() const { return name_; }
  // Waits for the task beside what `reactor` does. SIGINT, SIGTERM and SIGHUP end the loan; a
  // caller that acts on them subscribes after this. Errors: system.
  Status begin(transport::Reactor& reactor);
  // Shows, after the job's end, what is still on its way, and gives the terminal back.
  void end();

 private:
  Terminal(std::string name, launch::UniqueFd listener, const launch::TerminalLook& look);
  void on_connection();
  Status lend(launch::UniqueFd socket);
  void stop_listening();
  void take_back();

  std::string name_;
  launch::UniqueFd listener_;
  launch::TerminalLook look_;  // as it was
  bool is_lent_ = false;
  transport::Reactor* reactor_ = nullptr;
  std::unique_ptr<launch::TerminalRelay> relay_;
  transport::Subscription connection_;
  std::vector<transport::Subscription> signals_;
};

}  // namespace holon::cli
