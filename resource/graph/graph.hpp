// graph.hpp - ResourceGraph: what there is. Vertices are resource pools, edges say what is part of
// what.
//
// A Boost.Graph is the truth about edges (resource/graph/topology.hpp); beside it stand flat
// indices for the hot walk: the tree of the dominant subsystem numbered in pre-order, children in
// the order of their edges, vertices by type, rank, host and uniq_id.
//
// Invariants: a VertexId is stable for the life of the graph; a removed vertex keeps its slot, is
// not alive() and is in no index. uniq_ids are unique, also those of the dead. The dominant
// subsystem is one tree; vertices that belong to other subsystems only stand outside it (parent
// kNoVertex, depth 0). Who holds what is not here (resource/store.hpp). Const calls change nothing
// and may run concurrently. No clock, no I/O.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.hpp"
#include "base/strong.hpp"
#include "base/time.hpp"
#include "resource/allocation.hpp"
#include "resource/graph/spec.hpp"
#include "resource/graph/vocabulary.hpp"

namespace holon::resource {

struct Topology;  // the Boost graphs: resource/graph/topology.hpp

// A slot of the graph: 0 .. graph.slots() - 1, fit to index a vector of the caller's own per-vertex
// data.
using VertexId = Strong<struct VertexTag, std::uint32_t>;
inline constexpr VertexId kNoVertex{UINT32_MAX};

// One resource pool, 48 bytes. Names are composed on demand by ResourceGraph::name.
struct Vertex {
  std::int64_t id = 0;
  std::int64_t uniq_id = 0;
  Amount size = 1;
  std::int32_t rank = -1;
  TypeId type;
  NameId basename;
  NameId name{GraphSpec::kNone};
  NameId unit{GraphSpec::kNone};
  bool up = true;        // the vertex's own status; vertices below a down one are out of reach
  bool drained = false;  // takes no new work; running work goes on
  bool alive = true;
  bool has_end = false;  // ResourceGraph::end_of() says when it is gone

  // May new work be placed here, as far as this vertex itself is concerned?
  bool schedulable() const { return up && !drained && alive; }
};

struct PropertyRef {
  NameId key;
  NameId value;  // names.text(value) is "" for a plain property
};

// An edge outside the dominant tree. `subsystem` is an index into subsystems(); 0 is a link.
struct AuxEdge {
  std::uint32_t subsystem = 0;
  VertexId source;
  VertexId target;
};

// Hash with which a map of strings can be asked with a string_view.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};

class ResourceGraph {
 public:
  // Checks the spec and indexes it. O(V + E). Errors: those of check() in resource/graph/spec.hpp.
  static Result<ResourceGraph> build(const GraphSpec& spec);

  ResourceGraph(const ResourceGraph&);  // for what-if: O(V)
  ResourceGraph(ResourceGraph&&) noexcept;
  ResourceGraph& operator=(const ResourceGraph&);
  ResourceGraph& operator=(ResourceGraph&&) noexcept;
  ~ResourceGraph();

  // ---- vertices
  std::size_t slots() const {
    return vertices_.size();
  }  // dead ones included: every VertexId is below it
  std::size_t vertex_count() const { return order_.size(); }
  std::size_t edge_count() const;  // of all subsystems
  VertexId root() const { return root_; }
  const Vertex& operator[](VertexId v) const { return vertices_[v.value()]; }
  const Vocabulary& words() const { return words_; }

  const std::string& type_name(VertexId v) const { return words_.types.text((*this)[v].type); }
  const std::string& basename(VertexId v) const { return words_.names.text((*this)[v].basename); }
  std::string name(VertexId v) const;       // "core3", "fluke7"
  std::string_view unit(VertexId v) const;  // "" if none
  // The path "/cluster0/rack0/node3" in the dominant or the given subsystem; "" if the vertex is no
  // part of it. O(depth).
  std::string path(VertexId v, std::uint32_t subsystem = 0) const;
  // The path that was given for v itself because it is not "parent's path / name"; nullptr: none.
  const std::string* given_path(VertexId v, std::uint32_t subsystem) const;

  // ---- the tree of the dominant subsystem
  VertexId parent(VertexId v) const { return parent_[v.value()]; }  // kNoVertex at the root
  std::span<const VertexId> children(VertexId v) const {
    const auto i = v.value();
    return {children_.data() + child_begin_[i], child_begin_[i + 1] - child_begin_[i]};
  }
  std::uint32_t depth(VertexId v) const { return depth_[v.value()]; }
  // Pre-order position; vertices outside the tree come after it. A subtree is the positions
  // [pre(v), subtree_end(v)).
  std::uint32_t pre(VertexId v) const { return pre_[v.value()]; }
  std::uint32_t subtree_end(VertexId v) const { return end_[v.value()]; }
  VertexId at(std::uint32_t position) const { return order_[position]; }
  std::span<const VertexId> in_preorder() const { return order_; }  // all alive vertices
  std::span<const VertexId> subtree(VertexId v) const {             // v first
    return std::span{order_}.subspan(pre(v), subtree_end(v) - pre(v));
  }
  // Is `v` `ancestor` itself or below it?
  bool within(VertexId v, VertexId ancestor) const {
    return pre(ancestor) <= pre(v) && pre(v) < subtree_end(ancestor);
  }
  // The nearest vertex of the type at or above v; kNoVertex if there is none. O(depth).
  VertexId ancestor_of_type(VertexId v, TypeId type) const;

  // Vertices that stand below v too, though their tree parent is another vertex, in the order of
  // their edges. Only matching follows these links (Fluxion's storage that racks share).
  std::span<const VertexId> links(VertexId v) const {
    const auto it = links_.find(v.value());
    return it == links_.end() ? std::span<const VertexId>{} : std::span{it->second};
  }
  bool has_links() const { return !links_.empty(); }
  // Does nothing stand below v, in any subsystem?
  bool is_leaf(VertexId v) const {
    return children(v).empty() && !aux_sources_.contains(v.value());
  }

  // ---- other subsystems; their edges, and links
  const std::vector<std::string>& subsystems() const {
    return subsystems_;
  }  // [0] is the dominant one
  std::optional<std::uint32_t> find_subsystem(std::string_view name) const;
  bool has_aux() const { return !aux_edges_.empty(); }
  std::span<const AuxEdge> aux_edges() const { return aux_edges_; }  // insertion order
  std::vector<AuxEdge> aux_above(
      VertexId v) const;  // edges into v, the up-walk; insertion order. O(their number)
  std::vector<AuxEdge> aux_below(VertexId v) const;  // edges out of v

  // ---- finding; all answer alive vertices only
  // O(1) where uniq_ids are slots (GRUG, shapes), else O(log V).
  std::optional<VertexId> find_uniq(std::int64_t uniq_id) const;
  // Finds a vertex by path in any subsystem; `rank` tells apart siblings of one name (several
  // brokers on one host). O(depth) where names end in consecutive ids, else O(siblings on the way).
  std::optional<VertexId> find_path(std::string_view path,
                                    std::optional<std::int32_t> rank = std::nullopt) const;
  std::span<const VertexId> by_type(TypeId type) const;  // pre-order
  std::span<const VertexId> by_type(std::string_view type) const;
  std::span<const VertexId> by_rank(std::int32_t rank) const;  // pre-order; the node comes first
  std::vector<std::int32_t> ranks() const;                     // those >= 0, ascending, each once
  std::span<const VertexId> by_host(std::string_view host) const;  // "node" vertices of that name

  // ---- properties and extensions
  std::span<const PropertyRef> properties(VertexId v) const;  // by key, ascending
  std::optional<std::string_view> property(VertexId v, std::string_view key) const;
  std::string_view extensions(VertexId v) const;  // JSON object of "x-" keys, "" if none

  // ---- ends: vertices that will be gone at a time that is known
  // From then on neither the vertex nor what is below it is there; kTimeMax: it stays.
  Time end_of(VertexId v) const { return (*this)[v].has_end ? ends_.at(v.value()) : kTimeMax; }
  bool has_ends() const { return !ends_.empty(); }
  // May new work be placed here over `when`, as far as this vertex itself is concerned?
  bool schedulable(VertexId v, Interval when) const {
    return (*this)[v].schedulable() && (!(*this)[v].has_end || when.end <= ends_.at(v.value()));
  }

  // ---- changes. Each one that succeeds bumps version(); those that move positions also bump
  // shape_version().
  std::uint64_t version() const { return version_; }
  std::uint64_t shape_version() const {
    return shape_version_;
  }  // grow, shrink: rebuild what is indexed by pre()

  // Adds what is new in `part`, a graph from the same root: a vertex whose path and rank are here
  // already is reused (the ancestors of what is added must be repeated), others are appended to
  // their parent. A uniq_id that is taken is replaced by a new one. Returns the new vertices in
  // pre-order; one that was removed gets its slot back. All or nothing. O(V + part). Errors: those
  // of build, also for the graph and the part together; invalid_argument for another root.
  Result<std::vector<VertexId>> grow(const GraphSpec& part);
  // Removes the vertex and all below it, in all subsystems. Errors: not_found,
  // invalid_argument for the root. O(V).
  Status shrink(VertexId v);
  // Removes every vertex of these ranks and what is below them. Errors: not_found if a rank has
  // none. O(V).
  Status shrink_ranks(std::span<const std::int32_t> ranks);

  void set_up(VertexId v, bool up);  // this vertex's own status
  void set_drained(VertexId v, bool drained);
  void set_end(VertexId v, Time end);  // kTimeMax: it stays
  void set_property(VertexId v, std::string_view key, std::string_view value);
  bool remove_property(VertexId v, std::string_view key);  // false: it was not there

  const Topology& topology() const { return *topology_; }

  // Aborts unless indices, edges and vertices agree. O(V + E). For tests.
  void check_invariants() const;

 private:
  // Keys of paths_: a slot above its subsystem's number.
  static constexpr unsigned kSubsystemBits = 8;
  static constexpr std::uint64_t path_key(VertexId v, std::uint32_t subsystem) {
    return std::uint64_t{v.value()} << kSubsystemBits | subsystem;
  }

  ResourceGraph();
  void reindex();                                          // all flat indices from the topology
  bool is_named(VertexId v, std::string_view text) const;  // name(v) == text, without making it
  VertexId child_named(VertexId parent, std::string_view text,
                       std::optional<std::int32_t> rank) const;
  std::optional<VertexId> find_aux_path(std::string_view path,
                                        std::optional<std::int32_t> rank) const;
  bool has_aux_below(VertexId v, std::uint32_t subsystem) const;
  Result<std::vector<VertexId>> slots_of(const GraphSpec& part) const;
  Status check_grown(const GraphSpec& part, const std::vector<VertexId>& slot_of) const;
  Status check_grown_edges(const GraphSpec& part, const std::vector<VertexId>& slot_of) const;
  void take(const GraphSpec& spec, std::vector<VertexId> slot_of);
  // `is_taken`: the row's uniq_id cannot be kept.
  void append(const GraphSpec& spec, const GraphSpec::Row& row, bool is_taken);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> tree_edges() const;  // parent, child
  void take_side_tables(const GraphSpec& spec, const std::vector<VertexId>& slot_of,
                        std::size_t first_new);
  void take_aux_edges(const GraphSpec& spec, const std::vector<VertexId>& slot_of,
                      std::size_t first_new);
  void remove(const std::vector<VertexId>& tops);
  void remove_orphans();
  void index_tree();
  void index_kinds();
  void index_uniq_ids();
  void index_aux_roots();
  void index_links();

  Vocabulary words_;
  std::vector<std::string> subsystems_;
  std::vector<Vertex> vertices_;
  std::unique_ptr<Topology> topology_;
  VertexId root_ = kNoVertex;
  std::int64_t next_uniq_ = 0;
  std::uint64_t version_ = 0;
  std::uint64_t shape_version_ = 0;

  // flat indices, by slot
  std::vector<VertexId> parent_;
  std::vector<std::uint32_t> depth_, pre_, end_, child_begin_;
  // flat indices, by position
  std::vector<VertexId> order_, children_;
  std::vector<VertexId> by_type_;
  std::vector<std::uint32_t> type_begin_;  // by type: its range of by_type_
  std::vector<VertexId> by_rank_;
  std::unordered_map<std::int32_t, std::pair<std::uint32_t, std::uint32_t>> rank_range_;
  std::unordered_map<std::string, std::vector<VertexId>, TextHash, std::equal_to<>> hosts_;
  std::vector<std::pair<std::int64_t, VertexId>>
      uniq_;  // sorted; only those whose uniq_id is not their slot
  // side tables
  std::unordered_map<std::uint32_t, std::vector<PropertyRef>> properties_;
  std::unordered_map<std::uint32_t, std::string> extensions_;
  std::unordered_map<std::uint32_t, Time> ends_;          // of the vertices that have one
  std::unordered_map<std::uint64_t, std::string> paths_;  // slot and subsystem -> explicit path
  std::unordered_map<std::string, VertexId, TextHash, std::equal_to<>> explicit_paths_;
  std::vector<std::pair<std::uint32_t, VertexId>> aux_roots_;  // subsystem and vertex
  std::vector<AuxEdge> aux_edges_;
  std::unordered_map<std::uint32_t, std::vector<VertexId>> links_;  // by slot, from aux_edges_
  std::unordered_set<std::uint32_t> aux_sources_;                   // slots, from aux_edges_
};

}  // namespace holon::resource
