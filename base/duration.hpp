// duration.hpp - Flux standard duration (RFC 23): "30s", "5m", "1.5h", "2d", "500ms", "inf".
#pragma once
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace holon {

// Seconds; infinity for "inf" and "infinity" (any case). A bare number is in seconds; parse_minutes
// is for the few options where Flux reads a bare number as minutes. Errors: invalid_argument for
// anything negative, not finite in another way, of an unknown unit or with trailing text.
Result<double> parse_duration(std::string_view text);
Result<double> parse_minutes(std::string_view text);

// In words for people: ms below 0.1 s, else the largest unit that gives 1 or more (s, m, h, d), six
// significant digits, as Flux prints them: 90 is "1.5m", 3600 "1h", 0 "0s", infinity "infinity".
// parse_duration(format_duration(x)) is x within 1e-5 of itself. REQUIRES: seconds >= 0.
std::string format_duration(double seconds);

}  // namespace holon
