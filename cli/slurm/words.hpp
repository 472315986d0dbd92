// words.hpp - states, reasons, times and exit codes of jobs in Slurm's words.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "msg/instance.hpp"

namespace holon::cli::slurm {

struct State {
  std::string_view name, letters;  // "RUNNING", "R"
};
State state_of(const msg::JobRecord& job);
// The filter of a listing for a list of states, by name or letters in any case: "pd,RUNNING".
// Errors: invalid_argument (a state that Slurm does not have).
Result<std::vector<State>> states_in(const std::string& list);
bool is_pending(const msg::JobRecord& job);
// True of PENDING, RUNNING, SUSPENDED and COMPLETING: what squeue lists unless asked.
bool is_active(const msg::JobRecord& job);

// "Resources", "Dependency", "TimeLimit"; "None".
std::string_view reason_of(const msg::JobRecord& job);
// "0:0", "3:0", "0:9": the exit code, and the signal that ended it.
std::string exit_code_of(const msg::JobRecord& job);

// "1:05", "2:00:00", "1-00:00:00" as squeue writes durations, without what is 0 in front.
std::string short_duration(Duration ms);
// "00:01:05", "1-00:00:00", as sacct does.
std::string long_duration(Duration ms);
// "2026-11-29T12:00:00", local; `none` for 0.
std::string time_of(std::int64_t ms, std::string_view none);
// ms that it ran, or has run until now.
Duration elapsed(const msg::JobRecord& job, Time now);

// A time as sacct -S and -E take it: "2026-11-29", with "T12:00[:30]", "now-2hours", "12:00",
// "11/29", "today", "midnight", "now". Errors: invalid_argument.
Result<Time> time_in(const std::string& text, Time now);

}  // namespace holon::cli::slurm
