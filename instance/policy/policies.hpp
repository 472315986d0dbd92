// policies.hpp - what the policies that users wrote keep for later (`state`): it outlives the
// broker.
#pragma once
#include "base/result.hpp"
#include "instance/journal/journal.hpp"
#include "qmanager/scheduler.hpp"

namespace holon::instance {

class Policies {
 public:
  // Both must outlive it.
  Policies(Journal& journal, qmanager::Scheduler& scheduler)
      : journal_(journal), scheduler_(scheduler) {}

  // Before jobs are recovered. What a policy has no use for, because its text is another one now,
  // is passed over with a line in the log. Errors: system.
  Status restore();
  // Writes down what policies keep, where that has changed. Before each commit, so that it is
  // written with the events that the policies were told.
  void keep();

 private:
  Status restore(const qmanager::QueueStatus& queue);

  Journal& journal_;
  qmanager::Scheduler& scheduler_;
};

}  // namespace holon::instance
