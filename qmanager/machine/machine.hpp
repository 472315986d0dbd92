// machine.hpp - the resources as the backfill engine sees them: the one seam below the policies.
//
// A machine keeps a plan: who holds how much, and when. What is asked of it (asked.hpp) and what is
// held on it (held.hpp) are two interfaces; here is what else a machine does. A length of kTimeMax
// means until the horizon. No clock: `now` is an argument. Not thread-safe: one owner.
//
// A new kind of machine implements this. A new way of counting, of consumables or of choices that a
// job has, is a Layer over any machine and says only what it counts (layer.hpp).
#pragma once
#include <map>
#include <memory>
#include <string>

#include "qmanager/machine/asked.hpp"
#include "qmanager/machine/held.hpp"

namespace holon::qmanager {

class Machine : public AskedOfMachine, public HeldOnMachine {
 public:
  // A copy of the plan for what-if: changes to one are not seen by the other. The copy may read
  // what this machine was made over, but not its plan. O(what is planned), on a graph also O(V).
  virtual std::unique_ptr<Machine> clone() const = 0;
  // A new machine over what the holder holds, with the holder's interval as horizon. Its
  // allocations have the names of this machine. Errors: internal faults of the resources' formats.
  virtual Result<std::unique_ptr<Machine>> part(JobId holder) = 0;

  // Prepares the plan for jobs like this one, for which something may be held (must_replan()).
  // REQUIRED before a question of the job's place in the plan.
  virtual void expect(const JobRequest& job) = 0;
  // Lets jobs come that refuses() tells against: placeable() keeps them aside until there is more.
  virtual void expect_growth() = 0;
  // Adds what is new in `part`, until `end`. REQUIRES: this is a clone. Errors: those of
  // ResourceStore::grow; unsupported (a machine made of numbers).
  virtual Status grow(const resource::GraphSpec& part, Time end) = 0;
  // Updates what is up, when it ends, and the horizon. True: something is up that was not, or there
  // for longer, so that reservations may have room before their times.
  virtual bool resources_changed() = 0;
  // Was the way of planning changed since last asked? Then all reservations must be made again.
  virtual bool must_replan() = 0;
  // Records from now on which units a reservation has, not only how many. True: all reservations
  // must be made again.
  virtual bool settle() = 0;
  // Gives each host so many of these consumables, by the names in JobRequest::on_hosts. False: this
  // machine has no hosts.
  virtual bool add_host_pools(const std::map<std::string, resource::Amount>& each) = 0;

  virtual void check_invariants() const = 0;
};

}  // namespace holon::qmanager
