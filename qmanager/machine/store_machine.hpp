// store_machine.hpp - the resource graph as the engine sees it: a Machine over a ResourceStore.
//
// As long as every job asks for single cores anywhere, or every job for whole nodes that are all
// alike (uniform.hpp), and every core is up, which of them a reservation gets plays no part: then
// reservations are kept as numbers of cores (a FlatMachine), and only running jobs hold cores in
// the store. Holding particular cores for later would keep jobs out that fit, and costs a search
// and some thousand vertices each. The first job of another kind, an advance reservation, a node
// that goes down, or one that will be gone at a known time, ends this: all reservations are then
// made again, in the store.
//
// Questions are const. What they write is mutable, and does not say whether a job fits: shapes that
// are asked about for the first time, answers that hold until resources change, and in the store
// the matcher's scratch and what is held for the length of a question (resource/question.hpp).
#pragma once
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/shared.hpp"
#include "qmanager/machine/flat_machine.hpp"
#include "qmanager/machine/host_pools.hpp"
#include "qmanager/machine/machine.hpp"
#include "qmanager/machine/uniform.hpp"
#include "resource/store.hpp"

namespace holon::qmanager {

// The store that a machine is over. A copy looks at the same one until it changes it or has to
// match, and then has a fork of it.
class StoreView {
 public:
  explicit StoreView(resource::ResourceStore& store) : seen_(&store), own_(&store) {}
  StoreView(const StoreView& other) : seen_(other.seen_) {}
  StoreView& operator=(const StoreView&) = delete;

  const resource::ResourceStore& operator*() const { return *seen_; }
  const resource::ResourceStore* operator->() const { return seen_; }
  resource::ResourceStore& edit() { return to_ask(); }
  // The store, for a question's match. REQUIRES: what is held for it is given back at once.
  resource::ResourceStore& to_ask() const {
    if (own_ == nullptr) seen_ = own_ = &fork_.emplace(seen_->fork());
    return *own_;
  }
  // Like edit(), with a graph of its own that may grow. REQUIRES: this is a copy.
  resource::ResourceStore& edit_graph() {
    seen_ = own_ = &fork_.emplace(seen_->clone());
    return *own_;
  }

 private:
  // Mutable: a fork has what its origin has, so making one changes no answer.
  mutable const resource::ResourceStore* seen_;
  mutable resource::ResourceStore* own_ = nullptr;  // null: nothing changed yet
  mutable std::optional<resource::ResourceStore> fork_;
};

class StoreMachine : public Machine {
 public:
  // The store must outlive the machine.
  explicit StoreMachine(resource::ResourceStore& store);

  std::unique_ptr<Machine> clone() const override;
  Result<std::optional<std::string>> refuses(const JobRequest& job, Time now,
                                             Duration length) const override;
  ShapeId shape_of(const JobRequest& job) const override;
  std::int64_t procs_of(const JobRequest& job) const override;
  void expect(const JobRequest& job) override;
  void expect_growth() override { grows_ = true; }
  bool placeable(const JobRequest& job) const override;
  bool exhausted(Time now) const override;
  bool hopeless(const JobRequest& job, Time now) const override;
  std::optional<Shortage> shortage(const JobRequest& job, Interval when) const override;
  Outcome start(const JobRequest& job, Time now, Duration length) override;
  Outcome reserve(const JobRequest& job, const Wish& wish) override;
  std::optional<Time> earliest(const JobRequest& job, const Wish& wish) const override;
  bool intact(JobId job) const override;
  std::string outage() const override;
  std::vector<Leaving> leaving(Time now) const override;
  Time end_of_nodes(JobId job) const override;
  std::vector<std::string> hosts_of(JobId job) const override;
  Status grow(const resource::GraphSpec& part, Time end) override;
  Outcome claim(const JobRequest& job, Time now, Duration length) override;
  resource::Allocation place_by(const JobRequest& job, Time now, const PlaceScore& score) override;
  std::vector<NodeId> nodes_of(JobId job) const override;
  JobRequest settled(const JobRequest& job) const override { return job; }
  Outcome hold_exactly(const JobRequest& job, Interval when, Time now) override;
  Result<std::unique_ptr<Machine>> part(JobId holder) override;
  void vacate(JobId job, Time now) override;
  std::optional<Time> earlier_start(const JobRequest& job, Time now) const override {
    return uniform_ && uniform_->holds(job.id) ? uniform_->earlier_start(job, now) : now;
  }
  bool reserves_units(const JobRequest& job) const override {
    return !uniform_ || !uniform_->holds(job.id);
  }
  void release(JobId job, Time now) override;
  Status impose(const JobRequest& job, const resource::Allocation& allocation) override;
  Status set_end(JobId job, Time end) override;
  resource::Allocation holding(JobId job) const override;
  Units units_of(JobId job) const override { return {holding(job), host_pools_->held_by(job)}; }
  Units hold_what_is_left(JobId job, const Units& units, Interval when, Time now) override;
  // Only PartMachine can tell which of these units lie in its part: part_machine.cpp.
  Units occupy(Units units) override { return units; }
  std::int64_t procs_held(JobId job) const override;
  std::vector<Window> windows(Time now) const override;
  std::int64_t procs() const override { return procs_; }
  std::int64_t free_procs(Time now) const override;
  resource::Amount total(std::string_view type) const override { return store_->total(type); }
  Interval horizon() const override;
  bool add_host_pools(const std::map<std::string, resource::Amount>& each) override;
  bool resources_changed() override;
  bool settle() override {
    leave_uniform();
    return replan_;
  }
  bool must_replan() override { return std::exchange(replan_, false); }
  void check_invariants() const override;

 protected:
  // A copy of the plan, of use as long as the other one stays as it is.
  StoreMachine(const StoreMachine&) = default;
  StoreView& store() { return store_; }

 private:
  enum class Unit : std::uint8_t {
    none,
    core,
    node
  };  // what jobs ask for; none: no job has come yet, or something else

  struct Shape {
    std::shared_ptr<const resource::Jobspec> spec;  // of one of the shape's jobs
    AllocationRule rule;
    std::vector<Consumes> on_hosts;
    Unit unit = Unit::none;          // the unit that its jobs ask for
    std::int64_t cores = 0;          // the least that its jobs ask for
    std::int64_t all_cores = 0;      // of the nodes, if it takes whole ones
    std::uint64_t placeable_at = 0;  // status generation of the answer below
    bool placeable = false;
    std::uint64_t satisfiable_at = 0;  // status generation at which it was found to be ...
    Duration satisfiable_for = 0;      // ... for so long
  };

  struct Recent {
    std::shared_ptr<const resource::Jobspec> spec;
    bool slots = false;
    ShapeId shape = 0;
  };
  static constexpr std::size_t kRecent = 1024;

  // Ends of what is held or planned: by job, and all in order.
  struct Ends {
    std::unordered_map<JobId, Time> of;
    std::multiset<Time> all;
  };

  ShapeId find_shape(const JobRequest& job) const;
  Unit unit_of(const JobRequest& job) const;
  Unit unit_of(const Shape& shape, const JobRequest& job) const;
  std::int64_t least_cores(const Shape& shape) const;
  // Can questions about the job be answered from numbers alone?
  bool goes_by_number(const JobRequest& job) const;
  const JobRequest& counted(const JobRequest& job) const;
  const Shape& shape(const JobRequest& job) const {
    const ShapeId id = shape_of(job);  // may replace what shapes_ refers to
    return (*shapes_)[id];
  }
  // Matches in `store`, the machine's own. What it holds there is not in ends_ or host_pools_.
  Outcome match_in(resource::ResourceStore& store, const JobRequest& job, resource::MatchOp op,
                   Time now, Duration length) const;
  Outcome allocate_in(resource::ResourceStore& store, const JobRequest& job, Interval when,
                      Time now) const;
  Outcome holds(Outcome outcome);
  Outcome hold_now_or_then(const JobRequest& job, Interval when, Time now);
  Outcome hold_on_hosts(const JobRequest& job, Interval when, Time now);
  Outcome would_hold(const JobRequest& job, Interval when, Time now) const;
  std::optional<resource::NotNow> out_of_horizon(Interval when) const;
  HostSlots slots_on_hosts(const JobRequest& job, const resource::Allocation& allocation) const;
  bool goes_by_host(const JobRequest& job) const;
  std::int64_t cores_of(const resource::Allocation& allocation) const;
  std::int64_t most_that_fit(const JobRequest& job, Interval when, Time now) const;
  Outcome allocate(const JobRequest& job, Time now, Duration length);
  void leave_uniform();
  Duration until_horizon(Time from) const;
  template <class Try>
  Outcome first_time(const JobRequest& job, const Wish& wish, Try try_over) const;
  bool anything_down() const;  // or due to leave
  bool is_more_there();        // than at the last call
  bool all_up(const resource::Allocation& allocation) const;
  std::int64_t free_cores_at_most(Time now) const;

  StoreView store_;
  std::int64_t procs_;  // cores in all: to count them is O(V)
  Shared<HostPools> host_pools_;
  std::optional<FlatMachine>
      uniform_;             // running jobs and reservations by number of cores; see above
  Unit unit_ = Unit::none;  // while uniform_
  std::optional<std::int64_t> node_cores_;  // of each node, where all are alike
  mutable JobRequest counted_;              // of the last call of counted()
  bool replan_ = false;
  mutable Shared<std::vector<Shape>> shapes_;
  mutable Shared<std::unordered_multimap<std::size_t, ShapeId>> by_content_;
  mutable Shared<std::vector<Recent>> recent_{std::vector<Recent>(kRecent)};
  bool grows_ = false;          // accepted jobs may be too large for what is here
  bool coreless_jobs_ = false;  // some job asks for no core: full cores do not stop it
  Shared<Ends> ends_;
  std::uint64_t status_ = 1;              // grows when resources change
  mutable std::uint64_t down_known_ = 0;  // the status for which down_ holds
  mutable bool down_ = false;
  Shared<std::vector<Time>> there_until_;  // each vertex, when is_more_there() was asked last
  mutable Time free_at_ = -1;              // the instant for which free_ holds; -1: none
  mutable std::int64_t free_ = 0;
};

struct StoreOwner {
  resource::ResourceStore own_store;
};

// A StoreMachine that owns its store.
class OwningStoreMachine final : private StoreOwner, public StoreMachine {
 public:
  explicit OwningStoreMachine(resource::ResourceStore store)
      : StoreOwner{std::move(store)}, StoreMachine(StoreOwner::own_store) {}
};

}  // namespace holon::qmanager
