// store.cpp - loading, looking, status and horizon; matching is in store_match.cpp, holding in
// store_hold.cpp.
#include "resource/store.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "resource/graph/spec.hpp"
#include "resource/store_state.hpp"

namespace holon::resource {
namespace {

// A search recurses once a level; no machine is deeper than this.
constexpr std::uint32_t kMaxDepth = 512;

Status check_depth(const ResourceGraph& graph) {
  for (const VertexId v : graph.in_preorder())
    if (graph.depth(v) > kMaxDepth)
      return fail(Errc::invalid_argument,
                  "a graph deeper than " + std::to_string(kMaxDepth) + " levels", graph.name(v));
  return {};
}

}  // namespace

Result<ResourceStore> ResourceStore::load(const GraphSpec& spec, StoreOptions options) {
  auto graph = ResourceGraph::build(spec);
  if (!graph) return tl::unexpected(graph.error());
  if (auto ok = check_depth(*graph); !ok) return tl::unexpected(ok.error());
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

const Allocation* ResourceStore::find(JobId job) const {
  const auto at = state_->held.find(job);
  return at == state_->held.end() ? nullptr : &at->second.allocation;
}

Status ResourceStore::set_status(std::string_view path, bool up) {
  const auto v = state_->graph.find_path(path);
  if (!v) return fail(Errc::not_found, "no vertex has this path", std::string(path.substr(0, 256)));
  state_->graph.set_up(*v, up);
  return {};
}

Status ResourceStore::set_horizon(Interval horizon) {
  if (horizon.empty())
    return fail(Errc::invalid_argument, "the horizon ends before it begins", "horizon");
  state_->options.horizon = horizon;
  return {};
}

Amount ResourceStore::total(std::string_view type) const {
  Amount sum = 0;
  for (const VertexId v : state_->graph.by_type(type)) sum += state_->graph[v].size;
  return sum;
}

Amount ResourceStore::available(std::string_view type, Time now) const {
  const State& state = *state_;
  const auto wanted = state.graph.words().types.find(type);
  if (!wanted) return 0;
  Amount sum = 0;
  const auto order = state.graph.in_preorder();
  for (std::uint32_t i = 0; i < order.size();) {
    const VertexId v = order[i];
    const Amount free = state.occupancy.free(state.graph, v, {now, saturating_add(now, 1)});
    // whoever is down or taken has nothing to offer below
    if (!state.graph[v].schedulable() || free <= 0) {
      i = std::max(i + 1, state.graph.subtree_end(v));
      continue;
    }
    if (state.graph[v].type == *wanted) sum += free;
    ++i;
  }
  return sum;
}

void ResourceStore::check_invariants() const {
  const State& state = *state_;
  state.graph.check_invariants();
  match::Occupancy again(state.graph, state.occupancy.filters());
  for (const auto& [job, held] : state.held) {
    HOLON_CHECK(held.allocation.job == job);
    HOLON_CHECK(held.reserved || state.ends.contains({held.hold.when.end, job}));
    const auto selection = state.selection_of(held.allocation);
    HOLON_CHECK(selection.has_value());
    again.take(state.graph, *selection, held.hold.when);
  }
  HOLON_CHECK(again == state.occupancy);
}

}  // namespace holon::resource
