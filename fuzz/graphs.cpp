// The readers of graphs: JGF, Rv1, GRUG. What is read is a graph or an error with its
// place; the JGF of a graph is that graph again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "resource/formats/readers.hpp"
#include "resource/formats/rv1.hpp"
#include "resource/formats/writers.hpp"
#include "resource/graph/graph.hpp"

namespace {

using namespace holon::resource;

void check(const holon::Result<GraphSpec>& spec) {
  if (!spec) {
    if (spec.error().where.empty()) std::abort();
    return;
  }
  const auto graph = ResourceGraph::build(*spec);
  if (!graph) {
    if (graph.error().where.empty()) std::abort();
    return;
  }
  if (graph->vertex_count() > 2000) return;  // it only costs time
  graph->check_invariants();
  const auto text = write_jgf(*graph);
  const auto again = read_jgf(text);
  if (!again || write_jgf(ResourceGraph::build(*again).value()) != text) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(read_jgf(text));
  check(read_rv1(text, Rv1Use::scheduling_first));
  if (const auto r = parse_rv1(text); r && parse_rv1(write_rv1(*r)) != *r) std::abort();
  check(read_grug(text));
  return 0;
}
