// policy_view.hpp - what a policy that a user wrote may know of the scheduler. Private to
// qmanager/.
#pragma once
#include "qmanager/engine/state.hpp"

namespace holon::qmanager {

// Valid as long as the state is not changed elsewhere.
class PolicyView : public QueueView {
 public:
  PolicyView(Scheduler::State& state, const Queue& queue, Time now)
      : s_(state), queue_(queue), now_(now) {}

  const std::string& name() const override { return queue_.name; }
  Time now() const override { return now_; }
  Time wall_time(Time when) const override {
    return s_.config.wall_time && when != kTimeMax ? s_.config.wall_time(when) : when;
  }
  std::int64_t second_of_day() const override;
  std::int64_t ticks_per_second() const override { return s_.config.priority.ticks_per_second; }
  std::int64_t procs() const override { return s_.machine->procs(); }
  std::int64_t free_procs() const override { return s_.machine->free_procs(now_); }
  std::int64_t pending() const override { return static_cast<std::int64_t>(queue_.pending.size()); }
  std::int64_t reserved() const override;
  UserUse user(const std::string& name) const override;
  Window window() const override;
  Time grant_ends() const override { return s_.machine->horizon().end; }

 private:
  Scheduler::State& s_;
  const Queue& queue_;
  Time now_;
};

}  // namespace holon::qmanager
