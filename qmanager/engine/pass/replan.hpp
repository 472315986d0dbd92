// replan.hpp - reservations are given back, so that they are made anew. Private to qmanager/.
#pragma once
#include "qmanager/engine/state.hpp"

namespace holon::qmanager {

// Which reservations: those that each pass makes anew, or those that are kept as well.
enum class Kept { stay, go };
// Gives reservations back. True: there were some.
bool drop_reservations(Parts<Jobs, Plan, Queues> s, Time now, Kept kept);
// Considers all jobs again, from the top, and gives back reservations that are not kept.
void begin_walks(Parts<Jobs, Plan, Progress, Queues, Accounts> s, Time now);
// Gives all reservations back, to be made again in the present order of the queues.
void replan(Parts<const SchedulerConfig, Jobs, Plan, Progress, Queues, Accounts> s, Time now);

}  // namespace holon::qmanager
