// search_emit.cpp - from what was chosen to what is held: ancestors are added, whole vertices
// filled up, the order of emission made (below before above, siblings in the graph's order).
#include <algorithm>
#include <map>
#include <set>

#include "resource/match/search.hpp"

namespace holon::resource::match {
namespace {

// Everything below v, in post-order.
void append_subtree(const ResourceGraph& graph, VertexId v, std::vector<Chosen>& into) {
  for (const VertexId child : graph.children(v)) {
    append_subtree(graph, child, into);
    Chosen chosen;
    chosen.vertex = child;
    chosen.units = graph[child].size;
    chosen.exclusive = true;
    chosen.implied = true;
    into.push_back(chosen);
  }
}

// One entry stands for all units of a pool, which several slots may have.
template <class List>
void add_up(List& sorted) {
  std::size_t kept = 0;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i].vertex == sorted[kept].vertex)
      sorted[kept].units += sorted[i].units;
    else if (++kept != i)
      sorted[kept] = sorted[i];
  }
  if (!sorted.empty()) sorted.resize(kept + 1);
}

}  // namespace

// Emits `v` and those of `chosen` (in pre-order) below it; says whether anything is held there.
class Search::Emitter {
 public:
  Emitter(const Search& search, const std::vector<Taken>& chosen, std::vector<Chosen>& into)
      : search_(search), graph_(search.graph_), chosen_(chosen), into_(into) {}

  bool emit(VertexId v, const Taken* taken, std::size_t first, std::size_t last) {
    Chosen mine;
    mine.vertex = v;
    mine.whole = search_.is_whole(graph_[v].type);
    mine.exclusive = mine.whole || (taken != nullptr && taken->exclusive);
    if (taken != nullptr && taken->divisible && !mine.whole) {
      mine.units = taken->units;
      mine.exclusive = taken->units == graph_[v].size;
    }
    if (mine.exclusive) mine.units = taken != nullptr ? taken->units : graph_[v].size;
    if (taken != nullptr && taken->need != nullptr && !taken->need->label.empty())
      mine.need = taken->need;
    bool held = mine.units > 0;
    const bool inside = taken != nullptr && taken->need != nullptr;
    if (mine.whole)
      append_subtree(graph_, v, into_);
    else
      held = emit_below(v, inside && search_.lose_unnamed_, first, last) || held;
    if (held) into_.push_back(mine);
    return held;
  }

 private:
  bool emit_below(VertexId v, bool named_only, std::size_t first, std::size_t last) {
    bool held = false;
    while (first < last) {
      const VertexId child = child_towards(v, chosen_[first].vertex);
      std::size_t end = first;
      while (end < last && graph_.within(chosen_[end].vertex, child)) ++end;
      const bool named = chosen_[first].vertex == child;
      if (named || !named_only)
        held = emit(child, named ? &chosen_[first] : nullptr, first + (named ? 1 : 0), end) || held;
      first = end;
    }
    return held;
  }

  VertexId child_towards(VertexId v, VertexId below) const {
    while (graph_.parent(below) != v) below = graph_.parent(below);
    return below;
  }

  const Search& search_;
  const ResourceGraph& graph_;
  const std::vector<Taken>& chosen_;
  std::vector<Chosen>& into_;
};

// Emits where links led to vertices: each chosen vertex stands below those it was reached from, and
// is emitted once, below the first of them that comes by.
class Search::LinkedEmitter {
 public:
  LinkedEmitter(const Search& search, std::vector<Taken> chosen)
      : search_(search), graph_(search.graph_) {
    for (const Taken& taken : chosen) {
      if (!taken_.emplace(taken.vertex, taken).second) continue;
      ways_.emplace(taken.via == kNoVertex ? graph_.parent(taken.vertex) : taken.via, taken.vertex);
    }
    for (const Taken& taken : chosen) {  // the way up to the root of those that nobody asked for
      VertexId v = taken.via == kNoVertex ? graph_.parent(taken.vertex) : taken.via;
      for (; v != kNoVertex && !taken_.contains(v); v = graph_.parent(v))
        ways_.emplace(graph_.parent(v), v);
    }
  }

  std::vector<Chosen> emit(const Taken& root) {
    taken_.insert_or_assign(root.vertex, root);
    visit(root.vertex, kNoVertex, false);
    return std::move(into_);
  }

 private:
  bool visit(VertexId v, VertexId via, bool within_whole) {
    if (!met_.insert(v).second) return false;
    const auto at = taken_.find(v);
    const Taken* taken = at == taken_.end() ? nullptr : &at->second;
    Chosen mine;
    mine.vertex = v;
    mine.via = via;
    mine.whole = within_whole || search_.is_whole(graph_[v].type);
    mine.exclusive = mine.whole || (taken != nullptr && taken->exclusive);
    if (mine.exclusive) mine.units = taken != nullptr ? taken->units : graph_[v].size;
    if (taken != nullptr && taken->need != nullptr && !taken->need->label.empty())
      mine.need = taken->need;
    bool held = mine.units > 0;
    for (const VertexId child : graph_.children(v))
      if (mine.whole || ways_.contains({v, child}))
        held = visit(child, kNoVertex, mine.whole) || held;
    for (const VertexId linked : graph_.links(v))
      if (mine.whole || ways_.contains({v, linked})) held = visit(linked, v, mine.whole) || held;
    if (held) into_.push_back(mine);
    return held;
  }

  const Search& search_;
  const ResourceGraph& graph_;
  std::map<VertexId, Taken> taken_;
  std::set<std::pair<VertexId, VertexId>> ways_;  // above, below
  std::set<VertexId> met_;
  std::vector<Chosen> into_;
};

std::vector<Chosen> Search::emit(const Taken& root, std::vector<Taken> chosen) const {
  if (graph_.has_links()) return LinkedEmitter(*this, std::move(chosen)).emit(root);
  std::sort(chosen.begin(), chosen.end(), [&](const Taken& a, const Taken& b) {
    return graph_.pre(a.vertex) < graph_.pre(b.vertex);
  });
  add_up(chosen);
  std::vector<Chosen> selection;
  Emitter(*this, chosen, selection).emit(root.vertex, &root, 0, chosen.size());
  return selection;
}

}  // namespace holon::resource::match
