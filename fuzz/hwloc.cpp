// hwloc XML. Run it with ASAN_OPTIONS=detect_leaks=0: libhwloc 2.9 loses some objects when it gives
// up on a malformed topology in the middle.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "resource/formats/readers.hpp"
#include "resource/graph/graph.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace holon::resource;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const bool as_fluxion : {false, true}) {
    const HostTopology host{text, 0, "n0"};
    const auto spec = read_hwloc(std::span(&host, 1), {.allow = {}, .as_fluxion = as_fluxion});
    if (!spec) {
      if (spec.error().where.empty()) std::abort();
    } else if (const auto graph = ResourceGraph::build(*spec)) {
      graph->check_invariants();
    }
  }
  return 0;
}
