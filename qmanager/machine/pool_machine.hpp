// pool_machine.hpp - consumables beside the resource tree (licences, Grid Engine's global
// consumables): a Machine that adds named pools to another one.
#pragma once
#include <map>
#include <memory>
#include <unordered_map>

#include "base/shared.hpp"
#include "qmanager/machine/layer.hpp"
#include "resource/planner/timeline.hpp"

namespace holon::qmanager {

class PoolMachine final : public Layer {
 public:
  PoolMachine(std::unique_ptr<Machine> below, const std::map<std::string, resource::Amount>& pools);
  PoolMachine(const PoolMachine&) = default;

  std::unique_ptr<Machine> clone() const override { return std::make_unique<PoolMachine>(*this); }

  Result<std::optional<std::string>> refuses(const JobRequest& job, Time now,
                                             Duration length) const override;
  ShapeId shape_of(const JobRequest& job) const override;
  bool hopeless(const JobRequest& job, Time now) const override;
  std::optional<Shortage> shortage(const JobRequest& job, Interval when) const override;
  Outcome start(const JobRequest& job, Time now, Duration length) override;
  Outcome reserve(const JobRequest& job, const Wish& wish) override;
  std::optional<Time> earliest(const JobRequest& job, const Wish& wish) const override;
  Outcome hold_exactly(const JobRequest& job, Interval when, Time now) override;
  void release(JobId job, Time now) override;
  Status impose(const JobRequest& job, const resource::Allocation& allocation) override;
  Status set_end(JobId job, Time end) override;
  Units units_of(JobId job) const override;
  Units hold_what_is_left(JobId job, const Units& units, Interval when, Time now) override;
  Units occupy(Units units) override;
  void check_invariants() const override;

 private:
  struct Pool {
    resource::Amount total = 0;
    resource::Amount occupied = 0;
    resource::Timeline used;

    // The amount that jobs of this machine may have.
    resource::Amount capacity() const { return total - occupied; }
  };
  struct Held {
    std::vector<Consumes> consumes;  // in all, not by the slot
    Interval when;
  };

  // Slots that the consumables have room for over `when`.
  std::int64_t slots_over(const JobRequest& job, Interval when) const;
  // The job's first consumable that is short over `when`, and how much of it is free.
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

  std::map<std::string, Pool> pools_;
  Shared<std::unordered_map<JobId, Held>> held_;
  // Shape numbers by the shape below and the consumables needed; given when first asked for.
  mutable Shared<std::map<std::pair<ShapeId, std::string>, ShapeId>> shapes_;
};

}  // namespace holon::qmanager
