// The part of the JobManager that keeps jobs at which brokers failed away from the scheduler. They
// are held (urgency 0), and the scheduler is not told of them; the journal notes that no person
// held them.
#include "instance/manager/manager.hpp"

namespace holon::instance {

void JobManager::set_aside(JobId id, Time now) {
  ActiveJob* job = find_mutable(id);
  if (job == nullptr || !is_pending(job->life.state)) return;
  if (job->life.urgency != qmanager::kUrgencyHold)
    change_urgency(*job, qmanager::kUrgencyHold, now);
  aside_.insert(id);
  journal_.add_aside(id);
}

// The job has ended, or a user has released it.
void JobManager::let_back(JobId id) {
  if (aside_.erase(id) != 0) journal_.remove_aside(id);
}

Status JobManager::restore_aside() {
  const auto kept = journal_.aside();
  if (!kept) return tl::unexpected(kept.error());
  for (const JobId id : *kept)
    if (find(id) != nullptr) aside_.insert(id);
  return {};
}

}  // namespace holon::instance
