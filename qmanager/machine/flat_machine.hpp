// flat_machine.hpp - P equal processors, and how many of them are held when. Which processors a job
// gets plays no part.
//
// For traces, simulations and tests of policies: all questions are O(log n) in the n spans of the
// plan.
#pragma once
#include <string>
#include <unordered_map>

#include "base/shared.hpp"
#include "qmanager/machine/machine.hpp"
#include "resource/planner/searched_timeline.hpp"

namespace holon::qmanager {

// "the 4 processors it needs are not free: 2 of 8 are".
std::string processors_short(std::int64_t wanted, std::int64_t free, std::int64_t all);

class FlatMachine final : public Machine {
 public:
  // REQUIRES procs >= 1.
  explicit FlatMachine(std::int64_t procs, Interval horizon = {0, kTimeMax})
      : procs_(procs), horizon_(horizon) {}

  std::unique_ptr<Machine> clone() const override { return std::make_unique<FlatMachine>(*this); }

  Result<std::optional<std::string>> refuses(const JobRequest& job, Time now,
                                             Duration length) const override;
  ShapeId shape_of(const JobRequest& job) const override;
  std::int64_t procs_of(const JobRequest& job) const override { return job.procs; }
  bool placeable(const JobRequest& job) const override { return job.procs <= capacity(); }
  bool exhausted(Time now) const override { return free_procs(now) <= 0; }
  bool hopeless(const JobRequest& job, Time now) const override {
    return job.procs > free_procs(now);
  }
  std::optional<Shortage> shortage(const JobRequest& job, Interval when) const override;
  Outcome start(const JobRequest& job, Time now, Duration length) override;
  Outcome reserve(const JobRequest& job, const Wish& wish) override;
  std::optional<Time> earliest(const JobRequest& job, const Wish& wish) const override;
  bool intact(JobId) const override { return true; }
  std::vector<NodeId> nodes_of(JobId) const override { return {}; }
  std::vector<std::string> hosts_of(JobId) const override { return {}; }
  Time end_of_nodes(JobId) const override { return kTimeMax; }
  JobRequest settled(const JobRequest& job) const override { return job; }
  std::string outage() const override { return {}; }
  std::vector<Leaving> leaving(Time) const override { return {}; }
  Outcome claim(const JobRequest& job, Time, Duration) override { return holding(job.id); }
  Outcome hold_exactly(const JobRequest& job, Interval when, Time) override {
    return hold(job, when);
  }
  Result<std::unique_ptr<Machine>> part(JobId holder) override {
    const Held& held = *held_.find(holder);
    return std::make_unique<FlatMachine>(held.procs, held.when);
  }
  bool holds(JobId job) const { return held_.contains(job); }
  std::optional<Time> earlier_start(const JobRequest& job, Time now) const override;
  bool reserves_units(const JobRequest&) const override { return false; }
  resource::Allocation place_by(const JobRequest& job, Time, const PlaceScore&) override {
    return holding(job.id);
  }
  void vacate(JobId, Time) override {}
  void release(JobId job, Time now) override;
  Status impose(const JobRequest& job, const resource::Allocation& allocation) override;
  Status set_end(JobId job, Time end) override;
  resource::Allocation holding(JobId job) const override;
  Units units_of(JobId job) const override { return {holding(job), {}}; }
  Units hold_what_is_left(JobId job, const Units& units, Interval when, Time now) override;
  Units occupy(Units units) override;
  std::int64_t procs_held(JobId job) const override { return held_.find(job)->procs; }
  std::vector<Window> windows(Time now) const override;
  std::int64_t procs() const override { return procs_; }
  std::int64_t free_procs(Time now) const override;
  resource::Amount total(std::string_view) const override { return 0; }
  Interval horizon() const override { return horizon_; }
  void expect(const JobRequest&) override {}
  void expect_growth() override {}
  Status grow(const resource::GraphSpec&, Time) override {
    return fail(Errc::unsupported, "no node can be added to it");
  }
  bool resources_changed() override {
    free_at_ = -1;
    return false;
  }
  bool must_replan() override { return false; }
  bool settle() override { return false; }
  bool add_host_pools(const std::map<std::string, resource::Amount>&) override { return false; }
  void check_invariants() const override;

  void set_horizon(Interval horizon) { horizon_ = horizon; }

 private:
  struct Held {
    Interval when;
    std::int64_t procs = 0;
  };

  Outcome hold(const JobRequest& job, Interval when);
  bool fits(std::int64_t procs, Interval when) const;
  Time end_of(Time begin, Duration length) const;

  // Processors that jobs of this machine may have.
  std::int64_t capacity() const { return procs_ - occupied_; }

  std::int64_t procs_;
  std::int64_t occupied_ = 0;
  Interval horizon_;
  mutable resource::SearchedTimeline plan_;  // a question may add to what was searched for in vain
  SharedMap<JobId, Held> held_;
  // Shape numbers by processors; given when first asked for.
  mutable Shared<std::unordered_map<std::int64_t, ShapeId>> shapes_;
  mutable Time free_at_ = -1;  // the instant for which free_ holds; -1: none
  mutable std::int64_t free_ = 0;
};

}  // namespace holon::qmanager
