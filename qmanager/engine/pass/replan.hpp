// replan.hpp - reservations are given back, so that they are made anew. Private to qmanager/.
#pragma once
#include "qmanager/engine/state.hpp"

namespace holon::qmanager {

// Which reservations: those that each pass makes anew, or those that are kept as well.
enum class Kept { stay, go };
// True: there were some.
bool drop_reservations(Parts<Jobs, Plan, Queues> s, Time now, Kept kept);
// Everybody is considered again, from the top, and reservations that are not kept are given back.
void begin_walks(Parts<Jobs, Plan, Progress, Queues, Accounts> s, Time now);
// All reservations are to be made again, in the order that the queues have by now.
void replan(Parts<const SchedulerConfig, Jobs, Plan, Progress, Queues, Accounts> s, Time now);

}  // namespace holon::qmanager
