// Several agents on one machine, each for a part of declared nodes: a job's tasks, its output and
// input, and what is left when one of the processes is killed.
#include "tests/instance/lone_broker.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "launch/messages.hpp"
#include "launch/topology.hpp"
#include "msg/input.hpp"
#include "msg/resource.hpp"

namespace holon::instance {
namespace {

using testing::alive;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::eventually;
using testing::FakeAgent;
using ::testing::HasSubstr;
using testing::JobOptions;
using testing::Live;
using testing::LoneBroker;
using testing::read_file;
using testing::with_tasks;

std::string eventlog(const Live& live, std::uint64_t id) {
  const auto info = live.call<msg::JobInfoReply>("job.info", msg::JobInfoRequest{id});
  EXPECT_TRUE(info) << info.error().what;
  return info ? info->eventlog : "";
}

int count_of(const std::string& text, const std::string& word) {
  int n = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::string output_of(const Live& live, std::uint64_t id) {
  auto client = transport::BlockingClient::connect(live.uri(), 30'000);
  EXPECT_TRUE(client);
  std::string text;
  const auto ended = client->stream<msg::OutputChunk>("job.attach", msg::AttachRequest{id}, "",
                                                      [&](const msg::OutputChunk& chunk) {
                                                        text += chunk.data;
                                                        return true;
                                                      });
  EXPECT_TRUE(ended) << ended.error().what;
  return text;
}

std::vector<std::string> two_agents(const std::string& shape) {
  return {"--resources", shape, "--agents", "2"};
}

TEST(TwoAgents, EachRunsItsTasksOfAJobAndTellsThemTheirPlaces) {
  const Live live(two_agents("node=2/core=2"));
  const auto id = live.job(
      {"/bin/sh", "-c",
       "echo $HOLON_NTASKS $HOLON_LOCAL_RANK/$HOLON_LOCAL_NTASKS $HOLON_NODE_INDEX/$HOLON_NNODES "
       "$HOLON_NODELIST $HOLON_CORES $PPID > " +
           live.dir() + "/task$HOLON_TASK_RANK"},
      with_tasks(4));
  EXPECT_EQ(live.wait_one(id).result, "COMPLETED");
  std::string expected[] = {"4 0/2 0/2 node[0-1] 0 ", "4 1/2 0/2 node[0-1] 1 ",
                            "4 0/2 1/2 node[0-1] 0 ", "4 1/2 1/2 node[0-1] 1 "};
  for (int task = 0; task < 4; ++task)
    EXPECT_EQ(read_file(live.dir() + "/task" + std::to_string(task)),
              expected[task] + std::to_string(live.agent(task / 2)) + "\n");
  EXPECT_EQ(count_of(eventlog(live, id), "\"start\""), 1);
  EXPECT_EQ(count_of(eventlog(live, id), "\"finish\""), 1);
}

TEST(TwoAgents, OfAJobThatIsDistributedCyclicallyEachRunsEverySecondTask) {
  const Live live(two_agents("node=2/core=2"));
  JobOptions options = with_tasks(4);
  options.system = R"({"shell":{"options":{"taskmap":{"scheme":"cyclic","value":""}}}})";
  const auto id =
      live.job({"/bin/sh", "-c",
                "echo $HOLON_LOCAL_RANK/$HOLON_LOCAL_NTASKS $HOLON_NODE_INDEX/$HOLON_NNODES "
                "$HOLON_CORES $PPID > " +
                    live.dir() + "/task$HOLON_TASK_RANK"},
               options);
  EXPECT_EQ(live.wait_one(id).result, "COMPLETED");
  const char* const expected[] = {"0/2 0/2 0 ", "0/2 1/2 0 ", "1/2 0/2 1 ", "1/2 1/2 1 "};
  for (int task = 0; task < 4; ++task)
    EXPECT_EQ(read_file(live.dir() + "/task" + std::to_string(task)),
              expected[task] + std::to_string(live.agent(task % 2)) + "\n");
  options.system = R"({"shell":{"options":{"taskmap":{"scheme":"cyclic","value":"2"}}}})";
  const auto refused = live.submit({"/bin/true"}, options);
  ASSERT_FALSE(refused);
  EXPECT_THAT(to_string(refused.error()), HasSubstr("block and cyclic are"));
}

TEST(TwoAgents, WhatAllTasksWriteIsReadWhileTheyRunAndAfterwards) {
  const Live live(two_agents("node=2/core=1"));
  live.gated("gate0");
  live.gated("gate1");
  const auto id =
      live.job({"/bin/sh", "-c",
                "echo task $HOLON_TASK_RANK; read line < " + live.dir() + "/gate$HOLON_TASK_RANK"},
               with_tasks(2));
  live.when_running(id);
  auto client = transport::BlockingClient::connect(live.uri(), 30'000);
  ASSERT_TRUE(client);
  std::string text;
  const auto ended = client->stream<msg::OutputChunk>(
      "job.attach", msg::AttachRequest{id}, "", [&](const msg::OutputChunk& chunk) {
        text += chunk.data;
        if (count_of(text, "\n") == 2)  // with its end: the gates open once
          for (const char* gate : {"gate0", "gate1"}) live.release(gate);
        return true;
      });
  EXPECT_TRUE(ended) << ended.error().what;
  EXPECT_THAT(lines_of(text), ElementsAre("task 0", "task 1"));
  EXPECT_EQ(live.wait_one(id).result, "COMPLETED");
  EXPECT_THAT(lines_of(output_of(live, id)), ElementsAre("task 0", "task 1"));
}

// One agent writes one file for all nodes that it stands for, whatever lies beside that.
TEST(OneAgent, AFileThatLooksLikeAnotherAgentsIsNotRead) {
  const Live live({"--resources", "node=2/core=1"});
  JobOptions options = with_tasks(2);
  options.system = R"({"shell":{"options":{"output":{"stdout":{"type":"file","path":")" +
                   live.dir() + R"(/log"}}}}})";
  std::ofstream(live.dir() + "/log.1") << "of last week\n";
  const auto id = live.job({"/bin/sh", "-c", "echo now"}, options);
  EXPECT_EQ(live.wait_one(id).nodelist, "node[0-1]");
  EXPECT_THAT(lines_of(output_of(live, id)), ElementsAre("now", "now"));
}

TEST(TwoAgents, TheInputReachesTheTasksOfBoth) {
  const Live live(two_agents("node=2/core=1"));
  JobOptions options = with_tasks(2);
  options.system = R"({"shell":{"options":{"input":{"stdin":{"type":"service"}}}}})";
  const auto id = live.job({"/bin/cat"}, options);
  live.when_running(id);
  const auto send = [&](std::uint64_t offset, const std::string& data, bool end) {
    Result<msg::InputReply> reply = tl::unexpected<Error>(Error{});
    EXPECT_TRUE(eventually([&] {
      reply = live.call<msg::InputReply>("job.input", msg::InputRequest{id, offset, data, end});
      return reply || reply.error().code != Errc::busy;
    }));
    EXPECT_TRUE(reply) << reply.error().what;
    return reply && reply->open;
  };
  EXPECT_TRUE(send(0, "hello\n", false));
  EXPECT_FALSE(send(6, "", true));
  EXPECT_EQ(live.wait_one(id).result, "COMPLETED");
  EXPECT_THAT(lines_of(output_of(live, id)), ElementsAre("hello", "hello"));
}

TEST(TwoAgents, OneThatIsKilledTakesItsPartAndNothingElse) {
  const Live live(two_agents("node=2/core=2"));
  const auto beside = live.job(live.gated("gate"));
  const int spared = live.when_running(beside).nodelist == "node0" ? 0 : 1;
  const auto both = live.job({"/bin/sleep", "1000"}, with_tasks(3));
  ASSERT_TRUE(eventually([&] { return live.record(both).pids.size() == 3; }));
  const auto running = live.record(both);
  EXPECT_EQ(running.nodelist, "node[0-1]");
  const pid_t first = live.agent(spared), second = live.agent(1 - spared);
  testing::signal_process(second, SIGKILL);
  const auto lost = live.wait_one(both);
  EXPECT_EQ(lost.result, "FAILED");
  EXPECT_THAT(lost.reason, HasSubstr("died while the job ran"));
  for (const auto pid : running.pids) EXPECT_FALSE(alive(static_cast<pid_t>(pid)));
  EXPECT_EQ(live.agent(spared), first);
  ASSERT_EQ(live.record(beside).state, "RUN");
  EXPECT_EQ(live.wait_one(live.job({"/bin/true"}, with_tasks(3))).result, "COMPLETED")
      << "its nodes are of use again";
  EXPECT_NE(live.agent(1 - spared), second);
  live.release("gate");
  EXPECT_EQ(live.wait_one(beside).result, "COMPLETED");
}

TEST(TwoAgents, ABrokerThatComesBackKnowsWhichPartIsOver) {
  const Live live(two_agents("node=2/core=1"));
  live.gated("gate");
  const auto id =
      live.job({"/bin/sh", "-c",
                "test $HOLON_NODE_INDEX = 1 && exit 3; read line < " + live.dir() + "/gate"},
               with_tasks(2));
  ASSERT_TRUE(eventually([&] { return count_of(eventlog(live, id), "\"rank-finish\"") == 1; }));
  live.kill_broker();
  EXPECT_EQ(live.record(id).state, "RUN") << "its other part runs on";
  live.kill_broker();
  live.release("gate");
  const auto over = live.wait_one(id);
  EXPECT_EQ(over.result, "FAILED");
  EXPECT_EQ(over.exit_code, 3) << "the highest of all tasks";
  const auto log = eventlog(live, id);
  EXPECT_EQ(count_of(log, "\"start\""), 1);
  EXPECT_EQ(count_of(log, "\"rank-finish\""), 2);
  EXPECT_EQ(count_of(log, "\"finish\""), 1);
}

TEST(TwoAgents, ACancelledJobEndsOnBoth) {
  const Live live(two_agents("node=2/core=1"));
  const auto id = live.job({"/bin/sleep", "1000"}, with_tasks(2));
  ASSERT_TRUE(eventually([&] { return live.record(id).pids.size() == 2; }));
  const auto pids = live.record(id).pids;
  live.cancel(id);
  EXPECT_EQ(live.wait_one(id).result, "CANCELED");
  for (const auto pid : pids) EXPECT_FALSE(alive(static_cast<pid_t>(pid)));
}

msg::ResourceReply resources_of(const Live& live) {
  return live.call<msg::ResourceReply>("resource.list", msg::Empty{}).value();
}

// More often than the supervisor starts it again.
void kill_until_given_up(const Live& live, int rank) {
  const auto gives_up = [&] {
    return read_file(live.dir() + "/state/instance.log").find("giving up") != std::string::npos;
  };
  EXPECT_TRUE(eventually([&] {
    if (const pid_t agent = live.agent(rank); agent != 0) kill(agent, SIGKILL);
    return gives_up();
  }));
}

TEST(TwoAgents, TheNodesOfOneThatDoesNotComeBackAreDownAndTheOthersGoOn) {
  auto options = two_agents("node=2/core=1");
  options.insert(options.end(),
                 {"--conf", "instance.peer-timeout=3s", "--conf", "instance.heartbeat=500ms"});
  const Live live(options);
  kill_until_given_up(live, 1);
  ASSERT_TRUE(eventually([&] { return resources_of(live).nodes_down == "node1"; }));
  EXPECT_EQ(resources_of(live).down.at("core"), 1);
  EXPECT_EQ(live.wait_one(live.job({"/bin/true"})).result, "COMPLETED");
  const auto waits = live.job({"/bin/true"}, with_tasks(2));
  ASSERT_TRUE(eventually([&] { return !live.record(waits).reason.empty(); }));
  EXPECT_THAT(live.record(waits).reason,
              HasSubstr("1 of 2 nodes is down: node1: its agent has been away since "));
  live.kill_broker();
  EXPECT_EQ(resources_of(live).nodes_down, "node1") << "the next broker knows it, too";
  EXPECT_EQ(live.record(waits).state, "SCHED");
}

TEST(TwoAgents, ADrainedNodeGetsNothingMoreAndItsAgentStays) {
  const Live live(two_agents("node=2/core=1"));
  const auto drain = [&](bool drained) {
    EXPECT_TRUE(live.call<msg::Empty>("resource.drain", msg::DrainRequest{"node1", drained, ""}));
  };
  drain(true);
  const auto both = live.job({"/bin/true"}, with_tasks(2));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(live.wait_one(live.job({"/bin/true"})).nodelist, "node0");
  EXPECT_EQ(live.record(both).state, "SCHED");
  drain(false);
  EXPECT_EQ(live.wait_one(both).result, "COMPLETED");
}

class FakeAgents : public ::testing::Test {
 protected:
  static launch::msg::Finished end_of(std::uint64_t id, int status) {
    launch::msg::Finished finished;
    finished.job = id;
    finished.reason = "exit";
    finished.exit_code = status;
    finished.tasks = {{0, status << 8, true, 0, 0}};
    return finished;
  }
};

TEST_F(FakeAgents, SpeakForTheRankOfTheirSecretOnly) {
  const LoneBroker live("node=2/core=1", 2);
  auto forged = FakeAgent::hello_of(live, 1);
  forged.secret = live.agent_secret(0);
  const auto refused = live.call<launch::msg::Welcome>("agent.hello", forged);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::denied);
  EXPECT_THAT(refused.error().what, HasSubstr("of rank 1"));
  auto unknown = FakeAgent::hello_of(live, 1);
  unknown.rank = 2;
  EXPECT_EQ(live.call<launch::msg::Welcome>("agent.hello", unknown).error().code, Errc::denied);
}

TEST_F(FakeAgents, EndTheirOwnPartOfAJobOnly) {
  const LoneBroker live("node=2/core=1", 2);
  FakeAgent first(live, FakeAgent::hello_of(live, 0)), second(live, FakeAgent::hello_of(live, 1));
  const auto id = live.job({"/bin/true"}, with_tasks(2));
  ASSERT_TRUE(first.is_told("agent.start"));
  ASSERT_TRUE(second.is_told("agent.start"));
  const auto& part = second.starts.at(0).jobs.at(0);
  EXPECT_EQ(part.node_index, 1u);
  EXPECT_EQ(part.nnodes, 2u);
  ASSERT_EQ(part.tasks.size(), 1u);
  EXPECT_EQ(part.tasks[0].rank, 1u);
  EXPECT_TRUE(part.output.ends_with(".out.1")) << part.output;
  first.report(end_of(id, 0));
  first.report(end_of(id, 7));
  EXPECT_EQ(live.record(id).state, "RUN") << "told again, it is no news";
  second.report(end_of(id, 2));
  const auto over = live.wait_one(id);
  EXPECT_EQ(over.exit_code, 2);
}

// What one agent's broker has not acknowledged is told again by that agent alone.
TEST_F(FakeAgents, SayAgainWhatIsNotAcknowledgedEachForItself) {
  LoneBroker live("node=2/core=1", 2);
  const auto one = FakeAgent::hello_of(live, 0), two = FakeAgent::hello_of(live, 1);
  std::uint64_t id = 0;
  {
    FakeAgent first(live, one), second(live, two);
    id = live.job({"/bin/true"}, with_tasks(2));
    ASSERT_TRUE(first.is_told("agent.start"));
    ASSERT_TRUE(second.is_told("agent.start"));
    second.report(end_of(id, 0));
  }
  live.kill_broker();
  auto again = one;
  again.finished = {end_of(id, 4)};
  const FakeAgent first(live, again);
  EXPECT_EQ(live.wait_one(id).exit_code, 4);
}

// The machine's own topology stands for that of another host, which has another name.
TEST_F(FakeAgents, SayWhatTheirNodesAreWhereThatIsNotDeclared) {
  const LoneBroker live("", 3, {"instance.gather-timeout=60s"}, LoneBroker::not_answering);
  const std::string xml = *launch::topology_xml();
  auto second = FakeAgent::hello_of(live, 1), third = FakeAgent::hello_of(live, 2);
  second.hostname = "other";
  third.hostname = "last";
  second.topology = third.topology = xml;
  FakeAgent one(live), two(live), three(live);
  two.send("agent.hello", second);
  one.send("agent.hello", FakeAgent::hello_of(live, 0));
  three.say_hello(third);
  EXPECT_TRUE(three.welcome.accepted);
  const auto all = resources_of(live);
  EXPECT_EQ(all.total.at("node"), 3);
  EXPECT_EQ(all.total.at("core") % 3, 0);
  EXPECT_THAT(all.nodes_free, AllOf(HasSubstr("other"), HasSubstr("last")));
}

// As this machine's, with less memory: no node has been shown to have that.
std::string another_topology() {
  std::string xml = launch::portable_topology(*launch::topology_xml());
  const std::string mark = "local_memory=\"";
  const auto at = xml.find(mark);
  EXPECT_NE(at, std::string::npos);
  if (at == std::string::npos) return xml;
  const auto begin = at + mark.size();
  return xml.replace(begin, xml.find('"', begin) - begin, "0");
}

TEST_F(FakeAgents, OfEqualNodesOneIsAskedForItsTopology) {
  const LoneBroker live("", 5, {"instance.gather-timeout=60s"}, LoneBroker::not_answering);
  const std::string xml = another_topology();
  std::vector<launch::msg::Hello> hellos;
  for (const std::uint32_t rank : {0U, 1U, 2U, 3U, 4U}) {
    hellos.push_back(FakeAgent::hello_of(live, rank));
    hellos.back().hostname = "host" + std::to_string(rank);
    hellos.back().topology_digest = launch::topology_digest(xml);
  }
  hellos[4].topology_digest =
      launch::topology_digest(launch::portable_topology(*launch::topology_xml()));
  FakeAgent first(live), second(live), like_the_brokers(live);
  like_the_brokers.send("agent.hello", hellos[4]);
  {
    FakeAgent gone(live, hellos[1]);
    EXPECT_TRUE(gone.welcome.wants_topology);
    second.send("agent.hello", hellos[2]);
  }
  // One of the others is asked after that.
  FakeAgent third(live);
  first.send("agent.hello", hellos[1]);
  hellos[3].topology = xml;
  third.send("agent.hello", hellos[3]);
  const FakeAgent own(live, hellos[0]);
  EXPECT_TRUE(own.welcome.accepted);
  EXPECT_FALSE(own.welcome.wants_topology);
  const auto all = resources_of(live);
  EXPECT_EQ(all.total.at("node"), 5);
  EXPECT_THAT(all.nodes_free, HasSubstr("host[1-4]"));
}

TEST_F(FakeAgents, AreNotWaitedForBeyondTheGatherTimeout) {
  const LoneBroker live("", 3, {"instance.gather-timeout=1s"}, LoneBroker::not_answering);
  FakeAgent two(live);
  auto last = FakeAgent::hello_of(live, 2);
  last.hostname = "last";
  last.topology = *launch::topology_xml();
  two.say_hello(last);
  EXPECT_TRUE(two.welcome.accepted);
  EXPECT_EQ(resources_of(live).total.at("node"), 2);
  FakeAgent late(live, FakeAgent::hello_of(live, 1));
  EXPECT_FALSE(late.welcome.accepted) << "it does not say what its node has";
  EXPECT_THAT(late.welcome.refusal, HasSubstr("the instance has begun without it: "));
  EXPECT_EQ(resources_of(live).total.at("node"), 2);
  auto again = FakeAgent::hello_of(live, 1);
  again.hostname = "late";
  again.topology_digest = launch::topology_digest(another_topology());
  FakeAgent unlike(live, again);
  EXPECT_TRUE(unlike.welcome.wants_topology);
  again.topology_digest = launch::topology_digest(launch::portable_topology(last.topology));
  FakeAgent like_the_others(live, again);
  EXPECT_TRUE(like_the_others.welcome.accepted);
  EXPECT_FALSE(like_the_others.welcome.wants_topology);
  EXPECT_EQ(resources_of(live).total.at("node"), 3);
}

}  // namespace
}  // namespace holon::instance
