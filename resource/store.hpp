// store.hpp - ResourceStore: what there is and who holds it when (RFC 16's methods over graph,
// planners and matcher).
//
// Invariants: no unit of a vertex is held by two jobs at one instant; an exclusive vertex implies
// everything below it; a call that fails leaves the store as it was. Const calls change nothing. No
// clock: `now` is an argument. Not thread-safe: one owner.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "base/strong.hpp"
#include "base/time.hpp"
#include "resource/allocation.hpp"
#include "resource/graph/graph.hpp"
#include "resource/jobspec/jobspec.hpp"

namespace holon::resource {

enum class MatchOp {
  allocate,                      // now or NotNow
  allocate_with_satisfiability,  // now; NotNow if it could run on the idle machine, else Never
  allocate_orelse_reserve,       // now, else at the earliest time that fits
  satisfiability,                // could it ever run? holds nothing
  without_allocating,            // as allocate, holds nothing
  without_allocating_future,     // as allocate_orelse_reserve, holds nothing
};

// The job could run, but not now; the reason names what is short, for a person to act on.
struct NotNow {
  std::string reason;
};
// The job can never run on these resources.
struct Never {
  std::string reason;
};

using MatchOutcome = std::variant<Allocation, NotNow, Never>;

struct StoreOptions {
  std::string match_policy = "first";  // or high, low, lonode, ..., or "key=value key=value"
  std::string prune_filters = "ALL:core,ALL:node";
  std::string traverser = "simple";  // or "flexible"
  Interval horizon{0, kTimeMax};     // nothing is planned outside it
  // Answers as Fluxion's resource-query does, even if that is odd (docs/compatibility.md).
  bool as_fluxion = false;
};

// A job's allocation and its time: all that must be kept to hold the same again after a restart.
struct Holding {
  Allocation allocation;
  Interval held;  // allocation.when, but for a job that overruns or has grown since its start
  bool reserved = false;  // planned to start later when it was made

  bool operator==(const Holding&) const = default;
};

// The vertices that the last match or release walked: entered, and left with something found.
struct TraversalCounts {
  std::uint64_t preorder = 0;
  std::uint64_t postorder = 0;
};

class ResourceStore {
 public:
  // Takes the graph a reader has made. Errors: invalid_argument for unknown policies or filters.
  static Result<ResourceStore> load(const GraphSpec& spec, StoreOptions options);

  ResourceStore(ResourceStore&&) noexcept;
  ResourceStore& operator=(ResourceStore&&) noexcept;
  ~ResourceStore();

  // A copy of the whole state. O(V + what is held).
  ResourceStore clone() const;
  // A copy for what-if, which looks at this store's graph and is of no use once that has changed.
  // It shares what is held until one of the two changes it. O(V) words and O(jobs), and its log of
  // changes begins empty.
  ResourceStore fork() const;

  const ResourceGraph& graph() const;
  const StoreOptions& options() const;

  // Finds R for `spec` over `duration` ticks and, unless `op` is a dry one, holds it for `job`.
  // Errors: exists if the job holds something already; invalid_argument for a spec the matcher
  // cannot understand.
  Result<MatchOutcome> match(JobId job, const Jobspec& spec, MatchOp op, Time now,
                             Duration duration);

  // Could vertices that are up and not drained meet `spec`, were nothing held? Errors: as match.
  Result<bool> placeable(const Jobspec& spec);

  // The time before which no allocate() of `spec` from `from` on succeeds, as the counters at the
  // root tell (prune_filters); nullopt: none ever does. Errors: as match. O(log of the spans), for
  // each time that one counter offers and another does not.
  Result<std::optional<Time>> earliest_offer(const Jobspec& spec, Time from, Duration duration);

  // RFC 16's Allocate with a start and an end: holds R for `spec` over exactly `when`, or NotNow.
  // Errors: as match; out_of_range if `when` is empty or not within the horizon.
  Result<MatchOutcome> allocate(JobId job, const Jobspec& spec, Interval when, Time now);

  // A node that has room: units of a type in it, in all and free.
  struct NodeRoom {
    VertexId node;
    Amount total = 0;
    Amount free = 0;
  };
  // Room on the nodes that are up and not drained, in pre-order. Empty where nodes do not count the
  // type (prune_filters). O(nodes).
  std::vector<NodeRoom> room_on_nodes(std::string_view type, Time now) const;

  // Chooses again what `job` holds for `spec`, over the same time and as much as it has: nodes that
  // come first are filled first, others are not used. Returns what it then holds; unchanged if
  // those nodes do not do. Errors: not_found (the job), invalid_argument as match.
  Result<Allocation> choose_again(JobId job, const Jobspec& spec,
                                  std::span<const VertexId> best_first, Time now);

  // Grows an allocation: finds R for `more` and adds it to what `job` holds, from now to its end.
  // NotNow: nothing has changed. Errors: not_found (the job), invalid_argument as match.
  Result<MatchOutcome> extend(JobId job, const Jobspec& more, Time now);

  // Imposes a given R (recovery). Errors: overcommitted, not_found (a vertex that is not here),
  // exists, invalid_argument (an interval that is empty, a vertex named twice).
  Status update(const Allocation& allocation);
  // Imposes R at `now`: an R that begins later is a reservation.
  Status update(const Allocation& allocation, Time now);
  // Imposes what holding() returned.
  Status update(const Holding& holding);

  // Gives back everything `job` holds, allocation or reservation. Errors: not_found.
  Status release(JobId job);

  // Shrinks an allocation: gives back these vertices and all below them. True: nothing was left,
  // the job is released. Vertices that the job does not hold are passed over. Errors: not_found
  // (the job).
  Result<bool> release_part(JobId job, std::span<const VertexId> vertices);

  // Gives back exactly these vertices, not those below them; vertices above are let go where their
  // counters tell that nothing of the job is left there. True: that was so at the root, the job is
  // released. Errors: not_found (the job, or it has nothing at one of them), unsupported (a
  // reservation). Source: Fluxion's partial cancel.
  Result<bool> release_listed(JobId job, std::span<const VertexId> vertices);

  // Moves the end of a held allocation (an overrun, a shorter limit). Later spans that are in the
  // way make it fail with overcommitted and change nothing. Errors: not_found, invalid_argument for
  // an end that is not after its begin.
  Status set_end(JobId job, Time end);

  // What `job` holds; nullptr if nothing.
  const Allocation* find(JobId job) const;

  // Is the job's holding a reservation (planned to start later when it was made)?
  bool is_reserved(JobId job) const;
  // All jobs that hold something, ascending; jobs_at: those that hold something at or below `v`.
  // O(what is held).
  std::vector<JobId> jobs() const;
  std::vector<JobId> jobs_at(VertexId v) const;
  // The job's holding; nullopt if it holds nothing. O(its shares).
  std::optional<Holding> holding(JobId job) const;

  // The shares of what is up that no job holds at `now`, pools with their free units, parents after
  // children. An overrunning job's units count as free from its end on, until a match at a later
  // time has moved that. O(V).
  std::vector<Share> available(Time now) const;
  // The shares that no job holds over the whole of `when`, now or later.
  std::vector<Share> available(Interval when) const;

  // Adds what is new in `part` (ResourceGraph::grow). What is held stays held. O(V + what is held).
  Status grow(const GraphSpec& part);
  // Removes the vertex and all below it, or the vertices of these ranks. Jobs lose what they held
  // there; a job left with nothing is released (ask jobs_at before). Errors: not_found,
  // invalid_argument for the root. O(V + held).
  Status shrink(std::string_view path);
  Status shrink_ranks(std::span<const std::int32_t> ranks);

  // Changes properties. Errors: not_found.
  Status set_property(std::string_view path, std::string_view key, std::string_view value);
  void set_property(VertexId v, std::string_view key, std::string_view value);
  Status remove_property(std::string_view path, std::string_view key);

  // Sets a vertex up or down, by path ("/cluster0/node3"), with all below it. Errors: not_found.
  Status set_status(std::string_view path, bool up);
  void set_status(VertexId v, bool up);
  // Drains a vertex: it and those below it take no new work, and running work goes on. A drained
  // vertex that is up stays up: it is meant to come back. Errors: not_found.
  Status set_drained(std::string_view path, bool drained);
  void set_drained(VertexId v, bool drained);

  // Sets the end of the vertex and all below it: nothing is placed there that would last longer.
  // What is held there stays held. kTimeMax: it stays.
  void set_end_of(VertexId v, Time end);

  // Moves the horizon's end (a new lease). Spans beyond it stay. Errors: invalid_argument if before
  // begin.
  Status set_horizon(Interval horizon);

  // Units of `type` in all, and free at `now` on vertices that are up.
  Amount total(std::string_view type) const;
  Amount available(std::string_view type, Time now) const;
  // Units of `type` that no job holds at `now` at or below drained vertices. O(V).
  Amount drained(std::string_view type, Time now) const;
  // An upper bound on available(), without visiting vertices: down ones count too. kTimeMax where
  // the root does not count the type (prune_filters). O(log of the spans).
  Amount free_at_most(std::string_view type, Time now) const;

  // RFC 16's "changed since the last save": uniq_ids of the vertices whose holders, status,
  // properties or existence have changed since change_token() gave `token`, each once, ascending. A
  // removed vertex is reported as its parent, or the root; a change of shape counts for all that is
  // held. O(changes).
  std::vector<std::int64_t> changed_since(std::uint64_t token) const;
  std::uint64_t change_token() const;
  // An identity that lasts while it is this store whose changes are counted; a clone has its own.
  std::shared_ptr<const void> identity() const;

  // Counts of the last match or release.
  TraversalCounts counts() const;

  // Aborts unless every planner, aggregate and holding agrees. O(everything). For tests.
  void check_invariants() const;

  struct State;  // resource/store_state.hpp, for resource/ itself
  const State& state() const { return *state_; }

 private:
  explicit ResourceStore(std::unique_ptr<State> state);
  ResourceGraph& own_graph();  // to be changed
  std::unique_ptr<State> state_;
};

}  // namespace holon::resource
