// jobspec_update.hpp - what somebody has changed of a job since it was submitted, put into its
// jobspec.
#pragma once
#include <string>

#include "base/result.hpp"
#include "instance/job/job.hpp"
#include "msg/instance.hpp"

namespace holon::instance {

// The jobspec (JSON) as it is with the update. Slots are in all, each node has equally many: tasks
// follow them. Errors: invalid_argument: what is counted is not in the jobspec, or cannot be
// spread.
Result<std::string> with_update(const std::string& jobspec, const event::JobspecUpdate& update);

// With all that the events of a job have changed of it. One that cannot be read stays as it is.
std::string as_updated(const std::string& jobspec, const std::vector<Event>& events);

// Errors: invalid_argument: nothing is asked for, or numbers that make no sense.
Status check_update(const msg::UpdateRequest& ask);

// "jobs 7-9: limit 10m, queue night"
std::string in_words(const msg::UpdateRequest& ask);

}  // namespace holon::instance
