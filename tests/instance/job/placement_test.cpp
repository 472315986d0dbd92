// Which task sits where: drawings of nodes and cores, and that every task has a seat.
#include "instance/request/placement.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/hostlist.hpp"
#include "resource/formats/readers.hpp"
#include "resource/store.hpp"

namespace holon::instance {
namespace {

std::vector<PlacedNode> nodes(const std::vector<std::vector<std::int64_t>>& cores) {
  std::vector<PlacedNode> list;
  for (std::size_t i = 0; i < cores.size(); ++i)
    list.push_back({static_cast<std::int32_t>(i), "n" + std::to_string(i), cores[i], {}, {}});
  return list;
}

// "n0: 0=0-1 1=2-3 | n1: 2=0-1"
std::string draw(const std::vector<PlacedNode>& list) {
  std::string text;
  for (const auto& node : list) {
    text += (text.empty() ? "" : " | ") + node.host + ":";
    for (const auto& task : node.tasks)
      text += " " + std::to_string(task.rank) + "=" + idset_text(task.cores);
  }
  return text;
}

TEST(Placement, TasksGetEqualPartsInOrder) {
  auto two = nodes({{0, 1, 2, 3}, {4, 5}});
  place_tasks(two, 3);
  EXPECT_EQ(draw(two), "n0: 0=0-1 1=2-3 | n1: 2=4-5");
  auto crowded = nodes({{0, 1}});
  place_tasks(crowded, 4);
  EXPECT_EQ(draw(crowded), "n0: 0=0 1=0 2=1 3=1");
  auto coreless = nodes({{}, {}});
  place_tasks(coreless, 4);
  EXPECT_EQ(draw(coreless), "n0: 0= 1= | n1: 2= 3=");
}

TEST(Placement, DistributedCyclicallyEachNextTaskIsOnTheNextNodeThatHasASeat) {
  auto two = nodes({{0, 1}, {0, 1}});
  place_tasks(two, 4, Distribution::cyclic);
  EXPECT_EQ(draw(two), "n0: 0=0 2=1 | n1: 1=0 3=1");
  auto unlike = nodes({{0}, {0, 1, 2}, {0, 1}});
  place_tasks(unlike, 6, Distribution::cyclic);
  EXPECT_EQ(draw(unlike), "n0: 0=0 | n1: 1=0 3=1 5=2 | n2: 2=0 4=1");
  auto more_than_tasks = nodes({{0, 1}, {0, 1}, {0, 1}});
  place_tasks(more_than_tasks, 2, Distribution::cyclic);
  EXPECT_EQ(draw(more_than_tasks), "n0: 0=0-1 | n1: 1=0-1 | n2:");
}

TEST(Placement, TasksThatDoNotDivideEvenlyHaveTheirSlots) {
  const SlotShape of_two{2, 0, 2};
  auto first_has_more = nodes({{0, 1, 2, 3}, {0, 1}});
  place_tasks(first_has_more, 3, Distribution::block, of_two);
  EXPECT_EQ(draw(first_has_more), "n0: 0=0-1 1=2-3 | n1: 2=0-1");
  auto last_has_more = nodes({{0, 1}, {0, 1, 2, 3}});
  place_tasks(last_has_more, 3, Distribution::cyclic, of_two);
  EXPECT_EQ(draw(last_has_more), "n0: 0=0-1 | n1: 1=0-1 2=2-3");
  // whole nodes, of which no task gets a part on two
  auto whole = nodes({{0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4, 5}});
  place_tasks(whole, 3, Distribution::block, of_two);
  EXPECT_EQ(draw(whole), "n0: 0=0-2 1=3-5 | n1: 2=0-5");
  auto unlike = nodes({{0, 1, 2, 3}, {0, 1, 2, 3, 4, 5, 6, 7}});
  place_tasks(unlike, 4, Distribution::block, of_two);
  EXPECT_EQ(draw(unlike), "n0: 0=0-1 1=2-3 | n1: 2=0-3 3=4-7");
  auto with_gpus = nodes({{0, 1, 2, 3}, {0, 1}});
  with_gpus[0].gpus = {0, 1};
  with_gpus[1].gpus = {0};
  place_tasks(with_gpus, 3, Distribution::block, {2, 1, 2});
  EXPECT_EQ(with_gpus[0].tasks[1].gpus, (std::vector<std::int64_t>{1}));
  EXPECT_EQ(with_gpus[1].tasks[0].gpus, (std::vector<std::int64_t>{0}));
}

// Of slots anywhere, and of N tasks over nodes that need not be alike: each has its slot.
RC_GTEST_PROP(Placement, EveryTaskHasExactlyItsSlot, ()) {
  const SlotShape shape{*rc::gen::inRange<std::int64_t>(1, 4), 0, 0};
  std::vector<std::vector<std::int64_t>> cores;
  std::int64_t tasks = 0;
  for (const int slots : *rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 5))) {
    cores.emplace_back(static_cast<std::size_t>(slots * shape.cores));
    tasks += slots;
  }
  RC_PRE(tasks > 0);
  auto list = nodes(cores);
  place_tasks(list, tasks, *rc::gen::element(Distribution::block, Distribution::cyclic), shape);
  for (const auto& node : list) {
    RC_ASSERT(node.tasks.size() * static_cast<std::size_t>(shape.cores) == node.cores.size());
    for (const auto& task : node.tasks)
      RC_ASSERT(task.cores.size() == static_cast<std::size_t>(shape.cores));
  }
}

TEST(Placement, GpusAreDealtOutWhereTheySuffice) {
  auto one = nodes({{0, 1, 2, 3}});
  one[0].gpus = {0, 1, 2, 3};
  place_tasks(one, 2);
  EXPECT_EQ(one[0].tasks[1].gpus, (std::vector<std::int64_t>{2, 3}));
  auto shared = nodes({{0, 1}});
  shared[0].gpus = {0};
  place_tasks(shared, 2);
  EXPECT_TRUE(shared[0].tasks[0].gpus.empty());
}

RC_GTEST_PROP(Placement, EveryTaskHasOneSeatOnItsNode, ()) {
  std::vector<std::vector<std::int64_t>> cores;
  const auto sizes = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 5));
  for (const int size : sizes) {
    cores.emplace_back();
    for (int i = 0; i < size; ++i) cores.back().push_back(i);
  }
  auto list = nodes(cores);
  const auto n = *rc::gen::inRange<std::int64_t>(1, 30);
  place_tasks(list, n);
  std::int64_t next = 0;
  for (const auto& node : list)
    for (const auto& task : node.tasks) {
      RC_ASSERT(task.rank == next++);
      for (const auto core : task.cores)
        RC_ASSERT(std::find(node.cores.begin(), node.cores.end(), core) != node.cores.end());
    }
  RC_ASSERT(next == (list.empty() ? 0 : n));
}

TEST(Placement, AnAllocationIsSummedUpByNode) {
  auto store = resource::ResourceStore::load(*resource::read_shape("node=3/core=4,gpu=1"), {});
  ASSERT_TRUE(store);
  resource::JobShape shape;
  shape.nodes = 2;
  shape.tasks = 2;
  shape.cores_per_task = 3;
  shape.gpus_per_task = 1;
  shape.command = {"true"};
  const auto outcome =
      store->match(JobId(1), *resource::jobspec_for(shape), resource::MatchOp::allocate, 0, 10);
  ASSERT_TRUE(outcome);
  const auto* allocation = std::get_if<resource::Allocation>(&*outcome);
  ASSERT_NE(allocation, nullptr);
  const auto summary = summarize(store->graph(), *allocation);
  EXPECT_EQ(Hostlist::parse(summary.nodelist)->count(), 2u) << summary.nodelist;
  EXPECT_EQ(describe(summary.held), "2 nodes, 6 cores, 2 GPUs");
}

}  // namespace
}  // namespace holon::instance
