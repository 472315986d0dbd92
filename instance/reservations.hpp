// reservations.hpp - the advance reservations of an instance, kept in its journal: what the
// scheduler holds for them is held again after a restart.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "instance/job_manager.hpp"
#include "instance/reservation_messages.hpp"

namespace holon::instance {

class Reservations {
 public:
  // All must outlive it.
  Reservations(Journal& journal, qmanager::Scheduler& scheduler, JobManager& jobs)
      : journal_(journal), scheduler_(scheduler), jobs_(jobs) {}

  // Call before the jobs are recovered: some run within one. Those that are over are forgotten.
  // Errors: system, and what the journal holds that does not fit the resources.
  Status recover(Time now);
  // Errors: unsatisfiable (refused, with the reason), invalid_argument, not_found (queue).
  Result<JobId> add(const msg::ReserveRequest& request, Time now);
  // Its running jobs are cancelled. Errors: not_found.
  Status remove(JobId id, Time now);

  // "" where there is none of that number.
  std::string name_of(JobId id) const;

 private:
  Result<qmanager::AdvanceRequest> read(JobId id, const msg::ReserveRequest& request,
                                        Time now) const;
  void keep();

  Journal& journal_;
  qmanager::Scheduler& scheduler_;
  JobManager& jobs_;
  std::map<JobId, msg::ReserveRequest> known_;
};

}  // namespace holon::instance
