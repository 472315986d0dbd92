// text.hpp - small texts that several parts of the broker write: paths in the tree, durations.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/strong.hpp"
#include "base/time.hpp"

namespace holon::instance {

// "/" and 7 -> "/7", "/3" and 7 -> "/3/7".
std::string join(std::string_view path, JobId id);
// The same with the name of a job that people type: "/3" and "1.2" -> "/3/1.2".
std::string join(std::string_view path, std::string_view label);

// Resolves `path` of a request, seen from the instance `base`: "/3/7" stays, "7" is a child of it,
// ".." its parent, "." itself. Errors: invalid_argument (a part that is no job id, more ".." than
// there are levels).
Result<std::string> resolve(const std::string& base, const std::string& path);

// The job that `path` names; nullopt unless it is written as join() does it: "/3/7", and neither
// "/3/../7" nor "/03" nor "/0".
std::optional<JobId> job_at(const std::string& path);

// The child of `base` that is or leads to `path`: for "/3" and "/3/7/9" it is 7. nullopt: `path` is
// not below `base`.
std::optional<JobId> child_towards(const std::string& base, const std::string& path);

// `when` in local time as a person says it at `now`: "14:05:00" today, else with the date.
std::string time_text(Time when, Time now);

// Seconds since the last midnight of this machine's clocks, at ms since the epoch.
std::int64_t second_of_day(Time when);

// A duration in ms as a person says it: "350ms", "30s", "5m30s", "2h", "1d4h": two largest units.
std::string duration_text(Duration ms);

}  // namespace holon::instance
