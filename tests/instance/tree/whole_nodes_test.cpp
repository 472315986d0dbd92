// Whole nodes that come to a running child and go back: the instance above starts the child's agent
// there, and ends it.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/instance/tree/whole_nodes.hpp"

namespace holon::instance {
namespace {

using testing::ask_for_nodes;
using testing::eventually;
using ::testing::HasSubstr;
using testing::JobOptions;
using testing::Live;
using testing::WholeNodes;

TEST_F(WholeNodes, ANodeComesWithItsAgentAndGoesWithIt) {
  for (const char* gate : {"first", "second"}) {
    get(1);
    EXPECT_EQ(nodes_of("/1"), 2);
    EXPECT_EQ(agents_of_child().size(), 1U);
    const auto job = hold(2, gate);
    EXPECT_EQ(batch::expand_hosts(live.when_running(job, "/1").nodelist)->size(), 2U);
    release();
    ASSERT_TRUE(eventually([&] { return extra().state == "draining"; })) << extra().state;
    EXPECT_EQ(free_of("/"), cores_) << "a job holds it still";
    EXPECT_EQ(live.record(job, "/1").state, "RUN");
    live.release(gate);
    EXPECT_EQ(live.wait_one(job, "/1").result, "COMPLETED");
    expect_all_back();
  }
  get(2);
  EXPECT_EQ(nodes_of("/1"), 3);
  release();
  expect_all_back();
}

TEST_F(WholeNodes, ItsTasksAskTheChildWhereTheyAre) {
  get(1);
  const std::string file = live.dir() + "/seen";
  const auto job =
      live.job({"/bin/sh", "-c",
                std::string("test $HOLON_LOCAL_RANK = 0 && { echo $HOLON_URI; ") + HOLON_BINARY +
                    " jobs --json; } > " + file + ".$HOLON_NODE_INDEX; :"},
               on_nodes(2), "/1");
  const auto over = live.wait_one(job, "/1");
  EXPECT_EQ(over.result, "COMPLETED") << over.reason;
  const auto here = testing::read_file(file + ".0"), there = testing::read_file(file + ".1");
  EXPECT_NE(here.substr(0, here.find('\n')), there.substr(0, there.find('\n')));
  for (const auto& said : {here, there})
    EXPECT_THAT(said, HasSubstr("\"/1/" + std::to_string(job) + "\""));
  live.cancel(1);
  EXPECT_EQ(live.wait_one(1).result, "CANCELED");
  EXPECT_TRUE(eventually([&] { return free_of("/") == 3 * cores_; })) << free_of("/");
  EXPECT_TRUE(agents_of_child().empty());
}

TEST_F(WholeNodes, NothingIsPlacedThereBeforeItsAgentIsThere) {
  // The agents above start nothing for a while.
  struct Stopped : std::vector<pid_t> {
    ~Stopped() { go_on(); }
    void go_on() {
      for (const pid_t pid : *this) testing::signal_process(pid, SIGCONT);
      clear();
    }
  } stopped;
  for (const pid_t pid : before_)
    if (testing::command_of(pid).find("--rank") != std::string::npos &&
        testing::children_of(pid).empty() && pid != live.agent(0))
      stopped.push_back(pid);
  ASSERT_FALSE(stopped.empty());
  for (const pid_t pid : stopped) testing::signal_process(pid, SIGSTOP);
  const auto answer = ask(1);
  ASSERT_TRUE(answer) << answer.error().what;
  ASSERT_TRUE(eventually([&] { return nodes_of("/1") == 2; }));
  const auto job = live.job({"/bin/true"}, on_nodes(2), "/1");
  ASSERT_TRUE(eventually([&] {
    return live.record(job, "/1").reason.find("it is not here yet") != std::string::npos;
  })) << live.record(job, "/1").reason;
  EXPECT_EQ(live.record(job, "/1").state, "SCHED");
  kill_child_broker();
  ASSERT_TRUE(eventually([&] {
    return live.record(job, "/1").reason.find("it is not here yet") != std::string::npos;
  })) << live.record(job, "/1").reason;
  stopped.go_on();
  EXPECT_EQ(live.wait_one(job, "/1").result, "COMPLETED");
  release();
  expect_all_back();
}

TEST_F(WholeNodes, SurvivesTheBrokersOfBothAsTheyComeAndGo) {
  const auto answer = ask(1);
  ASSERT_TRUE(answer) << answer.error().what;
  kill_child_broker();
  live.kill_broker();
  const auto job = hold(2, "wide");
  live.when_running(job, "/1");
  live.kill_broker();
  kill_child_broker();
  EXPECT_EQ(live.record(job, "/1").state, "RUN");
  release();
  kill_child_broker();
  live.release("wide");
  EXPECT_EQ(live.wait_one(job, "/1").result, "COMPLETED");
  live.kill_broker();
  expect_all_back();
  kill_child_broker();
  get(1);
  release();
  live.kill_broker();
  expect_all_back();
}

TEST_F(WholeNodes, ARecallByForceEndsWhatRunsThere) {
  get(1);
  const auto job = hold(2, "never");
  live.when_running(job, "/1");
  recall(false);
  EXPECT_EQ(live.record(job, "/1").state, "RUN");
  recall(true);
  const auto over = live.wait_one(job, "/1");
  EXPECT_EQ(over.result, "FAILED");
  EXPECT_THAT(over.reason, HasSubstr("it is needed"));
  expect_all_back();
}

TEST_F(WholeNodes, ANodeWhoseAgentIsLostGoesBack) {
  get(1);
  const auto job = hold(2, "never");
  live.when_running(job, "/1");
  const auto agents = agents_of_child();
  ASSERT_EQ(agents.size(), 1U);
  const auto below = testing::children_of(agents.front());
  testing::signal_process(agents.front(), SIGKILL);
  for (const pid_t pid : below) testing::signal_process(pid, SIGKILL);
  EXPECT_EQ(live.wait_one(job, "/1").result, "FAILED");
  expect_all_back();
  get(1);
  release();
  expect_all_back();
}

// The agent of the instance above that had started it: it is followed by another.
TEST_F(WholeNodes, ANodeOnWhichTheAgentAboveDiedGoesBack) {
  get(1);
  const auto job = hold(2, "never");
  live.when_running(job, "/1");
  ASSERT_EQ(agents_of_child().size(), 1U);
  testing::signal_process(testing::parent_of(agents_of_child().front()), SIGKILL);
  EXPECT_EQ(live.wait_one(job, "/1").result, "FAILED");
  expect_all_back();
  get(2);
  release();
  expect_all_back();
}

TEST_F(WholeNodes, EndAsAWholeWhenTheirTimeIsOver) {
  const auto answer = ask(1, 3'600);
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_GT(answer->until, 0);
  const auto endless = hold(2, "never");
  for (const bool again : {false, true}) {
    if (again) kill_child_broker();
    ASSERT_TRUE(eventually([&] {
      return live.record(endless, "/1").reason.find("no time limit to end before") !=
             std::string::npos;
    })) << live.record(endless, "/1").reason;
    EXPECT_THAT(live.record(endless, "/1").reason, ::testing::Not(HasSubstr(" cores of ")));
  }
  live.cancel(endless, "/1");
  EXPECT_EQ(live.wait_one(submit_on(2), "/1").result, "COMPLETED");
  release();
  expect_all_back();
  const auto brief = ask(2, 2);
  ASSERT_TRUE(brief) << brief.error().what;
  EXPECT_TRUE(brief->is_here);
  expect_all_back();
}

TEST_F(WholeNodes, AreNamedAndAdvised) {
  EXPECT_EQ(extra().nodes, "");
  get(2);
  const auto own = live.record(1).nodelist;
  const auto hosts = batch::expand_hosts(extra().nodes);
  ASSERT_TRUE(hosts);
  EXPECT_EQ(hosts->size(), 2U) << extra().nodes;
  EXPECT_EQ(std::count(hosts->begin(), hosts->end(), own), 0) << extra().nodes;
  const auto above = live.call<msg::GrantReply>("grant.show", msg::Empty{});
  ASSERT_TRUE(above);
  for (const auto& part : above->given)
    EXPECT_EQ(part.nodes, part.source == "extra" ? extra().nodes : "");
  release();
  expect_all_back();
  const auto job = submit_on(3);
  const auto about = live.call<msg::GrantExplained>("grant.explain", msg::GrantExplain{job}, "/1");
  ASSERT_TRUE(about) << about.error().what;
  EXPECT_EQ(about->nodes, 2);
  EXPECT_TRUE(about->chance.is_planned) << about->never << about->unsaid;
  EXPECT_EQ(about->chance.at, 0);
  get(2);
  EXPECT_EQ(live.wait_one(job, "/1").result, "COMPLETED");
  release();
  expect_all_back();
  // More cores would do, but its node has none.
  const auto wide = live.job({"/bin/true"}, on_nodes(2), "/1");
  const auto nodes = live.call<msg::GrantExplained>("grant.explain", msg::GrantExplain{wide}, "/1");
  ASSERT_TRUE(nodes) << nodes.error().what;
  EXPECT_EQ(nodes->nodes, 1);
  EXPECT_TRUE(nodes->chance.is_planned) << nodes->never << nodes->unsaid;
  get(1);
  EXPECT_EQ(live.wait_one(wide, "/1").result, "COMPLETED");
  // What came whole has no cores left that could come, too.
  const auto wider = live.job({"/bin/true"}, on_nodes(3), "/1");
  const auto more = live.call<msg::GrantExplained>("grant.explain", msg::GrantExplain{wider}, "/1");
  ASSERT_TRUE(more) << more.error().what;
  EXPECT_EQ(more->nodes, 1);
  EXPECT_EQ(more->never, "");
  live.cancel(wider, "/1");
  release();
  expect_all_back();
}

TEST_F(WholeNodes, AChildEndsAtOnceThoughItHadSome) {
  get(1);
  release();
  expect_all_back();
  EXPECT_TRUE(live.call<msg::Empty>("shutdown", msg::ShutdownRequest{}, "/1"));
  EXPECT_EQ(live.wait_one(1).result, "COMPLETED");
}

// Right after the grant, whatever has become of its agent by then.
TEST_F(WholeNodes, AnAgentThatIsKilledAsItBeginsGivesTheNodeBack) {
  const auto answer = ask(1);
  ASSERT_TRUE(answer) << answer.error().what;
  ASSERT_TRUE(eventually([&] { return !agents_of_child().empty(); }));
  for (const pid_t pid : agents_of_child()) testing::signal_process(pid, SIGKILL);
  expect_all_back();
}

TEST_F(WholeNodes, SaysWhyThereAreNone) {
  EXPECT_FALSE(ask(3));
  resource::JobShape large;
  large.command = {"/bin/true"};
  large.nodes = large.tasks = 1;
  large.cores_per_task = cores_ + 1;
  large.exclusive = true;
  large.cwd = "/";
  const auto none = live.call<msg::GrantAnswer>(
      "grant.ask", msg::GrantAsk{resource::write_jobspec(*resource::jobspec_for(large))}, "/1");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().what, HasSubstr("of the 2 that /1 has nothing of, 0 have as much"));
  const auto cores = live.call<msg::GrantAnswer>(
      "grant.ask", msg::GrantAsk{Live::request({"grant"}, on_nodes(1)).jobspec}, "/1");
  ASSERT_FALSE(cores);
  EXPECT_THAT(cores.error().what, HasSubstr("whole nodes come with -N"));
  expect_all_back();
}

TEST(WholeNodesOfOneAgent, AreRefused) {
  const Live live({"--resources", "node=2/core=2"});
  JobOptions half;
  half.tasks = 2;
  ASSERT_EQ(live.child(half), 1U);
  ASSERT_TRUE(eventually([&] { return live.status("/1").has_value(); }));
  const auto answer = live.call<msg::GrantAnswer>("grant.ask", ask_for_nodes(1, 0), "/1");
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().what, HasSubstr("an agent of its own; here one has all 2"));
}

}  // namespace
}  // namespace holon::instance
