// exit_codes.hpp - how the broker tells its supervisor why it ended, and a child the one above.
#pragma once
#include "base/result.hpp"

namespace holon::instance {

enum BrokerExit : int {
  kEndedInOrder = 0,
  kCannotStart =
      2,  // wrong options, resources or journal, or turned away by the parent: do not try again
  kTimeIsOver = 3,  // in order, at the end of a root's time limit or of the walltime around it
  kTryAgain = 4,    // the system refused something: a full disk may have room later
  kBeginAgain = 5,  // another broker is to begin at once, with a new configuration
  kAgainLater =
      6,  // of a child that goes on: the instance above may start it again, see kExitAgainLater
};

// The exit code of a child's supervisor where the child has kept its queue, or where the processes
// before it still have its state directory. What sysexits.h calls EX_TEMPFAIL.
inline constexpr int kExitAgainLater = 75;

// The code of a broker that cannot begin.
inline int exit_of_refused(const Error& why, bool goes_on) {
  if (why.code == Errc::busy && goes_on) return kAgainLater;
  return why.code == Errc::system ? kTryAgain : kCannotStart;
}

}  // namespace holon::instance
