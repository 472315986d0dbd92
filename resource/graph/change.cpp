// Building, growing and shrinking a ResourceGraph.
//
// All three first decide everything on const data, then apply what cannot fail: a call that errs
// leaves no trace. Slots are only ever added; a removed vertex stays as a dead slot without edges,
// so that others may index by VertexId.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/check.hpp"
#include "resource/graph/graph.hpp"
#include "resource/graph/topology.hpp"

namespace holon::resource {
namespace {

// A row of a part under its parent, in the part's own words.
std::string part_name(const GraphSpec& part, const GraphSpec::Row& row) {
  if (row.name.value() != GraphSpec::kNone) return part.words.names.text(row.name);
  const auto& base = part.words.names.text(row.basename);
  return row.id < 0 ? base : base + std::to_string(row.id);
}

// Children by name and rank, gathered once for each vertex asked about: many new children below one
// vertex must not each cost a look at all that are there.
class ChildNames {
 public:
  explicit ChildNames(const ResourceGraph& graph) : graph_(graph) {}

  // The child; kNoVertex: there is none.
  VertexId find(VertexId above, const std::string& name, std::int32_t rank) {
    const auto [at, is_new] = known_.try_emplace(above);
    if (is_new)
      for (const auto v : graph_.children(above))
        at->second.emplace(std::pair(graph_.name(v), graph_[v].rank), v);
    const auto found = at->second.find({name, rank});
    return found == at->second.end() ? kNoVertex : found->second;
  }

 private:
  const ResourceGraph& graph_;
  std::map<VertexId, std::map<std::pair<std::string, std::int32_t>, VertexId>> known_;
};

// Vertices that were removed, by their numbers: one that comes again is the same vertex, and gets
// its slot and its number back.
class RemovedVertices {
 public:
  RemovedVertices(const ResourceGraph& graph, const GraphSpec& part) : graph_(graph) {
    // Its edges and paths in other subsystems are not known any more.
    if (!part.edges.empty() || !part.paths.empty()) return;
    for (std::uint32_t slot = 0; slot < graph.slots(); ++slot)
      if (!graph[VertexId{slot}].alive) removed_.emplace(graph[VertexId{slot}].uniq_id, slot);
  }

  // The slot; kNoVertex: the row is none of them.
  VertexId find(const GraphSpec& part, const GraphSpec::Row& row) const {
    const auto at = removed_.find(row.uniq_id);
    if (at == removed_.end()) return kNoVertex;
    const VertexId v{at->second};
    const bool same = graph_[v].rank == row.rank && graph_.name(v) == part_name(part, row) &&
                      graph_.type_name(v) == part.words.types.text(row.type);
    return same ? v : kNoVertex;
  }

 private:
  const ResourceGraph& graph_;
  std::unordered_map<std::int64_t, std::uint32_t> removed_;
};

// False, too, for a slot that is still to be made.
bool is_alive(const ResourceGraph& graph, VertexId v) {
  return v.value() < graph.slots() && graph[v].alive;
}

// A vertex that was removed is here again, as the row has it.
void put_back(Vertex& vertex, const GraphSpec::Row& row) {
  vertex.alive = true;
  vertex.size = row.size;
  vertex.up = row.up;
  vertex.drained = row.drained;
}

[[noreturn]] void broken(const char* what, VertexId v) {
  check_failed(fmt::format("{} at vertex {}", what, v.value()).c_str(), __FILE__, __LINE__);
}

}  // namespace

Result<ResourceGraph> ResourceGraph::build(const GraphSpec& spec) {
  if (auto ok = check(spec); !ok) return tl::unexpected(ok.error());
  ResourceGraph graph;
  graph.subsystems_ = spec.subsystems;
  graph.vertices_.reserve(spec.rows.size());
  graph.root_ = VertexId{0};
  std::vector<VertexId> slot_of(spec.rows.size());
  for (std::uint32_t i = 0; i < spec.rows.size(); ++i) slot_of[i] = VertexId{i};
  for (const auto& row : spec.rows) graph.next_uniq_ = std::max(graph.next_uniq_, row.uniq_id + 1);
  graph.take(spec, std::move(slot_of));
  return graph;
}

Result<std::vector<VertexId>> ResourceGraph::grow(const GraphSpec& part) {
  if (auto ok = check(part); !ok) return tl::unexpected(ok.error());
  auto slot_of = slots_of(part);
  if (!slot_of) return slot_of;
  if (auto ok = check_grown(part, *slot_of); !ok) return tl::unexpected(ok.error());
  std::vector<bool> was_here(slots() + part.rows.size(), false);
  for (const auto v : order_) was_here[v.value()] = true;
  take(part, std::move(*slot_of));
  std::vector<VertexId> added;
  for (const auto v : order_) {
    if (!was_here[v.value()]) added.push_back(v);
  }
  return added;
}

// Checks that new and present vertices together are a graph: check() has seen the part alone.
Status ResourceGraph::check_grown(const GraphSpec& part,
                                  const std::vector<VertexId>& slot_of) const {
  const auto is_new = [&](std::uint32_t row) { return !is_alive(*this, slot_of[row]); };
  Amount units = 0;
  for (const auto v : order_) units += (*this)[v].size;
  for (std::uint32_t i = 0; i < part.rows.size(); ++i) {
    if (is_new(i) && part.rows[i].size > kMaxUnits - units) {
      return fail(Errc::out_of_range, "all sizes together are above 2^62",
                  fmt::format("row {}", i));
    }
    if (is_new(i)) units += part.rows[i].size;
  }
  return part.edges.empty() ? Status{} : check_grown_edges(part, slot_of);
}

Status ResourceGraph::check_grown_edges(const GraphSpec& part,
                                        const std::vector<VertexId>& slot_of) const {
  std::vector<std::string> names = subsystems_;
  std::vector<std::uint32_t> number;  // of each of the part's subsystems
  for (const auto& name : part.subsystems) {
    const auto at = std::ranges::find(names, name);
    number.push_back(static_cast<std::uint32_t>(at - names.begin()));
    if (at == names.end()) names.push_back(name);
  }
  if (names.size() > kMaxSubsystems) {
    return fail(Errc::invalid_argument, fmt::format("more than {} subsystems", kMaxSubsystems),
                "subsystems");
  }
  std::vector<GraphSpec::Edge> edges;
  for (const auto& e : aux_edges_)
    edges.push_back({e.subsystem, e.source.value(), e.target.value()});
  for (const auto& e : part.edges) {
    const auto source = slot_of[e.source].value(), target = slot_of[e.target].value();
    if (source >= slots() || target >= slots())
      edges.push_back({number[e.subsystem], source, target});
  }
  for (const auto& [above, below] : tree_edges()) edges.push_back({0, above, below});
  for (std::uint32_t i = 1; i < part.rows.size(); ++i) {
    const auto above = part.rows[i].parent;
    if (above != GraphSpec::kNone && slot_of[i].value() >= slots())
      edges.push_back({0, slot_of[above].value(), slot_of[i].value()});
  }
  for (std::uint32_t s = 0; s < names.size(); ++s) {
    if (has_cycle(slots() + part.rows.size(), edges, s)) {
      return fail(Errc::invalid_argument, "with what is here the edges form a cycle", names[s]);
    }
  }
  return {};
}

// The slot that each row of the part has here or, counting on from slots(), will have.
Result<std::vector<VertexId>> ResourceGraph::slots_of(const GraphSpec& part) const {
  if (part.subsystems[0] != subsystems_[0]) {
    return fail(Errc::invalid_argument, fmt::format("the part is of subsystem {}, the graph of {}",
                                                    part.subsystems[0], subsystems_[0]));
  }
  if (part_name(part, part.rows[0]) != name(root_)) {
    return fail(Errc::invalid_argument, fmt::format("the part's root must be {}", name(root_)),
                part_name(part, part.rows[0]));
  }
  ChildNames children(*this);
  const RemovedVertices removed(*this, part);
  std::vector<VertexId> slot_of;
  slot_of.reserve(part.rows.size());
  slot_of.push_back(root_);
  auto next = static_cast<std::uint32_t>(slots());
  for (std::size_t i = 1; i < part.rows.size(); ++i) {
    const auto& row = part.rows[i];
    const auto above = row.parent == GraphSpec::kNone ? kNoVertex : slot_of[row.parent];
    const auto text = part_name(part, row);
    auto here = kNoVertex;
    if (above == kNoVertex) {
      here = find_aux_path("/" + text, row.rank).value_or(kNoVertex);
    } else if (is_alive(*this, above)) {
      here = children.find(above, text, row.rank);
    }
    if (here != kNoVertex && type_name(here) != part.words.types.text(row.type)) {
      return fail(Errc::invalid_argument,
                  fmt::format("it is a {} here, a {} in the part", type_name(here),
                              part.words.types.text(row.type)),
                  path(here));
    }
    if (here == kNoVertex && above != kNoVertex) here = removed.find(part, row);
    slot_of.push_back(here != kNoVertex ? here : VertexId{next++});
  }
  return slot_of;
}

void ResourceGraph::append(const GraphSpec& spec, const GraphSpec::Row& row, bool is_taken) {
  Vertex vertex;
  vertex.id = row.id;
  vertex.size = row.size;
  vertex.rank = row.rank;
  vertex.up = row.up;
  vertex.drained = row.drained;
  vertex.type = words_.types.intern(spec.words.types.text(row.type));
  const auto word = [&](NameId id) {
    return id.value() == GraphSpec::kNone ? id : words_.names.intern(spec.words.names.text(id));
  };
  vertex.basename = word(row.basename);
  vertex.name = word(row.name);
  vertex.unit = word(row.unit);
  vertex.uniq_id = is_taken ? next_uniq_ : row.uniq_id;
  next_uniq_ = std::max(next_uniq_, vertex.uniq_id + 1);
  vertices_.push_back(vertex);
}

void ResourceGraph::take(const GraphSpec& spec, std::vector<VertexId> slot_of) {
  const auto first_new = slots();
  std::vector<bool> comes, comes_back;  // each row's vertex: is it new, or here again?
  for (const VertexId slot : slot_of) {
    comes_back.push_back(slot.value() < first_new && !vertices_[slot.value()].alive);
    comes.push_back(slot.value() >= first_new || comes_back.back());
  }
  if (first_new == 0) words_ = spec.words;
  // Dead vertices keep their numbers too.
  std::unordered_set<std::int64_t> taken;
  for (const Vertex& vertex : vertices_) taken.insert(vertex.uniq_id);
  const auto is_taken = [&](const GraphSpec::Row& row) {
    return row.uniq_id == GraphSpec::kNewUniqId || (first_new > 0 && taken.contains(row.uniq_id));
  };
  auto edges = tree_edges();
  edges.reserve(edges.size() + spec.rows.size());
  for (std::size_t i = 0; i < spec.rows.size(); ++i) {
    if (!comes[i]) continue;
    const auto& row = spec.rows[i];
    if (comes_back[i]) {
      put_back(vertices_[slot_of[i].value()], row);
    } else {
      append(spec, row, is_taken(row));
      if (first_new > 0) taken.insert(vertices_.back().uniq_id);
    }
    if (row.parent == GraphSpec::kNone) continue;
    edges.emplace_back(slot_of[row.parent].value(), slot_of[i].value());
  }
  topology_->set_tree(slots(), edges);
  take_aux_edges(spec, slot_of, first_new);
  reindex();
  take_side_tables(spec, slot_of, first_new);
  for (const auto& p : spec.properties)
    if (comes_back[p.row]) set_property(slot_of[p.row], p.key, p.value);
  for (const auto& e : spec.extensions)
    if (comes_back[e.row]) extensions_[slot_of[e.row].value()] = e.json;
  ++version_;
  ++shape_version_;
}

void ResourceGraph::take_aux_edges(const GraphSpec& spec, const std::vector<VertexId>& slot_of,
                                   std::size_t first_new) {
  if (topology_->aux || !spec.edges.empty()) {
    if (!topology_->aux) topology_->aux.emplace();
    while (boost::num_vertices(*topology_->aux) < slots()) boost::add_vertex(*topology_->aux);
  }
  for (const auto& edge : spec.edges) {
    const auto source = slot_of[edge.source];
    const auto target = slot_of[edge.target];
    if (source.value() < first_new && target.value() < first_new) continue;
    const auto& text = spec.subsystems[edge.subsystem];
    auto subsystem = find_subsystem(text);
    if (!subsystem) {
      subsystem = static_cast<std::uint32_t>(subsystems_.size());
      subsystems_.push_back(text);
    }
    boost::add_edge(source.value(), target.value(), Topology::AuxProperty{*subsystem},
                    *topology_->aux);
    aux_edges_.push_back({*subsystem, source, target});
  }
}

void ResourceGraph::take_side_tables(const GraphSpec& spec, const std::vector<VertexId>& slot_of,
                                     std::size_t first_new) {
  for (const auto& p : spec.properties) {
    if (slot_of[p.row].value() >= first_new) set_property(slot_of[p.row], p.key, p.value);
  }
  for (const auto& e : spec.extensions) {
    if (slot_of[e.row].value() >= first_new) extensions_[slot_of[e.row].value()] = e.json;
  }
  for (const auto& p : spec.paths) {
    const auto v = slot_of[p.row];
    const auto subsystem = find_subsystem(spec.subsystems[p.subsystem]);
    if (v.value() < first_new || !subsystem || path(v, *subsystem) == p.path) continue;
    paths_[path_key(v, *subsystem)] = p.path;
    explicit_paths_.emplace(p.path, v);
  }
}

// The tree's edges between vertices that are alive.
std::vector<std::pair<std::uint32_t, std::uint32_t>> ResourceGraph::tree_edges() const {
  Topology::Edges edges;
  const auto& tree = topology_->tree;
  for (std::uint32_t v = 0; v < boost::num_vertices(tree); ++v) {
    if (!vertices_[v].alive) continue;
    for (auto [child, end] = boost::adjacent_vertices(v, tree); child != end; ++child) {
      if (vertices_[*child].alive) edges.emplace_back(v, *child);
    }
  }
  return edges;
}

// ---- removal

Status ResourceGraph::shrink(VertexId v) {
  if (v.value() >= slots() || !(*this)[v].alive) {
    return fail(Errc::not_found, "no such vertex", fmt::format("vertex {}", v.value()));
  }
  if (v == root_) return fail(Errc::invalid_argument, "the root cannot be removed", path(v));
  remove({v});
  return {};
}

Status ResourceGraph::shrink_ranks(std::span<const std::int32_t> ranks) {
  std::vector<VertexId> tops;
  for (const auto rank : ranks) {
    const auto of_rank = by_rank(rank);
    if (rank < 0 || of_rank.empty()) {
      return fail(Errc::not_found, "no vertex has this rank", fmt::format("rank {}", rank));
    }
    if ((*this)[root_].rank == rank) {
      return fail(Errc::invalid_argument, "the root cannot be removed",
                  fmt::format("rank {}", rank));
    }
    tops.insert(tops.end(), of_rank.begin(), of_rank.end());
  }
  remove(tops);
  return {};
}

void ResourceGraph::remove(const std::vector<VertexId>& tops) {
  for (const auto top : tops) {
    for (const auto v : subtree(top)) {
      vertices_[v.value()].alive = false;
      vertices_[v.value()].has_end = false;
    }
  }
  topology_->set_tree(slots(), tree_edges());
  if (topology_->aux) remove_orphans();
  std::erase_if(properties_, [&](const auto& e) { return !vertices_[e.first].alive; });
  std::erase_if(ends_, [&](const auto& e) { return !vertices_[e.first].alive; });
  std::erase_if(extensions_, [&](const auto& e) { return !vertices_[e.first].alive; });
  std::erase_if(paths_, [&](const auto& e) { return !vertices_[e.first >> kSubsystemBits].alive; });
  std::erase_if(explicit_paths_, [&](const auto& e) { return !(*this)[e.second].alive; });
  reindex();
  ++version_;
  ++shape_version_;
}

// Vertices of other subsystems that hung below what was removed, and below nothing else, go too.
void ResourceGraph::remove_orphans() {
  auto& aux = *topology_->aux;
  std::vector<VertexId> dead;
  for (std::uint32_t v = 0; v < slots(); ++v) {
    if (!vertices_[v].alive) dead.push_back(VertexId{v});
  }
  while (!dead.empty()) {
    const auto v = dead.back();
    dead.pop_back();
    const auto below = aux_below(v);
    boost::clear_vertex(v.value(), aux);
    for (const auto& edge : below) {
      auto& target = vertices_[edge.target.value()];
      const bool outside = parent(edge.target) == kNoVertex && edge.target != root_;
      if (!outside || !target.alive || boost::in_degree(edge.target.value(), aux) > 0) continue;
      target.alive = false;
      dead.push_back(edge.target);
    }
  }
  std::erase_if(aux_edges_, [&](const AuxEdge& e) {
    return !(*this)[e.source].alive || !(*this)[e.target].alive;
  });
}

// ---- status, size, properties

void ResourceGraph::set_up(VertexId v, bool up) {
  vertices_[v.value()].up = up;
  ++version_;
}

void ResourceGraph::set_drained(VertexId v, bool drained) {
  vertices_[v.value()].drained = drained;
  ++version_;
}

void ResourceGraph::set_end(VertexId v, Time end) {
  vertices_[v.value()].has_end = end != kTimeMax;
  if (end == kTimeMax)
    ends_.erase(v.value());
  else
    ends_[v.value()] = end;
  ++version_;
}

void ResourceGraph::set_property(VertexId v, std::string_view key, std::string_view value) {
  const PropertyRef property{words_.names.intern(key), words_.names.intern(value)};
  auto& list = properties_[v.value()];
  const auto text = [this](const PropertyRef& p) -> std::string_view {
    return words_.names.text(p.key);
  };
  const auto it = std::ranges::lower_bound(list, key, {}, text);
  if (it != list.end() && it->key == property.key) {
    it->value = property.value;
  } else {
    list.insert(it, property);
  }
  ++version_;
}

bool ResourceGraph::remove_property(VertexId v, std::string_view key) {
  const auto id = words_.names.find(key);
  const auto it = properties_.find(v.value());
  if (!id || it == properties_.end()) return false;
  if (std::erase_if(it->second, [&](const PropertyRef& p) { return p.key == *id; }) == 0)
    return false;
  if (it->second.empty()) properties_.erase(it);
  ++version_;
  return true;
}

// ---- invariants

void ResourceGraph::check_invariants() const {
  if (boost::num_vertices(topology_->tree) != slots())
    broken("the Boost graph has other slots", root_);
  std::size_t alive = 0;
  std::unordered_set<std::int64_t> uniq;
  for (std::uint32_t i = 0; i < slots(); ++i) {
    const VertexId v{i};
    if (!(*this)[v].alive) {
      if (boost::out_degree(i, topology_->tree) > 0) broken("a dead vertex has edges", v);
      continue;
    }
    ++alive;
    if (at(pre(v)) != v) broken("pre-order is not its own inverse", v);
    if (subtree_end(v) <= pre(v) || subtree_end(v) > vertex_count()) broken("bad subtree end", v);
    if (children(v).size() != boost::out_degree(i, topology_->tree)) broken("children differ", v);
    auto position = pre(v) + 1;
    for (const auto child : children(v)) {
      if (parent(child) != v || depth(child) != depth(v) + 1) broken("bad parent or depth", child);
      if (pre(child) != position) broken("children are not consecutive subtrees", child);
      position = subtree_end(child);
    }
    if (position != subtree_end(v)) broken("the subtree is longer than its children", v);
    if (!uniq.insert((*this)[v].uniq_id).second) broken("uniq_id twice", v);
    if (find_uniq((*this)[v].uniq_id) != v) broken("not found by uniq_id", v);
    if (std::ranges::count(by_type((*this)[v].type), v) != 1) broken("not once by type", v);
    if (std::ranges::count(by_rank((*this)[v].rank), v) != 1) broken("not once by rank", v);
  }
  if (alive != vertex_count() || by_type_.size() != alive) broken("counts differ", root_);
  for (const auto& edge : aux_edges_) {
    if (!(*this)[edge.source].alive || !(*this)[edge.target].alive)
      broken("dead edge", edge.source);
  }
}

}  // namespace holon::resource
