#include "resource/oddities.hpp"

#include "resource/store_state.hpp"

namespace holon::resource {
namespace {

constexpr std::string_view kNode = "node";

// Is the vertex free, not even partly taken by itself or by what is above it?
bool is_free(const ResourceStore::State& state, VertexId v, Interval when) {
  for (VertexId at = v; at != kNoVertex; at = state.graph.parent(at))
    if (state.occupancy.free(state.graph, at, when) <= 0) return false;
  return true;
}

}  // namespace

Oddities::Oddities(const ResourceGraph& graph, bool act) : act_(act) {
  if (!act) return;
  for (const VertexId v : graph.by_type(kNode)) nodes_up_ += graph[v].up ? 1 : -1;
}

Amount Oddities::missing_at(Time time) const {
  const auto at = missing_.find(time);
  return at == missing_.end() ? 0 : at->second;
}

void Oddities::status_changes(const ResourceGraph& graph, VertexId v, bool up) {
  if (!act_ || graph[v].up == up) return;
  for (const VertexId below : graph.subtree(v))
    if (graph.type_name(below) == kNode) nodes_up_ += up ? graph[below].size : -graph[below].size;
}

void Oddities::plan_changes(Interval when) {
  missing_.erase(missing_.lower_bound(when.begin), missing_.lower_bound(when.end));
}

Amount ResourceStore::State::first_total() const {
  const auto& counted = occupancy.filters().counted_at(graph[graph.root()].type);
  return counted.empty() ? 0 : occupancy.total_below(graph.root(), counted.front());
}

void ResourceStore::State::note_growth(Amount more) {
  if (!oddities.act() || more <= 0) return;
  std::set<Time> points{options.horizon.begin};
  for (const auto& [job, mine] : held) {
    points.insert(mine->hold.when.begin);
    points.insert(mine->hold.when.end);
  }
  for (const Time point : points) oddities.forget_at(point, more);
}

std::optional<MatchOutcome> ResourceStore::State::refuse_early(
    const match::CompiledRequest& request, MatchOp op, Interval when) const {
  if (!oddities.act()) return std::nullopt;
  const bool asks_ever = op == MatchOp::allocate_with_satisfiability;
  const auto refuse = [&](std::string reason) -> MatchOutcome {
    if (asks_ever) return Never{std::move(reason)};
    return NotNow{std::move(reason)};
  };
  const auto node = graph.words().types.find(kNode);
  const auto counted = node ? occupancy.filters().index_of(*node) : std::nullopt;
  const Amount wanted = counted ? request.total[*counted] : 0;
  if (wanted > oddities.nodes_up())
    return refuse("needs " + std::to_string(wanted) + " nodes, " +
                  std::to_string(oddities.nodes_up()) + " are up");
  if (request.nodes.trivial()) return std::nullopt;
  const bool now_matters = op == MatchOp::allocate || op == MatchOp::without_allocating;
  const Interval end{options.horizon.end - 1, options.horizon.end};
  Amount fitting = 0;
  for (const VertexId v : graph.by_type(kNode)) {
    if (fitting >= wanted) break;
    if (request.nodes.passes(graph, v) && (asks_ever || graph[v].up) &&
        is_free(*this, v, now_matters ? when : end))
      ++fitting;
  }
  if (fitting >= wanted) return std::nullopt;
  return refuse("needs " + std::to_string(wanted) + " nodes, " + std::to_string(fitting) +
                " fulfil the constraint");
}

bool ResourceStore::State::hides(const match::CompiledRequest& request, Time time) const {
  const Amount missing = oddities.missing_at(time);
  if (missing == 0) return false;
  const std::uint32_t first = occupancy.filters().counted_at(graph[graph.root()].type).front();
  const Amount free =
      occupancy.total_below(graph.root(), first) - occupancy.used_below(graph.root(), first, time);
  return request.total[first] > free - missing;
}

}  // namespace holon::resource
