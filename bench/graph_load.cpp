// How long a graph takes to load, and what it weighs: graph_load RECIPE.graphml|GRAPH.json|R.json
// [...]
//
// Prints, for each file, vertices, seconds (read, build) and the growth of resident memory in bytes
// a vertex.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "resource/formats/readers.hpp"
#include "resource/graph/graph.hpp"

namespace {

double resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) * 1024;
  }
  return 0;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

holon::Result<holon::resource::GraphSpec> read(const std::string& name, const std::string& bytes) {
  using namespace holon::resource;
  if (name.ends_with(".graphml")) return read_grug(bytes);
  if (bytes.find("R_lite") != std::string::npos) return read_rv1(bytes, Rv1Use::scheduling_first);
  return read_jgf(bytes);
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    std::ifstream file(name);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    const auto before = resident_bytes();
    const auto start = std::chrono::steady_clock::now();
    auto spec = std::make_unique<holon::Result<holon::resource::GraphSpec>>(read(name, bytes));
    const auto read_seconds = seconds_since(start);
    if (!*spec) {
      std::fprintf(stderr, "%s: %s\n", name.c_str(), to_string(spec->error()).c_str());
      return 1;
    }
    const auto graph = holon::resource::ResourceGraph::build(**spec);
    const auto all_seconds = seconds_since(start);
    spec.reset();
    if (!graph) return 1;
    const auto vertices = static_cast<double>(graph->vertex_count());
    std::printf("%s: %.0f vertices, %.3f s (read %.3f, build %.3f), %.0f B a vertex\n",
                name.c_str(), vertices, all_seconds, read_seconds, all_seconds - read_seconds,
                (resident_bytes() - before) / vertices);
  }
}
