// store_machine.hpp - the resource graph as the engine sees it: a Machine over a ResourceStore.
#pragma once
#include <memory>
#include <unordered_map>
#include <vector>

#include "qmanager/machine.hpp"

namespace holon::qmanager {

// The least a jobspec can be met with, in units of `type`: counts multiplied along the tree, at
// their smallest.
std::int64_t least_units(const resource::Jobspec& spec, std::string_view type);

class StoreMachine final : public Machine {
 public:
  // The store must outlive the machine.
  explicit StoreMachine(resource::ResourceStore& store) : store_(store) {}

  Result<std::optional<std::string>> refuses(const JobRequest& job, Time now,
                                             Duration length) override;
  ShapeId shape_of(const JobRequest& job) override;
  std::int64_t procs_of(const JobRequest& job) const override;
  bool placeable(const JobRequest& job, Time now, Duration length) override;
  bool exhausted(Time now) override;
  bool hopeless(const JobRequest& job, Time now) override;
  Outcome start(const JobRequest& job, Time now, Duration length) override;
  Outcome reserve(const JobRequest& job, Time not_before, Duration length) override;
  std::optional<Time> earliest(const JobRequest& job, Time not_before, Duration length) override;
  void release(JobId job, Time now) override;
  Status impose(const resource::Allocation& allocation) override;
  Status set_end(JobId job, Time end) override;
  resource::Allocation holding(JobId job) const override;
  std::int64_t procs() const override;
  std::int64_t free_procs(Time now) override;
  Interval horizon() const override;
  void resources_changed() override;
  void check_invariants() const override;

 private:
  struct Shape {
    std::shared_ptr<const resource::Jobspec> spec;  // one of those that have it
    std::int64_t cores = 0;                         // the least it needs
    std::uint64_t placeable_at = 0;                 // status generation of the answer below
    bool placeable = false;
  };

  Shape& shape(const JobRequest& job) { return shapes_[shape_of(job)]; }
  Outcome match(const JobRequest& job, resource::MatchOp op, Time now, Duration length);
  Duration until_horizon(Time from) const;

  resource::ResourceStore& store_;
  std::vector<Shape> shapes_;
  std::unordered_multimap<std::size_t, ShapeId> by_content_;
  const resource::Jobspec* last_spec_ =
      nullptr;  // of the array that is being submitted; kept alive by shapes_
  ShapeId last_shape_ = 0;
  bool coreless_shapes_ =
      false;  // some job asks for no core: a machine without free cores may serve it
  std::uint64_t status_ = 1;  // grows when resources change
  Time free_at_ = -1;         // the instant for which free_ holds; -1: none
  std::int64_t free_ = 0;
};

}  // namespace holon::qmanager
