// Reading side of ResourceGraph, and how its flat indices are made.
//
// All indices are rebuilt from the Boost graph after each change of shape: a change is rare, its
// cost O(V), and nothing can drift. The walk over the tree keeps its own stack.
#include "resource/graph/graph.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "resource/graph/topology.hpp"

namespace holon::resource {
namespace {

// The digits at the end of "core12" as a number; nullopt if there are none (or too many).
std::optional<std::int64_t> trailing_number(std::string_view text) {
  auto at = text.size();
  while (at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9') --at;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
  if (at == text.size() || error != std::errc{}) return std::nullopt;
  return number;
}

// Splits "a/b/c" into "a" and "b/c".
std::string_view take_component(std::string_view& path) {
  const auto slash = path.find('/');
  const auto component = path.substr(0, slash);
  path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  return component;
}

}  // namespace

ResourceGraph::ResourceGraph() : topology_(std::make_unique<Topology>()) {}
ResourceGraph::ResourceGraph(ResourceGraph&&) noexcept = default;
ResourceGraph& ResourceGraph::operator=(ResourceGraph&&) noexcept = default;
ResourceGraph::~ResourceGraph() = default;

ResourceGraph::ResourceGraph(const ResourceGraph& other) {
  *this = other;
}

ResourceGraph& ResourceGraph::operator=(const ResourceGraph& other) {
  if (this == &other) return *this;
  words_ = other.words_;
  subsystems_ = other.subsystems_;
  vertices_ = other.vertices_;
  topology_ = std::make_unique<Topology>(*other.topology_);
  root_ = other.root_;
  next_uniq_ = other.next_uniq_;
  version_ = other.version_;
  shape_version_ = other.shape_version_;
  properties_ = other.properties_;
  extensions_ = other.extensions_;
  ends_ = other.ends_;
  paths_ = other.paths_;
  explicit_paths_ = other.explicit_paths_;
  aux_edges_ = other.aux_edges_;
  reindex();
  return *this;
}

// ---- names and paths

std::string ResourceGraph::name(VertexId v) const {
  const auto& vertex = (*this)[v];
  if (vertex.name.value() != GraphSpec::kNone) return words_.names.text(vertex.name);
  const auto& base = words_.names.text(vertex.basename);
  return vertex.id < 0 ? base : base + std::to_string(vertex.id);
}

bool ResourceGraph::is_named(VertexId v, std::string_view text) const {
  const auto& vertex = (*this)[v];
  if (vertex.name.value() != GraphSpec::kNone) return words_.names.text(vertex.name) == text;
  const auto& base = words_.names.text(vertex.basename);
  if (!text.starts_with(base)) return false;
  text.remove_prefix(base.size());
  if (vertex.id < 0) return text.empty();
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, vertex.id).ptr;
  return text == std::string_view(digits, static_cast<std::size_t>(end - digits));
}

std::string_view ResourceGraph::unit(VertexId v) const {
  const auto unit = (*this)[v].unit;
  return unit.value() == GraphSpec::kNone ? std::string_view{} : words_.names.text(unit);
}

const std::string* ResourceGraph::given_path(VertexId v, std::uint32_t subsystem) const {
  const auto it = paths_.find(path_key(v, subsystem));
  return it == paths_.end() ? nullptr : &it->second;
}

std::string ResourceGraph::path(VertexId v, std::uint32_t subsystem) const {
  std::string path;
  for (auto at = v; at != kNoVertex;) {
    if (auto it = paths_.find(path_key(at, subsystem)); it != paths_.end())
      return it->second + path;
    if (subsystem == 0) {
      if (parent(at) == kNoVertex && at != root_) return {};
      path = "/" + name(at) + path;
      at = parent(at);
      continue;
    }
    auto above = kNoVertex;  // the last edge in counts, as where an association overwrites a path
    for (const auto& edge : aux_above(at)) {
      if (edge.subsystem == subsystem) above = edge.source;
    }
    if (above == kNoVertex && !has_aux_below(at, subsystem)) return {};
    path = "/" + name(at) + path;
    at = above;
  }
  return path;
}

// ---- finding

VertexId ResourceGraph::ancestor_of_type(VertexId v, TypeId type) const {
  while (v != kNoVertex && (*this)[v].type != type) v = parent(v);
  return v;
}

std::optional<VertexId> ResourceGraph::find_uniq(std::int64_t uniq_id) const {
  if (uniq_id >= 0 && static_cast<std::uint64_t>(uniq_id) < slots()) {
    const VertexId guess{static_cast<std::uint32_t>(uniq_id)};
    if ((*this)[guess].uniq_id == uniq_id && (*this)[guess].alive) return guess;
  }
  const auto it =
      std::ranges::lower_bound(uniq_, uniq_id, {}, [](const auto& e) { return e.first; });
  if (it == uniq_.end() || it->first != uniq_id) return std::nullopt;
  return it->second;
}

// Children of one basename mostly have consecutive ids, so the id in the name tells the position; a
// miss (mixed children, gaps) costs a look at each sibling.
VertexId ResourceGraph::child_named(VertexId above, std::string_view text,
                                    std::optional<std::int32_t> rank) const {
  const auto fits = [&](VertexId v) {
    return is_named(v, text) && (!rank || (*this)[v].rank == *rank);
  };
  const auto below = children(above);
  if (const auto number = trailing_number(text); number && !below.empty()) {
    const auto offset = *number - (*this)[below.front()].id;
    if (offset >= 0 && static_cast<std::uint64_t>(offset) < below.size() && fits(below[offset])) {
      return below[offset];
    }
  }
  const auto it = std::ranges::find_if(below, fits);
  return it == below.end() ? kNoVertex : *it;
}

std::optional<VertexId> ResourceGraph::find_path(std::string_view path,
                                                 std::optional<std::int32_t> rank) const {
  if (auto it = explicit_paths_.find(path); it != explicit_paths_.end()) return it->second;
  if (!path.starts_with('/')) return std::nullopt;
  auto rest = path.substr(1);
  const auto first = take_component(rest);
  if (is_named(root_, first)) {
    auto at = root_;
    while (!rest.empty() && at != kNoVertex) {
      const auto component = take_component(rest);
      // Several siblings of one name differ in rank; what hangs below them has the same rank.
      const auto with_rank = rank ? child_named(at, component, rank) : kNoVertex;
      at = with_rank != kNoVertex ? with_rank : child_named(at, component, std::nullopt);
    }
    if (at != kNoVertex && (!rank || (*this)[at].rank == *rank)) return at;
  }
  return find_aux_path(path, rank);
}

std::optional<VertexId> ResourceGraph::find_aux_path(std::string_view path,
                                                     std::optional<std::int32_t> rank) const {
  for (const auto& [subsystem, start] : aux_roots_) {
    auto rest = path.substr(1);
    if (!is_named(start, take_component(rest))) continue;
    auto at = start;
    while (!rest.empty() && at != kNoVertex) {
      const auto component = take_component(rest);
      auto next = kNoVertex;
      for (const auto& edge : aux_below(at)) {
        if (edge.subsystem == subsystem && is_named(edge.target, component)) {
          next = edge.target;
          break;
        }
      }
      at = next;
    }
    if (at != kNoVertex && (!rank || (*this)[at].rank == *rank)) return at;
  }
  return std::nullopt;
}

std::span<const VertexId> ResourceGraph::by_type(TypeId type) const {
  const auto t = type.value();
  if (t + 1 >= type_begin_.size()) return {};
  return std::span{by_type_}.subspan(type_begin_[t], type_begin_[t + 1] - type_begin_[t]);
}

std::span<const VertexId> ResourceGraph::by_type(std::string_view type) const {
  const auto id = words_.types.find(type);
  return id ? by_type(*id) : std::span<const VertexId>{};
}

std::span<const VertexId> ResourceGraph::by_rank(std::int32_t rank) const {
  const auto it = rank_range_.find(rank);
  if (it == rank_range_.end()) return {};
  const auto [begin, end] = it->second;
  return std::span{by_rank_}.subspan(begin, end - begin);
}

std::vector<std::int32_t> ResourceGraph::ranks() const {
  std::vector<std::int32_t> ranks;
  for (const auto& [rank, range] : rank_range_) {
    if (rank >= 0) ranks.push_back(rank);
  }
  std::ranges::sort(ranks);
  return ranks;
}

std::span<const VertexId> ResourceGraph::by_host(std::string_view host) const {
  const auto it = hosts_.find(host);
  return it == hosts_.end() ? std::span<const VertexId>{} : std::span{it->second};
}

// ---- subsystems, properties, extensions

std::optional<std::uint32_t> ResourceGraph::find_subsystem(std::string_view name) const {
  const auto it = std::ranges::find(subsystems_, name);
  if (it == subsystems_.end()) return std::nullopt;
  return static_cast<std::uint32_t>(it - subsystems_.begin());
}

std::size_t ResourceGraph::edge_count() const {
  return boost::num_edges(topology_->tree) + aux_edges_.size();
}

std::vector<AuxEdge> ResourceGraph::aux_above(VertexId v) const {
  std::vector<AuxEdge> edges;
  if (!topology_->aux) return edges;
  const auto& aux = *topology_->aux;
  for (auto [e, end] = boost::in_edges(v.value(), aux); e != end; ++e) {
    edges.push_back({aux[*e].subsystem, VertexId{static_cast<std::uint32_t>(source(*e, aux))}, v});
  }
  return edges;
}

bool ResourceGraph::has_aux_below(VertexId v, std::uint32_t subsystem) const {
  if (!topology_->aux) return false;
  const auto& aux = *topology_->aux;
  const auto [begin, end] = boost::out_edges(v.value(), aux);
  return std::any_of(begin, end, [&](const auto& e) { return aux[e].subsystem == subsystem; });
}

std::vector<AuxEdge> ResourceGraph::aux_below(VertexId v) const {
  std::vector<AuxEdge> edges;
  if (!topology_->aux) return edges;
  const auto& aux = *topology_->aux;
  for (auto [e, end] = boost::out_edges(v.value(), aux); e != end; ++e) {
    edges.push_back({aux[*e].subsystem, v, VertexId{static_cast<std::uint32_t>(target(*e, aux))}});
  }
  return edges;
}

std::span<const PropertyRef> ResourceGraph::properties(VertexId v) const {
  const auto it = properties_.find(v.value());
  return it == properties_.end() ? std::span<const PropertyRef>{} : std::span{it->second};
}

std::optional<std::string_view> ResourceGraph::property(VertexId v, std::string_view key) const {
  const auto id = words_.names.find(key);
  if (!id) return std::nullopt;
  for (const auto& p : properties(v)) {
    if (p.key == *id) return words_.names.text(p.value);
  }
  return std::nullopt;
}

std::string_view ResourceGraph::extensions(VertexId v) const {
  const auto it = extensions_.find(v.value());
  return it == extensions_.end() ? std::string_view{} : it->second;
}

// ---- indices

void ResourceGraph::index_tree() {
  const auto n = slots();
  const auto& tree = topology_->tree;
  parent_.assign(n, kNoVertex);
  depth_.assign(n, 0);
  child_begin_.assign(n + 1, 0);
  children_.clear();
  children_.reserve(boost::num_edges(tree));
  for (std::uint32_t v = 0; v < n; ++v) {
    child_begin_[v] = static_cast<std::uint32_t>(children_.size());
    for (auto [child, end] = boost::adjacent_vertices(v, tree); child != end; ++child) {
      children_.push_back(VertexId{*child});
      parent_[*child] = VertexId{v};
    }
  }
  child_begin_[n] = static_cast<std::uint32_t>(children_.size());

  order_.clear();
  order_.reserve(n);
  pre_.assign(n, 0);
  end_.assign(n, 0);
  const auto visit = [this](VertexId start) {
    std::vector<VertexId> stack{start};
    while (!stack.empty()) {
      const auto v = stack.back();
      stack.pop_back();
      pre_[v.value()] = static_cast<std::uint32_t>(order_.size());
      order_.push_back(v);
      const auto below = children(v);
      for (auto it = below.rbegin(); it != below.rend(); ++it) {
        depth_[it->value()] = depth(v) + 1;
        stack.push_back(*it);
      }
    }
  };
  visit(root_);
  for (std::uint32_t v = 0; v < n; ++v) {
    if (vertices_[v].alive && parent_[v] == kNoVertex && VertexId{v} != root_) visit(VertexId{v});
  }
  // Bottom up: a subtree ends where its last child's does.
  for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
    const auto below = children(*it);
    end_[it->value()] = below.empty() ? pre(*it) + 1 : end_[below.back().value()];
  }
}

void ResourceGraph::index_kinds() {
  type_begin_.assign(words_.types.size() + 1, 0);
  std::unordered_map<std::int32_t, std::uint32_t> per_rank;
  hosts_.clear();
  const auto node_type = words_.types.find("node");
  for (const auto v : order_) {
    const auto& vertex = (*this)[v];
    ++type_begin_[vertex.type.value() + 1];
    ++per_rank[vertex.rank];
    if (vertex.type == node_type) hosts_[name(v)].push_back(v);
  }
  for (std::size_t t = 0; t + 1 < type_begin_.size(); ++t) type_begin_[t + 1] += type_begin_[t];
  rank_range_.clear();
  std::uint32_t at = 0;
  for (const auto& [rank, count] : per_rank) {
    rank_range_[rank] = {at, at};
    at += count;
  }
  by_type_.assign(order_.size(), kNoVertex);
  by_rank_.assign(order_.size(), kNoVertex);
  auto next_of_type = type_begin_;
  for (const auto v : order_) {
    by_type_[next_of_type[(*this)[v].type.value()]++] = v;
    by_rank_[rank_range_[(*this)[v].rank].second++] = v;
  }
}

void ResourceGraph::index_uniq_ids() {
  uniq_.clear();
  for (const auto v : order_) {
    const auto id = (*this)[v].uniq_id;
    next_uniq_ = std::max(next_uniq_, id + 1);
    if (id != v.value()) uniq_.emplace_back(id, v);
  }
  std::ranges::sort(uniq_);
}

// Vertices with edges of a subsystem below and none above, in the order of those edges.
void ResourceGraph::index_aux_roots() {
  aux_roots_.clear();
  std::set<std::pair<std::uint32_t, VertexId>> seen;
  for (const auto& edge : aux_edges_) {
    if (edge.subsystem == 0 || !seen.emplace(edge.subsystem, edge.source).second) continue;
    const auto above = aux_above(edge.source);
    const bool root = std::ranges::none_of(
        above, [&](const AuxEdge& e) { return e.subsystem == edge.subsystem; });
    if (root) aux_roots_.emplace_back(edge.subsystem, edge.source);
  }
}

void ResourceGraph::index_links() {
  links_.clear();
  aux_sources_.clear();
  for (const auto& edge : aux_edges_) {
    aux_sources_.insert(edge.source.value());
    if (edge.subsystem == 0) links_[edge.source.value()].push_back(edge.target);
  }
}

void ResourceGraph::reindex() {
  index_tree();
  index_kinds();
  index_uniq_ids();
  index_aux_roots();
  index_links();
}

}  // namespace holon::resource
