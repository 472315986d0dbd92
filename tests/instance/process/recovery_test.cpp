// What survives `kill -9`: of the broker, the agent, the supervisor.
#include "tests/instance/lone_broker.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include "instance/basics/clock.hpp"
#include "launch/messages.hpp"

namespace holon::instance {
namespace {

using testing::alive;
using testing::eventually;
using testing::FakeAgent;
using ::testing::HasSubstr;
using testing::Live;
using testing::LoneBroker;
using testing::read_file;

int starts_of(const Live& live, std::uint64_t id, const std::string& path = "") {
  const auto info = live.call<msg::JobInfoReply>("job.info", msg::JobInfoRequest{id}, path);
  EXPECT_TRUE(info) << info.error().what;
  int n = 0;
  if (info)
    for (auto at = info->eventlog.find("\"start\""); at != std::string::npos;
         at = info->eventlog.find("\"start\"", at + 1))
      ++n;
  return n;
}

TEST(Recovery, AKilledBrokerComesBackWithEverythingAndRunningJobsRunOn) {
  const Live live({"--resources", "node=1/core=1"});
  const auto running = live.job(live.gated("gate"));
  const auto before = live.when_running(running);
  const auto queued = live.job({"/bin/sh", "-c", "echo second"}, {1, 0, 3});
  live.kill_broker();
  const auto after = live.record(running);
  EXPECT_EQ(after.state, "RUN");
  EXPECT_EQ(after.pids, before.pids);
  EXPECT_TRUE(alive(static_cast<pid_t>(after.pids.at(0))));
  EXPECT_EQ(live.record(queued).state, "SCHED");
  live.release("gate");
  for (const auto& record : live.wait({running, queued, queued + 1, queued + 2})) {
    EXPECT_EQ(record.result, "COMPLETED");
    EXPECT_EQ(starts_of(live, record.id), 1);
  }
}

TEST(Recovery, AJobThatEndsWhileTheBrokerIsDeadIsNotLost) {
  const Live live({"--resources", "node=1/core=1"});
  const auto id = live.job(live.gated("gate"));
  const auto running = live.when_running(id);
  const pid_t broker = live.broker();
  testing::signal_process(broker, SIGSTOP);  // nothing is reported while it cannot listen
  live.release("gate");
  EXPECT_TRUE(eventually([&] { return !alive(static_cast<pid_t>(running.pids.at(0))); }));
  testing::signal_process(broker, SIGKILL);
  const auto record = live.wait_one(id);
  EXPECT_EQ(record.result, "COMPLETED");
  EXPECT_EQ(starts_of(live, id), 1);
}

TEST(Recovery, EveryAcknowledgedSubmitSurvives) {
  const Live live({"--resources", "node=1/core=1"});
  live.when_running(live.job(live.gated("gate")));  // holds the only core
  std::vector<std::uint64_t> acknowledged;
  for (int round = 0; round < 3; ++round) {
    auto client = transport::BlockingClient::connect(live.uri(), 30'000);
    ASSERT_TRUE(client);
    const auto ask = Live::request({"/bin/true"}, {1, 0, 7});
    for (int i = 0; i < 10; ++i)
      if (auto reply = client->call<msg::SubmitReply>("submit", ask))
        acknowledged.push_back(reply->first_id);
    live.kill_broker();
  }
  EXPECT_EQ(acknowledged.size(), 30u);
  std::set<std::uint64_t> known;
  for (const auto& record : live.jobs(false, false)) known.insert(record.id);
  for (const auto first : acknowledged)
    for (std::uint64_t id = first; id < first + 7; ++id) EXPECT_EQ(known.count(id), 1u) << id;
  live.release("gate");
  for (const auto& record : live.wait({})) EXPECT_EQ(record.result, "COMPLETED") << record.id;
}

// A broker killed at random moments while jobs run through it: each job runs exactly once.
TEST(Recovery, NothingIsRunTwiceHoweverOftenTheBrokerDies) {
  const Live live({"--resources", "node=1/core=4"});
  const std::string marks = live.dir() + "/marks";
  std::filesystem::create_directory(marks);
  live.job({"/bin/sh", "-c", "mkdir " + marks + "/$HOLON_JOB_ID"}, {1, 0, 300});
  for (int round = 0; round < 3; ++round) {
    const auto want = std::size_t(40 * (round + 1));
    eventually([&] {
      return std::size_t(std::distance(std::filesystem::directory_iterator(marks), {})) >= want;
    });
    live.kill_broker();
  }
  live.wait({});
  const auto records = live.jobs(true, false);
  EXPECT_EQ(records.size(), 300u);
  // mkdir fails the second time, so a job that ran twice has failed.
  for (const auto& record : records)
    EXPECT_EQ(record.result, "COMPLETED") << record.id << " " << record.reason;
}

// ann has used the machine and bob has not: of two equal jobs on the one core bob's is the first to
// run. The jobs say so themselves: the times in two records can be equal when the broker learns of
// both in one turn.
void expect_ann_used_more(const Live& live, const std::string& gate) {
  const auto submit = [&](const char* user, std::vector<std::string> command) {
    auto ask = Live::request(std::move(command));
    ask.user = user;
    const auto reply = live.call<msg::SubmitReply>("submit", ask);
    EXPECT_TRUE(reply) << reply.error().what;
    return reply ? reply->first_id : 0;
  };
  live.when_running(submit("carl", live.gated(gate)));
  const auto order = live.dir() + "/order-" + gate;
  const auto anns = submit("ann", {"/bin/sh", "-c", "echo ann >>" + order});
  const auto bobs = submit("bob", {"/bin/sh", "-c", "echo bob >>" + order});
  live.release(gate);
  live.wait_one(anns);
  live.wait_one(bobs);
  EXPECT_EQ(read_file(order), "bob\nann\n");
}

TEST(Recovery, FairshareKnowsWhatWasUsedBeforeTheBrokerAndTheInstanceWereStartedAgain) {
  Live live({"--resources", "node=1/core=1", "--conf", "priority.fsuser-weight=1000", "--conf",
             "priority.user.default.fstarget=50"});
  auto ask = Live::request(live.gated("use"));
  ask.user = "ann";
  const auto used = live.call<msg::SubmitReply>("submit", ask);
  ASSERT_TRUE(used) << used.error().what;
  const auto began = live.when_running(used->first_id).t_start;
  // More than the others' short jobs can come to on a busy machine.
  EXPECT_TRUE(eventually([&] { return wall_clock_ms() > began + 1'000; }));
  live.release("use");
  live.wait_one(used->first_id);
  expect_ann_used_more(live, "before");
  live.kill_broker();
  expect_ann_used_more(live, "killed");
  live.stop();
  live.start();
  expect_ann_used_more(live, "stopped");
}

TEST(Recovery, AJobTheAgentHasStillToStartHoldsItsCoresUntilTheAgentGivesItUp) {
  LoneBroker live("node=1/core=1");
  auto hello = FakeAgent::first_hello(live);
  auto agent = std::make_optional<FakeAgent>(live, hello);
  const auto id = live.job({"/bin/true"});
  EXPECT_TRUE(agent->is_told("agent.start"));
  agent.reset();
  live.cancel(id);
  hello.waiting = {id};
  agent.emplace(live, hello);
  EXPECT_EQ(agent->welcome.kill, hello.waiting);
  EXPECT_EQ(live.record(id).state, "CLEANUP");
  EXPECT_EQ(live.status()->cores_free, 0);
  launch::msg::Finished given_up;
  given_up.job = id;
  given_up.reason = "killed";
  agent->report(given_up);
  EXPECT_EQ(live.wait_one(id).result, "CANCELED");
  EXPECT_EQ(live.status()->cores_free, 1);
}

// Sent before the connection broke, never got, sent again, and not wanted any more in the same
// turn.
TEST(Recovery, AJobThatIsCancelledWhenItIsSentAgainIsOver) {
  LoneBroker live("node=1/core=1");
  auto hello = FakeAgent::first_hello(live);
  auto agent = std::make_optional<FakeAgent>(live, hello);
  const auto id = live.job({"/bin/true"});
  EXPECT_TRUE(agent->is_told("agent.start"));
  agent.emplace(live);
  testing::signal_process(live.broker(), SIGSTOP);
  agent->send("agent.hello", hello);
  msg::CancelRequest cancel;
  cancel.ids = {id};
  agent->send("cancel", cancel);
  testing::signal_process(live.broker(), SIGCONT);
  EXPECT_EQ(live.wait_one(id).result, "CANCELED");
  EXPECT_EQ(live.status()->cores_free, 1);
}

TEST(Recovery, TheOutputOfAJobIsNotAskedForByWhomHasLeft) {
  LoneBroker live("node=1/core=1");
  auto hello = FakeAgent::first_hello(live);
  auto agent = std::make_optional<FakeAgent>(live, hello);
  const auto id = live.job({"/bin/true"});
  ASSERT_TRUE(agent->is_told("agent.start"));
  std::vector<transport::BlockingClient> readers;
  for (int i = 0; i < 2; ++i) {
    readers.push_back(std::move(*transport::BlockingClient::connect(live.uri(), 30'000)));
    readers.back().client().open({"job.attach", transport::pack(msg::AttachRequest{id}), "", 0},
                                 {});
    ASSERT_TRUE(readers.back().call<msg::TreeNode>("status", msg::Empty{}));  // it has been heard
  }
  readers.pop_back();
  ASSERT_TRUE(readers.back().call<msg::TreeNode>("status", msg::Empty{}));
  ASSERT_TRUE(live.status());
  launch::msg::Started started;
  started.job = id;
  started.t_start = 1;
  agent->report(started);
  EXPECT_EQ(agent->times_told("agent.output"), 1u);
  launch::msg::Finished finished;
  finished.job = id;
  finished.reason = "exit";
  agent->report(finished);
  EXPECT_EQ(live.wait_one(id).result, "COMPLETED");
}

// Its clock is another one: only how long ago something was counts, and that is put in order: not
// before the job had its cores, not in the future.
TEST(Recovery, WhatTheAgentsClockSaysIsPutInOrder) {
  LoneBroker live("node=1/core=1");
  auto hello = FakeAgent::first_hello(live);
  auto agent = std::make_optional<FakeAgent>(live, hello);
  const auto first = live.job({"/bin/true"});
  const auto second = live.job({"/bin/true"});
  ASSERT_TRUE(agent->is_told("agent.start"));
  launch::msg::Started started;
  started.job = first;
  started.t_start = 1;
  agent->report(started, 3'600'000);
  launch::msg::Finished finished;
  finished.job = first;
  finished.reason = "exit";
  finished.t_finish = 7'200'000;
  agent->report(finished, 3'600'000);
  const auto record = live.wait_one(first);
  EXPECT_EQ(record.t_start, record.t_alloc);
  EXPECT_LE(record.t_finish, live.record(second).t_alloc) << "both had the core";
  finished.job = second;
  finished.t_finish = 0;
  agent->report(finished);
  live.wait_one(second);
}

// A child looks at its lease itself: its processes may be gone before the agent's timer runs out.
TEST(Recovery, AChildThatEndsWhenItsLeaseDoesHasReachedItsTimeLimit) {
  LoneBroker live("node=1/core=2");
  FakeAgent agent(live, FakeAgent::first_hello(live));
  const auto early = live.child({.cores = 1, .duration = 3600});
  const auto late = live.child({.cores = 1, .duration = 0.01});
  ASSERT_TRUE(eventually([&] {
    const auto child = live.record(late);
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return child.t_alloc != 0 && now / std::chrono::milliseconds(1) > child.expiration;
  }));
  launch::msg::Finished finished;
  finished.reason = "exit";
  for (const auto child : {early, late}) {
    finished.job = child;
    agent.report(finished);
  }
  EXPECT_EQ(live.wait_one(early).result, "COMPLETED");
  EXPECT_EQ(live.wait_one(late).result, "TIMEOUT");
}

// What a child shows its parent is on disk before the child has it.
TEST(Recovery, TheTokenOfAChildSurvivesABrokerThatIsKilledRightAfterItsStart) {
  LoneBroker live("node=1/core=1");
  auto hello = FakeAgent::first_hello(live);
  auto agent = std::make_optional<FakeAgent>(live, hello);
  agent->silent = true;
  live.child({1});
  ASSERT_TRUE(agent->is_told("agent.start"));
  live.kill_broker();
  const auto token = agent->starts.at(0).jobs.at(0).secrets.at("HOLON_TOKEN");
  agent.emplace(live, hello);  // it has not got the start, for all it says
  ASSERT_TRUE(agent->is_told("agent.start"));
  EXPECT_EQ(agent->starts.at(0).jobs.at(0).secrets.at("HOLON_TOKEN"), token);
  live.cancel(1);
}

// 80 MB of programs: more than one message may have.
TEST(Recovery, StartsThatDoNotFitIntoOneMessageAreSentInSeveral) {
  const Live live({"--resources", "node=1/core=80"});
  testing::signal_process(live.supervisor(), SIGSTOP);
  const pid_t agent = live.agent();
  testing::signal_process(agent, SIGKILL);
  EXPECT_TRUE(eventually([&] { return !alive(agent); }));
  testing::JobOptions large;
  for (int i = 0; i < 10; ++i)
    large.environment["LARGE_" + std::to_string(i)] = std::string(100'000, 'x');
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 80; ++i) ids.push_back(live.job({"/bin/true"}, large));
  testing::signal_process(live.supervisor(), SIGCONT);
  for (const auto& record : live.wait(ids))
    EXPECT_EQ(record.result, "COMPLETED") << record.id << ": " << record.reason;
}

TEST(Recovery, AKilledAgentTakesItsJobsWithItAndTheInstanceLives) {
  const Live live({"--resources", "node=1/core=1"});
  const auto id = live.job({"/bin/sh", "-c", "sleep 600 & sleep 600"});
  const auto running = live.when_running(id);
  testing::signal_process(live.agent(), SIGKILL);
  const auto record = live.wait_one(id);
  EXPECT_EQ(record.result, "FAILED");
  EXPECT_THAT(record.reason, HasSubstr("agent"));
  EXPECT_THAT(record.reason, HasSubstr("died"));
  EXPECT_TRUE(eventually([&] { return !alive(static_cast<pid_t>(running.pids.at(0))); }));
  EXPECT_EQ(live.wait_one(live.job({"/bin/true"})).result, "COMPLETED");
}

// The first of them kills the agent that is just starting the others, so that nobody has been told
// of any.
TEST(Recovery, TasksAKilledAgentHadNotReportedDoNotLiveOn) {
  const Live live({"--resources", "node=1/core=8"});
  // The later ones of the eight may be the supervisor's before they have begun.
  const std::string script = "kill -9 " + std::to_string(live.agent()) + "; exec sleep 600";
  const auto first = live.job({"/bin/sh", "-c", script}, {1, 0, 8});
  for (const auto& record : live.wait({}))
    EXPECT_EQ(record.result, "FAILED") << record.id << " of " << first;
  EXPECT_TRUE(eventually([&] {
    std::set<pid_t> all;
    testing::add_tree(live.supervisor(), all);
    return std::none_of(all.begin(), all.end(), [](pid_t pid) {
      return testing::command_of(pid).find("sleep 600") != std::string::npos;
    });
  }));
}

TEST(Recovery, AConfigurationFileThatWasEditedSinceDoesNotStopALaterBroker) {
  const std::string file =
      ::testing::TempDir() + "holon-edited-" + std::to_string(getpid()) + ".toml";
  std::ofstream(file) << "[queue]\npolicy = \"easy\"\n";
  const Live live({"--resources", "node=1/core=1", "--conf", file});
  const auto id = live.job(live.gated("gate"));
  live.when_running(id);
  std::ofstream(file) << "[queue]\npolicy = \"ea";
  live.kill_broker();
  EXPECT_EQ(live.status()->policy, "easy");
  EXPECT_EQ(live.record(id).state, "RUN");
  std::filesystem::remove(file);
  live.release("gate");
  EXPECT_EQ(live.wait_one(id).result, "COMPLETED");
}

TEST(Recovery, MessagesThatNobodyReadsAreNoReasonToEnd) {
  const Live live({"--resources", "node=1/core=1"});  // only for its directory
  const std::string script = live.dir() + "/script.sh";
  std::ofstream(script) << R"(for pid in $(cat /proc/$PPID/task/$PPID/children); do
  case $(tr '\0' ' ' </proc/$pid/cmdline) in *"holon agent "*) kill -9 $pid ;; esac
done
holon run echo lives
)";
  const std::string command = "( " HOLON_BINARY " start --resources node=1/core=1 --state-dir " +
                              live.dir() + "/other sh " + script + " 2>&1 >&3 | true ) 3>&1";
  FILE* out = popen(command.c_str(), "r");
  ASSERT_NE(out, nullptr);
  std::string text;
  for (char line[256]; fgets(line, sizeof line, out) != nullptr;) text += line;
  pclose(out);
  EXPECT_EQ(text, "lives\n");
}

TEST(Recovery, AKilledSupervisorEndsTheInstanceAndTheNextStartGoesOn) {
  Live live({"--resources", "node=1/core=1"});
  const auto running = live.job({"/bin/sleep", "600"});
  live.when_running(running);
  const auto queued = live.job({"/bin/true"});
  std::set<pid_t> all;
  testing::add_tree(live.supervisor(), all);
  testing::signal_process(live.supervisor(), SIGKILL);
  EXPECT_TRUE(eventually([&] { return std::none_of(all.begin(), all.end(), alive); }));
  live.start();
  EXPECT_EQ(live.wait_one(queued).result, "COMPLETED");
  const auto lost = live.record(running);
  EXPECT_EQ(lost.result, "FAILED") << "nobody has cancelled it";
  EXPECT_THAT(lost.reason, HasSubstr("its supervisor is gone"));
}

TEST(Recovery, TheRecordOfAJobThatWasLostSaysWhereItRan) {
  Live live({"--resources", "node=2/core=2"});
  const auto id = live.job({"/bin/sleep", "600"}, {2});
  const auto running = live.when_running(id);
  std::set<pid_t> all;
  testing::add_tree(live.supervisor(), all);
  testing::signal_process(live.broker(), SIGSTOP);  // it must not end its jobs in order
  for (const pid_t pid : {live.supervisor(), live.broker(), live.agent()})
    testing::signal_process(pid, SIGKILL);
  EXPECT_TRUE(eventually([&] { return !alive(live.supervisor()); }));
  std::filesystem::remove_all(std::filesystem::path(live.uri().substr(6)).parent_path());
  live.set_options({"--resources", "node=1/core=1"});
  live.start();
  const auto lost = live.wait_one(id);
  EXPECT_EQ(lost.result, "FAILED");
  EXPECT_THAT(lost.reason, HasSubstr("stopped while"));
  EXPECT_EQ(lost.nodelist, running.nodelist);
  EXPECT_EQ(lost.ncores, 2);
  EXPECT_TRUE(eventually([&] { return std::none_of(all.begin(), all.end(), alive); }));
}

TEST(Recovery, AnInstanceThatWasToldToEndDoesSoAlsoWhenItsBrokerDies) {
  Live live({"--resources", "node=1/core=1"});
  const std::string up = live.dir() + "/up";
  const auto id = live.job({"/bin/sh", "-c", "trap '' TERM; touch " + up + "; sleep 600 & wait"});
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(up); }));
  ASSERT_TRUE(live.call<msg::Empty>("shutdown", msg::ShutdownRequest{"the day is over"}));
  testing::signal_process(live.broker(), SIGKILL);
  ASSERT_TRUE(eventually([&] { return !alive(live.supervisor()); }));
  live.start();  // which nobody has told to end
  EXPECT_THAT(live.record(id).reason, HasSubstr("the day is over"));
  EXPECT_EQ(live.wait_one(live.job({"/bin/true"})).result, "COMPLETED");
}

TEST(Recovery, QueuedJobsOfAnOrderlyEndAreThereAtTheNextStart) {
  Live live({"--resources", "node=1/core=1"});
  live.when_running(live.job({"/bin/sleep", "600"}));
  const auto queued = live.job({"/bin/true"}, {1, 0, 5});
  live.stop();
  live.start();
  for (const auto& record : live.wait({queued, queued + 4})) EXPECT_EQ(record.result, "COMPLETED");
}

TEST(Recovery, ABrokerThatCannotReadItsJournalSaysSoAndIsNotTriedForEver) {
  Live live({"--resources", "node=1/core=1"});
  live.stop();
  std::ofstream(live.dir() + "/state/journal.db") << std::string(5000, 'x');
  const std::string command = HOLON_BINARY " start --bg --state-dir " + live.dir() + "/state 2>&1";
  FILE* out = popen(command.c_str(), "r");
  ASSERT_NE(out, nullptr);
  std::string text;
  for (char line[256]; fgets(line, sizeof line, out) != nullptr;) text += line;
  EXPECT_NE(pclose(out), 0);
  EXPECT_THAT(text, HasSubstr("journal.db"));
}

}  // namespace
}  // namespace holon::instance
