// store.hpp - ResourceStore: what there is and who holds it when (RFC 16's methods over graph,
// planners and matcher).
//
// Invariants: no unit of a vertex is held by two jobs at one instant; an exclusive vertex implies
// everything below it; a call that fails leaves the store as it was. Const calls change nothing. No
// clock: `now` is an argument. Not thread-safe: one owner.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "base/strong.hpp"
#include "base/time.hpp"
#include "resource/allocation.hpp"
#include "resource/jobspec/jobspec.hpp"

namespace holon::resource {

class ResourceGraph;
struct GraphSpec;

enum class MatchOp {
  allocate,                      // now or NotNow
  allocate_with_satisfiability,  // now; NotNow if it could run on the idle machine, else Never
  allocate_orelse_reserve,       // now, else at the earliest time that fits
  satisfiability,                // could it ever run? holds nothing
  without_allocating,            // as allocate, holds nothing
  without_allocating_future,     // as allocate_orelse_reserve, holds nothing
};

// It could run, but not now; the reason names what is short, for a person to act on.
struct NotNow {
  std::string reason;
};
// It can never run on these resources.
struct Never {
  std::string reason;
};

using MatchOutcome = std::variant<Allocation, NotNow, Never>;

struct StoreOptions {
  std::string match_policy = "first";  // or high, low, lonode, ..., or "key=value key=value"
  std::string prune_filters = "ALL:core,ALL:node";
  std::string traverser = "simple";  // or "flexible"
  Interval horizon{0, kTimeMax};     // nothing is planned outside it
};

class ResourceStore {
 public:
  // Takes the graph a reader has made. Errors: invalid_argument for unknown policies or filters.
  static Result<ResourceStore> load(const GraphSpec& spec, StoreOptions options);

  ResourceStore(ResourceStore&&) noexcept;
  ResourceStore& operator=(ResourceStore&&) noexcept;
  ~ResourceStore();

  const ResourceGraph& graph() const;
  const StoreOptions& options() const;

  // Finds R for `spec` over `duration` ticks and, unless `op` is a dry one, holds it for `job`.
  // Errors: exists if the job holds something already; invalid_argument for a spec the matcher
  // cannot understand.
  Result<MatchOutcome> match(JobId job, const Jobspec& spec, MatchOp op, Time now,
                             Duration duration);

  // Imposes a given R (recovery). Errors: overcommitted, not_found (a vertex that is not here),
  // exists.
  Status update(const Allocation& allocation);

  // Gives back everything `job` holds, allocation or reservation. Errors: not_found.
  Status release(JobId job);

  // Moves the end of a held allocation (an overrun, a shorter limit). Later spans that are in the
  // way make it fail with overcommitted and change nothing. Errors: not_found.
  Status set_end(JobId job, Time end);

  // What `job` holds; nullptr if nothing.
  const Allocation* find(JobId job) const;

  // Up or down, by path ("/cluster0/node3"); everything below goes with it. Errors: not_found.
  Status set_status(std::string_view path, bool up);

  // The horizon's end moved (a new lease). Spans beyond it stay. Errors: invalid_argument if before
  // begin.
  Status set_horizon(Interval horizon);

  // Units of `type` in all, and free at `now` on vertices that are up.
  Amount total(std::string_view type) const;
  Amount available(std::string_view type, Time now) const;

  // Aborts unless every planner, aggregate and holding agrees. O(everything). For tests.
  void check_invariants() const;

  struct State;  // resource/store_state.hpp, for resource/ itself

 private:
  explicit ResourceStore(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace holon::resource
