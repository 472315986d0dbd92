// watchdog.hpp - notices a broker that makes no progress: its loop does not turn any more, or its
// beginning has come to a stop before the first turn. A beginning may take as long as its journal
// is; each step of it counts.
//
// The watchdog counts its own turns without a sign of the broker, so that a time in which the
// machine stood still counts for neither. A broker that somebody has stopped, that is traced, or
// that waits for a disk does not hang: what holds it up will let it go on, or would hold up its end
// as well.
#pragma once
#include <sys/types.h>

#include <functional>

#include "instance/basics/pulse.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {

class Watchdog {
 public:
  // `patience`: how long a turn, or a step of a beginning, may take; 0: for ever. The other
  // arguments must outlive it.
  Watchdog(transport::Reactor& reactor, const Pulse& pulse, Duration patience)
      : reactor_(reactor), pulse_(pulse), patience_(patience) {}

  // Watches this broker from now on, and no earlier one any more; `hangs` is called once.
  void watch(pid_t broker, std::function<void()> hangs);
  void stop() { tick_.cancel(); }

 private:
  void look();

  transport::Reactor& reactor_;
  const Pulse& pulse_;
  Duration patience_;
  pid_t broker_ = 0;
  std::function<void()> hangs_;
  std::uint64_t signs_ = 0;
  int silent_ = 0;  // looks in a row without a new sign
  transport::Subscription tick_;
};

}  // namespace holon::instance
