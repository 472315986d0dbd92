// watchdog.hpp - notices a broker whose loop does not turn any more.
//
// It counts its own turns of the time without one of the broker's, so that a machine that stood
// still counts for neither. A broker that somebody has stopped, that is traced, or that waits for a
// disk does not hang: whatever keeps it will let it go on, or would keep its end as well. It is
// watched from its first turn on: reading a long journal is no turn.
#pragma once
#include <sys/types.h>

#include <functional>

#include "instance/process/pulse.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {

class Watchdog {
 public:
  // `patience`: how long a turn may take; 0: for ever. Both must outlive it.
  Watchdog(transport::Reactor& reactor, const Pulse& pulse, Duration patience)
      : reactor_(reactor), pulse_(pulse), patience_(patience) {}

  // From now on; `hangs` is called once. An earlier broker is not watched any more.
  void watch(pid_t broker, std::function<void()> hangs);
  void stop() { tick_.cancel(); }

 private:
  void look();

  transport::Reactor& reactor_;
  const Pulse& pulse_;
  Duration patience_;
  pid_t broker_ = 0;
  std::function<void()> hangs_;
  std::uint64_t turns_ = 0;
  int silent_ = 0;  // looks without a turn
  transport::Subscription tick_;
};

}  // namespace holon::instance
