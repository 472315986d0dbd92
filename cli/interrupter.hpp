// interrupter.hpp - Ctrl-C, the end of the terminal, or of whoever reads the output, while a verb
// waits for its job: the job is cancelled, then waited for.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "cli/connect.hpp"
#include "cli/verb.hpp"

namespace holon::cli {

class Interrupter {
 public:
  // `verb` names this command in messages, as "holon run". While this lives, the first SIGINT,
  // SIGTERM or SIGHUP ends the job instead of the process; the next ends the process once the
  // broker knows that the job is to end; a third one at once. SIGTERM and SIGHUP count again after
  // half a minute: the person at the terminal, and the broker, may be gone.
  Interrupter(Invocation& call, Client& client, std::uint64_t job, std::string verb);
  Interrupter(const Interrupter&) = delete;
  Interrupter& operator=(const Interrupter&) = delete;

  ~Interrupter();

  // Passes SIGUSR1, SIGUSR2, SIGALRM and SIGQUIT on to the job's tasks from now on. If the job does
  // not run yet, such a signal ends it as SIGTERM would, as it would end a program.
  void pass_on_other_signals();

  // Ends the job as SIGPIPE would end this process, when its output has no reader any more or
  // cannot be written.
  void output_is_gone(const std::string& why);

  // The last signal that came; 0: none.
  int signal() const { return signal_; }

 private:
  void on_signal(int signal);
  void pass_on(int signal);
  void cancel_job(const std::string& reason);
  void leave();

  Invocation& call_;
  Client& client_;
  std::uint64_t job_;
  std::string verb_;
  int signal_ = 0;
  void (*before_pipe_)(int) = nullptr;  // the former action of SIGPIPE
  bool leaving_ = false;
  bool answered_ = false;  // the broker, to our cancelling
  transport::Subscription answer_, again_;
  std::vector<transport::Subscription> passed_on_, told_;
  Client::SignalGuard guard_;
};

}  // namespace holon::cli
