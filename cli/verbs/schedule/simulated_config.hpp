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

// A replay is about the policy: the whole queue is looked at unless a depth is asked for.
config::Config simulated_defaults();

// What an instance would be configured with, in ticks of the trace (sim::Workload).
qmanager::SchedulerConfig in_ticks(qmanager::SchedulerConfig config,
                                   std::optional<std::int64_t> queue_depth,
                                   std::int64_t ticks_per_second);

// Of --procs or of the trace. Errors: invalid_argument where neither says.
Result<std::int64_t> processors_of(const std::string& file, const sim::Workload& workload,
                                   std::optional<std::int64_t> procs);

// "FILE:LINE:COLUMN: FIELD: WHAT".
std::string issue_text(const std::string& file, const sim::TraceIssue& issue);

// What went wrong in a policy that a user wrote: its jobs were scheduled by the base policy then.
void tell_troubles(Io& io, const sim::PolicyRun& run);

}  // namespace holon::cli
