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
  Duration left = 0;  // ms, of a limited job; never below 0

  static TimeLeft of(std::int64_t seconds) {
    return {Kind::limited, seconds > 0 ? seconds * 1000 : 0};
  }
  bool operator==(const TimeLeft&) const = default;
};

// The words of the command, its program looked for in PATH. Empty: there is no such command.
std::vector<std::string> time_left_command(const Allocation& allocation);

// Reads that command's output. `now`: seconds since the Unix epoch; if a batch system tells a local
// time it is taken for one of this process's time zone. Errors: not_found (the answer is empty: the
// job is over), invalid_argument (another answer than the documented ones; it is quoted).
Result<TimeLeft> read_time_left(const Allocation& allocation, std::string_view answer,
                                std::int64_t now);

// The time left by the variables alone, if they have the end (Slurm since 23.02).
TimeLeft known_time_left(const Allocation& allocation, std::int64_t now);

// Reads "1-02:03:04", "2:03:04", "03:04", "04" to seconds: days, hours, minutes, seconds from the
// right. Errors: invalid_argument.
Result<std::int64_t> read_clock_length(std::string_view text);

}  // namespace holon::batch
