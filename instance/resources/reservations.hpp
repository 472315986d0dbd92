// reservations.hpp - the advance reservations of an instance, kept in its journal: after a restart
// the scheduler holds the same units for them.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "instance/manager/manager.hpp"
#include "msg/reservation.hpp"

namespace holon::instance {

class Reservations {
 public:
  // All arguments must outlive it.
  Reservations(Journal& journal, qmanager::Scheduler& scheduler, JobManager& jobs)
      : journal_(journal), scheduler_(scheduler), jobs_(jobs) {}

  // Call before the jobs are recovered: some run within a reservation, even one that is over.
  // `fresh`: nothing runs, and the resources may be others: reservations are made anew, and dropped
  // with a warning where that is impossible. Errors: system, and entries of the journal that do not
  // fit the resources.
  Status recover(Time now, bool fresh);
  // Errors: unsatisfiable (refused, with the reason), invalid_argument, not_found (queue).
  Result<JobId> add(const msg::ReserveRequest& request, Time now);
  // Removes reservations, all or none, and cancels their running jobs. Errors: not_found (never
  // made, over, or removed before).
  Status remove(const std::vector<JobId>& ids, Time now);

  // The instance ends at `end`, earlier than was known: removes the reservations that would begin
  // after it.
  void lease_ends(Time end, Time now);

  // The name of a reservation; "": there is none of that number.
  std::string name_of(JobId id) const;

 private:
  Result<qmanager::AdvanceRequest> read(JobId id, const msg::ReserveRequest& request,
                                        Time now) const;
  bool is_there(JobId id, Time now) const;
  Status lose(JobId id, const Error& why);
  Status hold_again(JobId id, const msg::ReserveRequest& request, bool is_cancelled, Time now);
  Status reserve(JobId id, const msg::ReserveRequest& request, Time now);
  void keep();

  Journal& journal_;
  qmanager::Scheduler& scheduler_;
  JobManager& jobs_;
  std::map<JobId, msg::ReserveRequest> known_;
  std::set<JobId> cancelled_;  // cancelled ones of known_
};

}  // namespace holon::instance
