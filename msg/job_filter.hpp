// job_filter.hpp - which records a listing shows. Broker and command line ask the same functions.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "msg/instance.hpp"

namespace holon::msg {

// All words that JobFilter::states takes. PENDING is every state before RUN; RUNNING is RUN and
// CLEANUP.
std::span<const std::string_view> filter_states();

// Checks the filter. Errors: invalid_argument (a state that is none, with those that are; more
// states than there are; a pattern of a name above 256 bytes).
Status check_filter(const JobFilter& filter);

// Does the job meet the filter? REQUIRES: check_filter().
bool matches(const JobFilter& filter, const JobRecord& job);

// Is a state of the filter one of jobs that are over? Or all, of at least one?
bool asks_for_ended(const JobFilter& filter);
bool asks_for_ended_only(const JobFilter& filter);

// The state; of an inactive job its result, of a suspended one SUSPENDED: one word that `states`
// takes.
const std::string& state_word(const JobRecord& job);

// The name of a job: "7.12" for a task of an array, else its number.
std::string label_of(const JobRecord& job);
// The same within the tree: "/3/7.12".
std::string shown_path(const JobRecord& job);
// An array's tasks: "12 waiting, 3 running, 85 completed, 2 failed"; zeros are left out.
std::string tasks_text(const JobRecord& job);

}  // namespace holon::msg
