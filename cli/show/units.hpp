// units.hpp - durations, sizes and points in time as people write and read them.
#pragma once
#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"

namespace holon::cli {

// A time limit to milliseconds: "30s", "5m", "2h", "1.5d", and Slurm's "MM:SS", "HH:MM:SS", "D-HH",
// "D-HH:MM", "D-HH:MM:SS"; a bare number is minutes, as in Flux and Slurm. 0 and "inf" are no
// limit, which is 0. Errors: invalid_argument.
Result<Duration> parse_limit(const std::string& text);

// Reads "512M", "4G", "1T" or a number of GiB to bytes, and rounds bytes up to GiB. Errors:
// invalid_argument.
Result<std::int64_t> parse_memory(const std::string& text);
std::int64_t whole_gib(std::int64_t bytes);

// A point in time, "+1h", "18:30", "18:30:15" (the next one), "2026-12-24" (0:00), "2026-12-24
// 18:30", with T or a blank between, with or without seconds, to ms since the epoch; local. `now`
// likewise. Errors: invalid_argument.
Result<Time> parse_time(const std::string& text, Time now);

// A point in time that is past: "-2h", "18:30" (the last one), or a date as above. Errors:
// invalid_argument.
Result<Time> parse_since(const std::string& text, Time now);

// Milliseconds as "0.21s", "7.3s", "4m12s", "2h05m", "3d04h"; "-" for a negative one.
std::string show_duration(Duration ms);

// A point in time, ms since the epoch: "14:03:27" on the day of `now`, else "2026-11-20 14:03";
// local.
std::string show_time(Time when, Time now);

// KiB as "512 MiB", "1.5 GiB".
std::string show_kib(std::int64_t kib);

// A path as this user's shell reads it: ~/state for what is below the user's home.
std::string show_path(const std::string& path);

}  // namespace holon::cli
