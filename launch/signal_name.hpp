// signal_name.hpp - POSIX signals by their names in kill(1).
#pragma once
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace holon::launch {

// "USR1", "SIGUSR1", "usr1", "10", "RTMIN+3". Errors: invalid_argument.
Result<int> parse_signal(std::string_view text);
// "USR1", "RTMIN+3"; a number for what is no signal.
std::string signal_name(int signal);

}  // namespace holon::launch
