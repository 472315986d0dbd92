// jobspec_update.hpp - changes to a job since its submission, written into its jobspec.
#pragma once
#include <string>

#include "base/result.hpp"
#include "instance/job/job.hpp"
#include "msg/instance.hpp"

namespace holon::instance {

// The jobspec (JSON) with the update in it. `slots` is the total, spread evenly over the nodes; the
// tasks follow it. Errors: invalid_argument: the jobspec has no such count, or it cannot be spread.
Result<std::string> with_update(const std::string& jobspec, const event::JobspecUpdate& update);

// The jobspec with all updates among the job's events; unchanged if it cannot be read.
std::string as_updated(const std::string& jobspec, const std::vector<Event>& events);

// Errors: invalid_argument: no change is asked for, or a number makes no sense.
Status check_update(const msg::UpdateRequest& ask);

// "jobs 7-9: limit 10m, queue night"
std::string in_words(const msg::UpdateRequest& ask);

}  // namespace holon::instance
