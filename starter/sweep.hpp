// sweep.hpp - ends what an earlier run of an instance has left of its users' tasks, where starter
// and keepers were killed, too: nobody but these users and root may look into such processes.
#pragma once
#include "starter/account.hpp"
#include "starter/task_guard.hpp"

namespace holon::starter {

// Looks once at each user's processes, and sends SIGKILL to those that are the instance's by their
// lineage, or that have none any more and write to a file of its jobs. Tells how many it has found
// (Told::status), and of whom it could not look at all (Told::text). One look may miss a process
// that is started meanwhile.
[[noreturn]] void serve_sweep(const Handed& handed, const Settings& settings);

}  // namespace holon::starter
