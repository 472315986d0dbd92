// readers.hpp - bytes of one format in, a GraphSpec or a located Error out. See docs/formats.md.
//
// No reader touches a file, a clock or a live topology, and none keeps state: calls may run
// concurrently. A reader answers bad input with the place (line, column, JSON pointer), what was
// found and what is accepted. All are O(bytes + vertices) unless stated, and refuse documents that
// would make more than kMaxVertices vertices.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/idset.hpp"
#include "base/result.hpp"
#include "resource/allocation.hpp"
#include "resource/graph/spec.hpp"

namespace holon::resource {

class ResourceGraph;

inline constexpr std::size_t kMaxVertices = std::size_t{1} << 24;

// "rack=2/node=4/socket=2/core=8,gpu=1": a tree on one line, for trying big machines on a small
// one. The root is cluster0; nodes are node0, node1, ... with ranks 0, 1, ...; memory and the like
// are one pool of that size, everything else that many vertices. Without a node all hangs below
// node0. Errors: invalid_argument, out_of_range (too many vertices); where = "column N", from 1.
Result<GraphSpec> read_shape(std::string_view text);

struct GraphOptions {
  std::string dominant{
      kContainment};  // the subsystem whose edges make the tree; all others are kept beside it
  bool as_fluxion = false;  // forget what Fluxion forgets (the unit in JGF), for byte-equal output
};

// JSON Graph Format, Fluxion's lean dialect and the older one with uniq_id and relation maps, alone
// or as the `scheduling` key of an Rv1. Unknown keys are ignored but for those of a vertex that
// begin with "x-", which are kept. Errors: invalid_argument with a JSON pointer (or line and
// column), out_of_range.
Result<GraphSpec> read_jgf(std::string_view bytes, const GraphOptions& options = {});

enum class Rv1Use {
  scheduling_first,  // a JGF under `scheduling` is the graph; without one, `execution` (rv1exec)
  execution_only,    // rv1exec_force
};

// Rv1 (RFC 20): /cluster0/HOST/{coreN,gpuN}, every property on its node. Errors as in parse_rv1.
Result<GraphSpec> read_rv1(std::string_view bytes, Rv1Use use, const GraphOptions& options = {});

// The ranks of an Rv1; nothing else in it need be right (a partial cancel).
Result<Idset> rv1_ranks(std::string_view bytes);

// ---- R of a job, against the graph it is of. Shares come out children before their parent; job
// and `when` are left for the caller to set. What is not exclusive holds nothing (amount 0), but
// for a pool without children: it holds its size.

// JGF: each vertex is found by path and rank and must be equal in type, basename, id and name;
// `shorthand`: an exclusive vertex stands for all that is below it. Vertices of free_ranks are
// passed over. The text may be an Rv1 that has the JGF under `scheduling`. Errors: not_found,
// invalid_argument with a JSON pointer.
Result<Allocation> read_allocation_jgf(const ResourceGraph& graph, std::string_view bytes,
                                       bool shorthand = false);

// Rv1: each host is found by name and rank, its children by type and id; they are held exclusively,
// and so is a host of which all children are listed. Errors: not_found, invalid_argument with a
// JSON pointer.
Result<Allocation> read_allocation_rv1(const ResourceGraph& graph, std::string_view bytes);

// GRUG: a recipe in GraphML from which a machine is unrolled; vertices are numbered in the order in
// which Fluxion makes them. Errors: invalid_argument (not GraphML, an attribute that is no number,
// an unknown generation method, no root), out_of_range (more than kMaxVertices vertices or edges);
// where = the id of the recipe's vertex or edge where there is one.
Result<GraphSpec> read_grug(std::string_view bytes, const GraphOptions& options = {});

// ---- hwloc

// The topology of one host, exported by hwloc 2 (I/O devices included, else there are no GPUs).
struct HostTopology {
  std::string_view xml;
  std::int32_t rank = -1;  // -1: ranks count up from 0
  std::string host;        // "": the HostName that the XML gives
};

struct HwlocOptions {
  // The kinds of vertices made: node, group, socket, numanode, memory, L1cache, L2cache, L3cache,
  // core, pu, gpu, storage.
  std::vector<std::string> allow{"node", "socket", "numanode", "memory", "core", "gpu"};
  bool as_fluxion =
      false;  // Fluxion's vertices, names and ranks (no memory); an empty `allow` is everything
};

// /cluster0 with one node a host. A NUMA node holds a `memory` pool (whole GiB, at least 1) and the
// cores near it; ids are logical indexes of the host, those of GPUs the numbers of their devices
// (cuda1 is gpu1). Errors: invalid_argument (not a topology, no HostName, a name twice, an unknown
// word in `allow`); where = the host or its place in `hosts`.
Result<GraphSpec> read_hwloc(std::span<const HostTopology> hosts, const HwlocOptions& options = {});

}  // namespace holon::resource
