#include "cli/options/signals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/duration.hpp"
#include "launch/signal_name.hpp"

namespace holon::cli {

Result<Warning> parse_warning(const std::string& word) {
  constexpr double kMostSeconds = 1e9;
  const auto at = word.find('@');
  const auto signal = launch::parse_signal(word.substr(0, at));
  if (!signal) return tl::unexpected(signal.error());
  Warning warning;
  warning.signal = *signal;
  if (at == std::string::npos) return warning;
  const auto seconds = parse_duration(word.substr(at + 1));
  if (!seconds || *seconds <= 0 || *seconds > kMostSeconds)
    return fail(Errc::invalid_argument,
                fmt::format("'{}' is no time before the limit; 60 (seconds), 90s and 5m are",
                            word.substr(at + 1)));
  warning.before = std::max<Duration>(1, std::llround(*seconds * 1000));
  return warning;
}

}  // namespace holon::cli
