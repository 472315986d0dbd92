// Checking a GraphSpec before anything is built from it.
//
// Each check is a loop over rows, never a recursion: a document may claim a tree of any depth.
// Siblings are compared by (basename, id, name, rank) in interned form; as ids of one basename
// mostly ascend, a parent whose children do is done without sorting.
#include "resource/graph/spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/topological_sort.hpp>
#include <iterator>
#include <tuple>
#include <unordered_set>

#include "base/text/utf8.hpp"

namespace holon::resource {
namespace {

constexpr std::size_t kMaxRows = std::size_t{1} << 31;

std::string row_name(const GraphSpec& spec, std::uint32_t row) {
  const auto& r = spec.rows[row];
  if (r.name.value() != GraphSpec::kNone) return spec.words.names.text(r.name);
  const auto& base = spec.words.names.text(r.basename);
  return r.id < 0 ? base : base + std::to_string(r.id);
}

// "row 7 (/cluster0/node3)"; a long path is cut in the middle of its ancestors.
std::string place_in_spec(const GraphSpec& spec, std::uint32_t row) {
  constexpr int kShown = 8;
  std::string path;
  auto at = row;
  for (int i = 0; i < kShown && at != GraphSpec::kNone; ++i) {
    path = "/" + row_name(spec, at) + path;
    at = spec.rows[at].parent;
  }
  return fmt::format("row {} ({}{})", row, at == GraphSpec::kNone ? "" : "...", path);
}

Status bad_spec(const GraphSpec& spec, std::uint32_t row, std::string what) {
  return fail(Errc::invalid_argument, std::move(what), place_in_spec(spec, row));
}

bool is_name(std::string_view text) {
  return !text.empty() && text.find('/') == std::string_view::npos && is_utf8(text);
}

Status check_words(const GraphSpec& spec) {
  for (std::uint32_t i = 0; i < spec.words.types.size(); ++i) {
    const auto& text = spec.words.types.text(TypeId{i});
    if (!is_name(text)) {
      return fail(Errc::invalid_argument, "a type must be non-empty UTF-8 without '/'", "types");
    }
  }
  for (std::uint32_t i = 0; i < spec.words.names.size(); ++i)
    if (!is_utf8(spec.words.names.text(NameId{i})))
      return fail(Errc::invalid_argument, "a name or a unit that is not UTF-8", "names");
  for (const std::string& subsystem : spec.subsystems)
    if (subsystem.empty() || !is_utf8(subsystem))
      return fail(Errc::invalid_argument, "a subsystem must have a name in UTF-8", "subsystems");
  return {};
}

Status check_row(const GraphSpec& spec, std::uint32_t i) {
  const auto& row = spec.rows[i];
  if (row.parent != GraphSpec::kNone && row.parent >= i) {
    return fail(Errc::invalid_argument,
                fmt::format("its parent is row {}, not before it", row.parent),
                fmt::format("row {}", i));
  }
  const auto names = spec.words.names.size();
  if (row.type.value() >= spec.words.types.size() || row.basename.value() >= names ||
      (row.name.value() != GraphSpec::kNone && row.name.value() >= names) ||
      (row.unit.value() != GraphSpec::kNone && row.unit.value() >= names)) {
    return fail(Errc::invalid_argument, "a word that is not interned", fmt::format("row {}", i));
  }
  const auto& text =
      spec.words.names.text(row.name.value() == GraphSpec::kNone ? row.basename : row.name);
  if (!is_name(text)) {
    return fail(Errc::invalid_argument, "a name must be non-empty UTF-8 without '/'",
                fmt::format("row {}", i));
  }
  if (row.size < 0) return bad_spec(spec, i, fmt::format("size {} is negative", row.size));
  if (row.id < -1) return bad_spec(spec, i, fmt::format("id {} is below -1", row.id));
  if (row.rank < -1) return bad_spec(spec, i, fmt::format("rank {} is below -1", row.rank));
  if (row.uniq_id < -1)
    return bad_spec(spec, i, fmt::format("uniq_id {} is negative", row.uniq_id));
  if (row.uniq_id > kMaxUniqId) {
    return fail(Errc::out_of_range, fmt::format("uniq_id {} is above 2^62", row.uniq_id),
                place_in_spec(spec, i));
  }
  return {};
}

// Checks that there is one tree: only the first row, claimed by no other subsystem, has no parent.
Status check_roots(const GraphSpec& spec) {
  if (spec.rows.empty()) return fail(Errc::invalid_argument, "there is no root vertex", "graph");
  std::vector<bool> elsewhere(spec.rows.size());
  for (const auto& edge : spec.edges) elsewhere[edge.source] = elsewhere[edge.target] = true;
  if (spec.rows[0].parent != GraphSpec::kNone) {
    return bad_spec(spec, 0, "the first row must be the root");
  }
  for (std::uint32_t i = 1; i < spec.rows.size(); ++i) {
    if (spec.rows[i].parent != GraphSpec::kNone || elsewhere[i]) continue;
    return bad_spec(spec, i,
                    fmt::format("a second root of subsystem {}; the first is {}",
                                spec.subsystems[0], row_name(spec, 0)));
  }
  return {};
}

Status check_depth(const GraphSpec& spec) {
  std::vector<std::uint32_t> depth(spec.rows.size());
  for (std::uint32_t i = 0; i < spec.rows.size(); ++i) {
    if (spec.rows[i].parent != GraphSpec::kNone) depth[i] = depth[spec.rows[i].parent] + 1;
    if (depth[i] > kMaxDepth) {
      return fail(Errc::out_of_range, fmt::format("more than {} levels deep", kMaxDepth),
                  place_in_spec(spec, i));
    }
  }
  return {};
}

Status check_uniq_ids(const GraphSpec& spec) {
  bool ascending = true;
  std::int64_t last = -1;
  for (const auto& row : spec.rows) {
    if (row.uniq_id == GraphSpec::kNewUniqId) continue;
    ascending = ascending && row.uniq_id > last;
    last = row.uniq_id;
  }
  if (ascending) return {};
  std::unordered_set<std::int64_t> seen;
  seen.reserve(spec.rows.size());
  for (std::uint32_t i = 0; i < spec.rows.size(); ++i) {
    const auto id = spec.rows[i].uniq_id;
    if (id != GraphSpec::kNewUniqId && !seen.insert(id).second) {
      return bad_spec(spec, i, fmt::format("uniq_id {} is given twice", id));
    }
  }
  return {};
}

auto sibling_key(const GraphSpec::Row& row) {
  const bool named = row.name.value() != GraphSpec::kNone;
  return std::tuple(named ? row.name.value() : row.basename.value(), named ? -2 : row.id, row.rank);
}

// Checks the rows of each parent, gathered by counting. Explicit names that look composed ("core3")
// are caught by the readers, which never store a name equal to basename + id.
Status check_siblings(const GraphSpec& spec) {
  if (spec.twins) return {};
  const auto n = spec.rows.size();
  std::vector<std::uint32_t> begin(n + 1);
  for (const auto& row : spec.rows) {
    if (row.parent != GraphSpec::kNone) ++begin[row.parent + 1];
  }
  for (std::size_t i = 0; i < n; ++i) begin[i + 1] += begin[i];
  std::vector<std::uint32_t> rows(begin[n]);
  auto next = begin;
  for (std::uint32_t i = 0; i < n; ++i) {
    if (spec.rows[i].parent != GraphSpec::kNone) rows[next[spec.rows[i].parent]++] = i;
  }
  const auto less = [&](std::uint32_t a, std::uint32_t b) {
    return sibling_key(spec.rows[a]) < sibling_key(spec.rows[b]);
  };
  const auto not_less = [&](std::uint32_t a, std::uint32_t b) { return !less(a, b); };
  for (std::size_t p = 0; p < n; ++p) {
    const auto from = rows.begin() + begin[p];
    const auto to = rows.begin() + begin[p + 1];
    if (std::adjacent_find(from, to, not_less) == to) continue;  // strictly ascending
    std::stable_sort(from, to, less);
    if (auto it = std::adjacent_find(from, to, not_less); it != to) {
      return bad_spec(spec, *std::next(it),
                      fmt::format("siblings of one name and rank (row {})", *it));
    }
  }
  return {};
}

Status check_edges(const GraphSpec& spec) {
  for (std::size_t i = 0; i < spec.edges.size(); ++i) {
    const auto& edge = spec.edges[i];
    if (edge.source >= spec.rows.size() || edge.target >= spec.rows.size()) {
      return fail(Errc::invalid_argument, "an edge to a row that is not there",
                  fmt::format("edge {}", i));
    }
    if (edge.subsystem >= spec.subsystems.size()) {
      return fail(Errc::invalid_argument, "an edge of no subsystem", fmt::format("edge {}", i));
    }
  }
  return {};
}

Status check_cycles(const GraphSpec& spec) {
  const bool links =
      std::ranges::any_of(spec.edges, [](const auto& e) { return e.subsystem == 0; });
  auto edges = spec.edges;
  for (std::uint32_t i = 0; links && i < spec.rows.size(); ++i) {
    if (spec.rows[i].parent != GraphSpec::kNone) edges.push_back({0, spec.rows[i].parent, i});
  }
  for (std::uint32_t s = links ? 0 : 1; s < spec.subsystems.size(); ++s) {
    if (has_cycle(spec.rows.size(), edges, s)) {
      return fail(Errc::invalid_argument, "the edges form a cycle", spec.subsystems[s]);
    }
  }
  return {};
}

Status check_units(const GraphSpec& spec) {
  Amount units = 0;
  for (std::uint32_t i = 0; i < spec.rows.size(); ++i) {
    if (spec.rows[i].size > kMaxUnits - units) {
      return fail(Errc::out_of_range, "all sizes together are above 2^62", place_in_spec(spec, i));
    }
    units += spec.rows[i].size;
  }
  return {};
}

Status check_side_tables(const GraphSpec& spec) {
  const auto outside = [&](std::uint32_t row) { return row >= spec.rows.size(); };
  for (const auto& p : spec.properties) {
    if (outside(p.row)) return fail(Errc::invalid_argument, "a property of no row", p.key);
    if (p.key.empty() || !is_utf8(p.key) || !is_utf8(p.value)) {
      return bad_spec(spec, p.row, "a property's key and value must be UTF-8, the key not empty");
    }
  }
  for (const auto& e : spec.extensions) {
    if (outside(e.row)) return fail(Errc::invalid_argument, "an extension of no row", "extensions");
  }
  for (const auto& p : spec.paths) {
    if (outside(p.row) || p.subsystem >= spec.subsystems.size()) {
      return fail(Errc::invalid_argument, "a path of no row or subsystem", p.path);
    }
    if (!is_utf8(p.path)) return bad_spec(spec, p.row, "its path is not UTF-8");
  }
  return {};
}

}  // namespace

std::uint32_t GraphSpec::add(std::string_view type, std::int64_t id, std::uint32_t parent,
                             std::int32_t rank, Amount size) {
  Row row;
  row.id = id;
  row.size = size;
  row.rank = rank;
  row.type = words.types.intern(type);
  row.basename = words.names.intern(type);
  row.parent = parent;
  rows.push_back(row);
  return static_cast<std::uint32_t>(rows.size() - 1);
}

Status check(const GraphSpec& spec) {
  if (spec.rows.size() > kMaxRows) {
    return fail(Errc::out_of_range, "more than 2^31 vertices", "graph");
  }
  if (spec.subsystems.empty() || spec.subsystems.size() > kMaxSubsystems) {
    return fail(Errc::invalid_argument,
                fmt::format("there must be 1 to {} subsystems", kMaxSubsystems), "subsystems");
  }
  if (auto ok = check_words(spec); !ok) return ok;
  for (std::uint32_t i = 0; i < spec.rows.size(); ++i) {
    if (auto ok = check_row(spec, i); !ok) return ok;
  }
  for (auto* step : {check_edges, check_roots, check_depth, check_uniq_ids, check_siblings,
                     check_cycles, check_units, check_side_tables}) {
    if (auto ok = step(spec); !ok) return ok;
  }
  return {};
}

bool has_cycle(std::size_t rows, const std::vector<GraphSpec::Edge>& edges,
               std::uint32_t subsystem) {
  const auto of_it = [&](const GraphSpec::Edge& edge) { return edge.subsystem == subsystem; };
  if (std::ranges::none_of(edges, of_it)) return false;
  boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS> graph(rows);
  for (const auto& edge : edges) {
    if (edge.subsystem == subsystem) add_edge(edge.source, edge.target, graph);
  }
  try {
    std::vector<std::size_t> order;
    boost::topological_sort(graph, std::back_inserter(order));
  } catch (const boost::not_a_dag&) {
    return true;
  }
  return false;
}

bool is_utf8(std::string_view text) {
  return holon::is_utf8(text) && text.find('\0') == std::string_view::npos;
}

}  // namespace holon::resource
