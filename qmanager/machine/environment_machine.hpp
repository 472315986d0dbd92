// environment_machine.hpp - jobs that may run in any of several parallel environments ("mpi*"): a
// Machine that chooses one.
//
// As Grid Engine does (sge_pe(5), submit(1)): a job that starts now gets the first environment by
// name in which it fits; a job with a range of slots gets the environment that has most slots for
// it. A reservation is made where it begins earliest, and among these where it gets most slots.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/shared.hpp"
#include "qmanager/machine/machine.hpp"
#include "qmanager/site/environment.hpp"

namespace holon::qmanager {

class EnvironmentMachine final : public Machine {
 public:
  EnvironmentMachine(std::unique_ptr<Machine> inner,
                     std::map<std::string, ParallelEnvironment> environments)
      : inner_(std::move(inner)), environments_(std::move(environments)) {}
  EnvironmentMachine(const EnvironmentMachine& other)
      : inner_(other.inner_->clone()),
        environments_(other.environments_),
        chosen_(other.chosen_),
        shapes_(other.shapes_) {}

  std::unique_ptr<Machine> clone() const override {
    return std::make_unique<EnvironmentMachine>(*this);
  }

  Result<std::optional<std::string>> refuses(const JobRequest& job, Time now,
                                             Duration length) override;
  ShapeId shape_of(const JobRequest& job) override;
  std::int64_t procs_of(const JobRequest& job) const override { return inner_->procs_of(job); }
  bool placeable(const JobRequest& job) override;
  bool exhausted(Time now) override { return inner_->exhausted(now); }
  bool hopeless(const JobRequest& job, Time now) override;
  std::optional<Shortage> shortage(const JobRequest& job, Interval when) override;
  Outcome start(const JobRequest& job, Time now, Duration length) override;
  Outcome reserve(const JobRequest& job, const Wish& wish) override;
  std::optional<Time> earliest(const JobRequest& job, const Wish& wish) override;
  bool intact(JobId job) override { return inner_->intact(job); }
  std::string outage() override { return inner_->outage(); }
  Outcome claim(const JobRequest& job, Time now, Duration length) override {
    return inner_->claim(settled(job), now, length);
  }
  resource::Allocation place_by(const JobRequest& job, Time now, const PlaceScore& score) override {
    return inner_->place_by(settled(job), now, score);
  }
  std::vector<NodeId> nodes_of(JobId job) const override { return inner_->nodes_of(job); }
  Outcome hold_exactly(const JobRequest& job, Interval when, Time now) override;
  JobRequest settled(const JobRequest& job) const override;
  Result<std::unique_ptr<Machine>> part(JobId holder) override { return inner_->part(holder); }
  void vacate(JobId job, Time now) override { inner_->vacate(job, now); }
  std::optional<Time> earlier_start(const JobRequest& job, Time now) override {
    return job.environments.empty() ? inner_->earlier_start(job, now) : now;
  }
  void release(JobId job, Time now) override;
  Status impose(const JobRequest& job, const resource::Allocation& allocation) override;
  Status set_end(JobId job, Time end) override { return inner_->set_end(job, end); }
  resource::Allocation holding(JobId job) const override { return inner_->holding(job); }
  Units units_of(JobId job) const override { return inner_->units_of(job); }
  Units hold_what_is_left(JobId job, const Units& units, Interval when, Time now) override {
    return inner_->hold_what_is_left(job, units, when, now);
  }
  Units occupy(Units units) override { return inner_->occupy(std::move(units)); }
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
  void check_invariants() const override { inner_->check_invariants(); }

 private:
  JobRequest in(const JobRequest& job, const std::string& environment) const;
  // The job in each of its environments; itself where it has no choice.
  std::vector<JobRequest> each(const JobRequest& job) const;
  template <class Hold>
  Outcome where_it_gets_most(std::vector<JobRequest> choices, Time now, Hold hold);

  std::unique_ptr<Machine> inner_;
  Shared<std::map<std::string, ParallelEnvironment>> environments_;
  // The environment chosen for each job that holds something and matched several.
  Shared<std::unordered_map<JobId, std::string>> chosen_;
  // By those within, one for each environment.
  Shared<std::map<std::vector<ShapeId>, ShapeId>> shapes_;
};

}  // namespace holon::qmanager
