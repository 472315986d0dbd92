// outcome.hpp - what became of a job, as an exit code and as a sentence.
#pragma once
#include <string>

#include "cli/io.hpp"
#include "msg/instance.hpp"

namespace holon::cli {

// The exit code of a verb that ran `job` in the foreground (docs/exit-codes.md). `signal`: the
// signal for which we cancelled the job; 0: we did not.
int exit_code_of(const msg::JobRecord& job, int signal);

// Why an inactive job failed, for standard error; empty where its exit code says all.
std::string failure_of(const msg::JobRecord& job);

// The colour of the word for a job's state (msg::state_word).
Colour colour_of(const msg::JobRecord& job);

// The reason and planned start of a pending job. `now` in ms since the epoch.
std::string why_it_waits(const msg::JobRecord& job, std::int64_t now);

// The job beside its numbers: where it runs, why it waits, how it ended.
std::string details_of(const msg::JobRecord& job, std::int64_t now);

}  // namespace holon::cli
