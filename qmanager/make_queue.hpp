// make_queue.hpp - a queue from its configuration. Private to qmanager/.
#pragma once
#include <string>

#include "base/result.hpp"
#include "qmanager/engine/state.hpp"

namespace holon::qmanager {

// A queue without jobs. Errors: invalid_argument, not_found (its policy), with the key.
Result<Queue> make_queue(const std::string& name, const QueueConfig& config,
                         const SchedulerConfig& all);

}  // namespace holon::qmanager
