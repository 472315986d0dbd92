// due.hpp - kept reservations whose time has come become allocations. Private to qmanager/.
#pragma once
#include "qmanager/engine/walk/deciding.hpp"

namespace holon::qmanager {

// Where the clock has gone past the planned tick the span is made anew from now; if another
// reservation is in its way, all are made again. Returns when the first of those is to be looked at
// again that wait for what is down; nullopt: none waits.
std::optional<Time> start_due(
    Parts<const SchedulerConfig, Jobs, Plan, Progress, Queues, Accounts> s, Time now,
    Deciding& deciding);

}  // namespace holon::qmanager
