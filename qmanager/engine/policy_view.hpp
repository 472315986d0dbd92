// policy_view.hpp - what a policy that a user wrote is asked about a job wherever that happens, and
// what it may know of the scheduler. Private to qmanager/.
#pragma once
#include "qmanager/engine/state.hpp"

namespace holon::qmanager {

// What a policy may know beside its queue. Usage in the accounts is counted up to the time at which
// it is asked for.
using PolicyParts = Parts<const SchedulerConfig, const Jobs, const Plan, const Queues, Accounts>;

// Valid as long as the state is not changed elsewhere.
class PolicyView : public QueueView {
 public:
  PolicyView(PolicyParts s, const Queue& queue, Time now) : s_(s), queue_(queue), now_(now) {}

  const std::string& name() const override { return queue_.name; }
  Time now() const override { return now_; }
  Time wall_time(Time when) const override {
    return s_.config().wall_time && when != kTimeMax ? s_.config().wall_time(when) : when;
  }
  std::int64_t second_of_day() const override;
  std::int64_t ticks_per_second() const override { return s_.config().priority.ticks_per_second; }
  std::int64_t procs() const override { return s_.plan().machine->procs(); }
  std::int64_t free_procs() const override { return s_.plan().machine->free_procs(now_); }
  std::int64_t pending() const override { return static_cast<std::int64_t>(queue_.pending.size()); }
  std::int64_t reserved() const override;
  UserUse user(const std::string& name) const override;
  Window window() const override;
  Time grant_ends() const override { return s_.plan().machine->horizon().end; }

 private:
  PolicyParts s_;
  const Queue& queue_;
  Time now_;
};

JobView view_of(Parts<const SchedulerConfig, const Queues> state, const Job& job, Time now);
// Does the policy that a user wrote give the job its place?
bool is_ranked(const Queues& queues, const Job& job);
// Asks the policy of the job's queue for its place; the answer is in the job. REQUIRES:
// is_ranked().
void rank(Parts<const SchedulerConfig, const Jobs, const Plan, Queues, Accounts> s, Job& job,
          Time now);
// Tells the policy of the job's queue of an event in the job's life, if the policy wants to know.
void tell_policy(PolicyParts s, std::string_view event, const Job& job, Time now);
// The units that a starting job holds once its queue's policy has said where it is best placed.
// REQUIRES: the job holds `given`.
resource::Allocation placed_by_policy(
    Parts<const SchedulerConfig, const Jobs, Plan, Progress, const Queues, Accounts> s,
    const Job& job, resource::Allocation given, Time now);

}  // namespace holon::qmanager
