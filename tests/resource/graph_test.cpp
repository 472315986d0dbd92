// ResourceGraph: what a spec becomes, what is refused, and that growing and shrinking keep every
// index right.
#include "resource/graph/graph.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace holon::resource {
namespace {

constexpr auto kNone = GraphSpec::kNone;

// cluster0 > `nodes` nodes > 2 sockets > 2 cores; ranks count up from `first_rank`.
GraphSpec small_cluster(int nodes, int first_rank = 0) {
  GraphSpec spec;
  const auto root = spec.add("cluster", 0, kNone);
  for (int n = first_rank; n < first_rank + nodes; ++n) {
    const auto node = spec.add("node", n, root, n);
    for (int s = 0; s < 2; ++s) {
      const auto socket = spec.add("socket", s, node, n);
      for (int c = 0; c < 2; ++c) spec.add("core", 2 * s + c, socket, n);
    }
  }
  return spec;
}

std::vector<std::string> paths_of(const ResourceGraph& graph, std::span<const VertexId> vertices) {
  std::vector<std::string> paths;
  for (const auto v : vertices) paths.push_back(graph.path(v));
  return paths;
}

ResourceGraph graph_of(const GraphSpec& spec) {
  auto graph = ResourceGraph::build(spec);
  EXPECT_TRUE(graph) << to_string(graph.error());
  graph->check_invariants();
  return *std::move(graph);
}

TEST(ResourceGraph, NumbersATreeInPreOrderAndKnowsEachSubtree) {
  const auto graph = graph_of(small_cluster(2));
  EXPECT_EQ(graph.vertex_count(), 15u);
  EXPECT_EQ(graph.edge_count(), 14u);
  const auto socket = graph.find_path("/cluster0/node1/socket0");
  ASSERT_TRUE(socket);
  EXPECT_EQ(paths_of(graph, graph.subtree(*socket)),
            (std::vector<std::string>{"/cluster0/node1/socket0", "/cluster0/node1/socket0/core0",
                                      "/cluster0/node1/socket0/core1"}));
  EXPECT_EQ(graph.depth(*socket), 2u);
  EXPECT_TRUE(graph.within(*socket, graph.root()));
  EXPECT_FALSE(graph.within(graph.root(), *socket));
}

TEST(ResourceGraph, FindsByPathTypeRankHostAndUniqId) {
  const auto graph = graph_of(small_cluster(3));
  for (const auto v : graph.in_preorder()) {
    EXPECT_EQ(graph.find_path(graph.path(v)), v);
    EXPECT_EQ(graph.find_path(graph.path(v), graph[v].rank), v);
    EXPECT_EQ(graph.find_path(graph.path(v), 99), std::nullopt);
    EXPECT_EQ(graph.find_uniq(graph[v].uniq_id), v);
  }
  EXPECT_EQ(graph.by_type("core").size(), 12u);
  EXPECT_TRUE(graph.by_type("gpu").empty());
  EXPECT_EQ(graph.by_rank(1).size(), 7u);
  EXPECT_EQ(graph.name(graph.by_rank(1).front()), "node1");
  EXPECT_EQ(graph.ranks(), (std::vector<std::int32_t>{0, 1, 2}));
  ASSERT_EQ(graph.by_host("node2").size(), 1u);
  EXPECT_TRUE(graph.by_host("socket0").empty());
  for (const char* nowhere : {"", "/", "cluster0", "/cluster0//node1", "/cluster1",
                              "/cluster0/node3", "/cluster0/node01", "/cluster0/node1/core0/x"}) {
    EXPECT_EQ(graph.find_path(nowhere), std::nullopt) << nowhere;
  }
}

TEST(ResourceGraph, TellsSiblingsOfOneNameApartByRank) {
  GraphSpec spec;
  const auto root = spec.add("cluster", 0, kNone);
  for (int rank = 0; rank < 3; ++rank) {
    const auto node = spec.add("node", 0, root, rank);
    spec.rows[node].name = spec.words.names.intern("fluke");
    spec.add("core", 0, node, rank);
  }
  const auto graph = graph_of(spec);
  EXPECT_EQ(graph.by_host("fluke").size(), 3u);
  const auto core = graph.find_path("/cluster0/fluke/core0", 2);
  ASSERT_TRUE(core);
  EXPECT_EQ(graph[*core].rank, 2);
}

TEST(ResourceGraph, GivesPathsInOtherSubsystems) {
  auto spec = small_cluster(2);
  spec.subsystems.push_back("power");
  const auto panel = spec.add("powerpanel", 0, kNone);
  const auto pdu = spec.add("pdu", 1, kNone);
  spec.edges = {{1, panel, pdu}, {1, pdu, 1}, {1, pdu, 8}};
  const auto graph = graph_of(spec);
  EXPECT_EQ(graph.edge_count(), 17u);
  EXPECT_EQ(graph.path(VertexId{8}, 1), "/powerpanel0/pdu1/node1");
  EXPECT_EQ(graph.path(VertexId{8}), "/cluster0/node1");
  EXPECT_EQ(graph.path(VertexId{2}, 1), "");
  EXPECT_EQ(graph.path(VertexId{pdu}), "");
  EXPECT_EQ(graph.find_path("/powerpanel0/pdu1/node1"), VertexId{8});
  EXPECT_EQ(graph.find_path("/powerpanel0/pdu1/node7"), std::nullopt);
  ASSERT_EQ(graph.aux_above(VertexId{8}).size(), 1u);
  EXPECT_EQ(graph.aux_above(VertexId{8})[0].source, VertexId{pdu});
}

struct Refused {
  const char* name;
  void (*spoil)(GraphSpec&);
  Errc code;
  const char* what;
};

class RefusesSpec : public testing::TestWithParam<Refused> {};

TEST_P(RefusesSpec, WithThePlace) {
  auto spec = small_cluster(1);
  GetParam().spoil(spec);
  const auto graph = ResourceGraph::build(spec);
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, GetParam().code);
  EXPECT_NE(to_string(graph.error()).find(GetParam().what), std::string::npos)
      << to_string(graph.error());
  EXPECT_FALSE(graph.error().where.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Graph, RefusesSpec,
    testing::Values(
        Refused{"NoVertices", [](GraphSpec& s) { s = {}; }, Errc::invalid_argument, "no root"},
        Refused{"TwoRoots", [](GraphSpec& s) { s.add("cluster", 1, kNone); },
                Errc::invalid_argument, "second root"},
        Refused{"ParentAfterChild", [](GraphSpec& s) { s.rows[2].parent = 5; },
                Errc::invalid_argument, "not before it"},
        Refused{"NegativeSize", [](GraphSpec& s) { s.rows[3].size = -1; }, Errc::invalid_argument,
                "size -1"},
        Refused{"UniqIdTwice", [](GraphSpec& s) { s.rows[3].uniq_id = s.rows[4].uniq_id = 9; },
                Errc::invalid_argument, "uniq_id 9"},
        Refused{"UniqIdTooLarge", [](GraphSpec& s) { s.rows[3].uniq_id = INT64_MAX; },
                Errc::out_of_range, "uniq_id"},
        Refused{"MoreUnitsThanCanBeAddedUp",
                [](GraphSpec& s) { s.rows[3].size = s.rows[4].size = Amount{9} << 59; },
                Errc::out_of_range, "sizes"},
        Refused{"TooManySubsystems", [](GraphSpec& s) { s.subsystems.resize(65, "power"); },
                Errc::invalid_argument, "subsystems"},
        Refused{"SameSiblings", [](GraphSpec& s) { s.rows[4].id = s.rows[3].id; },
                Errc::invalid_argument, "siblings"},
        Refused{"SlashInName", [](GraphSpec& s) { s.rows[1].name = s.words.names.intern("a/b"); },
                Errc::invalid_argument, "'/'"},
        Refused{"NotUtf8", [](GraphSpec& s) { s.rows[1].name = s.words.names.intern("\xff"); },
                Errc::invalid_argument, "UTF-8"},
        Refused{"TooDeep",
                [](GraphSpec& s) {
                  for (std::uint32_t i = 0; i < 100000; ++i) {
                    s.add("group", 0, static_cast<std::uint32_t>(s.rows.size() - 1));
                  }
                },
                Errc::out_of_range, "levels"},
        Refused{"CycleInASubsystem",
                [](GraphSpec& s) {
                  s.subsystems.push_back("power");
                  s.edges = {{1, 2, 3}, {1, 3, 4}, {1, 4, 2}};
                },
                Errc::invalid_argument, "cycle"},
        Refused{"EdgeToNowhere",
                [](GraphSpec& s) {
                  s.subsystems.push_back("power");
                  s.edges = {{1, 2, 300}};
                },
                Errc::invalid_argument, "edge"}),
    [](const auto& test) { return test.param.name; });

TEST(ResourceGraph, GrowsByWhatIsNewAndKeepsWhatIsHere) {
  auto graph = graph_of(small_cluster(2));
  const auto before = graph.shape_version();
  auto part = small_cluster(2, 1);  // node1 is here already, node2 is new
  const auto added = graph.grow(part);
  ASSERT_TRUE(added) << to_string(added.error());
  graph.check_invariants();
  EXPECT_EQ(added->size(), 7u);
  EXPECT_EQ(graph.path(added->front()), "/cluster0/node2");
  EXPECT_EQ(graph.vertex_count(), 22u);
  EXPECT_GT(graph.shape_version(), before);
}

TEST(ResourceGraph, KeepsAUniqIdThatIsFreeWhenItGrows) {
  GraphSpec spec;
  spec.rows[spec.add("cluster", 0, GraphSpec::kNone)].uniq_id = 100;
  auto graph = ResourceGraph::build(spec).value();
  spec.rows[spec.add("node", 0, 0, 0)].uniq_id = 7;    // free, below the largest
  spec.rows[spec.add("node", 1, 0, 1)].uniq_id = 101;  // free, above it
  const auto added = graph.grow(spec).value();
  ASSERT_EQ(added.size(), 2U);
  EXPECT_EQ(graph[added[0]].uniq_id, 7);
  EXPECT_EQ(graph[added[1]].uniq_id, 101);
  graph.check_invariants();
}

TEST(ResourceGraph, RefusesAPartOfAnotherRootAndStaysAsItWas) {
  auto graph = graph_of(small_cluster(2));
  auto part = small_cluster(3);
  part.rows[0].id = 7;
  EXPECT_FALSE(graph.grow(part));
  part = small_cluster(3);
  part.rows[1].type = part.words.types.intern("blade");
  EXPECT_FALSE(graph.grow(part));
  graph.check_invariants();
  EXPECT_EQ(graph.vertex_count(), 15u);
}

// Each of the two alone is sound.
TEST(ResourceGraph, RefusesAPartThatMakesACycleWithWhatIsHereAndStaysAsItWas) {
  auto spec = small_cluster(2);
  spec.subsystems.push_back("power");
  spec.edges = {{1, 1, 8}};  // node0 feeds node1
  auto graph = graph_of(spec);
  auto part = small_cluster(3);
  part.subsystems.push_back("power");
  part.edges = {{1, 8, 15}, {1, 15, 1}};  // node1 feeds node2, and node2 feeds node0
  const auto added = graph.grow(part);
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().where, "power");
  EXPECT_EQ(graph.vertex_count(), 15u);
  EXPECT_EQ(graph.path(VertexId{8}, 1), "/node0/node1");
  part.edges.pop_back();
  ASSERT_TRUE(graph.grow(part));
  EXPECT_EQ(graph.path(*graph.find_path("/cluster0/node2"), 1), "/node0/node1/node2");
}

TEST(ResourceGraph, RefusesToGrowBeyondWhatCanBeCounted) {
  auto graph = graph_of(small_cluster(1));
  auto part = small_cluster(2);
  part.rows.back().size = kMaxUnits - 20;
  ASSERT_TRUE(graph.grow(part));
  part = small_cluster(3);
  part.rows.back().size = 10;
  EXPECT_EQ(graph.grow(part).error().code, Errc::out_of_range);
  EXPECT_EQ(graph.vertex_count(), 15u);

  graph = graph_of(small_cluster(1));
  for (int i = 0; i < 64; ++i) {
    part = small_cluster(3 + i);
    part.subsystems.push_back("s" + std::to_string(i));
    part.edges = {{1, 1, static_cast<std::uint32_t>(part.rows.size() - 7)}};
    EXPECT_EQ(graph.grow(part).has_value(), i < 63) << i;
  }
  graph.check_invariants();
}

TEST(ResourceGraph, ShrinksByPathAndByRankAndNeverReusesAUniqId) {
  auto graph = graph_of(small_cluster(3));
  const auto node = *graph.find_path("/cluster0/node0");
  const auto uniq = graph[node].uniq_id;
  ASSERT_TRUE(graph.shrink(node));
  graph.check_invariants();
  EXPECT_EQ(graph.find_path("/cluster0/node0"), std::nullopt);
  EXPECT_EQ(graph.find_uniq(uniq), std::nullopt);
  EXPECT_FALSE(graph.shrink(node));
  EXPECT_FALSE(graph.shrink(graph.root()));
  const std::vector<std::int32_t> ranks{1, 2};
  ASSERT_TRUE(graph.shrink_ranks(ranks));
  graph.check_invariants();
  EXPECT_EQ(graph.vertex_count(), 1u);
  EXPECT_FALSE(graph.shrink_ranks(ranks));
  ASSERT_TRUE(graph.grow(small_cluster(1)));
  graph.check_invariants();
  EXPECT_NE(graph[*graph.find_path("/cluster0/node0")].uniq_id, uniq);
}

// A core that goes and comes, as in a grant that moves, is the same core.
TEST(ResourceGraph, WhatComesBackUnderItsNumberIsWhatItWas) {
  auto spec = small_cluster(2);
  for (std::size_t i = 0; i < spec.rows.size(); ++i)
    spec.rows[i].uniq_id = static_cast<std::int64_t>(100 + i);
  auto graph = graph_of(spec);
  const auto slots = graph.slots();
  const auto node = *graph.find_path("/cluster0/node1");
  const auto below = graph.subtree(node).size();
  const auto uniq = graph[node].uniq_id;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(graph.shrink(node));
    graph.check_invariants();
    EXPECT_EQ(graph.find_uniq(uniq), std::nullopt);
    const auto added = graph.grow(spec);
    ASSERT_TRUE(added) << added.error().what;
    EXPECT_EQ(added->size(), below);
    graph.check_invariants();
    EXPECT_EQ(graph.find_uniq(uniq), node);
    EXPECT_EQ(graph.find_path("/cluster0/node1"), node);
    EXPECT_EQ(graph.slots(), slots) << "nothing is left behind by each turn";
  }
  // Another node under that number is another node.
  ASSERT_TRUE(graph.shrink(node));
  for (auto& row : spec.rows)
    if (row.rank == 1) row.rank = 7;
  ASSERT_TRUE(graph.grow(spec));
  graph.check_invariants();
  EXPECT_NE(*graph.find_path("/cluster0/node1"), node);
  EXPECT_NE(graph[*graph.find_path("/cluster0/node1")].uniq_id, uniq);
}

TEST(ResourceGraph, TakesAwayWhatHungOnARemovedNodeInOtherSubsystems) {
  auto spec = small_cluster(2);
  spec.subsystems.push_back("power");
  const auto pdu = spec.add("pdu", 0, kNone);
  const auto draw = spec.add("power", 0, kNone);
  spec.edges = {{1, pdu, 1}, {1, pdu, 8}, {1, 8, draw}};
  auto graph = graph_of(spec);
  ASSERT_TRUE(graph.shrink(VertexId{8}));
  graph.check_invariants();
  EXPECT_FALSE(graph[VertexId{draw}].alive);
  EXPECT_TRUE(graph[VertexId{pdu}].alive);
  EXPECT_EQ(graph.aux_edges().size(), 1u);
}

TEST(ResourceGraph, KeepsPropertiesSortedAndAnswersThem) {
  auto spec = small_cluster(1);
  spec.properties = {{1, "z", ""}, {1, "amd", "mi300"}, {1, "m", "1"}};
  auto graph = graph_of(spec);
  const VertexId node{1};
  std::vector<std::string> keys;
  for (const auto& p : graph.properties(node)) keys.push_back(graph.words().names.text(p.key));
  EXPECT_EQ(keys, (std::vector<std::string>{"amd", "m", "z"}));
  EXPECT_EQ(graph.property(node, "amd"), "mi300");
  EXPECT_EQ(graph.property(node, "z"), "");
  EXPECT_EQ(graph.property(node, "core"), std::nullopt);
  graph.set_property(node, "amd", "mi250");
  EXPECT_EQ(graph.property(node, "amd"), "mi250");
  EXPECT_TRUE(graph.remove_property(node, "amd"));
  EXPECT_FALSE(graph.remove_property(node, "amd"));
}

TEST(ResourceGraph, ACopyIsItsOwn) {
  auto spec = small_cluster(2);
  spec.subsystems.push_back("power");
  spec.edges = {{1, spec.add("pdu", 0, kNone), 1}};
  const auto graph = graph_of(spec);
  auto copy = graph;
  copy.check_invariants();
  ASSERT_TRUE(copy.shrink(*copy.find_path("/cluster0/node1")));
  copy.set_up(copy.root(), false);
  graph.check_invariants();
  EXPECT_EQ(graph.vertex_count(), 16u);
  EXPECT_TRUE(graph[graph.root()].up);
}

// A random tree grows and shrinks; a set of paths is the model.
RC_GTEST_PROP(ResourceGraphProperty, GrowAndShrinkAgreeWithASetOfPaths, ()) {
  auto graph = graph_of(small_cluster(1));
  std::set<std::string> model;
  for (const auto v : graph.in_preorder()) model.insert(graph.path(v));
  const auto steps = *rc::gen::inRange(1, 12);
  for (int i = 0; i < steps; ++i) {
    if (*rc::gen::arbitrary<bool>()) {
      const auto part = small_cluster(*rc::gen::inRange(1, 3), *rc::gen::inRange(0, 6));
      const auto before = graph.vertex_count();
      const auto added = graph.grow(part);
      RC_ASSERT(added.has_value());
      RC_ASSERT(graph.vertex_count() == before + added->size());
      const auto whole = graph_of(part);
      for (const auto v : whole.in_preorder()) model.insert(whole.path(v));
    } else if (graph.vertex_count() > 1) {
      const auto at =
          *rc::gen::inRange<std::uint32_t>(1, static_cast<std::uint32_t>(graph.vertex_count()));
      const auto path = graph.path(graph.at(at));
      RC_ASSERT(graph.shrink(graph.at(at)).has_value());
      std::erase_if(model,
                    [&](const std::string& p) { return p == path || p.starts_with(path + "/"); });
    }
    graph.check_invariants();
    std::set<std::string> now;
    for (const auto v : graph.in_preorder()) {
      now.insert(graph.path(v));
      RC_ASSERT(graph.find_path(graph.path(v)) == v);
    }
    RC_ASSERT(now == model);
  }
}

}  // namespace
}  // namespace holon::resource
