// capture.hpp - "agent.capture": runs a program beside the agent and returns its output.
//
// The program is no job: it holds no cores and is in no journal. It is for what only this node can
// see, such as files on its own disk.
#pragma once
#include <list>
#include <memory>

#include "launch/tasks/processes.hpp"
#include "launch/tracking/tracking.hpp"
#include "transport/reactor.hpp"
#include "transport/rpc.hpp"

namespace holon::launch {

class Captures {
 public:
  // All arguments must outlive it.
  Captures(transport::Reactor& reactor, Processes& processes, ProcessTracking& tracking);
  // Kills programs that still run.
  ~Captures();
  Captures(const Captures&) = delete;
  Captures& operator=(const Captures&) = delete;

  // Answered with CaptureReply when the program has ended. Errors: of its start; timed_out and
  // out_of_range (it wrote more than the request allows), after which it is killed. It is also
  // killed when nobody waits for the answer any more.
  void run(const transport::Request& request);

 private:
  class One;
  void sweep_soon();

  transport::Reactor& reactor_;
  Processes& processes_;
  ProcessTracking& tracking_;
  std::list<std::unique_ptr<One>> running_;
  transport::Subscription sweep_;
};

}  // namespace holon::launch
