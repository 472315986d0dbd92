// idle_end.hpp - ends an instance in which nothing has waited or run for a while.
//
// An open array without tasks does not count: it is closed before the instance ends, so that it
// ends in good order and clients that extend it are told so.
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
  // look. The other arguments must outlive it.
  IdleEnd(transport::Reactor& reactor, JobManager& jobs, Duration timeout,
          std::function<void()> end);

 private:
  // How much has been submitted so far: jobs by the next number, tasks of open arrays.
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
