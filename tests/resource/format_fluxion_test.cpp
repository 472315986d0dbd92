// Against Fluxion's own data, read where it lies: the same graph from a recipe and from the JGF
// that Fluxion made of it; and every R that it emitted, read back and written again, byte for byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "places.hpp"  // written by CMake
#include "resource/formats/readers.hpp"
#include "resource/formats/writers.hpp"
#include "resource/graph/graph.hpp"

namespace holon::resource {
namespace {

const std::filesystem::path kShared = HOLON_SOURCE_DIR "/../shared/fluxion-cases";

std::string slurp(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// uniq_id -> what identifies a vertex; not its rank: the JGF files give one to what is below a
// node, recipes do not.
std::map<std::int64_t, std::string> inventory(const ResourceGraph& graph) {
  std::map<std::int64_t, std::string> lines;
  for (const auto v : graph.in_preorder()) {
    const auto& data = graph[v];
    auto line = graph.type_name(v) + " " + graph.basename(v) + " " + graph.name(v) + " id " +
                std::to_string(data.id) + " size " + std::to_string(data.size);
    for (std::uint32_t s = 0; s < graph.subsystems().size(); ++s) line += " " + graph.path(v, s);
    lines[data.uniq_id] = line;
  }
  return lines;
}

TEST(Fluxion, ARecipeGivesTheGraphThatFluxionMadeOfIt) {
  if (!std::filesystem::exists(kShared)) GTEST_SKIP() << "no " << kShared;
  for (const char* name : {"tiny", "power"}) {
    for (const char* dominant : {"containment", "power"}) {
      if (std::string_view(name) == "tiny" && std::string_view(dominant) == "power") continue;
      const GraphOptions options{.dominant = dominant, .as_fluxion = false};
      const auto data = kShared / "data/resource";
      const auto grug =
          read_grug(slurp(data / "grugs" / (name + std::string(".graphml"))), options);
      const auto jgf = read_jgf(slurp(data / "jgfs" / (name + std::string(".json"))), options);
      ASSERT_TRUE(grug) << to_string(grug.error());
      ASSERT_TRUE(jgf) << to_string(jgf.error());
      const auto a = ResourceGraph::build(*grug);
      const auto b = ResourceGraph::build(*jgf);
      ASSERT_TRUE(a) << to_string(a.error());
      ASSERT_TRUE(b) << to_string(b.error());
      const auto lines = inventory(*a);
      for (const auto& [uniq, line] : inventory(*b)) {
        ASSERT_TRUE(lines.contains(uniq)) << name << " " << dominant << ": " << line;
        ASSERT_EQ(lines.at(uniq), line) << name << " " << dominant << " " << uniq;
      }
      EXPECT_EQ(a->vertex_count(), b->vertex_count());
      EXPECT_EQ(a->edge_count(), b->edge_count());
    }
  }
}

TEST(Fluxion, EveryRecipeInItsDataIsRead) {
  if (!std::filesystem::exists(kShared)) GTEST_SKIP() << "no " << kShared;
  for (const auto& file :
       std::filesystem::recursive_directory_iterator(kShared / "data/resource/grugs")) {
    if (file.path().extension() != ".graphml") continue;
    const auto spec = read_grug(slurp(file));
    ASSERT_TRUE(spec) << file << to_string(spec.error());
    const auto graph = ResourceGraph::build(*spec);
    ASSERT_TRUE(graph) << file << to_string(graph.error());
  }
}

struct Case {
  std::string graph, reader = "grug", dominant = "containment";
  std::vector<std::string> allow;
};

Case read_args(const std::filesystem::path& dir) {
  Case c;
  std::istringstream lines(slurp(dir / "args"));
  for (std::string line, value; std::getline(lines, line);) {
    if (line != "-L" && line != "-f" && line != "-S" && line != "-W") continue;
    std::getline(lines, value);
    if (line == "-L") c.graph = value;
    if (line == "-f") c.reader = value;
    if (line == "-S" && value == "PA") c.dominant = "power";
    std::istringstream words(line == "-W" ? value : "");
    for (std::string word; std::getline(words, word, ',');) c.allow.push_back(word);
  }
  return c;
}

Result<ResourceGraph> load(const std::filesystem::path& dir, const Case& c) {
  const auto own = dir / "files" / c.graph;
  const auto bytes = slurp(std::filesystem::exists(own) ? own : kShared / c.graph);
  const GraphOptions options{.dominant = c.dominant, .as_fluxion = true};
  const HostTopology host{bytes, -1, ""};
  auto spec = c.reader == "grug"            ? read_grug(bytes, options)
              : c.reader == "hwloc"         ? read_hwloc(std::span(&host, 1), {c.allow, true})
              : c.reader.starts_with("jgf") ? read_jgf(bytes, options)
                                            : read_rv1(bytes, Rv1Use::execution_only, options);
  if (!spec) return tl::unexpected(spec.error());
  return ResourceGraph::build(*spec);
}

TEST(Fluxion, EveryRInItsOutputsComesBackToTheByte) {
  if (!std::filesystem::exists(kShared)) GTEST_SKIP() << "no " << kShared;
  int compared = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kShared / "cases")) {
    const auto name = entry.path().filename();
    if (name != "expected.out" && name != "expected.stdout") continue;
    const auto dir = entry.path().parent_path();
    const auto text = slurp(entry);
    if (text.find("{\"graph\"") == text.npos) continue;
    if (slurp(dir / "commands.in").find("attach") != std::string::npos) continue;  // it grows
    const auto c = read_args(dir);
    const auto graph = load(dir, c);
    ASSERT_TRUE(graph) << dir << to_string(graph.error());
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("{\"graph\"")) continue;
      const bool shorthand = line.find("jgf_shorthand") != line.npos;
      const auto r = read_allocation_jgf(*graph, line, shorthand);
      ASSERT_TRUE(r) << dir << to_string(r.error());
      const auto again =
          write_allocation(shorthand ? WriteFormat::jgf_shorthand : WriteFormat::jgf, *graph, *r);
      ASSERT_TRUE(again) << dir << to_string(again.error());
      EXPECT_EQ(*again, line + "\n") << dir;
      ++compared;
    }
  }
  EXPECT_GT(compared, 50);
}

}  // namespace
}  // namespace holon::resource
