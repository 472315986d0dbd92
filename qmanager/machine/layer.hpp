// layer.hpp - a machine that counts something more over another machine, or chooses something for
// it. What a layer does not say is as the machine below has it.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "qmanager/machine/machine.hpp"

namespace holon::qmanager {

class Layer : public Machine {
 public:
  explicit Layer(std::unique_ptr<Machine> below) : below_(std::move(below)) {}

  Result<std::optional<std::string>> refuses(const JobRequest& job, Time now,
                                             Duration length) const override {
    return below_->refuses(job, now, length);
  }
  ShapeId shape_of(const JobRequest& job) const override { return below_->shape_of(job); }
  std::int64_t procs_of(const JobRequest& job) const override { return below_->procs_of(job); }
  bool placeable(const JobRequest& job) const override { return below_->placeable(job); }
  bool hopeless(const JobRequest& job, Time now) const override {
    return below_->hopeless(job, now);
  }
  std::optional<Shortage> shortage(const JobRequest& job, Interval when) const override {
    return below_->shortage(job, when);
  }
  std::optional<Time> earliest(const JobRequest& job, const Wish& wish) const override {
    return below_->earliest(job, wish);
  }
  std::optional<Time> earlier_start(const JobRequest& job, Time now) const override {
    return below_->earlier_start(job, now);
  }
  bool reserves_units(const JobRequest& job) const override { return below_->reserves_units(job); }
  bool intact(JobId job) const override { return below_->intact(job); }
  Time end_of_nodes(JobId job) const override { return below_->end_of_nodes(job); }
  resource::Allocation holding(JobId job) const override { return below_->holding(job); }
  Units units_of(JobId job) const override { return below_->units_of(job); }
  std::int64_t procs_held(JobId job) const override { return below_->procs_held(job); }
  std::vector<NodeId> nodes_of(JobId job) const override { return below_->nodes_of(job); }
  std::vector<std::string> hosts_of(JobId job) const override { return below_->hosts_of(job); }
  JobRequest settled(const JobRequest& job) const override { return below_->settled(job); }
  bool exhausted(Time now) const override { return below_->exhausted(now); }
  std::vector<Window> windows(Time now) const override { return below_->windows(now); }
  std::int64_t procs() const override { return below_->procs(); }
  std::int64_t free_procs(Time now) const override { return below_->free_procs(now); }
  resource::Amount total(std::string_view type) const override { return below_->total(type); }
  Interval horizon() const override { return below_->horizon(); }
  std::string outage() const override { return below_->outage(); }
  std::vector<Leaving> leaving(Time now) const override { return below_->leaving(now); }

  Outcome start(const JobRequest& job, Time now, Duration length) override {
    return below_->start(job, now, length);
  }
  Outcome reserve(const JobRequest& job, const Wish& wish) override {
    return below_->reserve(job, wish);
  }
  Outcome claim(const JobRequest& job, Time now, Duration length) override {
    return below_->claim(job, now, length);
  }
  Outcome hold_exactly(const JobRequest& job, Interval when, Time now) override {
    return below_->hold_exactly(job, when, now);
  }
  Status impose(const JobRequest& job, const resource::Allocation& allocation) override {
    return below_->impose(job, allocation);
  }
  Units hold_what_is_left(JobId job, const Units& units, Interval when, Time now) override {
    return below_->hold_what_is_left(job, units, when, now);
  }
  resource::Allocation place_by(const JobRequest& job, Time now, const PlaceScore& score) override {
    return below_->place_by(job, now, score);
  }
  Status set_end(JobId job, Time end) override { return below_->set_end(job, end); }
  void vacate(JobId job, Time now) override { below_->vacate(job, now); }
  void release(JobId job, Time now) override { below_->release(job, now); }
  Units occupy(Units units) override { return below_->occupy(std::move(units)); }

  Result<std::unique_ptr<Machine>> part(JobId holder) override { return below_->part(holder); }
  void expect(const JobRequest& job) override { below_->expect(job); }
  void expect_growth() override { below_->expect_growth(); }
  Status grow(const resource::GraphSpec& part, Time end) override {
    return below_->grow(part, end);
  }
  bool resources_changed() override { return below_->resources_changed(); }
  bool must_replan() override { return below_->must_replan(); }
  bool settle() override { return below_->settle(); }
  bool add_host_pools(const std::map<std::string, resource::Amount>& each) override {
    return below_->add_host_pools(each);
  }
  void check_invariants() const override { below_->check_invariants(); }

 protected:
  // A layer over a clone of what is below `other`.
  Layer(const Layer& other) : below_(other.below_->clone()) {}
  Machine& below() { return *below_; }
  const Machine& below() const { return *below_; }

 private:
  std::unique_ptr<Machine> below_;
};

}  // namespace holon::qmanager
