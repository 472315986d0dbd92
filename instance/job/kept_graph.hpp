// kept_graph.hpp - a graph as the journal keeps it while its tasks are entered one after the other:
// what is needed to plan it again as it was planned when it was taken.
#pragma once
#include <cstdint>
#include <vector>

#include "msg/graph.hpp"
#include "transport/codec/fields.hpp"

namespace holon::instance {

struct KeptGraph {
  std::uint64_t first = 0;             // the number of the first task
  std::int64_t taken = 0;              // when it was submitted, in instance time
  msg::GraphRequest request;           // with its user
  std::vector<std::uint32_t> chosen;   // the spec of each task
  std::vector<std::uint32_t> refused;  // specs that could not be had when the graph was numbered
  HOLON_FIELDS(first, taken, request, chosen, refused)
};

}  // namespace holon::instance
