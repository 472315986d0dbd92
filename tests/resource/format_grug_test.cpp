// GRUG recipes: unrolling, the oddities of its ids, other subsystems, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>

#include "resource/formats/readers.hpp"
#include "resource/graph/graph.hpp"

namespace holon::resource {
namespace {

// A GraphML document of these vertices and edges: {id, "key=value key=value"}, {source, target,
// ...}.
struct Part {
  const char* from;
  const char* to;  // nullptr: a vertex
  std::vector<std::pair<const char*, const char*>> data;
};

std::string graphml(const std::vector<Part>& parts) {
  std::string text = "<graphml>";
  for (const char* key : {"root", "size"}) {
    text +=
        std::string("<key id=\"") + key + "\" for=\"node\" attr.name=\"" + key +
        (key == std::string_view("size") ? "\" attr.type=\"long\"/>" : "\" attr.type=\"int\"/>");
  }
  for (const char* key : {"type", "basename", "unit", "subsystem"}) {
    text += std::string("<key id=\"") + key + "\" for=\"node\" attr.name=\"" + key +
            "\" attr.type=\"string\"/>";
  }
  for (const char* key : {"e_subsystem", "gen_method", "as_tgt_subsystem", "relation"}) {
    text += std::string("<key id=\"") + key + "\" for=\"edge\" attr.name=\"" + key +
            "\" attr.type=\"string\"/>";
  }
  for (const char* key :
       {"id_scope", "id_start", "id_stride", "multi_scale", "as_tgt_uplvl", "as_src_uplvl"}) {
    text += std::string("<key id=\"") + key + "\" for=\"edge\" attr.name=\"" + key +
            "\" attr.type=\"int\"/>";
  }
  text += "<graph id=\"G\" edgedefault=\"directed\">";
  for (const auto& part : parts) {
    text += part.to == nullptr
                ? std::string("<node id=\"") + part.from + "\">"
                : std::string("<edge source=\"") + part.from + "\" target=\"" + part.to + "\">";
    for (const auto& [key, value] : part.data) {
      text += std::string("<data key=\"") + key + "\">" + value + "</data>";
    }
    text += part.to == nullptr ? "</node>" : "</edge>";
  }
  return text + "</graph></graphml>";
}

Part vertex(const char* type, const char* root = "0", const char* subsystem = "containment") {
  return {type,
          nullptr,
          {{"type", type},
           {"basename", type},
           {"root", root},
           {"size", "1"},
           {"subsystem", subsystem}}};
}

std::vector<std::string> paths(const Result<GraphSpec>& spec) {
  if (!spec) return {to_string(spec.error())};
  const auto graph = ResourceGraph::build(*spec);
  if (!graph) return {to_string(graph.error())};
  graph->check_invariants();
  std::vector<std::pair<std::int64_t, std::string>> by_uniq;
  for (const auto v : graph->subtree(graph->root())) {
    by_uniq.emplace_back((*graph)[v].uniq_id, graph->path(v));
  }
  std::ranges::sort(by_uniq);
  std::vector<std::string> list;
  for (const auto& [uniq, path] : by_uniq) list.push_back(path);
  return list;
}

using Paths = std::vector<std::string>;

TEST(Grug, NumbersVerticesLevelByLevelOfTheRecipe) {
  const auto text = graphml({vertex("cluster", "1"),
                             vertex("node"),
                             vertex("core"),
                             {"cluster", "node", {{"multi_scale", "2"}}},
                             {"node", "core", {{"multi_scale", "2"}}}});
  EXPECT_EQ(paths(read_grug(text)),
            (Paths{"/cluster0", "/cluster0/node0", "/cluster0/node1", "/cluster0/node0/core0",
                   "/cluster0/node0/core1", "/cluster0/node1/core0", "/cluster0/node1/core1"}));
}

TEST(Grug, AnIdCountsWithinItsScope) {
  const auto text =
      graphml({vertex("cluster", "1"),
               vertex("node"),
               vertex("socket"),
               vertex("core"),
               {"cluster", "node", {{"multi_scale", "2"}}},
               {"node", "socket", {{"multi_scale", "2"}}},
               {"socket",
                "core",
                {{"multi_scale", "2"}, {"id_scope", "1"}, {"id_start", "1"}, {"id_stride", "3"}}}});
  const auto list = paths(read_grug(text));
  ASSERT_EQ(list.size(), 15u) << list[0];
  EXPECT_EQ(Paths(list.begin() + 7, list.begin() + 11),
            (Paths{"/cluster0/node0/socket0/core1", "/cluster0/node0/socket0/core4",
                   "/cluster0/node0/socket1/core7", "/cluster0/node0/socket1/core10"}));
}

TEST(Grug, AScopeBelowZeroGivesNamesWithoutNumber) {
  const auto text = graphml({vertex("cluster", "1"),
                             vertex("ssd"),
                             {"cluster", "ssd", {{"multi_scale", "1"}, {"id_scope", "-1"}}}});
  EXPECT_EQ(paths(read_grug(text)), (Paths{"/cluster0", "/cluster0/ssd"}));
}

TEST(Grug, OnlyNodesHaveRanks) {
  const auto text = graphml({vertex("cluster", "1"),
                             vertex("node"),
                             vertex("core"),
                             {"cluster", "node", {{"multi_scale", "3"}}},
                             {"node", "core", {{"multi_scale", "1"}}}});
  const auto graph = ResourceGraph::build(*read_grug(text));
  EXPECT_EQ(graph->ranks(), (std::vector<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(graph->by_rank(1).size(), 1u);
}

std::string powered() {
  return graphml({vertex("cluster", "1"),
                  vertex("rack"),
                  vertex("node"),
                  vertex("pdu"),
                  vertex("panel", "1", "power"),
                  {"cluster", "rack", {{"multi_scale", "2"}}},
                  {"rack", "node", {{"multi_scale", "2"}}},
                  {"rack", "pdu", {{"multi_scale", "1"}}},
                  {"panel",
                   "pdu",
                   {{"e_subsystem", "power"},
                    {"gen_method", "ASSOCIATE_IN"},
                    {"as_tgt_subsystem", "containment"}}}});
}

TEST(Grug, AssociatesWhatIsThereInAnotherSubsystem) {
  // The pdu is white when the panel's edge is seen only if the panel comes first in the recipe.
  auto text = graphml({vertex("cluster", "1"),
                       vertex("rack"),
                       vertex("node"),
                       vertex("nodes"),
                       vertex("panel", "1", "power"),
                       vertex("pdu2"),
                       {"cluster", "rack", {{"multi_scale", "2"}}},
                       {"rack", "node", {{"multi_scale", "2"}}},
                       {"panel", "pdu2", {{"multi_scale", "2"}, {"e_subsystem", "power"}}}});
  const auto graph = ResourceGraph::build(*read_grug(text));
  ASSERT_TRUE(graph) << to_string(graph.error());
  EXPECT_EQ(graph->aux_edges().size(), 2u);
  EXPECT_EQ(graph->vertex_count(), 10u);
  EXPECT_TRUE(graph->find_path("/panel0/pdu21"));
  // An edge to a vertex that was reached already is not taken, as in Fluxion.
  const auto once = ResourceGraph::build(*read_grug(powered()));
  ASSERT_TRUE(once) << to_string(once.error());
  EXPECT_TRUE(once->by_type("panel").empty());
}

TEST(Grug, MakesTheTreeOfAnotherSubsystemWhenItIsDominant) {
  auto text =
      graphml({vertex("cluster", "1"),
               vertex("node"),
               vertex("core"),
               vertex("panel", "1", "power"),
               {"host",
                nullptr,
                {{"type", "node"}, {"basename", "node"}, {"subsystem", "power"}, {"size", "1"}}},
               {"cluster", "node", {{"multi_scale", "2"}}},
               {"node", "core", {{"multi_scale", "1"}}},
               {"panel", "host", {{"e_subsystem", "power"}, {"gen_method", "ASSOCIATE_IN"}}}});
  const auto plain = ResourceGraph::build(*read_grug(text));
  ASSERT_TRUE(plain) << to_string(plain.error());
  EXPECT_EQ(plain->path(*plain->find_path("/cluster0/node1"), 1), "/panel0/node1");
  const auto power = ResourceGraph::build(*read_grug(text, {.dominant = "power"}));
  ASSERT_TRUE(power) << to_string(power.error());
  power->check_invariants();
  EXPECT_EQ(power->name(power->root()), "panel0");
  EXPECT_EQ(power->children(power->root()).size(), 2u);
  const auto node = *power->find_path("/panel0/node1");
  EXPECT_EQ(power->path(node, *power->find_subsystem("containment")), "/cluster0/node1");
  EXPECT_EQ((*power)[node].uniq_id, (*plain)[*plain->find_path("/cluster0/node1")].uniq_id);
}

TEST(Grug, RefusesWhatIsNoRecipe) {
  const auto edge = [](const char* key, const char* value) {
    return graphml({vertex("cluster", "1"), vertex("node"), {"cluster", "node", {{key, value}}}});
  };
  std::string deep = "<graphml>";
  for (int i = 0; i < 100000; ++i) deep += "<graph>";
  for (const auto& text :
       {std::string{}, std::string("<"), std::string("<graphml>"), deep, std::string("{}"),
        graphml({}), edge("multi_scale", "nan"), edge("multi_scale", "1000000000000000000"),
        edge("multi_scale", "99999999999999999999"), edge("gen_method", "DIVIDE"),
        edge("id_stride", "-7"), edge("id_start", "1000000000000000000"),
        graphml({vertex("cluster"), vertex("node"), {"cluster", "node", {}}}),
        graphml({vertex("cluster", "1"), {"cluster", "nowhere", {}}})}) {
    const auto spec = read_grug(text);
    const auto graph =
        spec ? ResourceGraph::build(*spec) : Result<ResourceGraph>(tl::unexpected(spec.error()));
    ASSERT_FALSE(graph) << text.substr(0, 900);
    EXPECT_FALSE(graph.error().where.empty()) << to_string(graph.error());
  }
  const auto squared = graphml({vertex("cluster", "1"),
                                vertex("node"),
                                vertex("core"),
                                {"cluster", "node", {{"multi_scale", "100000"}}},
                                {"node", "core", {{"multi_scale", "100000"}}}});
  EXPECT_EQ(read_grug(squared).error().code, Errc::out_of_range);
}

}  // namespace
}  // namespace holon::resource
