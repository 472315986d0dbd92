// ending_signals.hpp - the signals at which a supervisor ends its instance in order.
#pragma once
#include <array>
#include <csignal>
#include <vector>

#include "transport/reactor.hpp"

namespace holon::instance {

// The last three are warnings that batch systems send some time before they kill.
inline constexpr std::array kEndingSignals = {SIGTERM, SIGHUP, SIGINT, SIGUSR1, SIGUSR2, SIGXCPU};

// Ending signals that this process was not told to ignore before it began (nohup).
inline std::vector<int> heeded_ending_signals() {
  std::vector<int> heeded;
  for (const int signal : kEndingSignals)
    if (!transport::is_ignored(signal)) heeded.push_back(signal);
  return heeded;
}

}  // namespace holon::instance
