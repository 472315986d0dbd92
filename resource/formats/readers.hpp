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

#include "base/result.hpp"
#include "resource/graph/spec.hpp"

namespace holon::resource {

inline constexpr std::size_t kMaxVertices = std::size_t{1} << 24;

// "rack=2/node=4/socket=2/core=8,gpu=1": a tree on one line, for trying big machines on a small
// one. The root is cluster0; nodes are node0, node1, ... with ranks 0, 1, ...; memory and the like
// are one pool of that size, everything else that many vertices. Without a node all hangs below
// node0. Errors: invalid_argument, out_of_range (too many vertices); where = "column N", from 1.
Result<GraphSpec> read_shape(std::string_view text);

}  // namespace holon::resource
