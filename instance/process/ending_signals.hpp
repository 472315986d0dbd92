// ending_signals.hpp - the signals at which a supervisor ends its instance in order.
#pragma once
#include <array>
#include <csignal>

namespace holon::instance {

// The last three are what batch systems send as a warning, some time before they kill.
inline constexpr std::array kEndingSignals = {SIGTERM, SIGHUP, SIGINT, SIGUSR1, SIGUSR2, SIGXCPU};

}  // namespace holon::instance
