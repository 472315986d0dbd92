// idle_end.hpp - the end of an instance that has had nothing that waits or runs for a while.
//
// An open array without tasks is nothing to do: it is closed before the instance ends, so that it
// is over in good order and whoever adds to it is told so.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/time.hpp"
#include "instance/manager/manager.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {

class IdleEnd {
 public:
  // `end` is called once the instance has been idle for `timeout` ms, and then again with each
  // look. All must outlive it.
  IdleEnd(transport::Reactor& reactor, JobManager& jobs, Duration timeout,
          std::function<void()> end);

 private:
  // What has been submitted so far: jobs by the number of the next one, tasks of open arrays.
  struct Submitted {
    JobId next{0};
    std::uint64_t tasks = 0;
    bool operator==(const Submitted&) const = default;
  };
  void look();
  std::optional<std::vector<const JobArray*>> idle_arrays() const;
  Submitted submitted(const std::vector<const JobArray*>& arrays) const;
  void close(const std::vector<const JobArray*>& arrays);

  transport::Reactor& reactor_;
  JobManager& jobs_;
  const Duration timeout_;
  const std::function<void()> end_;
  Submitted last_;
  std::optional<Time> idle_since_;
  transport::Subscription looks_;
};

}  // namespace holon::instance
