// store.cpp - loading, looking, status and horizon; matching is in store_match.cpp, holding in
// store_hold.cpp.
#include "resource/store.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "resource/graph/spec.hpp"
#include "resource/store_state.hpp"

namespace holon::resource {

Result<ResourceStore> ResourceStore::load(const GraphSpec& spec, StoreOptions options) {
  auto graph = ResourceGraph::build(spec);
  if (!graph) return tl::unexpected(graph.error());
  auto policy = match::Policy::parse(options.match_policy);
  if (!policy) return tl::unexpected(policy.error());
  auto filters = match::Filters::parse(options.prune_filters, *graph);
  if (!filters) return tl::unexpected(filters.error());
  if (options.traverser != "simple" && options.traverser != "flexible")
    return fail(Errc::invalid_argument,
                "unknown traverser \"" + options.traverser + "\"; accepted: simple, flexible",
                "traverser");
  if (options.horizon.empty())
    return fail(Errc::invalid_argument, "the horizon ends before it begins", "horizon");
  return ResourceStore(
      std::make_unique<State>(std::move(*graph), std::move(options), *policy, std::move(*filters)));
}

ResourceStore::ResourceStore(std::unique_ptr<State> state) : state_(std::move(state)) {}
ResourceStore::ResourceStore(ResourceStore&&) noexcept = default;
ResourceStore& ResourceStore::operator=(ResourceStore&&) noexcept = default;
ResourceStore::~ResourceStore() = default;

const ResourceGraph& ResourceStore::graph() const {
  return state_->graph;
}
const StoreOptions& ResourceStore::options() const {
  return state_->options;
}

Result<MatchOutcome> ResourceStore::match(JobId job, const Jobspec& spec, MatchOp op, Time now,
                                          Duration duration) {
  return state_->match(job, spec, op, now, duration);
}

ResourceStore ResourceStore::clone() const {
  ResourceStore copy(
      std::make_unique<State>(*state_, std::make_unique<ResourceGraph>(state_->graph)));
  copy.state_->changes = state_->changes;
  return copy;
}

ResourceStore ResourceStore::fork() const {
  return ResourceStore(std::make_unique<State>(*state_, nullptr));
}

ResourceGraph& ResourceStore::own_graph() {
  if (!state_->own_graph)
    state_ = std::make_unique<State>(*state_, std::make_unique<ResourceGraph>(state_->graph));
  return *state_->own_graph;
}

Result<bool> ResourceStore::placeable(const Jobspec& spec) {
  return state_->placeable(spec);
}

Result<std::optional<Time>> ResourceStore::earliest_offer(const Jobspec& spec, Time from,
                                                          Duration duration) {
  return state_->earliest_offer(spec, from, duration);
}

Result<MatchOutcome> ResourceStore::allocate(JobId job, const Jobspec& spec, Interval when,
                                             Time now) {
  return state_->allocate(job, spec, when, now);
}

Result<MatchOutcome> ResourceStore::extend(JobId job, const Jobspec& more, Time now) {
  return state_->extend(job, more, now);
}

TraversalCounts ResourceStore::counts() const {
  return state_->counts;
}

bool ResourceStore::is_reserved(JobId job) const {
  const auto at = state_->held.find(job);
  return at != state_->held.end() && at->second->reserved;
}

std::optional<Holding> ResourceStore::holding(JobId job) const {
  const auto at = state_->held.find(job);
  if (at == state_->held.end()) return std::nullopt;
  return Holding{at->second->allocation, at->second->hold.when, at->second->reserved};
}

std::vector<JobId> ResourceStore::jobs() const {
  std::vector<JobId> jobs;
  for (const auto& [job, held] : state_->held) jobs.push_back(job);
  std::sort(jobs.begin(), jobs.end());
  return jobs;
}

std::vector<JobId> ResourceStore::jobs_at(VertexId v) const {
  const ResourceGraph& graph = state_->graph;
  std::vector<JobId> jobs;
  for (const auto& [job, held] : state_->held) {
    const auto holds = [&](const match::Hold::Item& item) {
      return item.units > 0 &&
             (graph.within(item.vertex, v) || (item.whole && graph.within(v, item.vertex)));
    };
    if (std::any_of(held->hold.items.begin(), held->hold.items.end(), holds)) jobs.push_back(job);
  }
  std::sort(jobs.begin(), jobs.end());
  return jobs;
}

const Allocation* ResourceStore::find(JobId job) const {
  const auto at = state_->held.find(job);
  return at == state_->held.end() ? nullptr : &at->second->allocation;
}

Status ResourceStore::set_horizon(Interval horizon) {
  if (horizon.empty())
    return fail(Errc::invalid_argument, "the horizon ends before it begins", "horizon");
  state_->options.horizon = horizon;
  ++state_->freed;
  return {};
}

Amount ResourceStore::total(std::string_view type) const {
  Amount sum = 0;
  for (const VertexId v : state_->graph.by_type(type)) sum += state_->graph[v].size;
  return sum;
}

Amount ResourceStore::available(std::string_view type, Time now) const {
  const auto wanted = state_->graph.words().types.find(type);
  Amount sum = 0;
  if (!wanted) return sum;
  state_->for_each_free({now, saturating_add(now, 1)}, [&](VertexId v, Amount free) {
    if (state_->graph[v].type == *wanted) sum += free;
  });
  return sum;
}

Amount ResourceStore::drained(std::string_view type, Time now) const {
  const ResourceGraph& graph = state_->graph;
  const auto wanted = graph.words().types.find(type);
  const auto walk = graph.in_preorder();
  Amount sum = 0;
  std::uint32_t drained_until = 0;
  for (std::uint32_t i = 0; i < walk.size();) {
    const VertexId v = walk[i];
    if (graph.parent(v) == kNoVertex && v != graph.root()) break;  // outside the tree
    if (graph[v].drained) drained_until = std::max(drained_until, graph.subtree_end(v));
    const Amount free = state_->occupancy.free(graph, v, {now, saturating_add(now, 1)});
    const bool open = graph[v].up && free > 0;
    if (open && i < drained_until && graph[v].type == wanted) sum += free;
    i = open ? i + 1 : graph.subtree_end(v);
  }
  return sum;
}

Amount ResourceStore::free_at_most(std::string_view type, Time now) const {
  const auto wanted = state_->graph.words().types.find(type);
  if (!wanted) return 0;
  const VertexId root = state_->graph.root();
  const auto& filters = state_->occupancy.filters();
  const auto counted = filters.index_of(*wanted);
  const auto& at_root = filters.counted_at(state_->graph[root].type);
  if (!counted || std::find(at_root.begin(), at_root.end(), *counted) == at_root.end())
    return kTimeMax;
  return state_->occupancy.total_below(root, *counted) -
         state_->occupancy.used_below(root, *counted, now);
}

std::vector<Share> ResourceStore::available(Time now) const {
  return available(Interval{now, saturating_add(now, 1)});
}

std::vector<Share> ResourceStore::available(Interval when) const {
  std::vector<Share> shares;
  state_->for_each_free(when, [&](VertexId v, Amount free) {
    shares.push_back({state_->graph[v].uniq_id, free, state_->occupancy.idle(v, when)});
  });
  std::reverse(shares.begin(), shares.end());  // pre-order backwards: children before their parent
  return shares;
}

std::shared_ptr<const void> ResourceStore::identity() const {
  return state_->identity;
}

std::uint64_t ResourceStore::change_token() const {
  return state_->changes.token();
}

std::vector<std::int64_t> ResourceStore::changed_since(std::uint64_t token) const {
  std::vector<std::int64_t> ids;
  for (const VertexId v : state_->changes.since(token, state_->graph))
    ids.push_back(state_->graph[v].uniq_id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

void ResourceStore::check_invariants() const {
  const State& state = *state_;
  state.graph.check_invariants();
  match::Occupancy again(state.graph, state.occupancy.filters());
  for (const auto& [job, held] : state.held) {
    HOLON_CHECK(held->allocation.job == job);
    HOLON_CHECK(held->reserved || state.ends.contains({held->hold.when.end, job}));
    const auto selection = state.selection_of(held->allocation);
    HOLON_CHECK(selection.has_value());
    again.take(state.graph, *selection, held->hold.when);
  }
  HOLON_CHECK(again == state.occupancy);
}

}  // namespace holon::resource
