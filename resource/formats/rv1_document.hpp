// rv1_document.hpp - an Rv1 as its text says it, and what an allocation stands for; private to this
// folder.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/idset.hpp"
#include "base/result.hpp"
#include "resource/allocation.hpp"
#include "resource/graph/graph.hpp"

namespace holon::resource {

struct Rv1Document {
  struct Host {
    std::int32_t rank = 0;
    std::string name;
    std::vector<std::pair<std::string, Idset>> children;  // type -> ids
    Amount memory = 0;
  };
  std::vector<Host> hosts;  // in the order of R_lite
  std::map<std::string, Idset> properties;
  double starttime = 0;
  double expiration = 0;
  std::int64_t nslots = 0;
  std::string scheduling;  // JSON text or ""
  std::string attributes;  // JSON text or ""
};

// Reads an Rv1. Errors: invalid_argument with a JSON pointer (or line and column).
Result<Rv1Document> parse_rv1_document(std::string_view bytes);

struct Held {
  VertexId vertex;
  Amount amount = 0;
};

// The shares as vertices, and after each exclusive share with nothing below it listed all that is
// below it. Errors: not_found. O(shares x depth + what they stand for + slots / 8).
Result<std::vector<Held>> held_vertices(const ResourceGraph& graph, const Allocation& allocation);

// The rank of the vertex or, where only nodes have ranks, of the nearest vertex above it that has
// one; -1 if none has.
std::int32_t rank_of(const ResourceGraph& graph, VertexId v);

}  // namespace holon::resource
