// Nodes that take no new work: what runs goes on, nothing more starts, children follow, and it
// outlives the broker.
#include <gmock/gmock.h>

#include "instance/basics/clock.hpp"
#include "msg/reservation.hpp"
#include "msg/resource.hpp"
#include "msg/schedule.hpp"
#include "tests/instance/shared_live.hpp"

namespace holon::instance {
namespace {

using testing::eventually;
using ::testing::HasSubstr;
using testing::JobOptions;
using testing::Live;

Status drain(const Live& live, const std::string& hosts, bool drained = true,
             const std::string& path = "") {
  const auto reply =
      live.call<msg::Empty>("resource.drain", msg::DrainRequest{hosts, drained, "bad fan"}, path);
  return reply ? Status() : tl::unexpected(reply.error());
}

msg::ResourceReply resources(const Live& live, const std::string& path = "") {
  return live.call<msg::ResourceReply>("resource.list", msg::Empty{}, path).value();
}

class Drain : public testing::SharedLive {};

TEST_F(Drain, LetsWhatRunsGoOnAndStartsNothingMore) {
  const Live live({"--resources", "node=2/core=2"});
  const auto runs = live.job(live.gated("gate"), {1, 0});
  live.when_running(runs);
  const std::string busy = live.record(runs).nodelist;
  ASSERT_TRUE(drain(live, busy));
  auto told = resources(live);
  EXPECT_EQ(told.drained["core"], 1) << "the other core of the node that is in use";
  EXPECT_EQ(told.free["core"], 2);
  ASSERT_EQ(told.nodes_drained.size(), 1u);
  EXPECT_EQ(told.nodes_drained[0].host, busy);
  EXPECT_TRUE(told.nodes_drained[0].busy);
  EXPECT_EQ(live.wait_one(live.job({"/bin/true"}, {2, 0})).result, "COMPLETED");
  JobOptions three_cores;
  three_cores.tasks = 3;
  const auto waits = live.job({"/bin/true"}, three_cores);
  EXPECT_EQ(live.record(waits).state, "SCHED");

  live.kill_broker();
  EXPECT_EQ(resources(live).nodes_drained.size(), 1u);
  live.release("gate");
  EXPECT_EQ(live.wait_one(runs).result, "COMPLETED");
  EXPECT_EQ(live.record(waits).state, "SCHED");
  ASSERT_TRUE(drain(live, busy, false));
  EXPECT_EQ(live.wait_one(waits).result, "COMPLETED");
}

TEST_F(Drain, IsSaidWithItsReasonToJobsThatWaitForIt) {
  const Live live({"--resources", "node=3/core=1"});
  ASSERT_TRUE(drain(live, "node[0-1]"));
  JobOptions all_nodes;
  all_nodes.tasks = 3;
  const auto waits = live.job({"/bin/true"}, all_nodes);
  ASSERT_TRUE(eventually([&] { return !live.record(waits).reason.empty(); }));
  EXPECT_EQ(live.record(waits).reason,
            "what could serve it is down or drained: 2 of 3 nodes are drained: node[0-1]: bad fan");
  EXPECT_EQ(live.record(waits).waits_for, "outage");
  ASSERT_TRUE(live.call<msg::Empty>("resource.drain", msg::DrainRequest{"node2", true, ""}));
  ASSERT_TRUE(
      eventually([&] { return live.record(waits).reason.starts_with("all 3 nodes are drained"); }));
  const std::string said =
      "all 3 nodes are drained: node[0-1]: bad fan; node2: no reason was given";
  EXPECT_EQ(live.record(waits).reason, said);
  JobOptions at_once;
  at_once.system = R"({"holon":{"immediate":true}})";
  EXPECT_EQ(live.wait_one(live.job({"/bin/true"}, at_once)).reason,
            "it was to start at once or not at all, and it could not: " + said);
  msg::ReserveRequest ahead;
  ahead.jobspec = Live::request({"reservation"}, {1}).jobspec;
  ahead.begin = wall_clock_ms();
  ahead.end = ahead.begin + 60'000;
  const auto refused = live.call<msg::ReserveReply>("reserve", ahead);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr(said));
  const auto why = live.call<msg::ExplainReply>("explain", msg::ExplainRequest{{waits}});
  ASSERT_TRUE(why) << why.error().what;
  EXPECT_EQ(why->jobs.at(0).reason, said);
  ASSERT_TRUE(drain(live, "node[0-2]", false));
  EXPECT_EQ(live.wait_one(waits).result, "COMPLETED");
}

TEST_F(Drain, KeepsItsReasonUntilAnotherOneIsGiven) {
  const Live live({"--resources", "node=2/core=1"});
  ASSERT_TRUE(drain(live, "node1"));
  const auto first = resources(live).nodes_drained.at(0);
  ASSERT_TRUE(live.call<msg::Empty>("resource.drain", msg::DrainRequest{"node[0-1]", true, ""}));
  const auto told = resources(live);
  ASSERT_EQ(told.nodes_drained.size(), 2u);
  EXPECT_EQ(told.nodes_drained[0].reason, "") << "of node0 nobody has said anything";
  EXPECT_EQ(told.nodes_drained[1].reason, "bad fan");
  EXPECT_EQ(told.nodes_drained[1].since, first.since);
  ASSERT_TRUE(
      live.call<msg::Empty>("resource.drain", msg::DrainRequest{"node1", true, "new fan comes"}));
  EXPECT_EQ(resources(live).nodes_drained.at(1).reason, "new fan comes");
}

// The words are an operator's: what the broker itself says of a node that leaves means nothing
// here.
TEST_F(Drain, MakesNoNodeLeaveWhateverIsSaid) {
  const Live live({"--resources", "node=2/core=1"});
  for (const char* const words :
       {"it has left (holon leave)", "it had left, and is about to come back"}) {
    ASSERT_TRUE(live.call<msg::Empty>("resource.drain", msg::DrainRequest{"node1", true, words}));
    const auto tree = live.call<msg::TreeNode>("tree", msg::TreeRequest{});
    ASSERT_TRUE(tree);
    EXPECT_EQ(tree->nodes, 2) << words;
    const auto told = resources(live);
    ASSERT_EQ(told.nodes_drained.size(), 1u) << words;
    EXPECT_EQ(told.nodes_drained[0].reason, words);
  }
  ASSERT_TRUE(drain(live, "node1", false));
}

TEST_F(Drain, IsAllOrNoneAndNamesWhatIsNotHere) {
  const Live& live = shared({"--resources", "node=2/core=2"});
  const Status many = drain(live, "node[0-9]");
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code, Errc::not_found) << "as of one";
  EXPECT_EQ(many.error().what,
            "there is no node node2 here; 10 hosts are named, there are 2 nodes");
  const Status unknown = drain(live, "node0,node7");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Errc::not_found);
  EXPECT_THAT(unknown.error().what, HasSubstr("node7"));
  EXPECT_FALSE(drain(live, "node[0-"));
  EXPECT_TRUE(resources(live).nodes_drained.empty());
}

TEST_F(Drain, IsFollowedByChildrenWhichCannotEndIt) {
  const Live& live = shared({"--resources", "node=2/core=2"});
  JobOptions both_nodes;
  both_nodes.cores = 2;
  both_nodes.tasks = 2;
  const std::string child = "/" + std::to_string(live.child(both_nodes));
  ASSERT_EQ(resources(live, child).total["node"], 2);
  ASSERT_TRUE(drain(live, "node1"));
  ASSERT_TRUE(eventually([&] { return resources(live, child).nodes_drained.size() == 1; }));
  EXPECT_TRUE(resources(live, child).nodes_drained[0].above);
  const Status refused = drain(live, "node1", false, child);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("above"));
  ASSERT_TRUE(drain(live, "node1", false));
  ASSERT_TRUE(eventually([&] { return resources(live, child).nodes_drained.empty(); }));
}

}  // namespace
}  // namespace holon::instance
