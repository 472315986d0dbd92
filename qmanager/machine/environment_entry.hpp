// environment_entry.hpp - what a job asks of the machine once it is in a parallel environment.
#pragma once
#include <optional>
#include <string>

#include "qmanager/request.hpp"
#include "qmanager/site/environment.hpp"

namespace holon::qmanager {

// The consumable of an environment's slots, "mpi/slots", as jobs hold it.
std::string pool_of_environment(const std::string& name);

// Puts the job into that environment. A text: it can never run there, and why.
std::optional<std::string> enter_environment(JobRequest& job, const std::string& name,
                                             const ParallelEnvironment& environment);

}  // namespace holon::qmanager
