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
  // The same plan once more, for what-if: what happens to one is not seen by the other. It may look
  // at what this one was made over, but for that plan. O(what is planned), on a graph also O(V).
  virtual std::unique_ptr<Machine> clone() const = 0;
  // A new machine over what the holder holds, with the holder's interval as horizon. Allocations of
  // it have the names of this machine. Errors: internal faults of the resources' formats.
  virtual Result<std::unique_ptr<Machine>> part(JobId holder) = 0;

  // A job like this one has come, and something may be held for it: the plan is kept in a way that
  // suits it from now on (must_replan()). REQUIRED before a question of the job's place in the
  // plan.
  virtual void expect(const JobRequest& job) = 0;
  // Jobs may come that refuses() tells against: placeable() keeps them aside until there is more.
  virtual void expect_growth() = 0;
  // What is new in `part` is there too, until `end`. REQUIRES: it is a clone. Errors: of
  // ResourceStore::grow; unsupported (it is made of numbers).
  virtual Status grow(const resource::GraphSpec& part, Time end) = 0;
  // What is up, or when it ends, or the horizon, may have changed. True: something is up that was
  // not, or there for longer, so that what is reserved may have room before its time.
  virtual bool resources_changed() = 0;
  // Was the way of planning changed since last asked? Then all reservations must be made again.
  virtual bool must_replan() = 0;
  // From now on it is to be known which units a reservation has, not only how many. True: all
  // reservations must be made again.
  virtual bool settle() = 0;
  // Each host is to have so many of these consumables, by the names in JobRequest::on_hosts. False:
  // this machine has no hosts.
  virtual bool add_host_pools(const std::map<std::string, resource::Amount>& each) = 0;

  virtual void check_invariants() const = 0;
};

}  // namespace holon::qmanager
