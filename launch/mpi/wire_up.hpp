// wire_up.hpp - how the tasks of one job find each other: the processes of an MPI program exchange
// a few keys through the agent that started them before they can talk.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace holon::launch {

// What a wire-up tells its job.
struct WireUpEvents {
  // The tasks here have all come to a fence, and have put this since the last one.
  std::function<void(std::string put)> fence;
  // A wire-up that was not ready at once is ready now, or never will be, for this reason.
  std::function<void()> ready;
  std::function<void(const std::string& why)> failed;
  // One task aborts all: with this exit code, for this reason.
  std::function<void(int code, const std::string& why)> abort;
};

// The tasks of one job on this node, by their places in Start::tasks.
class WireUp {
 public:
  virtual ~WireUp() = default;

  // False: the tasks must not be started before `ready` is called.
  virtual bool is_ready() const { return true; }
  // Variables by which the task finds the others. REQUIRES: is_ready().
  virtual std::map<std::string, std::string> variables(std::size_t place) const = 0;
  // Becomes the task's kWireUpDescriptor; -1: nothing. Valid until done_opening().
  virtual int descriptor(std::size_t place) const = 0;
  // All tasks have been spawned: their ends are closed here.
  virtual void done_opening() = 0;
  // Ends the fence that `fence` was called for, with what the tasks of each part have put. Errors:
  // protocol (the data is not in the form in which tasks put it).
  virtual Status release(const std::vector<std::string>& parts) = 0;
  // The task has ended; its last messages are handled first. True: it had met the others and has
  // not left them (MPI_Finalize), so that they may wait for it for ever.
  virtual bool ended(std::size_t place) = 0;
  // No task runs any more.
  virtual void all_ended() {}
};

}  // namespace holon::launch
