// Nobody speaks for somebody else: agents, children and tasks that say they are another.
#include <gmock/gmock.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "instance/basics/refusals.hpp"
#include "instance/tree/ancestry.hpp"
#include "instance/users/rights.hpp"
#include "launch/topics.hpp"
#include "launch/tracking/process.hpp"
#include "msg/topics.hpp"
#include "places.hpp"  // written by CMake
#include "tests/instance/lone_broker.hpp"

namespace holon::instance {
namespace {

using testing::eventually;
using testing::FakeAgent;
using ::testing::HasSubstr;
using testing::Live;
using testing::LoneBroker;
using testing::read_file;

// ---- rights ----

TEST(Rights, ATopicWithoutARowDoesNotExist) {
  for (const char* topic : {"", "agent", "agent.start", "job", "Submit"})
    EXPECT_EQ(may_ask(topic, ~0U, false).error().code, Errc::unsupported) << topic;
}

TEST(Rights, WhoHasProvedNothingMayAskForNothing) {
  for (const auto rows : {msg::table(), launch::table()})
    for (const auto& row : rows) EXPECT_FALSE(may_ask(row.shape.name, 0, false)) << row.shape.name;
}

TEST(Rights, EachSaysWhatIsItsToSay) {
  for (const unsigned asker : {kOwner, kParent}) {
    EXPECT_TRUE(may_ask("submit", asker, false));
    EXPECT_TRUE(may_ask("submit", asker, true));
  }
  EXPECT_TRUE(may_ask("agent.hello", kOwner, false));
  EXPECT_TRUE(may_ask("agent.report", kOwner | kAgent, false));
  EXPECT_TRUE(may_ask("record", kOwner | kChild, false));
  EXPECT_TRUE(may_ask("lease", kParent, false));
  for (const char* topic : {"agent.report", "record", "ending", "lease", "drain"})
    EXPECT_FALSE(may_ask(topic, kOwner, false)) << topic;
  EXPECT_FALSE(may_ask("record", kOwner | kAgent, false));
  EXPECT_FALSE(may_ask("lease", kOwner | kChild | kAgent, false));
  for (const char* topic : {"agent.hello", "agent.report", "hello", "record", "lease", "drain"})
    EXPECT_THAT(may_ask(topic, ~0U, true).error().what, HasSubstr("not passed on")) << topic;
}

TEST(Rights, OfPeopleFollowFromTheirRoles) {
  constexpr unsigned kUserOfIt = kVisitor | kMember, kRunsIt = kUserOfIt | kOperator;
  for (const char* topic : {"tree", "status", "resource.list", "user.instance"})
    EXPECT_TRUE(may_ask(topic, kVisitor, false)) << topic;
  for (const char* topic :
       {"submit", "jobs", "cancel", "job.signal", "job.update", "events", "hello"}) {
    EXPECT_FALSE(may_ask(topic, kVisitor, false)) << topic;
    EXPECT_TRUE(may_ask(topic, kUserOfIt, false)) << topic;
  }
  for (const char* topic : {"shutdown", "audit", "resource.drain", "queue.gate", "node.invite",
                            "reserve", "policy.load"}) {
    EXPECT_THAT(may_ask(topic, kUserOfIt, false).error().what, HasSubstr("its operators"));
    EXPECT_TRUE(may_ask(topic, kRunsIt, false)) << topic;
  }
  for (const char* topic : {"agent.hello", "agent.report", "agent.join", "record", "lease"})
    EXPECT_FALSE(may_ask(topic, kRunsIt, false)) << topic;
}

TEST(Rights, WhatIsOnlyLookedAtChangesNothing) {
  for (const auto& [shape, rights] : msg::table()) {
    const bool look = is_look(shape.name);
    EXPECT_FALSE(look && is_audited(shape.name)) << shape.name;
    EXPECT_FALSE(look && is_repeated(shape.name)) << shape.name;
    // What an instance that is gone could still do is to be looked at.
    if (rights.when_ended != WhenEnded::refusal) {
      EXPECT_TRUE(look) << shape.name;
    }
  }
  for (const char* topic : {"jobs", "job.tasks", "plan", "explain", "audit", "tree"})
    EXPECT_TRUE(is_look(topic)) << topic;
  for (const char* topic : {"submit", "shutdown", "job.input", "record", "lease", "no-such-topic"})
    EXPECT_FALSE(is_look(topic)) << topic;
  EXPECT_TRUE(is_repeated("agent.report") && is_repeated("job.input") && !is_repeated("submit"));
  EXPECT_EQ(answer_when_ended("job.attach"), WhenEnded::output);
  EXPECT_EQ(answer_when_ended("submit"), WhenEnded::refusal);
  EXPECT_EQ(answer_when_ended("no-such-topic"), WhenEnded::refusal);
}

TEST(Rights, EveryRowHasAHandlerAndALineForPeople) {
  const std::string page = read_file(HOLON_SOURCE_DIR "/docs/security.md");
  const LoneBroker live("node=1/core=1");
  auto client = transport::BlockingClient::connect(live.uri(), 30'000);
  ASSERT_TRUE(client);
  std::vector<std::string> topics;
  for (const auto rows : {msg::table(), launch::table()})
    for (const auto& [shape, rights] : rows)
      if (rights.askers != 0) topics.emplace_back(shape.name);
  for (const auto& topic : topics) {
    EXPECT_THAT(page, HasSubstr("`" + topic + "`"));
    const auto answer = client->call(topic, "\xc1", "", 30'000);
    if (!answer) {
      EXPECT_NE(answer.error().code, Errc::unsupported) << topic;
    }
  }
}

TEST(Refusals, AreLoggedOnceASourceAndMinute) {
  Refusals refusals;
  EXPECT_EQ(refusals.note("process 7", "no", 1'000), "refused process 7: no");
  EXPECT_EQ(refusals.note("process 7", "no", 60'000), "");
  EXPECT_EQ(refusals.note("process 7", "never", 60'999), "");
  EXPECT_EQ(refusals.note("process 8", "no", 2'000), "refused process 8: no");
  EXPECT_EQ(refusals.note("process 7", "no", 61'000),
            "refused process 7: no (and 2 requests before)");
}

TEST(Refusals, WhatAClientHasChosenNeitherBreaksALineNorCommandsATerminalNorFillsADisk) {
  Refusals refusals;
  const std::string topic = "x\n[2026] [info] all is well\x1b[2J" + std::string(100'000, 'y');
  const auto line = refusals.note("process 7", may_ask(topic, 0, false).error().what, 0);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
  EXPECT_LT(line.size(), 1'000u);
  EXPECT_THAT(line, HasSubstr("all is well"));
}

TEST(Refusals, ManySourcesShareOneLine) {
  Refusals refusals;
  int lines = 0;
  for (int i = 0; i < 5'000; ++i)
    lines += !refusals.note("process " + std::to_string(i), "no", 1'000).empty();
  EXPECT_EQ(lines, 1'001);
  EXPECT_NE(refusals.note("process 6000", "no", 61'000), "") << "the old ones are forgotten";
}

// ---- processes ----

TEST(Ancestry, IsThatOfTheKernelsTable) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const pid_t grandchild = fork();
    if (grandchild > 0 && write(ends[1], &grandchild, sizeof grandchild) < 0) _exit(1);
    for (;;) pause();
  }
  pid_t grandchild = 0;
  ASSERT_EQ(read(ends[0], &grandchild, sizeof grandchild), ssize_t(sizeof grandchild));
  const auto start = launch::stat_of(child)->start;
  EXPECT_TRUE(descends_from(child, {{child, start}}));
  EXPECT_TRUE(descends_from(grandchild, {{1, 1}, {child, start}}));
  EXPECT_FALSE(descends_from(getpid(), {{child, start}}));
  EXPECT_FALSE(descends_from(grandchild, {{child, start + 1}})) << "the number was given anew";
  EXPECT_FALSE(descends_from(grandchild, {}));
  EXPECT_FALSE(descends_from(0, {{child, start}}));
  for (const pid_t pid : {grandchild, child}) kill(pid, SIGKILL);
  waitpid(child, nullptr, 0);
  for (const int end : ends) close(end);
}

TEST(Identity, AJobWithoutAUserIsOfWhoSubmittedIt) {
  const LoneBroker live("node=1/core=1");
  auto ask = Live::request({"/bin/true"});
  ask.user = "";
  const auto taken = live.call<msg::SubmitReply>("submit", ask);
  ASSERT_TRUE(taken) << taken.error().what;
  const passwd* const entry = getpwuid(geteuid());
  EXPECT_EQ(live.record(taken->first_id).user,
            entry != nullptr ? entry->pw_name : std::to_string(geteuid()));
}

// ---- agents ----

TEST(Identity, AForgedAgentIsRefusedAndTheRealOneWorksOn) {
  const Live live({"--resources", "node=1/core=2"});
  const auto id = live.job(live.gated("gate"));
  const auto before = live.when_running(id);
  auto forger = transport::BlockingClient::connect(live.uri(), 30'000);
  ASSERT_TRUE(forger);
  launch::msg::Hello hello;
  hello.incarnation = 42;
  for (const char* secret : {"", "guessed"}) {
    hello.secret = secret;
    const auto answer = forger->call<launch::msg::Welcome>("agent.hello", hello);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Errc::denied);
  }
  launch::msg::Finished finished;
  finished.job = id;
  finished.reason = "exit";
  EXPECT_FALSE(
      forger->call<launch::msg::Empty>("agent.report", launch::msg::Report{{}, {finished}}));
  EXPECT_EQ(live.record(id).pids, before.pids);
  EXPECT_EQ(live.status()->cores_free, 1);
  live.release("gate");
  EXPECT_EQ(live.wait_one(id).result, "COMPLETED");
  EXPECT_EQ(live.wait_one(live.job({"/bin/true"})).result, "COMPLETED");
  const std::string log = read_file(live.dir() + "/state/instance.log");
  const auto first = log.find("refused process");
  ASSERT_NE(first, std::string::npos) << log;
  EXPECT_EQ(log.find("refused process", first + 1), std::string::npos) << log;
}

TEST(Identity, TheSecretIsTheSameForLaterBrokersAndAgents) {
  const Live live({"--resources", "node=1/core=1"});
  const auto id = live.job(live.gated("gate"));
  live.when_running(id);
  live.kill_broker();
  live.release("gate");
  EXPECT_EQ(live.wait_one(id).result, "COMPLETED");
  const pid_t agent = live.agent();
  testing::signal_process(agent, SIGKILL);
  ASSERT_TRUE(eventually([&] { return live.agent() != agent && live.agent() != 0; }));
  EXPECT_EQ(live.wait_one(live.job({"/bin/true"})).result, "COMPLETED");
}

TEST(Identity, AnAgentWhosePlaceWasTakenIsToldAndDoesNotTakeItBack) {
  const LoneBroker live("node=1/core=1");
  auto hello = FakeAgent::first_hello(live);
  FakeAgent first(live, hello);
  bool lost = false;
  first.connection().client().on_lost([&] { lost = true; });
  auto other = hello;
  other.incarnation = 43;
  FakeAgent second(live, other);
  EXPECT_TRUE(second.welcome.accepted);
  EXPECT_TRUE(first.connection().reactor().run_until([&] { return lost; }, 30'000));
  first.say_hello(hello);
  EXPECT_FALSE(first.welcome.accepted);
  EXPECT_THAT(first.welcome.refusal, HasSubstr("taken its place"));
  live.job({"/bin/true"});
  EXPECT_TRUE(second.is_told("agent.start"));
  second.say_hello(other);
  EXPECT_TRUE(second.welcome.accepted) << "its own connection may break and come back";
}

// ---- children ----

// The test is agent, child and thief at once: what a child is proved by is a task of its job, and
// the test says which processes those are.
class ChildIdentityTest : public ::testing::Test {
 protected:
  void SetUp() override {
    agent_.emplace(live_, FakeAgent::first_hello(live_));
    live_.child({});
    ASSERT_TRUE(agent_->is_told("agent.start"));
    hello_.job = 1;
    hello_.uri = "ipc:///nowhere";
    hello_.token = agent_->starts.at(0).jobs.at(0).secrets.at("HOLON_TOKEN");
  }
  void report_started(pid_t pid) {
    launch::msg::Started started;
    started.job = 1;
    started.processes.push_back({pid, launch::stat_of(pid)->start});
    agent_->report(started);
  }
  transport::BlockingClient connect() {
    return std::move(*transport::BlockingClient::connect(live_.uri(), 30'000));
  }

  LoneBroker live_{"node=1/core=2"};
  std::optional<FakeAgent> agent_;
  msg::Hello hello_;
};

TEST_F(ChildIdentityTest, TheTokenIsInNoEnvironment) {
  for (const auto& [name, value] : agent_->starts.at(0).jobs.at(0).env)
    EXPECT_NE(value, hello_.token) << name;
}

TEST_F(ChildIdentityTest, TheRightTokenFromAProcessOfAnotherJobIsRefused) {
  const pid_t task = fork();
  if (task == 0)
    for (;;) pause();
  report_started(task);
  const auto stolen = live_.call<msg::Grant>("hello", hello_);
  ASSERT_FALSE(stolen);
  EXPECT_EQ(stolen.error().code, Errc::denied);
  EXPECT_THAT(stolen.error().what, HasSubstr("process"));
  EXPECT_EQ(live_.record(1).child_uri, "");
  kill(task, SIGKILL);
  waitpid(task, nullptr, 0);
}

TEST_F(ChildIdentityTest, AHelloBeforeTheAgentsReportWaitsForIt) {
  auto child = connect();
  std::optional<Result<std::string>> answer;
  child.client().call({"hello", transport::pack(hello_)},
                      [&](Result<std::string> result) { answer = std::move(result); });
  ASSERT_TRUE(child.call<msg::TreeNode>("status", msg::Empty{}));
  EXPECT_FALSE(answer);
  report_started(getpid());
  ASSERT_TRUE(child.reactor().run_until([&] { return answer.has_value(); }, 30'000));
  ASSERT_TRUE(*answer) << answer->error().what;
  EXPECT_EQ(transport::unpack<msg::Grant>(**answer)->epoch, 1u);
  EXPECT_EQ(live_.record(1).child_uri, "ipc:///nowhere");
}

TEST_F(ChildIdentityTest, WrongTokensAndOldEpochsAreTurnedAway) {
  report_started(getpid());
  auto wrong = hello_;
  for (const char* token : {"", "guessed"}) {
    wrong.token = token;
    EXPECT_EQ(live_.call<msg::Grant>("hello", wrong).error().code, Errc::denied);
  }
  wrong = hello_;
  wrong.job = 2;
  EXPECT_FALSE(live_.call<msg::Grant>("hello", wrong));
  wrong = hello_;
  wrong.epoch = 99;
  const auto stale = live_.call<msg::Grant>("hello", wrong);
  ASSERT_FALSE(stale);
  EXPECT_THAT(stale.error().what, HasSubstr("stale"));
}

// A newcomer without an epoch, a child whose journal is lost, becomes the holder.
TEST_F(ChildIdentityTest, AChildWhosePlaceWasTakenIsToldAndItsEpochIsOver) {
  report_started(getpid());
  auto first = connect();
  EXPECT_EQ(first.call<msg::Grant>("hello", hello_)->epoch, 1u);
  bool lost = false;
  first.client().on_lost([&] { lost = true; });
  auto second = connect();
  EXPECT_EQ(second.call<msg::Grant>("hello", hello_)->epoch, 2u);
  EXPECT_TRUE(first.reactor().run_until([&] { return lost; }, 30'000));
  hello_.epoch = 1;
  const auto again = first.call<msg::Grant>("hello", hello_);
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().what, HasSubstr("stale"));
  EXPECT_TRUE(second.call<msg::Empty>("ending", msg::Empty{}));
  EXPECT_FALSE(first.call<msg::Empty>("ending", msg::Empty{})) << "it is no child any more";
}

TEST_F(ChildIdentityTest, RecordsHaveThePathsOfJobsBelowTheirChild) {
  report_started(getpid());
  auto child = connect();
  msg::Records records;
  records.jobs.emplace_back();
  auto& record = records.jobs[0];
  record.path = "/1/1";
  record.id = 1;
  record.state = "INACTIVE";
  EXPECT_FALSE(child.call<msg::Empty>("record", records)) << "it has not said hello";
  ASSERT_TRUE(child.call<msg::Grant>("hello", hello_));
  ASSERT_TRUE(child.call<msg::Empty>("record", records));
  const std::string deep = "/1" + [] {
    std::string path;
    for (int i = 0; i < 3'000; ++i) path += "/1";
    return path;
  }();
  for (const char* path :
       {"/2/1", "/1", "/1/", "/1/../2/1", "/1/./1", "/1//1", "/1/01", "/1/0", "/1/-1", "/1/x",
        "/1/1 ", "/1/99999999999999999999", "1/1", "/11/1", "/1/2", deep.c_str()}) {
    record.path = path;
    const auto answer = child.call<msg::Empty>("record", records);
    ASSERT_FALSE(answer) << path;
    EXPECT_EQ(answer.error().code, Errc::denied) << path;
  }
  msg::JobsRequest everything;
  everything.all = everything.recursive = true;
  const auto listed = live_.call<msg::JobsReply>("jobs", everything);
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->jobs.size(), 2u);
}

// What a task of one child can see of the processes of all.
TEST(Identity, NoEnvironmentAndNoCommandLineHasAToken) {
  const Live live({"--resources", "node=1/core=2"});
  live.child({1});
  ASSERT_TRUE(live.status("/1"));
  std::set<pid_t> all;
  testing::add_tree(live.supervisor(), all);
  ASSERT_GE(all.size(), 6u);
  for (const pid_t pid : all) {
    const std::string proc = "/proc/" + std::to_string(pid);
    for (const char* file : {"/environ", "/cmdline"})
      EXPECT_THAT(read_file(proc + file), ::testing::Not(HasSubstr("TOKEN"))) << pid;
  }
}

}  // namespace
}  // namespace holon::instance
