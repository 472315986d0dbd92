// time_left.hpp - how long the batch system leaves a job: the command to ask, and what it answered.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "batch/allocation.hpp"

namespace holon::batch {

struct TimeLeft {
  enum class Kind { unknown, unlimited, limited };
  Kind kind = Kind::unknown;
  Duration left = 0;  // ms, of a limited one; never below 0

  static TimeLeft of(std::int64_t seconds) {
    return {Kind::limited, seconds > 0 ? seconds * 1000 : 0};
  }
  bool operator==(const TimeLeft&) const = default;
};

// The words of the command, its program looked for in PATH. Empty: there is nobody to ask.
std::vector<std::string> time_left_command(const Allocation& allocation);

// What that command wrote. `now`: seconds since the Unix epoch; where a batch system tells a local
// time it is taken for one of this process's time zone. Errors: not_found (the answer is empty: the
// job is over), invalid_argument (another answer than the documented ones; it is quoted).
Result<TimeLeft> read_time_left(const Allocation& allocation, std::string_view answer,
                                std::int64_t now);

// From the variables alone: where the end stands in them (Slurm since 23.02).
TimeLeft known_time_left(const Allocation& allocation, std::int64_t now);

// "1-02:03:04", "2:03:04", "03:04", "04" in seconds: days, hours, minutes, seconds from the right.
// Errors: invalid_argument.
Result<std::int64_t> read_clock_length(std::string_view text);

}  // namespace holon::batch
