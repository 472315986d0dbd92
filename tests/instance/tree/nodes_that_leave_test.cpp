// What operators do with nodes, and what nodes suffer, while children have them.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/instance/tree/whole_nodes.hpp"

namespace holon::instance {
namespace {

using testing::ask_for_nodes;
using ::testing::ElementsAre;
using testing::eventually;
using ::testing::HasSubstr;
using testing::JobOptions;

class NodesThatLeave : public testing::WholeNodes {
 protected:
  // The child has a whole node, on which a job runs.
  void SetUp() override {
    WholeNodes::SetUp();
    if (HasFatalFailure()) return;
    get(1);
    ASSERT_EQ(extra_hosts().size(), 1U);
    far_ = extra_hosts().front();
    own_ = live.record(1).nodelist;
    there_ = hold_on(far_, "there");
    here_ = hold_on(own_, "here");
    live.when_running(there_, "/1");
    live.when_running(here_, "/1");
  }
  // The child has its own node alone, and works on. Both hosts are this machine: while the child
  // has a process on these cores, the other node is not clear, either.
  void expect_own_node_alone() const {
    EXPECT_TRUE(eventually([&] { return nodes_of("/1") == 1; })) << nodes_of("/1");
    EXPECT_TRUE(eventually([&] { return agents_of_child().empty(); }));
    EXPECT_EQ(live.record(1).state, "RUN") << live.record(1).reason;
    EXPECT_EQ(live.record(here_, "/1").state, "RUN") << live.record(here_, "/1").reason;
    live.release("here");
    EXPECT_EQ(live.wait_one(here_, "/1").result, "COMPLETED");
  }

  std::string far_, own_;
  std::uint64_t there_ = 0, here_ = 0;
};

TEST_F(NodesThatLeave, AtOnceEndWhatTheChildHasThereAndNothingElse) {
  auto left = leave(far_, true);
  const auto over = live.wait_one(there_, "/1");
  EXPECT_EQ(over.result, "FAILED");
  EXPECT_THAT(over.reason, HasSubstr(far_ + " leaves"));
  expect_own_node_alone();
  const auto answer = left.get();
  EXPECT_TRUE(answer) << answer.error().what;
}

TEST_F(NodesThatLeave, InOrderLeaveTheChildFirst) {
  auto left = leave(far_, false);
  ASSERT_TRUE(eventually([&] { return extra().state == "asked back"; })) << extra().state;
  EXPECT_THAT(extra().why, HasSubstr(far_ + " leaves"));
  EXPECT_TRUE(eventually([&] { return !drained_in("/1").empty(); }));
  EXPECT_THAT(drained_in("/1"), ElementsAre(far_));
  EXPECT_EQ(live.record(there_, "/1").state, "RUN");
  live.release("there");
  EXPECT_EQ(live.wait_one(there_, "/1").result, "COMPLETED");
  expect_own_node_alone();
  const auto answer = left.get();
  EXPECT_TRUE(answer) << answer.error().what;
}

// What is drained by an operator, and what goes back, are two things.
TEST_F(NodesThatLeave, AreGivenNothingOnceTheyGoBack) {
  release();
  ASSERT_TRUE(eventually([&] { return extra().state == "draining"; })) << extra().state;
  JobOptions elsewhere;
  elsewhere.system = R"({"constraints":{"not":[{"hostlist":[")" + own_ + R"("]}]}})";
  const auto waits = live.job({"/bin/true"}, elsewhere, "/1");
  drain(own_, true, "/1");
  drain(own_, false, "/1");
  kill_child_broker();
  drain(far_, true);
  ASSERT_TRUE(eventually([&] { return !drained_in("/1").empty(); }));
  drain(far_, false);
  ASSERT_TRUE(eventually([&] { return drained_in("/1").empty(); }));
  // The plan is made anew, in which this one begins.
  const auto later = live.job({"/bin/true"}, {}, "/1");
  EXPECT_EQ(live.wait_one(later, "/1").result, "COMPLETED");
  EXPECT_EQ(live.record(waits, "/1").state, "SCHED");
  live.cancel(waits, "/1");
  live.release("there");
  EXPECT_EQ(live.wait_one(there_, "/1").result, "COMPLETED");
  live.release("here");
  EXPECT_EQ(live.wait_one(here_, "/1").result, "COMPLETED");
  expect_all_back();
}

TEST_F(NodesThatLeave, AnOperatorOfTheChildDrainsThem) {
  const auto left = live.call<msg::Empty>("node.leave", msg::LeaveRequest{far_, false}, "/1");
  ASSERT_FALSE(left);
  EXPECT_THAT(left.error().what, HasSubstr("`holon grant release` gives it back"));
  drain(far_, true, "/1");
  for (const char* gate : {"there", "here"}) live.release(gate);
  EXPECT_EQ(live.wait_one(there_, "/1").result, "COMPLETED");
  release();
  expect_all_back();
  // When it comes again it is drained still.
  const auto both = ask(2);
  ASSERT_TRUE(both) << both.error().what;
  ASSERT_TRUE(eventually([&] { return free_of("/1") == 2 * cores_; })) << free_of("/1");
  EXPECT_THAT(drained_in("/1"), ElementsAre(far_));
  const auto waits = hold_on(far_, "drained");
  EXPECT_TRUE(eventually([&] {
    return live.record(waits, "/1").reason.find("drained") != std::string::npos;
  })) << live.record(waits, "/1").reason;
  EXPECT_EQ(live.record(waits, "/1").state, "SCHED");
  live.cancel(waits, "/1");
  release();
  expect_all_back();
  // It need not be there for that.
  drain(far_, false, "/1");
  EXPECT_THAT(drained_in("/1"), ElementsAre());
  get(2);
  release();
  expect_all_back();
}

class NodesThatAreLost : public testing::WholeNodes {};

TEST_F(NodesThatAreLost, TakeNoOthersWithThem) {
  get(2);
  const auto agents = agents_of_child();
  ASSERT_EQ(agents.size(), 2U);
  const auto hosts = extra_hosts();
  ASSERT_EQ(hosts.size(), 2U);
  std::vector<std::uint64_t> jobs;
  for (const auto& host : hosts) jobs.push_back(hold_on(host, host));
  for (const auto job : jobs) live.when_running(job, "/1");
  const auto below = testing::children_of(agents.front());
  testing::signal_process(agents.front(), SIGKILL);
  for (const pid_t pid : below) testing::signal_process(pid, SIGKILL);
  ASSERT_TRUE(eventually([&] {
    return std::any_of(jobs.begin(), jobs.end(),
                       [&](auto job) { return live.record(job, "/1").state == "INACTIVE"; });
  }));
  const bool is_first = live.record(jobs[0], "/1").state == "INACTIVE";
  const auto& [lost, well] =
      is_first ? std::pair(hosts[0], hosts[1]) : std::pair(hosts[1], hosts[0]);
  const auto works_on = is_first ? jobs[1] : jobs[0];
  // The lost one goes first, alone.
  ASSERT_TRUE(eventually([&] { return nodes_of("/1") == 2; })) << nodes_of("/1");
  EXPECT_THAT(extra_hosts(), ElementsAre(well));
  EXPECT_THAT(extra().why, HasSubstr("it came with " + lost));
  EXPECT_EQ(live.record(works_on, "/1").state, "RUN") << live.record(works_on, "/1").reason;
  live.release(well);
  EXPECT_EQ(live.wait_one(works_on, "/1").result, "COMPLETED");
  expect_all_back();
}

// What is left of a grant that has gone back in part can be asked back harder.
TEST_F(NodesThatAreLost, AndWhatIsLeftCanBeRecalled) {
  get(2);
  const auto hosts = extra_hosts();
  ASSERT_EQ(hosts.size(), 2U);
  // The other may be the node of the broker, which cannot leave.
  const std::size_t first = hosts[0].starts_with("far") ? 0 : 1, second = 1 - first;
  std::vector<std::uint64_t> jobs;
  for (const auto& host : hosts) jobs.push_back(hold_on(host, host));
  for (const auto job : jobs) live.when_running(job, "/1");
  auto left = leave(hosts[first], true);
  EXPECT_EQ(live.wait_one(jobs[first], "/1").result, "FAILED");
  ASSERT_TRUE(eventually([&] { return nodes_of("/1") == 2; })) << nodes_of("/1");
  EXPECT_EQ(live.record(jobs[second], "/1").state, "RUN");
  recall(true);
  const auto over = live.wait_one(jobs[second], "/1");
  EXPECT_EQ(over.result, "FAILED");
  EXPECT_THAT(over.reason, HasSubstr("it is needed"));
  const auto answer = left.get();
  EXPECT_TRUE(answer) << answer.error().what;
  EXPECT_TRUE(eventually([&] { return nodes_of("/1") == 1; })) << nodes_of("/1");
}

// A child of the child has both nodes of one grant; one of them leaves.
class NodesOfAGrandchild : public testing::WholeNodes {
 protected:
  std::string history(const std::string& path) const {
    const auto told =
        live.call<msg::GrantHistory>("grant.history", msg::GrantHistoryRequest{}, path);
    std::string text = "\n" + path + ":\n";
    if (!told) return text + told.error().what;
    for (const auto& event : told->events)
      text += std::to_string(event.time) + " " + event.name + " " + event.entry + "\n";
    return text;
  }
};

TEST_F(NodesOfAGrandchild, LeaveOneByOne) {
  get(2);
  JobOptions own = on_nodes(1);
  own.system = R"({"constraints":{"hostlist":[")" + live.record(1).nodelist + R"("]}})";
  ASSERT_EQ(live.child(own, "/1"), 1U);
  ASSERT_TRUE(eventually([&] { return nodes_of("/1/1") == 1; })) << live.record(1, "/1").reason;
  const auto hosts = extra_hosts();
  const auto answer = live.call<msg::GrantAnswer>("grant.ask", ask_for_nodes(2, 0), "/1/1");
  ASSERT_TRUE(answer) << answer.error().what;
  std::vector<std::uint64_t> jobs;
  for (const auto& host : hosts) jobs.push_back(hold_on(host, host, "/1/1"));
  for (const auto job : jobs) live.when_running(job, "/1/1");
  const std::size_t first = hosts[0].starts_with("far") ? 0 : 1, second = 1 - first;
  auto left = leave(hosts[first], true);
  EXPECT_EQ(live.wait_one(jobs[first], "/1/1").result, "FAILED");
  ASSERT_TRUE(eventually([&] { return nodes_of("/1/1") == 2; }))
      << nodes_of("/1/1") << history("/1/1") << history("/1") << history("/");
  EXPECT_EQ(live.record(jobs[second], "/1/1").state, "RUN")
      << live.record(jobs[second], "/1/1").reason;
  live.release(hosts[second]);
  EXPECT_EQ(live.wait_one(jobs[second], "/1/1").result, "COMPLETED");
  const auto done = left.get();
  EXPECT_TRUE(done) << done.error().what;
  EXPECT_TRUE(eventually([&] { return nodes_of("/1") == 1; })) << nodes_of("/1");
}

// Hosts that are gone with all that ran there, also the root's own agent.
class HostsThatDie : public testing::WholeNodes {
 protected:
  HostsThatDie() : WholeNodes({"--conf", "instance.rejoin-timeout=3s"}) {}
  std::vector<std::string> conf() const override { return {"instance.rejoin-timeout=3s"}; }
  // With all that the root has started there, what starts it again first.
  void kill_host_of(pid_t agent) const {
    std::vector<pid_t> all = testing::children_of(agent);
    for (pid_t pid = agent; pid > 1 && pid != live.supervisor(); pid = testing::parent_of(pid))
      all.push_back(pid);
    for (auto pid = all.rbegin(); pid != all.rend(); ++pid) testing::signal_process(*pid, SIGKILL);
  }
};

TEST_F(HostsThatDie, KeepNothingOfWhatCameWithThem) {
  get(2);
  const auto agents = agents_of_child();
  ASSERT_EQ(agents.size(), 2U);
  const auto wide = hold(3, "never");
  live.when_running(wide, "/1");
  const auto far = std::find_if(agents.begin(), agents.end(), [&](pid_t agent) {
    return testing::parent_of(testing::parent_of(agent)) != live.supervisor();
  });
  ASSERT_NE(far, agents.end());
  kill_host_of(*far);
  EXPECT_EQ(live.wait_one(wide, "/1").result, "FAILED");
  EXPECT_TRUE(eventually([&] { return nodes_of("/1") == 1; })) << nodes_of("/1");
  EXPECT_TRUE(eventually([&] { return asks().empty(); })) << asks().size();
  EXPECT_TRUE(eventually([&] { return free_of("/") == cores_; })) << free_of("/");
  EXPECT_EQ(live.wait_one(live.job({"/bin/true"}, on_nodes(1))).result, "COMPLETED");
}

}  // namespace
}  // namespace holon::instance
