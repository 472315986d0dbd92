// simulate_tree.hpp - `holon simulate --tree`: a tree of instances in place of one machine.
#pragma once
#include "cli/verb.hpp"
#include "cli/verbs/schedule/simulate_options.hpp"
#include "config/config.hpp"
#include "sim/trace_file.hpp"
#include "sim/tree/tree.hpp"

namespace holon::cli {

// The tree that --tree names, with times in ticks. Errors: invalid_argument with the place.
Result<sim::TreePlan> tree_of(const SimulateOptions& options, std::int64_t ticks_per_second);

// Plays the trace and writes what is asked for. Returns the exit code.
int simulate_on_tree(Invocation& call, const SimulateOptions& options, const sim::SwfTrace& trace,
                     const std::string& title);

}  // namespace holon::cli
