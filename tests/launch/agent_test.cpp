// An agent and its broker, played by the test: reports, acknowledgements, and what happens when
// either is lost.
#include "launch/agent.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <set>

#include "launch/topology.hpp"
#include "launch/tracking/lineage.hpp"
#include "tests/launch/fixture.hpp"
#include "transport/codec/codec.hpp"
#include "transport/dispatcher.hpp"

namespace holon::launch {
namespace {

using transport::pack;
using transport::Request;
using transport::unpack;

// Keeps what the agent says; acknowledges reports unless told not to.
class FakeBroker {
 public:
  FakeBroker(transport::Reactor& reactor, const std::string& uri) {
    auto server = transport::Server::listen(reactor, uri);
    EXPECT_TRUE(server) << to_string(server.error());
    server_ = std::move(*server);
    transport::Dispatcher table;
    table.add("agent.hello", [this](const Request& request) {
      peer = request.peer();
      hellos.push_back(*unpack<msg::Hello>(request.payload()));
      if (deny_hello) return request.fail({Errc::denied, "that is no secret of mine", ""});
      auto said = welcome;
      if (hellos.back().swept) said.orphans.clear();
      if (!hellos.back().topology.empty()) said.wants_topology = false;
      request.reply(pack(said));
    });
    table.add("agent.report", [this](const Request& request) {
      const auto report = *unpack<msg::Report>(request.payload());
      for (const auto& one : report.started) started[one.job] = one;
      for (const auto& one : report.finished) finished[one.job] = one;
      ++reports;
      if (deny) return request.fail({Errc::denied, "who are you?", ""});
      if (std::exchange(fail_once, false)) {
        started.clear();
        finished.clear();
        return request.fail({Errc::system, "internal error", ""});
      }
      acknowledge ? request.reply(pack(msg::Empty{})) : kept.push_back(request);
    });
    server_->on_request(table);
    server_->on_peer_lost([this](transport::PeerId) { lost = true; });
  }

  template <class Ask>
  void tell(const std::string& topic, const Ask& ask) {
    tell_raw(topic, pack(ask));
  }
  void tell_raw(const std::string& topic, std::string payload) {
    answer.reset();
    server_->call(peer, {topic, std::move(payload)},
                  [this](Result<std::string> result) { answer = std::move(result); });
  }
  std::string follow(std::uint64_t job, bool& ended) {
    msg::OutputRequest ask;
    ask.job = job;
    server_->open(
        peer, {"agent.output", pack(ask)},
        {[this](const std::string& bytes) { output += unpack<msg::OutputChunk>(bytes)->data; },
         [&ended](const Status& status) { ended = status.has_value(); }});
    return output;
  }

  transport::PeerId peer;
  msg::Welcome welcome;
  bool acknowledge = true;
  bool deny = false, deny_hello = false;
  bool fail_once = false;  // the next report is not heard
  bool lost = false;
  std::vector<msg::Hello> hellos;
  std::map<std::uint64_t, msg::Started> started;
  std::map<std::uint64_t, msg::Finished> finished;
  std::vector<Request> kept;
  int reports = 0;
  std::optional<Result<std::string>> answer;
  std::string output;

 private:
  std::unique_ptr<transport::Server> server_;
};

class AgentTest : public ProcessTest {
 protected:
  void SetUp() override {
    ProcessTest::SetUp();
    options_.broker_uri = *transport::ipc_uri(dir_, "b");
    options_.rank = 3;
    options_.log_level = "off";
    broker_.emplace(*reactor_, options_.broker_uri);
  }
  void TearDown() override {
    if (agent_) agent_->shut_down(0);
    if (agent_) until([&] { return agent_->exit_code().has_value(); });
    agent_.reset();
    broker_.reset();
    ProcessTest::TearDown();
  }
  void begin() {
    auto agent = Agent::create(*reactor_, options_);
    ASSERT_TRUE(agent) << to_string(agent.error());
    agent_ = std::move(*agent);
    ASSERT_TRUE(until([&] { return !broker_->hellos.empty(); }));
  }
  void restart_broker() {
    broker_.reset();
    broker_.emplace(*reactor_, options_.broker_uri);
  }

  AgentOptions options_;
  std::optional<FakeBroker> broker_;
  std::unique_ptr<Agent> agent_;
};

TEST_F(AgentTest, SaysWhoItIsAndWhatItHas) {
  options_.secret = "given by the supervisor";
  begin();
  const msg::Hello& hello = broker_->hellos[0];
  EXPECT_EQ(hello.secret, "given by the supervisor");
  EXPECT_EQ(hello.rank, 3U);
  EXPECT_EQ(hello.pid, getpid());
  EXPECT_FALSE(hello.hostname.empty());
  EXPECT_NE(hello.incarnation, 0U);
  EXPECT_EQ(hello.topology, "") << "nothing was asked for yet";
  EXPECT_EQ(hello.topology_digest.size(), 16U);
  EXPECT_TRUE(hello.running.empty());
}

TEST_F(AgentTest, ShowsItsTopologyWhenItIsAskedForIt) {
  options_.secret = "given by the supervisor";
  broker_->welcome.wants_topology = true;
  begin();
  EXPECT_TRUE(until([&] { return broker_->hellos.size() == 2; }));
  const msg::Hello& again = broker_->hellos.back();
  EXPECT_NE(again.topology.find("<topology"), std::string::npos);
  EXPECT_EQ(again.topology_digest, topology_digest(again.topology));
}

TEST_F(AgentTest, AReportThatTheBrokerCouldNotTakeIsMadeAgainWithTheStartsInIt) {
  begin();
  broker_->fail_once = true;
  broker_->tell("agent.start", request(shell("exec sleep 1000"), start(9)));
  EXPECT_TRUE(until([&] { return broker_->started.contains(9); }));
  EXPECT_FALSE(broker_->started[9].processes.empty());
  broker_->fail_once = true;
  broker_->tell("agent.start", request(shell("exit 3"), start(10)));
  EXPECT_TRUE(until([&] { return broker_->finished.contains(10); }));
}

// It was refused every second for ever, and its jobs held their cores.
TEST_F(AgentTest, OneWhoseReportsAreRefusedSaysHelloAgainAndLearnsWhereItStands) {
  begin();
  broker_->deny = true;
  broker_->welcome.accepted = false;
  broker_->tell("agent.start", request(shell("exec sleep 1000"), start(9)));
  EXPECT_TRUE(until([&] { return agent_->exit_code().has_value(); }));
  EXPECT_EQ(agent_->exit_code(), kAgentRefused);
  EXPECT_EQ(broker_->hellos.size(), 2U);
}

TEST_F(AgentTest, OneWithAWrongSecretEndsItsJobsAndItself) {
  begin();
  broker_->tell("agent.start", request(shell("exec sleep 1000"), start(1)));
  ASSERT_TRUE(until([&] { return broker_->started.contains(1); }));
  const auto task = static_cast<pid_t>(broker_->started[1].processes.at(0).pid);
  restart_broker();
  broker_->deny_hello = true;
  EXPECT_TRUE(until([&] { return agent_->exit_code().has_value(); }));
  EXPECT_EQ(agent_->exit_code(), kAgentRefused);
  EXPECT_FALSE(alive(task));
}

TEST_F(AgentTest, ReportsStartAndEndOfAJob) {
  begin();
  broker_->tell("agent.start", request(shell("exit 4"), start(9)));
  ASSERT_TRUE(until([&] { return broker_->finished.contains(9); }));
  EXPECT_TRUE(broker_->answer->has_value());
  ASSERT_TRUE(broker_->started.contains(9));
  EXPECT_GT(broker_->started[9].processes.at(0).pid, 1);
  EXPECT_EQ(broker_->finished[9].exit_code, 4);
}

TEST_F(AgentTest, OfARunningTaskItSaysWhenItsProcessBegan) {
  begin();
  broker_->tell("agent.start", request(shell("exec sleep 1000"), start(9)));
  ASSERT_TRUE(until([&] { return broker_->started.contains(9); }));
  EXPECT_GT(broker_->started[9].processes.at(0).start, 0U);
}

TEST_F(AgentTest, RunsAProgramThatIsNoJobAndAnswersWithWhatItWrote) {
  begin();
  const auto capture = [&](const msg::CaptureRequest& ask) -> Result<msg::CaptureReply> {
    broker_->tell("agent.capture", ask);
    EXPECT_TRUE(until([&] { return broker_->answer.has_value(); }));
    if (!*broker_->answer) return tl::unexpected(broker_->answer->error());
    return unpack<msg::CaptureReply>(**broker_->answer);
  };
  const auto words = [](const std::string& script) {
    return std::vector<std::string>{"/bin/sh", "-c", script};
  };
  const auto reply = capture({words("echo out; echo err >&2; exit 3")});
  ASSERT_TRUE(reply) << to_string(reply.error());
  EXPECT_EQ(reply->output, "out\n");
  EXPECT_EQ(reply->error, "err\n");
  EXPECT_EQ(WEXITSTATUS(reply->status), 3);
  const auto large = capture({words("head -c 3000000 /dev/zero")});
  ASSERT_TRUE(large) << to_string(large.error());
  EXPECT_EQ(large->output.size(), 3'000'000U);

  EXPECT_EQ(capture({words("sleep 1000"), 50}).error().code, Errc::timed_out);
  EXPECT_EQ(capture({words("yes"), 60'000, 1'000'000}).error().code, Errc::out_of_range);
  EXPECT_EQ(capture({{dir_ + "/nothing"}}).error().code, Errc::system);
  EXPECT_EQ(capture({}).error().code, Errc::invalid_argument);
  EXPECT_TRUE(broker_->finished.empty());
}

TEST_F(AgentTest, JobsRunOnWithoutABrokerAndAreToldToItsSuccessor) {
  begin();
  msg::StartRequest ask{{shell("while [ ! -e go ]; do sleep 0.01; done"), shell("exec sleep 1000")},
                        {start(1), start(2)}};
  ask.jobs[1].program = 1;
  broker_->tell("agent.start", ask);
  ASSERT_TRUE(until([&] { return broker_->started.size() == 2; }));
  const auto before = broker_->started[2];
  broker_.reset();
  std::ofstream(dir_ + "/go") << "";
  const auto first = static_cast<pid_t>(before.processes[0].pid);
  EXPECT_TRUE(alive(first));
  bool waited = false;
  const auto later = reactor_->after(50, [&] { waited = true; });
  ASSERT_TRUE(until([&] { return waited; }));
  broker_.emplace(*reactor_, options_.broker_uri);
  ASSERT_TRUE(until([&] { return !broker_->hellos.empty(); }));
  // Job 1 ended before or after the new connection; it is told exactly once in either case.
  ASSERT_TRUE(
      until([&] { return !broker_->hellos[0].finished.empty() || broker_->finished.contains(1); }));
  EXPECT_NE(broker_->hellos[0].finished.size(), broker_->finished.count(1));
  const auto& running = broker_->hellos[0].running;
  ASSERT_FALSE(running.empty());
  EXPECT_EQ(running.back().job, 2U);
  EXPECT_EQ(running.back().processes[0].pid, before.processes[0].pid);
  EXPECT_EQ(running.back().t_start, before.t_start);
}

TEST_F(AgentTest, AResultIsRepeatedUntilItIsAcknowledged) {
  begin();
  broker_->acknowledge = false;
  broker_->tell("agent.start", request(shell("exit 5"), start(1)));
  ASSERT_TRUE(until([&] { return broker_->finished.contains(1); }));
  restart_broker();
  ASSERT_TRUE(until([&] { return !broker_->hellos.empty(); }));
  ASSERT_EQ(broker_->hellos[0].finished.size(), 1U);
  EXPECT_EQ(broker_->hellos[0].finished[0].exit_code, 5);
  // The welcome acknowledged it: a third broker does not hear of it.
  broker_->tell("agent.signal", msg::SignalRequest{});
  ASSERT_TRUE(until([&] { return broker_->answer.has_value(); }));
  restart_broker();
  ASSERT_TRUE(until([&] { return !broker_->hellos.empty(); }));
  EXPECT_TRUE(broker_->hellos[0].finished.empty());
}

TEST_F(AgentTest, ADuplicateStartAcrossABrokersRestartRunsNothingTwice) {
  begin();
  broker_->acknowledge = false;
  const auto ask = request(shell("echo ran >> count"), start(1));
  broker_->tell("agent.start", ask);
  ASSERT_TRUE(until([&] { return broker_->finished.contains(1); }));
  broker_->tell("agent.start", ask);
  ASSERT_TRUE(until([&] { return broker_->answer.has_value(); }));
  EXPECT_EQ(read(dir_ + "/count"), "ran\n");
}

TEST_F(AgentTest, AnErrorInsteadOfAnAcknowledgementBringsTheResultAgain) {
  begin();
  broker_->acknowledge = false;
  broker_->tell("agent.start", request(shell("exit 0"), start(1)));
  ASSERT_TRUE(until([&] { return broker_->finished.contains(1); }));
  broker_->finished.clear();
  for (const Request& request : broker_->kept) request.fail({Errc::busy, "disk full", ""});
  EXPECT_TRUE(until([&] { return broker_->finished.contains(1); }));
}

TEST_F(AgentTest, TheBrokersWelcomeEndsWhatItDoesNotWantAnyMore) {
  begin();
  broker_->tell("agent.start", request(shell("exec sleep 1000"), start(1)));
  ASSERT_TRUE(until([&] { return broker_->started.contains(1); }));
  broker_.reset();
  broker_.emplace(*reactor_, options_.broker_uri);
  broker_->welcome.kill = {1};
  ASSERT_TRUE(until([&] { return broker_->finished.contains(1); }));
  EXPECT_EQ(broker_->finished[1].reason, "killed");
}

TEST_F(AgentTest, ASuccessorKillsTheOrphansOfAnAgentThatWasKilled) {
  int gate[2];
  ASSERT_EQ(pipe(gate), 0);
  const pid_t orphan = fork();
  if (orphan == 0) {
    setpgid(0, 0);
    (void)!write(gate[1], "x", 1);
    for (;;) pause();
  }
  char ready = 0;
  ASSERT_EQ(::read(gate[0], &ready, 1), 1);
  broker_->welcome.orphans = {{orphan, stat_of(orphan)->start}};
  begin();
  EXPECT_TRUE(until([&] { return !alive(orphan); }));
  close(gate[0]);
  close(gate[1]);
}

TEST_F(AgentTest, ARefusedAgentEnds) {
  broker_->welcome.accepted = false;
  broker_->welcome.refusal = "rank 3 is there already";
  begin();
  ASSERT_TRUE(until([&] { return agent_->exit_code().has_value(); }));
  EXPECT_EQ(*agent_->exit_code(), kAgentRefused);
}

TEST_F(AgentTest, AShutdownKillsTheJobsReportsThemAndEnds) {
  begin();
  broker_->tell("agent.start", request(shell("exec sleep 1000"), start(1)));
  ASSERT_TRUE(until([&] { return broker_->started.contains(1); }));
  broker_->tell("agent.shutdown", msg::ShutdownRequest{10000});
  ASSERT_TRUE(until([&] { return agent_->exit_code().has_value(); }));
  EXPECT_EQ(*agent_->exit_code(), kAgentDone);
  EXPECT_EQ(broker_->finished[1].reason, "killed");
  EXPECT_EQ(broker_->finished[1].exit_code, 128 + SIGTERM);
}

TEST_F(AgentTest, WithoutABrokerForTooLongItKillsItsJobsAndEnds) {
  options_.orphan_timeout = 300;
  begin();
  broker_->tell("agent.start", request(shell("exec sleep 1000"), start(1)));
  ASSERT_TRUE(until([&] { return broker_->started.contains(1); }));
  const auto pid = static_cast<pid_t>(broker_->started[1].processes[0].pid);
  broker_.reset();
  ASSERT_TRUE(until([&] { return agent_->exit_code().has_value(); }));
  EXPECT_EQ(*agent_->exit_code(), kAgentOrphaned);
  EXPECT_FALSE(alive(pid));
}

TEST_F(AgentTest, AnAttachedReaderGetsTheOutputFromItsBeginningToItsEnd) {
  begin();
  broker_->tell(
      "agent.start",
      request(shell("echo first; while [ ! -e go ]; do sleep 0.01; done; yes | head -c 300000"),
              start(1)));
  ASSERT_TRUE(until([&] { return broker_->started.contains(1); }));
  bool ended = false;
  broker_->follow(1, ended);
  ASSERT_TRUE(until([&] { return broker_->output == "first\n"; }));
  std::ofstream(dir_ + "/go") << "";
  ASSERT_TRUE(until([&] { return ended; }));
  EXPECT_EQ(broker_->output.size(), 300006U);
  EXPECT_EQ(broker_->output, read(dir_ + "/1.out"));
}

TEST_F(AgentTest, MessagesItCannotUnderstandAreAnsweredWithErrors) {
  begin();
  for (const std::string topic : {"agent.start", "agent.signal", "agent.kill", "agent.limit",
                                  "agent.output", "agent.shutdown"}) {
    for (const std::string& payload :
         {std::string(), std::string("\xc1"), std::string("\xdf\xff\xff\xff\xff"),
          std::string("\x93\x01")}) {
      broker_->tell_raw(topic, payload);
      ASSERT_TRUE(until([&] { return broker_->answer.has_value(); }));
      EXPECT_FALSE(broker_->answer->has_value()) << topic;
    }
  }
  broker_->tell_raw("agent.nonsense", pack(msg::Empty{}));
  ASSERT_TRUE(until([&] { return broker_->answer.has_value(); }));
  EXPECT_EQ(broker_->answer->error().code, Errc::unsupported);
  EXPECT_FALSE(agent_->exit_code().has_value());
}

// The agent as a process of its own.
class AgentProcessTest : public AgentTest {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "the thread sanitizer cannot follow a process with threads through fork()";
#endif
    setenv(kLineage, "test/", 1);  // of a state directory, in both agents
    AgentTest::SetUp();
  }
  void TearDown() override {
    if (pid_ > 0) end(SIGKILL);
    AgentTest::TearDown();
  }
  void begin_process() {
    pid_ = fork();
    if (pid_ == 0) _exit(agent_main(options_));
    ASSERT_TRUE(until([&] { return !broker_->hellos.empty(); }));
  }
  // Its status as in waitpid(2).
  int end(int signal) {
    kill(pid_, signal);
    int status = -1;
    EXPECT_TRUE(until([&] { return waitpid(pid_, &status, WNOHANG) == pid_; }));
    pid_ = -1;
    return status;
  }
  pid_t pid_ = -1;
};

TEST_F(AgentProcessTest, SigtermIsAShutdownInOrder) {
  begin_process();
  broker_->tell("agent.start", request(shell("exec sleep 1000"), start(1)));
  ASSERT_TRUE(until([&] { return broker_->started.contains(1); }));
  const int status = end(SIGTERM);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kAgentDone);
  EXPECT_EQ(broker_->finished[1].reason, "killed");
  EXPECT_TRUE(until([&] { return broker_->lost; }));
}

TEST_F(AgentProcessTest, WhatAKilledAgentLeavesIsKilledByItsSuccessor) {
  begin_process();
  broker_->tell("agent.start", request(shell("sleep 1000 & echo $! > child; wait"), start(1)));
  ASSERT_TRUE(
      until([&] { return broker_->started.contains(1) && !read(dir_ + "/child").empty(); }));
  const auto left = broker_->started[1].processes;
  const pid_t child = std::stoi(read(dir_ + "/child"));
  end(SIGKILL);
  ASSERT_TRUE(until([&] { return broker_->lost; }));
  EXPECT_TRUE(until([&] { return !alive(static_cast<pid_t>(left[0].pid)); }))
      << "the kernel ends tasks with their agent";
  EXPECT_TRUE(alive(child));
  broker_->hellos.clear();
  broker_->welcome.orphans = left;
  begin_process();
  // It says so when they are gone, and is given nothing before.
  ASSERT_TRUE(until([&] { return broker_->hellos.size() > 1; }));
  EXPECT_FALSE(broker_->hellos[0].swept);
  EXPECT_TRUE(broker_->hellos[1].swept);
  EXPECT_FALSE(alive(child));
}

TEST_F(AgentProcessTest, AnAgentThatCannotBeginSaysWhy) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  options_.broker_uri = "nonsense";
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[1], 2);
    _exit(agent_main(options_));
  }
  close(ends[1]);
  std::string said(1000, '\0');
  const auto n = ::read(ends[0], said.data(), said.size());
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), kAgentCouldNotBegin);
  EXPECT_NE(said.substr(0, n > 0 ? static_cast<std::size_t>(n) : 0).find("nonsense"),
            std::string::npos);
}

// Whoever thinks that a job it does not hear of is nowhere would give its cores away.
TEST_F(AgentTest, AHelloNamesJobsThatWaitToBeStartedAndTheyCanBeTakenBack) {
  begin();
  constexpr std::uint64_t kJobs = 300;
  msg::StartRequest many;
  many.programs = {shell("exec sleep 600")};
  for (std::uint64_t job = 1; job <= kJobs; ++job) many.jobs.push_back(start(job));
  broker_->tell("agent.start", many);
  ASSERT_TRUE(until([&] { return broker_->answer.has_value(); }));
  restart_broker();
  for (std::uint64_t job = 1; job <= kJobs; ++job) broker_->welcome.kill.push_back(job);
  ASSERT_TRUE(until([&] { return !broker_->hellos.empty(); }));
  std::set<std::uint64_t> told;
  for (const auto& one : broker_->hellos[0].running) EXPECT_TRUE(told.insert(one.job).second);
  for (const auto job : broker_->hellos[0].waiting) EXPECT_TRUE(told.insert(job).second);
  EXPECT_EQ(told.size(), kJobs);
  ASSERT_TRUE(until([&] { return broker_->finished.size() == kJobs; }));
  for (const auto& [job, finished] : broker_->finished) EXPECT_EQ(finished.reason, "killed") << job;
}

}  // namespace
}  // namespace holon::launch
