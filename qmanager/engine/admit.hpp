// admit.hpp - what a request means under the configuration: its parallel environment, its queue's
// consumables and nodes. Private to qmanager/.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "qmanager/engine/state.hpp"

namespace holon::qmanager {

// The consumables of the configuration, by the name under which jobs hold them: "license", and
// "mpi/slots" of a parallel environment.
std::map<std::string, resource::Amount> global_pools(const SchedulerConfig& config);
// Consumables of a queue, as "license@batch" and "slots@batch": so many on each host.
std::map<std::string, resource::Amount> queue_pools(const SchedulerConfig& config);

// A new job, or one that holds resources already; only a new job is checked against access lists.
enum class Arrives : std::uint8_t { anew, with_resources };

// Fills in what follows from the queue and the environment. Returns why the job can never run, if
// it cannot. Errors: invalid_argument, not_found (the environment).
Result<std::optional<std::string>> admit(Scheduler::State& state, JobRequest& job,
                                         const Queue& queue, Arrives arrives = Arrives::anew);

}  // namespace holon::qmanager
