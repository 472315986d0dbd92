// scheduler.hpp - the keys of the configuration that are the scheduler's: queues, limits,
// priorities, QOS, parallel environments, pools. Private to the configuration.
#pragma once
#include <vector>

#include "config/config.hpp"
#include "config/value.hpp"

namespace holon::config {

std::vector<ConfigKey> scheduler_keys();

// Sets a key. Errors: invalid_argument with the place, also for a key that is not the scheduler's.
Status set_scheduler_key(qmanager::SchedulerConfig& scheduler, const Setting& s);

}  // namespace holon::config
