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
#include "qmanager/machine/layer.hpp"
#include "qmanager/site/environment.hpp"

namespace holon::qmanager {

class EnvironmentMachine final : public Layer {
 public:
  EnvironmentMachine(std::unique_ptr<Machine> below,
                     std::map<std::string, ParallelEnvironment> environments)
      : Layer(std::move(below)), environments_(std::move(environments)) {}
  EnvironmentMachine(const EnvironmentMachine&) = default;

  std::unique_ptr<Machine> clone() const override {
    return std::make_unique<EnvironmentMachine>(*this);
  }

  Result<std::optional<std::string>> refuses(const JobRequest& job, Time now,
                                             Duration length) const override;
  ShapeId shape_of(const JobRequest& job) const override;
  void expect(const JobRequest& job) override {
    for (const JobRequest& one : each(job)) below().expect(one);
  }
  bool placeable(const JobRequest& job) const override;
  bool hopeless(const JobRequest& job, Time now) const override;
  std::optional<Shortage> shortage(const JobRequest& job, Interval when) const override;
  Outcome start(const JobRequest& job, Time now, Duration length) override;
  Outcome reserve(const JobRequest& job, const Wish& wish) override;
  std::optional<Time> earliest(const JobRequest& job, const Wish& wish) const override;
  Outcome claim(const JobRequest& job, Time now, Duration length) override {
    return below().claim(settled(job), now, length);
  }
  resource::Allocation place_by(const JobRequest& job, Time now, const PlaceScore& score) override {
    return below().place_by(settled(job), now, score);
  }
  Outcome hold_exactly(const JobRequest& job, Interval when, Time now) override;
  JobRequest settled(const JobRequest& job) const override;
  std::optional<Time> earlier_start(const JobRequest& job, Time now) const override {
    return job.environments.empty() ? below().earlier_start(job, now) : now;
  }
  bool reserves_units(const JobRequest& job) const override {
    return !job.environments.empty() || below().reserves_units(job);
  }
  void release(JobId job, Time now) override;
  Status impose(const JobRequest& job, const resource::Allocation& allocation) override;

 private:
  JobRequest in(const JobRequest& job, const std::string& environment) const;
  // The job in each of its environments; the job itself where it has no choice.
  std::vector<JobRequest> each(const JobRequest& job) const;
  template <class Hold>
  Outcome where_it_gets_most(std::vector<JobRequest> choices, Time now, Hold hold);

  Shared<std::map<std::string, ParallelEnvironment>> environments_;
  // The environment chosen for each job that holds something and matched several.
  Shared<std::unordered_map<JobId, std::string>> chosen_;
  // Shape numbers by the shapes within, one for each environment; given when first asked for.
  mutable Shared<std::map<std::vector<ShapeId>, ShapeId>> shapes_;
};

}  // namespace holon::qmanager
