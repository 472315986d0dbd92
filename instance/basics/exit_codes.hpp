// exit_codes.hpp - how the broker tells its supervisor why it ended.
#pragma once

namespace holon::instance {

enum BrokerExit : int {
  kEndedInOrder = 0,
  kCannotStart =
      2,  // wrong options, resources or journal, or turned away by the parent: do not try again
  kTimeIsOver = 3,  // in order, at the end of a root's time limit or of the walltime around it
  kTryAgain = 4,    // the system refused something: a full disk may have room later
  kBeginAgain = 5,  // another broker is to begin at once, with a new configuration
};

}  // namespace holon::instance
