// Vertices that stand below two others of the dominant subsystem, as Fluxion's recipes can have it.
//
//   cluster0 -+- rack0 -- shelf0 -+- disk0, disk1
//             +- rack1 -- shelf1 -+- disk0, disk1
//             +- pool0 == shelf0, shelf1 (links)
#include <gtest/gtest.h>

#include "resource/formats/readers.hpp"
#include "resource/formats/writers.hpp"
#include "resource/graph/graph.hpp"
#include "resource/store.hpp"

namespace holon::resource {
namespace {

constexpr const char* kRecipe =
    R"(<graphml><key id="root" for="node" attr.name="root" attr.type="int"/>)"
    R"(<key id="type" for="node" attr.name="type" attr.type="string"/>)"
    R"(<key id="basename" for="node" attr.name="basename" attr.type="string"/>)"
    R"(<key id="gen_method" for="edge" attr.name="gen_method" attr.type="string"/>)"
    R"(<key id="multi_scale" for="edge" attr.name="multi_scale" attr.type="int"/>)"
    R"(<key id="id_scope" for="edge" attr.name="id_scope" attr.type="int"/>)"
    R"(<graph id="G" edgedefault="directed">)"
    R"(<node id="c"><data key="root">1</data><data key="type">cluster</data><data key="basename">cluster</data></node>)"
    R"(<node id="r"><data key="type">rack</data><data key="basename">rack</data></node>)"
    R"(<node id="p"><data key="type">pool</data><data key="basename">pool</data></node>)"
    R"(<node id="s"><data key="type">shelf</data><data key="basename">shelf</data></node>)"
    R"(<node id="d"><data key="type">disk</data><data key="basename">disk</data></node>)"
    R"(<node id="l"><data key="type">shelf</data><data key="basename">shelf</data></node>)"
    R"(<edge source="c" target="r"><data key="multi_scale">2</data></edge>)"
    R"(<edge source="c" target="p"/>)"
    R"(<edge source="r" target="s"><data key="id_scope">1</data></edge>)"
    R"(<edge source="s" target="d"><data key="multi_scale">2</data></edge>)"
    R"(<edge source="p" target="l"><data key="gen_method">ASSOCIATE_IN</data></edge>)"
    R"(</graph></graphml>)";

ResourceStore store(const char* policy) {
  StoreOptions options;
  options.match_policy = policy;
  options.horizon = {0, 1000};
  options.as_fluxion = true;
  return ResourceStore::load(read_grug(kRecipe, {.as_fluxion = true}).value(), options).value();
}

// cluster[1] -> `holder`[1] -> shelf[1] -> disk[count], the disks exclusively.
Jobspec disks(const std::string& holder, int count) {
  return parse_jobspec(
             "version: 9999\nresources: [{type: cluster, count: 1, with: [{type: " + holder +
             ", count: 1, with: [{type: shelf, count: 1, with: [{type: disk, "
             "count: " +
             std::to_string(count) + ", exclusive: true}]}]}]}]\ntasks: []\nattributes: {}\n")
      .value();
}

std::string match_links(ResourceStore& store, std::uint64_t job, const Jobspec& spec,
                        MatchOp op = MatchOp::allocate, WriteFormat format = WriteFormat::simple) {
  const auto outcome = store.match(JobId{job}, spec, op, 0, 10).value();
  if (!std::holds_alternative<Allocation>(outcome)) return "nothing";
  return write_allocation(format, store.graph(), std::get<Allocation>(outcome), {}).value();
}

TEST(Links, OnlyFluxionsWorkAlikeReadsThem) {
  EXPECT_FALSE(read_grug(kRecipe));
  const auto graph = ResourceGraph::build(read_grug(kRecipe, {.as_fluxion = true}).value()).value();
  graph.check_invariants();
  const auto pool = graph.find_path("/cluster0/pool0").value();
  EXPECT_TRUE(graph.has_links());
  EXPECT_EQ(graph.links(pool).size(), 2u);
  EXPECT_TRUE(graph.children(pool).empty());
  EXPECT_EQ(graph.name(graph.parent(graph.links(pool)[1])), "rack1");
  EXPECT_EQ(graph.edge_count(), 11u);
}

TEST(Links, WhatIsSharedIsTakenOnce) {
  ResourceStore s = store("high");
  EXPECT_EQ(match_links(s, 1, disks("pool", 1)),
            "      ------------disk1[1:x]\n      ---------shelf1[1:s]\n      ------pool0[1:s]\n"
            "      ---cluster0[1:s]\n");
  EXPECT_EQ(match_links(s, 2, disks("rack", 1)),
            "      ------------disk0[1:x]\n      ---------shelf1[1:s]\n      ------rack1[1:s]\n"
            "      ---cluster0[1:s]\n");
  EXPECT_EQ(match_links(s, 3, disks("rack", 2)),
            "      ------------disk0[1:x]\n      ------------disk1[1:x]\n"
            "      ---------shelf0[1:s]\n      ------rack0[1:s]\n      ---cluster0[1:s]\n");
  EXPECT_EQ(match_links(s, 4, disks("pool", 1)), "nothing");
  ASSERT_TRUE(s.release(JobId{3}));
  EXPECT_NE(match_links(s, 5, disks("pool", 2)).find("pool0"), std::string::npos);
}

// As in Fluxion: who was entered on the way to something else is not entered again.
TEST(Links, AreNotFollowedToWhereTheWalkHasBeen) {
  ResourceStore s = store("low");
  const auto spec = parse_jobspec(
                        "version: 9999\nresources: [{type: pool, count: 1, with: [{type: shelf, "
                        "count: 1, with: [{type: disk, count: 1, exclusive: true}]}]}]\n"
                        "tasks: []\nattributes: {}\n")
                        .value();
  EXPECT_EQ(match_links(s, 1, spec), "nothing");
}

TEST(Links, TheFirstThatFitsIsReachedByThemToo) {
  ResourceStore s = store("first");
  EXPECT_EQ(match_links(s, 1, disks("pool", 2)),
            "      ------------disk0[1:x]\n      ------------disk1[1:x]\n"
            "      ---------shelf1[1:s]\n      ------pool0[1:s]\n      ---cluster0[1:s]\n");
}

TEST(Links, AnEdgeOfJgfSaysFromWhere) {
  ResourceStore s = store("low");
  const auto& graph = s.graph();
  const auto text = match_links(s, 1, disks("pool", 1), MatchOp::allocate, WriteFormat::jgf);
  const auto edge = [&](const char* from, const char* to) {
    const auto uniq_id = [&](const char* path) {
      return std::to_string(graph[graph.find_path(path).value()].uniq_id);
    };
    return "{\"source\": \"" + uniq_id(from) + "\", \"target\": \"" + uniq_id(to) + "\"}";
  };
  EXPECT_NE(text.find(edge("/cluster0/pool0", "/cluster0/rack0/shelf0")), std::string::npos);
  EXPECT_EQ(text.find(edge("/cluster0/rack0", "/cluster0/rack0/shelf0")), std::string::npos);
}

TEST(Links, ReleaseAndExtensionFollowThem) {
  ResourceStore s = store("low");
  match_links(s, 1, disks("pool", 1));
  ASSERT_TRUE(s.set_end(JobId{1}, 20));
  const auto disk = s.graph().find_path("/cluster0/rack0/shelf0/disk0").value();
  EXPECT_EQ(s.release_part(JobId{1}, std::span(&disk, 1)), true);
  match_links(s, 2, disks("pool", 2));
  EXPECT_EQ(s.release_part(JobId{2}, std::span(&disk, 1)), false);
  const auto& left = s.find(JobId{2})->shares;
  ASSERT_EQ(left.size(), 4u);  // disk1, shelf0, pool0, cluster0
  EXPECT_EQ(s.graph().name(s.graph().find_uniq(left[2].uniq_id).value()), "pool0");
  ASSERT_TRUE(s.release(JobId{2}));
  EXPECT_EQ(s.counts().postorder, 4u);
}

}  // namespace
}  // namespace holon::resource
