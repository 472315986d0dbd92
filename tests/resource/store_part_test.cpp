// Partial releases of listed vertices, and what `find` shows of a job before and after.
#include <gtest/gtest.h>

#include "resource/find/find.hpp"
#include "resource/formats/readers.hpp"
#include "resource/graph/graph.hpp"
#include "resource/store.hpp"

namespace holon::resource {
namespace {

ResourceStore store_of_part(std::string_view shape, std::string filters = "ALL:core,ALL:node") {
  StoreOptions options;
  options.match_policy = "low";
  options.prune_filters = std::move(filters);
  return ResourceStore::load(read_shape(shape).value(), options).value();
}

// `nodes` nodes, each with `cores` of its cores, exclusively.
Jobspec whole_cores(int nodes, int cores) {
  return parse_jobspec(
             "version: 9999\nresources:\n- type: node\n  count: " + std::to_string(nodes) +
             "\n  with:\n  - type: slot\n    label: s\n    count: 1\n    with:\n    - "
             "type: core\n      count: " +
             std::to_string(cores) +
             "\ntasks:\n- command: [a]\n  slot: s\n  count: {per_slot: 1}\nattributes: "
             "{system: {duration: 10}}\n")
      .value();
}

void allocate(ResourceStore& store, std::uint64_t job, const Jobspec& spec) {
  const auto outcome = store.match(JobId{job}, spec, MatchOp::allocate, 0, 10).value();
  ASSERT_TRUE(std::holds_alternative<Allocation>(outcome));
}

std::string found(const ResourceStore& store, const std::string& expression) {
  std::string names;
  for (const auto& vertex : find_vertices(store, FindExpression::parse(expression).value(), 0)) {
    names += (names.empty() ? "" : " ") + store.graph().name(vertex.vertex);
    for (const auto& use : vertex.aggregates)
      names +=
          "(" + use.type + " " + std::to_string(use.used) + "/" + std::to_string(use.total) + ")";
  }
  return names;
}

VertexId at(const ResourceStore& store, const std::string& path) {
  return store.graph().find_path(path).value();
}

TEST(Find, ShowsWhatIsAboveAVertexThatIsMeant) {
  ResourceStore store = store_of_part("node=2/core=2");
  EXPECT_EQ(found(store, "names=core1"), "core1 node0 core1 node1 cluster0");
  ASSERT_TRUE(store.set_status("/cluster0/node1", false));
  EXPECT_EQ(found(store, "status=down"), "core0 core1 node1 cluster0");
  EXPECT_EQ(found(store, "status=up and type=node"), "node0 cluster0");
  EXPECT_EQ(found(store, "type=gpu"), "");
  ASSERT_TRUE(store.set_drained("/cluster0/node0", true));
  EXPECT_EQ(found(store, "status=drained"), "core0 core1 node0 cluster0");
  EXPECT_EQ(found(store, "status!=drained and status=up"), "cluster0");
}

TEST(Find, TellsTheMarksOfAJobApart) {
  ResourceStore store = store_of_part("node=2/core=2");
  allocate(store, 7, whole_cores(1, 1));
  EXPECT_EQ(found(store, "jobid-alloc=7"), "core0 node0 cluster0");
  EXPECT_EQ(found(store, "jobid-tag=7"), "core0 node0 cluster0");
  EXPECT_EQ(found(store, "jobid-span=7"), "node0 cluster0");  // a core counts nothing below it
  EXPECT_EQ(found(store, "jobid-reserved=7"), "");
  EXPECT_EQ(found(store, "jobid-span=7 and agfilter=true"),
            "node0(core 1/2) cluster0(core 1/4)(node 0/2)");
}

TEST(Find, CountsWhatAJobCoversFromAbove) {
  ResourceStore store = store_of_part("node=2/socket=1/core=2", "ALL:core");
  allocate(store, 1,
           parse_jobspec("version: 9999\nresources:\n- type: slot\n  label: s\n  count: 1\n"
                         "  with:\n  - {type: node, count: 1, with: [{type: socket, count: "
                         "1, with: [{type: core, count: 2}]}]}\ntasks:\n- command: [a]\n  "
                         "slot: s\n  count: {per_slot: 1}\nattributes: {}\n")
               .value());
  EXPECT_EQ(found(store, "agfilter=true"),
            "socket0(core 2/2) node0(core 2/2) socket0(core 0/2) node1(core 0/2) "
            "cluster0(core 2/4)");
}

TEST(ReleaseListed, LetsGoOfWhatIsAboveWhenNothingIsLeftBelow) {
  ResourceStore store = store_of_part("node=2/core=2");
  allocate(store, 1, whole_cores(2, 2));
  const std::vector<VertexId> first{at(store, "/cluster0/node0/core0")};
  EXPECT_FALSE(store.release_listed(JobId{1}, first).value());
  EXPECT_EQ(found(store, "jobid-alloc=1"), "core1 node0 core0 core1 node1 cluster0");
  const std::vector<VertexId> second{at(store, "/cluster0/node0/core1")};
  EXPECT_FALSE(store.release_listed(JobId{1}, second).value());
  EXPECT_EQ(found(store, "jobid-tag=1"), "core0 core1 node1 cluster0");
  store.check_invariants();
  allocate(store, 2, whole_cores(1, 2));
  EXPECT_EQ(found(store, "jobid-alloc=2"), "core0 core1 node0 cluster0");
  const std::vector<VertexId> rest{at(store, "/cluster0/node1/core0"),
                                   at(store, "/cluster0/node1/core1")};
  EXPECT_TRUE(store.release_listed(JobId{1}, rest).value());
  EXPECT_EQ(store.find(JobId{1}), nullptr);
  store.check_invariants();
}

TEST(ReleaseListed, KeepsATagWhereTheTypeIsNotCounted) {
  ResourceStore store = store_of_part("node=2/core=2", "ALL:core");
  const auto node =
      parse_jobspec(
          "version: 9999\nresources: [{type: slot, label: s, count: 1, with: [{type: node, count: "
          "1}]}]\ntasks: [{command: [a], slot: s, count: {per_slot: 1}}]\nattributes: {system: "
          "{duration: 10}}\n")
          .value();
  allocate(store, 1, node);
  EXPECT_EQ(found(store, "jobid-tag=1"), "node0 cluster0");
  EXPECT_EQ(found(store, "jobid-span=1"), "");  // no core was asked for
  const std::vector<VertexId> held{at(store, "/cluster0/node0")};
  EXPECT_FALSE(store.release_listed(JobId{1}, held).value());
  EXPECT_EQ(found(store, "jobid-tag=1"), "cluster0");
  EXPECT_EQ(found(store, "sched-now=allocated"), "");
  ASSERT_TRUE(store.release(JobId{1}));
  EXPECT_EQ(found(store, "jobid-tag=1"), "");
  store.check_invariants();
}

TEST(ReleaseListed, ChangesNothingWhereItErrs) {
  ResourceStore store = store_of_part("node=2/core=2");
  allocate(store, 1, whole_cores(1, 1));
  const Allocation before = *store.find(JobId{1});
  const std::vector<VertexId> foreign{at(store, "/cluster0/node0/core0"),
                                      at(store, "/cluster0/node1/core0")};
  EXPECT_EQ(store.release_listed(JobId{1}, foreign).error().code, Errc::not_found);
  EXPECT_EQ(store.release_listed(JobId{1}, {}).error().code, Errc::not_found);
  EXPECT_EQ(store.release_listed(JobId{9}, foreign).error().code, Errc::not_found);
  EXPECT_EQ(*store.find(JobId{1}), before);
  store.check_invariants();
}

TEST(ReleaseListed, CountsTheWalkOfWhatIsLeft) {
  ResourceStore store = store_of_part("node=2/core=2");
  allocate(store, 1, whole_cores(2, 2));
  const std::vector<VertexId> node0{at(store, "/cluster0/node0/core0"),
                                    at(store, "/cluster0/node0/core1")};
  ASSERT_FALSE(store.release_listed(JobId{1}, node0).value());
  ASSERT_TRUE(store.release(JobId{1}));
  EXPECT_EQ(store.counts().postorder, 4U);  // cluster0, node1 and its two cores
  EXPECT_EQ(store.counts().preorder, 5U);   // node0 is looked at, and left at once
}

TEST(ReleaseListed, SurvivesGrowingAndShrinking) {
  ResourceStore store = store_of_part("node=2/core=2");
  allocate(store, 1, whole_cores(2, 2));
  const std::vector<VertexId> one{at(store, "/cluster0/node0/core0")};
  ASSERT_FALSE(store.release_listed(JobId{1}, one).value());
  ASSERT_TRUE(store.grow(read_shape("node=3/core=2").value()));
  EXPECT_EQ(found(store, "jobid-alloc=1"), "core1 node0 core0 core1 node1 cluster0");
  ASSERT_TRUE(store.shrink("/cluster0/node1"));
  EXPECT_EQ(found(store, "jobid-alloc=1"), "core1 node0 cluster0");
  store.check_invariants();
}

}  // namespace
}  // namespace holon::resource
