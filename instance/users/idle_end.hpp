// idle_end.hpp - the end of an instance that has had no job that waits or runs for a while.
#pragma once
#include <functional>
#include <optional>

#include "base/time.hpp"
#include "instance/job/manager.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {

class IdleEnd {
 public:
  // `end` is called once the instance has been idle for `timeout` ms, and then again with each
  // look. All must outlive it.
  IdleEnd(transport::Reactor& reactor, const JobManager& jobs, Duration timeout,
          std::function<void()> end);

 private:
  void look();

  transport::Reactor& reactor_;
  const JobManager& jobs_;
  const Duration timeout_;
  const std::function<void()> end_;
  JobId last_{0};  // the number that the next job would have had
  std::optional<Time> idle_since_;
  transport::Subscription looks_;
};

}  // namespace holon::instance
