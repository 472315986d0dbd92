// pool_machine.hpp - consumables beside the resource tree (licences, Grid Engine's global
// consumables): a Machine that adds named pools to another one.
#pragma once
#include <map>
#include <memory>
#include <unordered_map>

#include "base/shared.hpp"
#include "qmanager/machine/machine.hpp"
#include "resource/planner/timeline.hpp"

namespace holon::qmanager {

class PoolMachine final : public Machine {
 public:
  PoolMachine(std::unique_ptr<Machine> inner, const std::map<std::string, resource::Amount>& pools);
  PoolMachine(const PoolMachine& other)
      : inner_(other.inner_->clone()),
        pools_(other.pools_),
        held_(other.held_),
        shapes_(other.shapes_) {}

  std::unique_ptr<Machine> clone() const override { return std::make_unique<PoolMachine>(*this); }

  Result<std::optional<std::string>> refuses(const JobRequest& job, Time now,
                                             Duration length) override;
  ShapeId shape_of(const JobRequest& job) override;
  std::int64_t procs_of(const JobRequest& job) const override { return inner_->procs_of(job); }
  bool placeable(const JobRequest& job) override { return inner_->placeable(job); }
  bool exhausted(Time now) override { return inner_->exhausted(now); }
  bool hopeless(const JobRequest& job, Time now) override;
  std::optional<Shortage> shortage(const JobRequest& job, Interval when) override;
  Outcome start(const JobRequest& job, Time now, Duration length) override;
  Outcome reserve(const JobRequest& job, const Wish& wish) override;
  std::optional<Time> earliest(const JobRequest& job, const Wish& wish) override;
  bool intact(JobId job) override { return inner_->intact(job); }
  std::string outage() override { return inner_->outage(); }
  Outcome claim(const JobRequest& job, Time now, Duration length) override {
    return inner_->claim(job, now, length);
  }
  resource::Allocation place_by(const JobRequest& job, Time now, const PlaceScore& score) override {
    return inner_->place_by(job, now, score);
  }
  std::vector<NodeId> nodes_of(JobId job) const override { return inner_->nodes_of(job); }
  Outcome hold_exactly(const JobRequest& job, Interval when, Time now) override;
  Result<std::unique_ptr<Machine>> part(JobId holder) override { return inner_->part(holder); }
  void vacate(JobId job, Time now) override { inner_->vacate(job, now); }
  std::optional<Time> earlier_start(const JobRequest& job, Time now) override {
    return inner_->earlier_start(job, now);
  }
  void release(JobId job, Time now) override;
  Status impose(const JobRequest& job, const resource::Allocation& allocation) override;
  Status set_end(JobId job, Time end) override;
  resource::Allocation holding(JobId job) const override { return inner_->holding(job); }
  Units units_of(JobId job) const override;
  Units hold_what_is_left(JobId job, const Units& units, Interval when, Time now) override;
  Units occupy(Units units) override;
  std::int64_t procs_held(JobId job) const override { return inner_->procs_held(job); }
  std::vector<Window> windows(Time now) override { return inner_->windows(now); }
  std::int64_t procs() const override { return inner_->procs(); }
  std::int64_t free_procs(Time now) override { return inner_->free_procs(now); }
  resource::Amount total(std::string_view type) const override { return inner_->total(type); }
  Interval horizon() const override { return inner_->horizon(); }
  void expect_growth() override { inner_->expect_growth(); }
  void resources_changed() override { inner_->resources_changed(); }
  bool settle() override { return inner_->settle(); }
  bool must_replan() override { return inner_->must_replan(); }
  void check_invariants() const override;

 private:
  struct Pool {
    resource::Amount total = 0;
    resource::Amount occupied = 0;
    resource::Timeline used;

    // That jobs of this machine may have.
    resource::Amount capacity() const { return total - occupied; }
  };
  struct Held {
    std::vector<Consumes> consumes;  // in all, not by the slot
    Interval when;
  };

  // Slots that the consumables have room for over `when`.
  std::int64_t slots_over(const JobRequest& job, Interval when) const;
  // The first of its consumables that there is not enough of over `when`, and how much there is.
  struct Lack {
    const std::string* pool;
    resource::Amount wanted = 0;
    resource::Amount free = 0;
  };
  std::optional<Lack> lack(const JobRequest& job, Interval when) const;
  std::string text(const Lack& lack) const;
  Time end_of(Time begin, Duration length) const;
  std::optional<Time> pools_fit(const JobRequest& job, Time from, Duration length) const;
  Outcome hold(const JobRequest& job, Outcome outcome);
  static resource::Amount least(const JobRequest& job, const Consumes& use);

  std::unique_ptr<Machine> inner_;
  std::map<std::string, Pool> pools_;
  Shared<std::unordered_map<JobId, Held>> held_;
  // An inner shape with these needs is a shape of its own.
  Shared<std::map<std::pair<ShapeId, std::string>, ShapeId>> shapes_;
};

}  // namespace holon::qmanager
