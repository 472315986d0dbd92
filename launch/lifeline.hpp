// lifeline.hpp - a process that must not outlive its parent.
//
// The parent's end is noticed twice: by the loop of this process, which has time to end in order,
// and by a thread that does nothing else and kills the process when the loop does not get to it.
// The kernel continues a process that was stopped meanwhile.
#pragma once
#include <sys/types.h>

#include <memory>
#include <thread>

#include "base/result.hpp"
#include "base/time.hpp"
#include "transport/unique_fd.hpp"

namespace holon::launch {

class Lifeline {
 public:
  // `patience`: ms from the parent's end to SIGKILL for this process. REQUIRES: called by the main
  // thread. Errors: disconnected (`parent` is not, or no longer, our parent), system.
  static Result<std::unique_ptr<Lifeline>> to_parent(pid_t parent, Duration patience);
  ~Lifeline();
  Lifeline(const Lifeline&) = delete;
  Lifeline& operator=(const Lifeline&) = delete;

  // Readable once the parent is gone.
  int descriptor() const { return parent_.get(); }

 private:
  Lifeline(transport::UniqueFd parent, transport::UniqueFd stop)
      : parent_(std::move(parent)), stop_(std::move(stop)) {}
  void watch(Duration patience) const;

  transport::UniqueFd parent_, stop_;
  std::thread thread_;
};

}  // namespace holon::launch
