// Nodes that come after the beginning: the graph that has grown is the one that later brokers read.
#include <gmock/gmock.h>

#include "instance/resources/resources.hpp"
#include "launch/topology.hpp"
#include "resource/formats/writers.hpp"
#include "resource/store.hpp"

namespace holon::instance {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

resource::ResourceStore store_of(const ResourceSource& source) {
  const auto spec = read_resources(source);
  EXPECT_TRUE(spec) << to_string(spec.error());
  auto store = resource::ResourceStore::load(*spec, {});
  EXPECT_TRUE(store) << to_string(store.error());
  return std::move(*store);
}

// By path: journalled allocations name vertices by their number.
std::map<std::string, std::int64_t> numbers(const resource::ResourceStore& store) {
  std::map<std::string, std::int64_t> all;
  for (const auto v : store.graph().in_preorder())
    all[store.graph().path(v)] = store.graph()[v].uniq_id;
  return all;
}

TEST(GrownResources, AreThoseThatAreReadFromTheirText) {
  const std::string xml = *launch::topology_xml();
  ResourceSource source{"hwloc", xml, true};
  auto grown = store_of(source);
  const auto own = grown.graph().name(grown.graph().by_type("node").front());
  for (const NodeTopology& node : {NodeTopology{7, "late", xml}, NodeTopology{2, "later", xml}}) {
    const auto more = with_another_node(source, own, node);
    ASSERT_TRUE(more) << to_string(more.error());
    source = *more;
    ASSERT_TRUE(grown.grow(*read_node(node)));
  }
  grown.check_invariants();
  const auto read = store_of(source);
  EXPECT_EQ(numbers(grown), numbers(read));
  EXPECT_EQ(resource::write_jgf(grown.graph()), resource::write_jgf(read.graph()));
  EXPECT_THAT(agents_of(source, 0), ElementsAre(0, 2, 7));
  EXPECT_EQ(grown.total("node"), 3);
}

TEST(GrownResources, KeepTopologiesThatLaterOnesAreFoundByTheirDigest) {
  const std::string xml = *launch::topology_xml();
  const std::string portable = launch::portable_topology(xml);
  const ResourceSource own{"hwloc", xml, true};
  EXPECT_EQ(topology_in(own, launch::topology_digest(portable)), portable);
  EXPECT_EQ(topology_in(own, launch::topology_digest("another")), "");
  const auto two = with_other_nodes(own, "n1", {{1, "n2", xml}, {2, "n3", "another"}});
  EXPECT_EQ(topology_in(two, launch::topology_digest("another")), "another");
  EXPECT_EQ(topology_in(two, launch::topology_digest(portable)), portable);
  EXPECT_EQ(topology_in({"shape", "node=2/core=4", false}, launch::topology_digest("")), "");
}

TEST(GrownResources, CannotBeDeclaredOnes) {
  const auto more = with_another_node({"shape", "node=2/core=4", false}, "n0", {2, "late", "<x/>"});
  ASSERT_FALSE(more);
  EXPECT_THAT(more.error().what, HasSubstr("were declared"));
  EXPECT_FALSE(read_node({2, "late", "no topology"}));
}

}  // namespace
}  // namespace holon::instance
