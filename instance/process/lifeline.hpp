// lifeline.hpp - lets the broker not outlive its supervisor, even when the broker's loop hangs.
//
// The supervisor holds the other end of a pipe, which the kernel closes with it. The loop looks at
// the pipe and ends the instance in order; a thread looks at it too, and ends the process if the
// loop does not notice, or if the orderly end does not finish.
#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "base/result.hpp"
#include "base/time.hpp"
#include "transport/unique_fd.hpp"

namespace holon::instance {

class Lifeline {
 public:
  // `fd` stays the caller's. `to_notice`, `to_end`: ms from the end of file to noticed(), and from
  // there to this object's end; then the process gets SIGKILL. Errors: system.
  static Result<std::unique_ptr<Lifeline>> hold(int fd, Duration to_notice, Duration to_end);
  ~Lifeline();
  Lifeline(const Lifeline&) = delete;
  Lifeline& operator=(const Lifeline&) = delete;

  // The loop has noticed the end of file.
  void noticed();

 private:
  Lifeline(int fd, Duration to_notice, Duration to_end, transport::UniqueFd let_go);
  void guard();
  bool supervisor_is_gone() const;

  const int fd_;
  const Duration to_notice_, to_end_;
  transport::UniqueFd let_go_;  // readable once this object ends
  std::mutex mutex_;
  std::condition_variable changed_;
  bool noticed_ = false, over_ = false;
  std::thread thread_;
};

}  // namespace holon::instance
