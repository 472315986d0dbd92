// simulated_config.hpp - what verbs that simulate have in common: the configuration of an instance
// in the ticks of a trace, and what is said of traces and of policies that failed.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "cli/io.hpp"
#include "config/config.hpp"
#include "sim/study.hpp"

namespace holon::cli {

// Defaults for a replay, which is about policy: no depth bounds a pass unless asked for.
config::Config simulated_defaults();

// The configuration that an instance would have, in ticks of the trace (sim::Workload).
qmanager::SchedulerConfig in_ticks(qmanager::SchedulerConfig config,
                                   std::optional<std::int64_t> queue_depth,
                                   std::int64_t ticks_per_second);

// Processors by --procs or by the trace. Errors: invalid_argument if neither says.
Result<std::int64_t> processors_of(const std::string& file, const sim::Workload& workload,
                                   std::optional<std::int64_t> procs);

// "FILE:LINE:COLUMN: FIELD: WHAT".
std::string issue_text(const std::string& file, const sim::TraceIssue& issue);

// Tells of failures in a user-written policy: its jobs were then scheduled by the base policy.
void tell_troubles(Io& io, const sim::PolicyRun& run);

}  // namespace holon::cli
