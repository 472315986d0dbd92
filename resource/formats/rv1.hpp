// rv1.hpp - Rv1 (RFC 20): the resource set of a job or an instance by rank, as a value and as JSON.
//
// This is what leaves the graph: the agents start tasks from it, a child's ranks are its hosts in
// this order. Core and GPU ids are the logical indexes of their host, so that whoever binds to them
// needs no graph.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/idset.hpp"
#include "base/result.hpp"
#include "resource/allocation.hpp"

namespace holon::resource {

class ResourceGraph;

struct Rv1 {
  struct Host {
    std::int32_t rank = 0;
    std::string name;
    Idset cores;  // logical indexes on the host
    Idset gpus;
    Amount memory = 0;  // units of the memory pools (GiB), 0: none was asked for

    bool operator==(const Host&) const = default;
  };

  std::vector<Host> hosts;                  // by rank, ascending, each once
  std::map<std::string, Idset> properties;  // "name" or "name=value" -> ranks
  double starttime = 0;                     // seconds since the Unix epoch; 0: not set
  double expiration = 0;                    // likewise
  std::int64_t nslots = 0;                  // slots of an allocation; 0: not said (an inventory)
  std::string scheduling;                   // JSON text (a JGF), "" if none
  std::string attributes;                   // JSON text, "" if none

  bool operator==(const Rv1&) const = default;
};

// Reads an Rv1. Errors: invalid_argument with a JSON pointer (or line and column): another version,
// a rank twice, a nodelist that is not as long as there are ranks, a bad core id, ...
Result<Rv1> parse_rv1(std::string_view bytes);

// Writes an Rv1; hosts with the same children share one R_lite entry. parse_rv1(write_rv1(r)) == r.
// Memory stands under execution as "x-memory": {"0-3": 16}, which others ignore.
std::string write_rv1(const Rv1& r);

// The resources that `allocation` holds, by rank. A vertex held exclusively with nothing below it
// listed stands for all that is below it. starttime and expiration are left at 0: the core does not
// know the caller's clock. Errors: not_found (a uniq_id that is not in the graph). O(shares + what
// they stand for).
Result<Rv1> to_rv1(const ResourceGraph& graph, const Allocation& allocation);
// The whole inventory, with properties.
Rv1 to_rv1(const ResourceGraph& graph);

}  // namespace holon::resource
