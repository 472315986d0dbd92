#include "instance/resources/more_nodes.hpp"

#include <gtest/gtest.h>

#include "resource/formats/readers.hpp"
#include "resource/graph/graph.hpp"
#include "resource/store.hpp"

namespace holon::instance {
namespace {

TEST(MoreNodes, AreLikeTheOneAndNoneOfThoseThatAreHere) {
  auto store =
      *resource::ResourceStore::load(*resource::read_shape("node=2/socket=1/core=2,memory=8"), {});
  const auto one = node_of_shape("socket=2/core=4");
  ASSERT_TRUE(one) << to_string(one.error());
  ASSERT_TRUE(store.grow(many_like(*one, 3)));
  EXPECT_EQ(store.total("node"), 5);
  EXPECT_EQ(store.total("core"), 4 + 3 * 8);
  EXPECT_EQ(store.graph().by_host("+2").size(), 1U);
  store.check_invariants();
}

TEST(MoreNodes, AreAsTheBrokersOwnWhereNobodySaysMore) {
  auto store = *resource::ResourceStore::load(*resource::read_shape("node=1/core=3,gpu=1"), {});
  const auto one = own_node(store.graph());
  ASSERT_TRUE(one);
  ASSERT_TRUE(store.grow(many_like(*one, 2)));
  EXPECT_EQ(store.total("core"), 9);
  EXPECT_EQ(store.total("gpu"), 3);
}

TEST(MoreNodes, AShapeWithoutCoresIsNone) {
  EXPECT_FALSE(node_of_shape("memory=64"));
  EXPECT_FALSE(node_of_shape("core=="));
}

}  // namespace
}  // namespace holon::instance
