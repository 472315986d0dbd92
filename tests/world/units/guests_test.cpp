// Nodes that are added to a running instance, leave, and come back. The broker is real, the agents
// are the test's.
#include <gmock/gmock.h>

#include "launch/remote/invitation.hpp"
#include "launch/topology.hpp"
#include "msg/resource.hpp"
#include "tests/world/units/scene.hpp"

namespace holon::world {
namespace {

namespace lm = launch::msg;
using ::testing::IsEmpty;

class InvitedNodesTest : public Scene {
 protected:
  // An instance of one node, to which others may be added.
  void begin(const std::vector<std::string>& more = {}) {
    machine_->hosts.set_topology(0, machine_with(2, "node0"));
    std::vector<std::string> conf = {"instance.rejoin-timeout=20s"};
    conf.insert(conf.end(), more.begin(), more.end());
    begin_broker(std::move(conf), "", 1, {"node0"});
    own_agent_ = &agent(hello_of(0, 7));
    user_ = &peer("user");
  }
  void strike() override {
    user_ = own_agent_ = nullptr;
    Scene::strike();
  }
  Peer& user() { return *user_; }
  Peer& own_agent() { return *own_agent_; }
  // A place for a node, as `holon join` asks for it.
  lm::JoinReply place(const std::string& host = "node1") {
    const auto text = answer(user(), "node.invite", msg::InviteRequest{});
    EXPECT_TRUE(text) << text.error().what;
    const auto invitation =
        launch::parse_invitation(transport::unpack<msg::InviteReply>(*text)->invitation);
    Peer& joiner = peer_with("agent, joining", invitation->key);
    lm::JoinRequest ask;
    ask.rank = -1;
    ask.host = host;
    const auto given = answer(joiner, "agent.join", ask);
    EXPECT_TRUE(given) << given.error().what;
    lose(joiner);
    return *transport::unpack<lm::JoinReply>(*given);
  }
  static lm::Hello hello_at(const lm::JoinReply& place, std::uint64_t incarnation) {
    lm::Hello hello = hello_of(place.rank, incarnation);
    hello.hostname = place.host;
    hello.secret = place.secret;
    hello.topology = launch::portable_topology(machine_with(2, place.host));
    hello.topology_digest = launch::topology_digest(hello.topology);
    return hello;
  }
  Peer& come(const lm::JoinReply& place, const lm::Hello& hello) {
    Peer& one =
        peer_with("agent " + std::to_string(place.rank), {place.public_key, place.secret_key});
    const auto welcome = answer(one, "agent.hello", hello);
    EXPECT_TRUE(welcome) << welcome.error().what;
    return one;
  }
  // The agent of node1 is told to end, and does so.
  void leave(Peer& guest) {
    ASSERT_TRUE(answer(user(), "node.leave", msg::LeaveRequest{"node1", false}));
    EXPECT_TRUE(until([&] { return is_sent_home(guest); }));
    lose(guest);
  }
  static bool is_sent_home(const Peer& guest) {
    return !guest.all<lm::ShutdownRequest>("agent.shutdown").empty();
  }

 private:
  Peer *user_ = nullptr, *own_agent_ = nullptr;
};

// Its agent has yet to end what an earlier broker has given up, and may never say hello again.
TEST_F(InvitedNodesTest, ANewNodeGetsNothingBeforeItsAgentIsWelcome) {
  begin();
  const auto given = place();
  auto hello = hello_at(given, 8);
  hello.running = started(99, 4711).started;
  Peer& guest = come(given, hello);
  ASSERT_EQ(core().store->total("node"), 2);
  const auto job = submit(user(), 4);
  pass(5 * kSecond);
  EXPECT_EQ(state(job), "SCHED");
  hello.running.clear();
  ASSERT_TRUE(answer(guest, "agent.hello", hello));
  EXPECT_TRUE(until([&] { return state(job) == "RUN"; }, 10 * kSecond));
}

TEST_F(InvitedNodesTest, ANodeThatHasLeftIsNotCountedUntilItComesBack) {
  begin();
  const auto shown = [&] { return core().node_view.self(core().clock.now()); };
  const auto first = place();
  Peer& guest = come(first, hello_at(first, 8));
  EXPECT_EQ(shown().nodes, 2);
  EXPECT_EQ(shown().cores, 4);
  const auto job = submit(user(), 4);
  ASSERT_TRUE(until([&] { return state(job) == "RUN"; }, 10 * kSecond));
  user().ask("node.leave", msg::LeaveRequest{"node1", true});
  ASSERT_TRUE(until([&] { return !guest.all<lm::KillRequest>("agent.kill").empty(); }));
  EXPECT_EQ(shown().cores, 4) << "a job still runs there";
  for (Peer* one : {&own_agent(), &guest})
    ASSERT_TRUE(answer(*one, "agent.report", finished(job, 9)));
  ASSERT_TRUE(until([&] { return is_sent_home(guest); }));
  lose(guest);
  EXPECT_EQ(shown().nodes, 1);
  EXPECT_EQ(shown().cores, 2);
  EXPECT_EQ(shown().cores_free, 2);
  const auto second = place();
  come(second, hello_at(second, 9));
  ASSERT_TRUE(until([&] { return core().drains.here().empty(); }, 10 * kSecond));
  EXPECT_EQ(shown().nodes, 2);
  EXPECT_EQ(shown().cores, 4);
}

// It is drained, and that its agent is away is no news; also for the next broker.
TEST_F(InvitedNodesTest, ANodeThatHasLeftIsNotDownToo) {
  begin({"instance.peer-timeout=15s"});
  const auto down = [&] {
    const auto text = answer(user(), "resource.list", msg::Empty{});
    return text ? transport::unpack<msg::ResourceReply>(*text)->nodes_down : "no answer";
  };
  const auto first = place(), second = place("node2");
  Peer& guest = come(first, hello_at(first, 8));
  Peer& lost = come(second, hello_at(second, 9));
  EXPECT_EQ(core().store->total("node"), 3);
  leave(guest);
  EXPECT_EQ(down(), "");
  lose(lost);
  pass(14 * kSecond);
  EXPECT_EQ(down(), "");
  pass(2 * kSecond);
  EXPECT_EQ(down(), "node2");
  restart_broker();
  agent(hello_of(0, 7));
  EXPECT_EQ(down(), "node2");
  pass(20 * kSecond);
  EXPECT_EQ(down(), "node2");
}

// The margin before the end of its batch job (batch.walltime-margin) has begun already.
TEST_F(InvitedNodesTest, ANodeThatComesBackTooLateIsSentHome) {
  begin();
  const auto before = place();
  leave(come(before, hello_at(before, 8)));
  const auto given = place();
  auto hello = hello_at(given, 9);
  hello.lasts = 1;
  hello.batch_system = "slurm";
  hello.batch_job = "5";
  Peer& guest = come(given, hello);
  EXPECT_TRUE(until([&] { return is_sent_home(guest); }, 10 * kSecond));
}

TEST_F(InvitedNodesTest, ANodeThatComesBackIsKeptByALaterBroker) {
  begin();
  const auto first = place();
  leave(come(first, hello_at(first, 8)));
  const auto second = place();
  restart_broker();
  agent(hello_of(0, 7));
  Peer& guest = come(second, hello_at(second, 9));
  const auto job = submit(user(), 4);
  EXPECT_TRUE(until([&] { return state(job) == "RUN"; }, 10 * kSecond));
  EXPECT_FALSE(is_sent_home(guest));
  EXPECT_THAT(core().drains.here(), IsEmpty());
}

// The agent that was told to end is not the one that was given the place.
TEST_F(InvitedNodesTest, TheAgentThatHasLeftIsSentHomeByALaterBroker) {
  begin();
  const auto first = place();
  Peer& guest = come(first, hello_at(first, 8));
  ASSERT_TRUE(answer(user(), "node.leave", msg::LeaveRequest{"node1", false}));
  const auto second = place();
  lose(guest);
  restart_broker();
  agent(hello_of(0, 7));
  Peer& same = come(first, hello_at(first, 8));
  EXPECT_TRUE(until([&] { return is_sent_home(same); }, 10 * kSecond));
  lose(same);
  come(second, hello_at(second, 9));
  EXPECT_TRUE(until([&] { return core().drains.here().empty(); }, 10 * kSecond));
}

}  // namespace
}  // namespace holon::world
