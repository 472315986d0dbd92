// writers.hpp - a graph, or what a job holds of it, as bytes of one format. See docs/formats.md.
//
// Const views in, text out; nothing is kept. Fluxion's formats come out as Fluxion writes them, to
// the byte.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "resource/allocation.hpp"
#include "resource/graph/graph.hpp"

namespace holon::resource {

enum class WriteFormat {
  simple,         // "      ---cluster0[1:s]", a line a vertex, in the order of the shares
  pretty_simple,  // "      ---cluster0[1:shared]", in the reverse order
  jgf,            // JSON Graph Format
  jgf_shorthand,  // without what is below an exclusive vertex
  rlite,          // [{"rank": "0-3", "children": {"core": "0-7"}}]
  rv1,            // Rv1 with the JGF under `scheduling`
  rv1_nosched,    // Rv1
  rv1_shorthand,  // Rv1 with the jgf_shorthand
};

// The format of Fluxion's name; nullopt: none.
std::optional<WriteFormat> find_write_format(std::string_view name);

// Members of a JGF vertex beside those of the graph and the allocation. Keyed by uniq_id; key and
// value.
using Notes = std::unordered_map<std::int64_t, std::vector<std::pair<std::string, std::string>>>;
struct WriteNotes {
  Notes agfilter;                // aggregates, where `find` was asked for them
  std::string queue;             // of the job, into an Rv1's attributes; "" if none
  bool nothing_implied = false;  // the shorthand formats leave nothing out: what `find` found
  bool shortened = false;        // they name themselves even so: something was left out before
};

// The allocation as one line (simple: many), ended by a newline; "" where the format has nothing to
// say (an Rv1 without a host). Edges are those of the tree between the shares. starttime and
// expiration are `when` in the caller's ticks. The order of the shares counts: children before
// their parent, as a match emits them. Errors: not_found (a uniq_id that is not in the graph),
// invalid_argument (a core or node without number in an Rv1). O(shares x depth).
Result<std::string> write_allocation(WriteFormat format, const ResourceGraph& graph,
                                     const Allocation& allocation, const WriteNotes& notes = {});

// All of the graph, or what is at and below one vertex with its ancestors, as lean JGF: sizes are
// those of the pools, status and x- extensions are kept; read_jgf gives the same graph. O(V x
// depth).
std::string write_jgf(const ResourceGraph& graph);
std::string write_jgf(const ResourceGraph& graph, VertexId top);

// The grant of a child instance: the JGF of the shares and their ancestors. Ranks are renumbered 0
// .. n-1 in the order of the parent's, which stay under "x-parent-rank"; ids, names, uniq_ids and
// extensions are the parent's, so that a core is still its logical index on its host; a pool's size
// is the amount granted. A vertex that is down now, because its agent is away, is not written so:
// the child would never hear that it is up again, and sees for itself whether its own agent is
// there. A vertex held exclusively with nothing below it listed brings all that is below it;
// vertices held by nobody (amount 0) come as ancestors only. Errors: not_found. O(what is granted x
// depth + slots / 8).
Result<std::string> grant_jgf(const ResourceGraph& graph, const Allocation& allocation);

}  // namespace holon::resource
