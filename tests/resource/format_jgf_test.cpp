// JGF in and out, R of a job in JGF and Rv1, grants.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "resource/formats/readers.hpp"
#include "resource/formats/rv1.hpp"
#include "resource/formats/writers.hpp"
#include "resource/graph/graph.hpp"

namespace holon::resource {
namespace {

ResourceGraph built(const Result<GraphSpec>& spec) {
  EXPECT_TRUE(spec) << to_string(spec.error());
  auto graph = ResourceGraph::build(*spec);
  EXPECT_TRUE(graph) << to_string(graph.error());
  graph->check_invariants();
  return *std::move(graph);
}

// The shares of what stands at these paths, children before parents, ancestors passed through.
Allocation held(const ResourceGraph& graph, const std::vector<std::string>& paths) {
  Allocation allocation;
  std::vector<VertexId> above;
  for (const auto& path : paths) {
    const auto v = graph.find_path(path);
    EXPECT_TRUE(v) << path;
    allocation.shares.push_back({graph[*v].uniq_id, graph[*v].size, true});
    for (auto a = graph.parent(*v); a != kNoVertex; a = graph.parent(a)) {
      if (std::ranges::find(above, a) == above.end()) above.push_back(a);
    }
  }
  std::ranges::sort(above, std::greater{}, [&](VertexId v) { return graph.depth(v); });
  for (const auto v : above) allocation.shares.push_back({graph[v].uniq_id, 0, false});
  return allocation;
}

const char* const kLean = R"({"graph": {"nodes": [
  {"id": "0", "metadata": {"type": "cluster", "name": "tin", "paths": {"containment": "/tin"}}},
  {"id": "1", "metadata": {"type": "node", "name": "tin7", "rank": 0, "properties": {"amd": ""},
                           "x-note": [1, 2], "status": 1, "paths": {"containment": "/tin/tin7"}}},
  {"id": "9", "metadata": {"type": "memory", "id": 0, "rank": 0, "size": 16, "unit": "GiB",
                           "paths": {"containment": "/tin/tin7/memory0"}}},
  {"id": "4", "metadata": {"type": "core", "id": 3, "rank": 0,
                           "paths": {"containment": "/tin/tin7/core3"}}}],
 "edges": [{"source": "0", "target": "1"}, {"source": "1", "target": "4"},
           {"source": "1", "target": "9"}]}})";

TEST(Jgf, FillsInTheDefaultsOfTheLeanDialect) {
  const auto graph = built(read_jgf(kLean));
  ASSERT_EQ(graph.vertex_count(), 4u);
  const auto node = *graph.find_path("/tin/tin7");
  EXPECT_EQ(graph[node].id, 7);  // the digits at the end of its name
  EXPECT_EQ(graph.basename(node), "node");
  EXPECT_EQ(graph[node].uniq_id, 1);
  EXPECT_FALSE(graph[node].up);
  EXPECT_EQ(graph.property(node, "amd"), "");
  EXPECT_EQ(graph.extensions(node), R"({"x-note":[1,2]})");
  EXPECT_EQ(graph[graph.root()].rank, -1);
  // children stand in the order of their edges
  EXPECT_EQ(graph.name(graph.children(node)[0]), "core3");
  EXPECT_EQ(graph[graph.children(node)[1]].size, 16);
  EXPECT_EQ(graph.unit(graph.children(node)[1]), "GiB");
}

TEST(Jgf, ReadsTheOlderDialectWithRelationMaps) {
  const auto graph = built(read_jgf(R"({"graph": {"nodes": [
    {"id": "0", "metadata": {"type": "cluster", "basename": "tiny", "name": "tiny0", "id": 0,
      "uniq_id": 10, "rank": -1, "exclusive": false, "unit": "", "size": 1,
      "paths": {"containment": "/tiny0"}}},
    {"id": "1", "metadata": {"type": "node", "basename": "node", "name": "node0", "id": 0,
      "uniq_id": 11, "rank": 0, "exclusive": false, "unit": "", "size": 1,
      "paths": {"containment": "/tiny0/node0"}}}],
    "edges": [{"source": "0", "target": "1", "metadata": {"name": {"containment": "contains"}}}]}})"));
  EXPECT_EQ(graph[*graph.find_path("/tiny0/node0")].uniq_id, 11);
}

TEST(Jgf, TheWriterGivesBackWhatTheReaderRead) {
  const auto graph = built(read_jgf(kLean));
  const auto text = write_jgf(graph);
  EXPECT_EQ(write_jgf(built(read_jgf(text))), text);
}

TEST(Jgf, KeepsWhatIsDrained) {
  auto graph = built(read_jgf(kLean));
  const auto node = *graph.find_path("/tin/tin7");
  graph.set_up(node, true);
  graph.set_drained(node, true);
  const auto again = built(read_jgf(write_jgf(graph)));
  EXPECT_TRUE(again[node].up);
  EXPECT_TRUE(again[node].drained);
  EXPECT_FALSE(again[again.root()].drained);
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const auto at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Jgf, SaysWhereADocumentIsWrong) {
  struct Bad {
    const char* from;
    const char* to;
    const char* where;
    const char* what;
  };
  const Bad cases[] = {
      {"{\"graph\"", "{\"grape\"", "/", "'graph' is missing"},
      {"\"nodes\"", "\"nods\"", "/graph", "'nodes' is missing"},
      {"\"edges\"", "\"edge\"", "/graph", "'edges' is missing"},
      {"\"type\": \"core\"", "\"typ\": \"core\"", "/graph/nodes/3/metadata", "'type' is missing"},
      {"\"size\": 16", "\"size\": -1", "/graph/nodes/2/metadata/size", "whole number"},
      {"\"size\": 16", "\"size\": 1.5", "/graph/nodes/2/metadata/size", "1.5"},
      {"\"size\": 16", "\"size\": 1e18", "/graph/nodes/2/metadata/size", "whole number"},
      {"\"size\": 16", "\"size\": NaN", "line 5", "not JSON"},
      {"\"rank\": 0", "\"rank\": 4000000000", "/graph/nodes/1/metadata/rank", "whole number"},
      {"\"id\": \"9\"", "\"id\": \"1\"", "/graph/nodes/2/metadata", "given twice"},
      {"\"/tin/tin7/core3\"", "\"/core3\"", "/graph/nodes/3/metadata/paths", "second root"},
      {"\"/tin\"}", "\"/tin/x\"}", "/graph/nodes", "root"},
      {"\"/tin\"}", "\"tin\"}", "/graph/nodes/0/metadata/paths/containment", "no path"},
      {"{\"source\": \"1\", \"target\": \"4\"}", "{\"source\": \"1\", \"target\": \"5\"}",
       "/graph/edges/1/target", "no vertex"},
      {"{\"source\": \"1\", \"target\": \"4\"}", "{\"source\": \"4\", \"target\": \"4\"}",
       "/graph/edges/1", "cycle"},
      {"{\"source\": \"0\", \"target\": \"1\"}", "{\"source\": \"9\", \"target\": \"1\"}",
       "/graph/nodes/1/metadata", "cycle"},
      {"{\"source\": \"1\", \"target\": \"9\"}", "{\"source\": \"0\", \"target\": \"4\"}",
       "/graph/edges/2", "two parents"},
      {"\"amd\": \"\"", "\"amd\": 3", "/graph/nodes/1/metadata/properties/amd", "string"},
      {"\"name\": \"tin7\"", "\"name\": \"\xff\"", "line 3", "not JSON"},
      {"]}})", "]}", "line 10", "not JSON"},
  };
  for (const auto& bad : cases) {
    const std::string whole = kLean;
    const auto to = std::string_view(bad.from) == "]}})" ? replaced(whole, "]}}", bad.to)
                                                         : replaced(whole, bad.from, bad.to);
    const auto spec = read_jgf(to);
    ASSERT_FALSE(spec) << bad.to;
    EXPECT_TRUE(spec.error().where.starts_with(bad.where)) << to_string(spec.error());
    EXPECT_NE(spec.error().what.find(bad.what), std::string::npos) << to_string(spec.error());
  }
}

TEST(Jgf, RefusesAHundredThousandLevelsOfTreeAndOfBrackets) {
  EXPECT_FALSE(read_jgf(std::string(100000, '[')));
  std::string deep = R"({"graph": {"nodes": [{"id": "0", "metadata": {"type": "cluster", "paths": )"
                     R"({"containment": "/cluster0"}}})";
  std::string edges;
  for (int i = 1; i <= 100000; ++i) {
    deep += ", {\"id\": \"" + std::to_string(i) +
            R"(", "metadata": {"type": "group", "paths": {"containment": "/a/b"}}})";
    edges += (i == 1 ? "" : ", ") + ("{\"source\": \"" + std::to_string(i - 1)) +
             "\", \"target\": \"" + std::to_string(i) + "\"}";
  }
  const auto spec = read_jgf(deep + "], \"edges\": [" + edges + "]}}");
  ASSERT_TRUE(spec) << to_string(spec.error());
  EXPECT_EQ(ResourceGraph::build(*spec).error().code, Errc::out_of_range);
}

TEST(Jgf, RefusesMoreSubsystemsThanThereMayBeWithThePlace) {
  std::string nodes =
      R"({"id": "0", "metadata": {"type": "cluster", "paths": {"containment": "/c"}}})";
  std::string edges;
  for (int i = 1; i <= 100; ++i) {
    const std::string id = std::to_string(i);
    nodes += R"(, {"id": ")" + id + R"(", "metadata": {"type": "node", "paths": {"s)" + id +
             R"(": "/n"}}})";
    edges += (i == 1 ? "" : ", ") + (R"({"source": "0", "target": ")" + id) +
             R"(", "metadata": {"subsystem": "s)" + id + "\"}}";
  }
  const auto spec =
      read_jgf(R"({"graph": {"nodes": [)" + nodes + R"(], "edges": [)" + edges + "]}}");
  ASSERT_FALSE(spec);
  EXPECT_EQ(spec.error().where, "/graph/nodes/64/metadata/paths");
}

TEST(JgfGrant, RenumbersRanksAndKeepsCoreIdsNamesAndTheParentsRank) {
  const auto parent = built(read_shape("node=4/core=4,memory=8"));
  auto allocation = held(parent, {"/cluster0/node1/core2", "/cluster0/node1/memory0",
                                  "/cluster0/node3/core0", "/cluster0/node3/core3"});
  allocation.shares[1].amount = 5;
  const auto grant = grant_jgf(parent, allocation);
  ASSERT_TRUE(grant) << to_string(grant.error());
  const auto child = built(read_jgf(*grant));
  EXPECT_EQ(child.ranks(), (std::vector<std::int32_t>{0, 1}));
  const auto node = *child.find_path("/cluster0/node3");
  EXPECT_EQ(child[node].rank, 1);
  EXPECT_EQ(child.extensions(node), R"({"x-parent-rank":3})");
  EXPECT_EQ(child[*child.find_path("/cluster0/node1/memory0")].size, 5);
  const auto r = to_rv1(child);
  ASSERT_EQ(r.hosts.size(), 2u);
  EXPECT_EQ(r.hosts[0].name, "node1");
  EXPECT_EQ(r.hosts[0].cores.str(), "2");
  EXPECT_EQ(r.hosts[0].memory, 5);
  EXPECT_EQ(r.hosts[1].cores.str(), "0,3");
}

TEST(JgfGrant, AnExclusiveVertexBringsAllThatIsBelowIt) {
  const auto parent = built(read_shape("node=2/socket=2/core=2"));
  const auto grant = grant_jgf(parent, held(parent, {"/cluster0/node1"}));
  const auto child = built(read_jgf(grant.value()));
  EXPECT_EQ(child.by_type("core").size(), 4u);
  EXPECT_EQ(child.by_type("node").size(), 1u);
  // and a grandchild's grant is made from it in the same way
  const auto again = grant_jgf(child, held(child, {"/cluster0/node1/socket1/core3"}));
  const auto grandchild = built(read_jgf(again.value()));
  EXPECT_EQ(to_rv1(grandchild).hosts[0].cores.str(), "3");
}

TEST(JgfGrant, BringsWhatStandsAboveInOtherSubsystems) {
  const auto parent = built(read_jgf(R"({"graph": {"nodes": [
      {"id": "0", "metadata": {"type": "cluster", "id": 0, "paths": {"containment": "/cluster0"}}},
      {"id": "1", "metadata": {"type": "node", "id": 0, "rank": 0,
          "paths": {"containment": "/cluster0/node0", "power": "/pdu0/strip0/node0"}}},
      {"id": "2", "metadata": {"type": "node", "id": 1, "rank": 1,
          "paths": {"containment": "/cluster0/node1", "power": "/pdu0/strip1/node1"}}},
      {"id": "3", "metadata": {"type": "pdu", "id": 0, "paths": {"power": "/pdu0"}}},
      {"id": "4", "metadata": {"type": "strip", "id": 0, "paths": {"power": "/pdu0/strip0"}}},
      {"id": "5", "metadata": {"type": "strip", "id": 1, "paths": {"power": "/pdu0/strip1"}}}],
    "edges": [{"source": "0", "target": "1"}, {"source": "0", "target": "2"},
      {"source": "3", "target": "4", "metadata": {"subsystem": "power"}},
      {"source": "3", "target": "5", "metadata": {"subsystem": "power"}},
      {"source": "4", "target": "1", "metadata": {"subsystem": "power"}},
      {"source": "5", "target": "2", "metadata": {"subsystem": "power"}}]}})"));
  const auto grant = grant_jgf(parent, held(parent, {"/cluster0/node1"}));
  ASSERT_TRUE(grant) << to_string(grant.error());
  const auto child = built(read_jgf(*grant));
  EXPECT_EQ(child.vertex_count(), 4u);  // cluster, node, strip, pdu
  const auto node = child.find_path("/pdu0/strip1/node1");
  ASSERT_TRUE(node);
  EXPECT_EQ(child.path(*node), "/cluster0/node1");
  EXPECT_EQ(child.aux_edges().size(), 2u);
  EXPECT_FALSE(child.find_path("/pdu0/strip0"));
  // and on to a grandchild
  const auto again = grant_jgf(child, held(child, {"/cluster0/node1"}));
  EXPECT_EQ(built(read_jgf(again.value())).aux_edges().size(), 2u);
}

// Its agent was away as the child was given it.
TEST(JgfGrant, DoesNotSayThatANodeIsDown) {
  auto parent = built(read_shape("node=2/core=2"));
  const auto node = parent.find_path("/cluster0/node1");
  ASSERT_TRUE(node);
  parent.set_up(*node, false);
  const auto grant = grant_jgf(parent, held(parent, {"/cluster0/node1"}));
  ASSERT_TRUE(grant) << to_string(grant.error());
  const auto child = built(read_jgf(*grant));
  EXPECT_TRUE(child[*child.find_path("/cluster0/node1")].up);
  EXPECT_FALSE(built(read_jgf(write_jgf(parent)))[*node].up) << "what is not a grant says it";
}

TEST(JgfAllocation, ComesBackFromWhatWasWritten) {
  const auto graph = built(read_shape("rack=2/node=2/core=2,gpu=1,memory=8"));
  const auto allocation =
      held(graph, {"/cluster0/rack0/node1/core1", "/cluster0/rack0/node1/gpu0"});
  const auto text = write_allocation(WriteFormat::jgf, graph, allocation);
  const auto back = read_allocation_jgf(graph, text.value());
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(back->shares, allocation.shares);
}

TEST(JgfAllocation, OfAnotherGraphIsRefused) {
  const auto graph = built(read_shape("node=2/core=2"));
  const auto other = built(read_shape("node=3/core=2"));
  const auto text =
      write_allocation(WriteFormat::jgf, other, held(other, {"/cluster0/node2/core1"}));
  const auto back = read_allocation_jgf(graph, text.value());
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, Errc::not_found);
  EXPECT_EQ(back.error().where, "/graph/nodes/0/metadata");
}

TEST(JgfAllocation, ShorthandStandsForWhatIsBelow) {
  const auto graph = built(read_shape("node=2/core=2"));
  auto whole = held(graph, {"/cluster0/node1/core0", "/cluster0/node1/core1"});
  whole.shares[2] = {graph[*graph.find_path("/cluster0/node1")].uniq_id, 1, true};
  const auto text = write_allocation(WriteFormat::jgf_shorthand, graph, whole).value();
  EXPECT_EQ(text.find("core"), text.npos);
  EXPECT_NE(text.find("\"writer\": \"fluxion:jgf_shorthand\""), text.npos);
  EXPECT_EQ(read_allocation_jgf(graph, text, true)->shares, whole.shares);
}

// A random shape, then its JGF: the same graph.
RC_GTEST_PROP(JgfProperty, AnyShapeRoundTrips, ()) {
  const auto shape = *rc::gen::map(rc::gen::tuple(rc::gen::inRange(1, 4), rc::gen::inRange(1, 4),
                                                  rc::gen::inRange(1, 5), rc::gen::inRange(1, 100)),
                                   [](const auto& n) {
                                     return "rack=" + std::to_string(std::get<0>(n)) +
                                            "/node=" + std::to_string(std::get<1>(n)) +
                                            "{p=\xc3\xa4}/core=" + std::to_string(std::get<2>(n)) +
                                            ",memory=" + std::to_string(std::get<3>(n));
                                   });
  const auto plain = replaced(shape, "=\xc3\xa4", "=x");
  const auto graph = built(read_shape(plain));
  const auto text = write_jgf(graph);
  const auto back = built(read_jgf(text));
  RC_ASSERT(write_jgf(back) == text);
  RC_ASSERT(write_rv1(to_rv1(back)) == write_rv1(to_rv1(graph)));
}

}  // namespace
}  // namespace holon::resource
