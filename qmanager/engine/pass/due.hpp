// due.hpp - kept reservations whose time has come become allocations. Private to qmanager/.
#pragma once
#include "qmanager/engine/walk/deciding.hpp"

namespace holon::qmanager {

// Starts jobs whose reservations are due. A span planned for a past tick is made anew from now; if
// another reservation is in its way, all are made again. Returns when to look again at the first
// job that waits for what is down; nullopt: none waits.
std::optional<Time> start_due(
    Parts<const SchedulerConfig, Jobs, Plan, Progress, Queues, Accounts> s, Time now,
    Deciding& deciding);

}  // namespace holon::qmanager
