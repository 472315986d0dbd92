// walltime.hpp - when the batch system ends the job that this instance runs in: asked for again and
// again, for that time may be moved.
//
// The command of the batch system runs beside the agent; nothing here waits for it.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "batch/allocation.hpp"
#include "batch/time_left.hpp"
#include "launch/messages.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {

// The output of a command that an agent has run. Errors: those of the connection; system, with the
// first line of the command's complaint.
Result<std::string> output_of(const Result<launch::msg::CaptureReply>& reply,
                              const std::string& program);

class Walltime {
 public:
  // Runs a command, and calls back with its output.
  using Answer = std::function<void(const Result<std::string>&)>;
  using Ask = std::function<void(std::vector<std::string>, Answer)>;
  struct Settings {
    Duration interval = 20'000;  // ms from an answer to the next question
    Duration margin = 30'000;    // ms before the walltime
    Duration patience = 10'000;  // ms for the first answer
  };

  // `on_moved` gets the end, less the margin, when it becomes known and whenever it moves;
  // kTimeMax: there is none.
  Walltime(transport::Reactor& reactor, batch::Allocation allocation, Settings settings, Ask ask,
           std::function<void(Time)> on_moved);
  Walltime(const Walltime&) = delete;
  Walltime& operator=(const Walltime&) = delete;

  // Begins to ask. `known` is called once: when there is an answer, or there will be none.
  void begin(std::function<void()> known);

  // "the walltime of Slurm job 5".
  std::string name() const;

 private:
  void ask();
  void hear(const Result<std::string>& answer);
  void take(const batch::TimeLeft& left);
  void be_known();

  transport::Reactor& reactor_;
  batch::Allocation allocation_;
  Settings settings_;
  Ask ask_;
  std::function<void(Time)> on_moved_;
  std::function<void()> known_;
  Time end_ = 0;          // as last told; 0: never
  bool is_deaf_ = false;  // the last question had no answer, which was reported
  transport::Subscription next_, patience_;
};

}  // namespace holon::instance
