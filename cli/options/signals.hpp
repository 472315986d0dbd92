// signals.hpp - signals as people write them, and when one is sent.
#pragma once
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"

namespace holon::cli {

// A signal that a job's tasks get some time before its limit.
struct Warning {
  int signal = 0;
  Duration before = 60'000;  // ms
};
// Reads "USR1@60", "USR1@2m": a bare number is seconds; "USR1" alone is 60 s before the limit.
// Errors: invalid_argument.
Result<Warning> parse_warning(const std::string& word);

}  // namespace holon::cli
