// intrusion.hpp - jobs that go on using the units of an advance reservation (intruders): jobs that
// overrun their limits into the reservation, and jobs of another reservation that is over.
//
// No job is ended for this. In the plan an intruder holds those of its units that no other job has
// from now on; the advance reservation keeps its span and gives its own jobs only units that the
// intruder does not use. So each unit in use is known to one of the two, and all other jobs are
// planned as before. Both shares are computed anew in every pass that finds something freed.
#pragma once
#include "qmanager/engine/state.hpp"

namespace holon::qmanager {

// An advance reservation that is over keeps the units of its jobs as long as they run, as an
// overrunning job does: it is an intruder.
void hold_outstaying(Parts<Advances, const Plan, const Progress> s, Time now);
// Computes anew what intruders hold and what advance reservations do without, where something was
// freed or an intruder's time has come.
void hold_intruders(Parts<Jobs, Plan, Progress, Queues, Accounts, Advances> s, Time now);

}  // namespace holon::qmanager
