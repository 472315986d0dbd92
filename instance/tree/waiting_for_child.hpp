// waiting_for_child.hpp - requests for a child that is not connected: they wait until the child is
// connected, until its job is over, or until their patience ends.
#pragma once
#include <cstdint>
#include <functional>
#include <list>

#include "base/result.hpp"
#include "base/strong.hpp"
#include "base/time.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {

class WaitingForChild {
 public:
  enum class Outcome : std::uint8_t { connected, over, silent };
  // Called once. An error: this instance ends.
  using Then = std::function<void(const Result<Outcome>&)>;

  explicit WaitingForChild(transport::Reactor& reactor) : reactor_(reactor) {}

  void wait(JobId child, Duration patience, Then then);
  void connected(JobId child) { settle(child, Outcome::connected); }
  void over(JobId child) { settle(child, Outcome::over); }
  void close(const Error& why);

 private:
  struct Waiting {
    JobId child;
    Then then;
    transport::Subscription timeout;
  };
  void settle(JobId child, Outcome outcome);

  transport::Reactor& reactor_;
  std::list<Waiting> waiting_;
};

}  // namespace holon::instance
