// simulated_config.hpp - what verbs that simulate have in common: the configuration of an instance
// in the seconds of a trace, and what is said of policies that failed.
#pragma once
#include <cstdint>
#include <optional>

#include "cli/io.hpp"
#include "config/config.hpp"
#include "sim/study.hpp"

namespace holon::cli {

inline constexpr Duration kConfigTicks = 1000;  // the configuration counts in ms, a simulation in s

// A replay is about the policy: the whole queue is looked at unless a depth is asked for.
config::Config simulated_defaults();

// What an instance would be configured with, in seconds.
qmanager::SchedulerConfig in_seconds(qmanager::SchedulerConfig config,
                                     std::optional<std::int64_t> queue_depth);

// What went wrong in a policy that a user wrote: its jobs were scheduled by the base policy then.
void tell_troubles(Io& io, const sim::PolicyRun& run);

}  // namespace holon::cli
