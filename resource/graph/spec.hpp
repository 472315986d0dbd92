// spec.hpp - GraphSpec: a resource graph as a plain value, between a reader and
// ResourceGraph::build.
//
// A row is a vertex; a row's tree parent stands before it, and rows with the same parent are its
// children in order (the order in which a match visits them). What is rare sits in side tables, so
// that a core costs one 48-byte row.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "resource/allocation.hpp"
#include "resource/graph/vocabulary.hpp"

namespace holon::resource {

inline constexpr std::string_view kContainment = "containment";

struct GraphSpec {
  static constexpr std::uint32_t kNone = UINT32_MAX;  // no parent row; no interned name
  static constexpr std::int64_t kNewUniqId = -1;      // build() chooses the next free one

  struct Row {
    std::int64_t id = 0;  // logical number among its like; -1: none, the name is the basename alone
    std::int64_t uniq_id = kNewUniqId;
    Amount size = 1;         // units in the pool, >= 0
    std::int32_t rank = -1;  // execution target, -1 above the nodes
    TypeId type;
    NameId basename;
    NameId name{kNone};  // kNone: basename + id
    NameId unit{kNone};  // kNone: no unit
    std::uint32_t parent =
        kNone;  // row in the dominant tree; kNone: its root, or a vertex of other subsystems only
    bool up = true;
    bool drained = false;  // takes no new work; what runs there goes on
  };
  // key=value; an empty value makes a plain property ("amd").
  struct Property {
    std::uint32_t row = 0;
    std::string key;
    std::string value;
  };
  // Private JSON of a row: the text of an object whose keys begin with "x-".
  struct Extension {
    std::uint32_t row = 0;
    std::string json;
  };
  // A path that is not "parent's path / name". `subsystem` is an index into `subsystems`.
  struct Path {
    std::uint32_t row = 0;
    std::uint32_t subsystem = 0;
    std::string path;
  };
  // An edge outside the dominant tree; of subsystem 0: a link, by which the target stands below a
  // second vertex of the dominant subsystem too.
  struct Edge {
    std::uint32_t subsystem = 0;
    std::uint32_t source = 0;
    std::uint32_t target = 0;
  };

  Vocabulary words;
  std::vector<std::string> subsystems{
      std::string{kContainment}};  // [0] is the dominant one, whose edges are `parent`
  std::vector<Row> rows;
  std::vector<Property> properties;
  std::vector<Extension> extensions;
  std::vector<Path> paths;
  std::vector<Edge> edges;  // in insertion order
  bool twins = false;       // siblings may share name and rank: they are told apart by uniq_id only

  // Appends a vertex and returns its row. REQUIRES: parent < rows.size() or kNone.
  std::uint32_t add(std::string_view type, std::int64_t id, std::uint32_t parent,
                    std::int32_t rank = -1, Amount size = 1);
};

// The greatest depth: deeper trees are refused, since functions that walk a graph may recurse.
inline constexpr std::uint32_t kMaxDepth = 512;
// The most units of a graph, and the largest uniq_id: sums of sizes and the next number always fit.
inline constexpr Amount kMaxUnits = Amount{1} << 62;
inline constexpr std::int64_t kMaxUniqId = std::int64_t{1} << 62;
inline constexpr std::size_t kMaxSubsystems = 64;

// Is this a graph? Errors, with the row and its path as the place: invalid_argument (no root, two
// roots, a row before its parent, size < 0, id < -1, rank < -1, a uniq_id given twice, siblings of
// one name and rank, an edge to no row, a cycle in a subsystem, a name that is empty or has a '/',
// any text that is not UTF-8, other than 1 to kMaxSubsystems subsystems), out_of_range (deeper than
// kMaxDepth, more than 2^31 rows or kMaxUnits units, a uniq_id above kMaxUniqId). O(V + E).
Status check(const GraphSpec& spec);

// Do these edges of one subsystem form a cycle? REQUIRES: they are between rows below
// `rows`. O(V + E).
bool has_cycle(std::size_t rows, const std::vector<GraphSpec::Edge>& edges,
               std::uint32_t subsystem);

// Is this UTF-8 (no surrogates, nothing overlong, no NUL)? O(length).
bool is_utf8(std::string_view text);

}  // namespace holon::resource
