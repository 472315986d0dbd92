// occupancy.cpp - taking and giving back: a hold is remembered as (vertex, units, sums below), so
// that giving back is the same loop with the other sign.
#include "resource/match/occupancy.hpp"

#include <algorithm>

namespace holon::resource::match {

Occupancy::Occupancy(const ResourceGraph& graph, Filters filters)
    : filters_(std::move(filters)), stride_(filters_.types().size() + 1) {
  used_.resize(graph.slots());
  inner_.assign(graph.slots(), kLeaf);
  std::uint32_t count = 0;
  unit_.assign(graph.words().types.size(), true);
  std::vector<bool> inner_type(unit_.size(), false);
  for (const VertexId v : graph.in_preorder()) {
    if (graph[v].size != 1) unit_[graph[v].type.value()] = false;
    const auto children = graph.children(v);
    const auto links = graph.links(v);
    if (graph.is_leaf(v)) continue;
    inner_type[graph[v].type.value()] = true;
    std::uint64_t types = 0;
    const auto note = [&](TypeId type) {
      if (type.value() < kBits)
        types |= std::uint64_t{1} << type.value();
      else
        late_child_types_.emplace_back(count, type.value());
    };
    for (const VertexId child : children) note(graph[child].type);
    for (const VertexId linked : links) note(graph[linked].type);
    inner_[v.value()] = count++;
    child_types_.push_back(types);
  }
  std::sort(late_child_types_.begin(), late_child_types_.end());
  for (std::size_t type = 0; type < unit_.size(); ++type)
    pool_.push_back(!unit_[type] && !inner_type[type]);
  counters_.resize(count * stride_);
  totals_.assign(count * stride_, 0);
  add_totals(graph);
  add_types_below(graph);
}

void Occupancy::add_types_below(const ResourceGraph& graph) {
  types_below_.assign(child_types_.size(), 0);
  inner_children_.assign(child_types_.size(), 0);
  below_type_.assign(unit_.size(), 0);
  const auto order = graph.in_preorder();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {  // children before parents
    const TypeId type = graph[*it].type;
    below_type_[type.value()] |= types_below(*it);
    const VertexId parent = graph.parent(*it);
    if (parent == kNoVertex) continue;
    types_below_[inner_[parent.value()]] |= bit(type) | types_below(*it);
    if (!is_leaf(*it)) inner_children_[inner_[parent.value()]] |= bit(type);
  }
  // anything may be reached by links: they are not known here
  if (graph.has_links()) types_below_.assign(types_below_.size(), ~Types{0});
}

void Occupancy::add_totals(const ResourceGraph& graph) {
  const auto order = graph.in_preorder();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {  // children before parents
    const VertexId parent = graph.parent(*it);
    if (parent == kNoVertex) continue;
    Amount* into = &totals_[at(parent)];
    if (const auto counted = filters_.index_of(graph[*it].type))
      into[*counted + 1] += graph[*it].size;
    if (is_leaf(*it)) continue;
    const Amount* from = &totals_[at(*it)];
    for (std::size_t i = 1; i < stride_; ++i) into[i] += from[i];
  }
}

bool Occupancy::has_child_type(VertexId v, TypeId type) const {
  if (is_leaf(v)) return false;
  const std::uint32_t inner = inner_[v.value()];
  if (type.value() < kBits) return (child_types_[inner] >> type.value() & 1) != 0;
  return std::binary_search(late_child_types_.begin(), late_child_types_.end(),
                            std::pair(inner, type.value()));
}

bool Occupancy::idle(VertexId v, Interval when) const {
  const Timeline& used = is_leaf(v) ? used_[v.value()] : counters_[at(v)];
  return used.empty() || used.max_used(when) == 0;
}

bool Occupancy::offers(TypeId type, VertexId v, const Demand& below, Interval when) const {
  if (is_leaf(v)) return true;
  const std::size_t first = at(v) + 1;
  for (const std::uint32_t counted : filters_.counted_at(type)) {
    if (below[counted] == 0) continue;
    const Timeline& used = counters_[first + counted];
    const Amount taken = used.empty() ? 0 : used.max_used(when);
    if (totals_[first + counted] - taken < below[counted]) return false;
  }
  return true;
}

bool Occupancy::contains(TypeId type, VertexId v, const Demand& below) const {
  if (is_leaf(v)) return true;
  const Amount* totals = &totals_[at(v) + 1];
  for (const std::uint32_t counted : filters_.counted_at(type))
    if (totals[counted] < below[counted]) return false;
  return true;
}

Amount Occupancy::scarcest_free(TypeId type, VertexId v, Time when) const {
  const auto& counted = filters_.counted_at(type);
  if (is_leaf(v) || counted.empty()) return -1;
  const std::size_t last = at(v) + 1 + counted.back();
  return std::max<Amount>(0, totals_[last] - counters_[last].used_at(when));
}

Amount Occupancy::total_below(VertexId v, std::uint32_t counted) const {
  return is_leaf(v) ? 0 : totals_[at(v) + 1 + counted];
}

Amount Occupancy::used_below(VertexId v, std::uint32_t counted, Time when) const {
  return is_leaf(v) ? 0 : counters_[at(v) + 1 + counted].used_at(when);
}

std::optional<Time> Occupancy::earliest_offer(const ResourceGraph& graph, VertexId v,
                                              const Demand& below, Time from,
                                              Duration duration) const {
  if (is_leaf(v)) return from;
  const std::size_t first = at(v) + 1;
  // each counter may push the time on; done when all agree
  for (Time time = from;;) {
    Time latest = time;
    for (const std::uint32_t counted : filters_.counted_at(graph[v].type)) {
      const Amount cap = totals_[first + counted] - below[counted];
      if (below[counted] == 0) continue;
      const auto fits =
          counters_[first + counted].earliest_window({latest, kTimeMax, duration, cap});
      if (!fits) return std::nullopt;
      latest = *fits;
    }
    if (latest == time) return time;
    time = latest;
  }
}

std::optional<Time> Occupancy::earliest_idle(VertexId v, Time from, Duration duration) const {
  const Timeline& used = is_leaf(v) ? used_[v.value()] : counters_[at(v)];
  if (used.empty()) return from;
  return used.earliest_window({from, kTimeMax, duration, 0});
}

bool Occupancy::is_used(VertexId v) const {
  return !used_[v.value()].empty() || (!is_leaf(v) && !counters_[at(v)].empty());
}

bool Occupancy::operator==(const Occupancy& other) const {
  return used_ == other.used_ && counters_ == other.counters_ && totals_ == other.totals_;
}

std::optional<Time> Occupancy::next_event(VertexId root, Time after) const {
  if (after == kTimeMax) return std::nullopt;
  const Timeline& jobs = is_leaf(root) ? used_[root.value()] : counters_[at(root)];
  return jobs.empty() ? std::nullopt : jobs.next_point(after + 1);
}

void Occupancy::hold_inner(Hold& hold, const std::vector<Amount>& below) {
  Hold::Item& item = hold.items.back();
  item.sums = static_cast<std::uint32_t>(hold.sums.size());
  Timeline* counters = &counters_[at(item.vertex)];
  counters[0].add(hold.when, 1);
  for (const std::uint32_t counted : filters_.counted_at(item.type)) {
    hold.sums.push_back(below[counted]);
    if (below[counted] > 0) counters[1 + counted].add(hold.when, below[counted]);
  }
}

Hold Occupancy::take(const ResourceGraph& graph, std::span<const Chosen> selection, Interval when) {
  Hold hold;
  hold.when = when;
  const std::size_t types = stride_ - 1;
  std::vector<VertexId> open;     // parents of chosen vertices, until met
  std::vector<Amount> open_sums;  // of each: `types` amounts, the vertex itself included
  std::vector<Amount> below(types);
  for (const Chosen& chosen : selection) {
    if (chosen.implied) continue;
    const VertexId v = chosen.vertex;
    std::fill(below.begin(), below.end(), 0);
    while (!open.empty() && open.back() == v) {
      for (std::size_t i = 0; i < types; ++i) below[i] += open_sums[open_sums.size() - types + i];
      open_sums.resize(open_sums.size() - types);
      open.pop_back();
    }
    if (chosen.whole)
      for (std::size_t i = 0; i < types; ++i)
        below[i] = total_below(v, static_cast<std::uint32_t>(i));
    hold.items.push_back({v, chosen.units, UINT32_MAX, graph[v].type, chosen.whole});
    if (chosen.units > 0) used_[v.value()].add(when, chosen.units);
    if (!is_leaf(v)) hold_inner(hold, below);
    if (const auto counted = filters_.index_of(graph[v].type))
      below[*counted] += chosen.exclusive ? graph[v].size : chosen.units;
    open.push_back(above(graph, chosen));
    open_sums.insert(open_sums.end(), below.begin(), below.end());
  }
  return hold;
}

template <class Change>
void Occupancy::for_each_timeline(const Hold& hold, Change change) {
  for (const Hold::Item& item : hold.items) {
    if (item.units > 0) change(used_[item.vertex.value()], item.units);
    if (item.sums == UINT32_MAX) continue;
    Timeline* counters = &counters_[at(item.vertex)];
    change(counters[0], 1);
    const Amount* sum = hold.sums.data() + item.sums;
    for (const std::uint32_t counted : filters_.counted_at(item.type)) {
      if (*sum > 0) change(counters[1 + counted], *sum);
      ++sum;
    }
  }
}

void Occupancy::give_back(const Hold& hold) {
  for_each_timeline(hold, [&](Timeline& used, Amount units) { used.remove(hold.when, units); });
}

void Occupancy::move_end(Hold& hold, Time end) {
  for_each_timeline(hold,
                    [&](Timeline& used, Amount units) { used.move_end(hold.when, units, end); });
  hold.when.end = end;
}

}  // namespace holon::resource::match
