// input_pump.hpp - this process's standard input, to the tasks of its job, during a call of its
// Client.
//
// One piece at a time: the next one is read when the tasks have the last one in their pipes, so
// that nothing piles up anywhere. What was not answered when the connection was lost is sent again;
// its offset tells the agent what it has already. A terminal is read only while this process is in
// its foreground: a job in the background of a shell must not be stopped for it.
#pragma once
#include <cstdint>
#include <string>

#include "cli/connect.hpp"
#include "cli/verb.hpp"

namespace holon::cli {

// Is there input to pass on: anything but /dev/null?
bool has_input(const Io& io);

class InputPump {
 public:
  InputPump(Invocation& call, Client& client, std::uint64_t job);
  InputPump(const InputPump&) = delete;
  InputPump& operator=(const InputPump&) = delete;

 private:
  void send();
  void heard(const Result<msg::InputReply>& answer);
  void await_input();
  void read_some();

  Invocation& call_;
  Client& client_;
  msg::InputRequest piece_;  // the last piece read, until it is answered
  transport::Subscription answer_, readable_, later_;
};

}  // namespace holon::cli
