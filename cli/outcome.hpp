// outcome.hpp - what became of a job, as an exit code and as a sentence.
#pragma once
#include <string>

#include "cli/io.hpp"
#include "msg/instance.hpp"

namespace holon::cli {

// The exit code of a verb that ran `job` in the foreground (docs/exit-codes.md). `signal`: the one
// that made us cancel it, 0 if we did not.
int exit_code_of(const msg::JobRecord& job, int signal);

// Why an inactive job did not do what it should, for standard error; empty where its exit code says
// all there is to say.
std::string failure_of(const msg::JobRecord& job);

// Of the word that says how a job stands (msg::state_word).
Colour colour_of(const msg::JobRecord& job);

// Of a pending job: its reason and its planned start. `now` in ms since the epoch.
std::string why_it_waits(const msg::JobRecord& job, std::int64_t now);

// What is worth knowing beside the numbers: where it runs, why it waits, how it ended.
std::string details_of(const msg::JobRecord& job, std::int64_t now);

}  // namespace holon::cli
