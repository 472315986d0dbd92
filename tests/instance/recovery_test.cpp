// What survives `kill -9`: of the broker, the agent, the supervisor.
#include "tests/instance/live.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include "launch/messages.hpp"

namespace holon::instance {
namespace {

using testing::alive;
using testing::eventually;
using ::testing::HasSubstr;
using testing::Live;

void kill_broker(const Live& live) {
  const pid_t broker = live.broker();
  ASSERT_GT(broker, 0);
  testing::signal_process(broker, SIGKILL);
  ASSERT_TRUE(eventually([&] { return live.broker() != broker && live.broker() != 0; }));
}

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
  kill_broker(live);
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
    kill_broker(live);
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
    kill_broker(live);
  }
  live.wait({});
  const auto records = live.jobs(true, false);
  EXPECT_EQ(records.size(), 300u);
  // mkdir fails the second time, so a job that ran twice has failed.
  for (const auto& record : records)
    EXPECT_EQ(record.result, "COMPLETED") << record.id << " " << record.reason;
}

// An agent of the test's own, in the place of the real one.
class FakeAgent {
 public:
  FakeAgent(const Live& live, launch::msg::Hello hello)
      : client_(std::move(*transport::BlockingClient::connect(live.uri(), 30'000))) {
    client_.client().on_request([this](const transport::Request& request) {
      topics_.insert(request.topic());
      request.reply(transport::pack(launch::msg::Empty{}));
    });
    const auto answer = client_.call<launch::msg::Welcome>("agent.hello", hello);
    EXPECT_TRUE(answer) << answer.error().what;
    if (answer) welcome = *answer;
  }
  bool is_told(const std::string& topic) {
    return client_.reactor().run_until([&] { return topics_.count(topic) != 0; }, 30'000);
  }
  void report(const launch::msg::Finished& finished) {
    EXPECT_TRUE(
        client_.call<launch::msg::Empty>("agent.report", launch::msg::Report{{}, {finished}}));
  }
  launch::msg::Welcome welcome;

 private:
  transport::BlockingClient client_;
  std::set<std::string> topics_;
};

TEST(Recovery, AJobTheAgentHasStillToStartHoldsItsCoresUntilTheAgentGivesItUp) {
  const Live live({"--resources", "node=1/core=1"});
  testing::signal_process(live.agent(), SIGSTOP);
  launch::msg::Hello hello;
  hello.incarnation = 42;
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
  testing::signal_process(live.agent(), SIGCONT);
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

TEST(Recovery, ABrokerThatCannotWriteItsJournalIsReplacedAndJobsRunOn) {
  const Live live({"--resources", "node=1/core=1"});
  const auto id = live.job(live.gated("gate"));
  const auto before = live.when_running(id);
  const pid_t broker = live.broker();
  const rlimit none{0, 0};
  ASSERT_EQ(prlimit(broker, RLIMIT_FSIZE, &none, nullptr), 0);
  EXPECT_FALSE(live.submit({"/bin/true"}));
  ASSERT_TRUE(eventually([&] { return live.broker() != broker && live.broker() != 0; }));
  EXPECT_EQ(live.record(id).pids, before.pids);
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
  EXPECT_EQ(live.record(running).result, "CANCELED");
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
