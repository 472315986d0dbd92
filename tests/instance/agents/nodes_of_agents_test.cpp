// Which agent stands for which nodes, and which agents run a part of a job.
#include "instance/request/nodes_of_agents.hpp"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "resource/formats/readers.hpp"
#include "resource/store.hpp"

namespace holon::instance {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

resource::ResourceStore store_with(const std::string& shape) {
  auto spec = resource::read_shape(shape);
  EXPECT_TRUE(spec) << to_string(spec.error());
  auto store = resource::ResourceStore::load(*spec, {});
  EXPECT_TRUE(store) << to_string(store.error());
  return std::move(*store);
}

std::vector<PlacedNode> some_nodes(const std::vector<std::int32_t>& ranks, std::size_t cores) {
  std::vector<PlacedNode> list;
  for (const auto rank : ranks) {
    PlacedNode& node = list.emplace_back();
    node.rank = rank;
    for (std::size_t core = 0; core < cores; ++core) node.cores.push_back(std::int64_t(core));
  }
  return list;
}

TEST(NodesOfAgents, AgentsOfNodesAreNamedOnce) {
  const auto store = store_with("node=4/core=2");
  const NodesOfAgents two(store.graph(), {0, 1});
  EXPECT_THAT(two.agents_of(some_nodes({0, 1}, 2)), ElementsAre(0));
  EXPECT_THAT(two.agents_of(some_nodes({1, 2, 3}, 2)), ElementsAre(0, 1));
  EXPECT_THAT(two.agents_of({}), ElementsAre(0)) << "what stands on no node";
}

TEST(NodesOfAgents, EachAgentStandsForAnEqualPartOfTheNodes) {
  const auto store = store_with("node=4/core=2");
  const NodesOfAgents one(store.graph(), {0});
  EXPECT_THAT(one.nodes_of(0), ElementsAre(0, 1, 2, 3));
  const NodesOfAgents two(store.graph(), {0, 1});
  EXPECT_THAT(two.nodes_of(0), ElementsAre(0, 1));
  EXPECT_THAT(two.nodes_of(1), ElementsAre(2, 3));
  const NodesOfAgents three(store.graph(), {0, 2, 5});
  EXPECT_THAT(three.nodes_of(0), ElementsAre(0, 1));
  EXPECT_THAT(three.nodes_of(2), ElementsAre(2));
  EXPECT_THAT(three.nodes_of(5), ElementsAre(3));
  const NodesOfAgents six(store.graph(), {0, 1, 2, 3, 4, 5});
  EXPECT_THAT(six.nodes_of(1), ElementsAre(1)) << "there are more agents than nodes";
  EXPECT_THAT(six.nodes_of(2), IsEmpty());
  EXPECT_EQ(two.agent_of(-1), 0u) << "what stands on no node";
}

TEST(NodesOfAgents, OnlyAgentsWithTasksRunAPartOfAJob) {
  const auto store = store_with("node=4/core=2");
  const NodesOfAgents nodes_of_agents(store.graph(), {0, 1, 2, 3});
  EXPECT_THAT(nodes_of_agents.agents_for(some_nodes({0, 1, 2, 3}, 2), 4), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(nodes_of_agents.agents_for(some_nodes({0, 1, 2, 3}, 2), 2), ElementsAre(0, 2));
  EXPECT_THAT(nodes_of_agents.agents_for(some_nodes({1, 3}, 2), 1), ElementsAre(1));
  EXPECT_THAT(nodes_of_agents.agents_for(some_nodes({2}, 2), 8), ElementsAre(2));
  EXPECT_THAT(nodes_of_agents.agents_for({}, 3), ElementsAre(0));
}

TEST(NodesOfAgents, APartIsTheAgentsNodesWithTheirPlaceInTheJob) {
  const auto store = store_with("node=4/core=2");
  const NodesOfAgents nodes_of_agents(store.graph(), {0, 1});
  const auto part = part_for(nodes_of_agents, some_nodes({1, 2, 3}, 2), 1);
  EXPECT_EQ(part.first, 1u);
  ASSERT_EQ(part.nodes.size(), 2u);
  EXPECT_EQ(part.nodes[0].rank, 2);
}

// Whatever the nodes and agents: the parts of a job are all of its nodes that have tasks, in order.
RC_GTEST_PROP(NodesOfAgents, PartsAreSideBySideAndHaveAllTasks, ()) {
  const auto store = store_with("node=12/core=3");
  std::vector<std::uint32_t> agents(*rc::gen::inRange<std::size_t>(1, 14));
  for (std::size_t i = 0; i < agents.size(); ++i) agents[i] = static_cast<std::uint32_t>(i);
  const NodesOfAgents nodes_of_agents(store.graph(), agents);
  std::vector<std::int32_t> ranks;
  for (std::int32_t rank = 0; rank < 12; ++rank)
    if (*rc::gen::arbitrary<bool>()) ranks.push_back(rank);
  auto nodes = some_nodes(ranks, *rc::gen::inRange<std::size_t>(0, 4));
  const auto ntasks = *rc::gen::inRange<std::int64_t>(1, 40);
  const auto running = nodes_of_agents.agents_for(nodes, ntasks);
  RC_ASSERT(std::is_sorted(running.begin(), running.end()));
  place_tasks(nodes, ntasks);
  std::int64_t next = 0;
  for (const auto agent : running) {
    const auto part = part_for(nodes_of_agents, nodes, agent);
    const std::int64_t before = next;
    for (const auto& node : part.nodes)
      for (const auto& task : node.tasks) RC_ASSERT(task.rank == next++);
    RC_ASSERT(nodes.empty() || next > before);
  }
  RC_ASSERT(nodes.empty() || next == ntasks);
}

}  // namespace
}  // namespace holon::instance
