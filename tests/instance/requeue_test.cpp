// Jobs that run again after they have failed: how often, when, and over crashes of everything.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "tests/instance/lone_broker.hpp"
#include "tests/instance/shared_live.hpp"

namespace holon::instance {
namespace {

using testing::eventually;
using testing::FakeAgent;
using ::testing::HasSubstr;
using testing::JobOptions;
using testing::Live;
using testing::LoneBroker;
using testing::read_file;

JobOptions retried(int times, const std::string& codes = "") {
  JobOptions options;
  nlohmann::json ours = {{"requeue", times}};
  if (!codes.empty()) ours["retry_on"] = codes;
  options.system = nlohmann::json{{"holon", ours}}.dump();
  return options;
}

// Each attempt adds a line to the file `runs` and its number to the output, then does `what` with
// that number in $n.
std::vector<std::string> attempt(const Live& live, const std::string& what) {
  const std::string runs = live.dir() + "/runs";
  return {"/bin/sh", "-c",
          "echo run >> " + runs + "; n=$(wc -l < " + runs + "); echo attempt $n; " + what};
}

std::size_t runs_of(const Live& live) {
  const std::string lines = read_file(live.dir() + "/runs");
  return static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n'));
}

// The next attempts fail until succeed() was called.
std::vector<std::string> failing(const Live& live) {
  return attempt(live, "[ -e " + live.dir() + "/good ] || exit 75");
}
void succeed(const Live& live) {
  std::ofstream(live.dir() + "/good") << "good\n";
}

std::vector<nlohmann::json> requeues_of(const Live& live, std::uint64_t id) {
  const auto info = live.call<msg::JobInfoReply>("job.info", msg::JobInfoRequest{id});
  std::vector<nlohmann::json> found;
  std::istringstream lines(info ? info->eventlog : "");
  for (std::string line; std::getline(lines, line);) {
    const auto event = nlohmann::json::parse(line);
    if (event["name"] == "requeue") found.push_back(event);
  }
  return found;
}

std::int64_t waited_ms(const nlohmann::json& requeue) {
  const double since = requeue["timestamp"];
  return requeue["context"]["begin_ms"].get<std::int64_t>() - std::llround(since * 1000);
}

class Requeue : public testing::SharedLive {};

TEST_F(Requeue, TriesAgainAtTheExitCodesThatWereNamed) {
  const Live& live = shared({"--resources", "node=1/core=2"});
  const auto id = live.job(attempt(live, "[ $n = 3 ] || exit 75"), retried(5, "3,70-79"));
  JobOptions behind;
  behind.system =
      R"({"dependencies":[{"scheme":"afterok","value":")" + std::to_string(id) + R"("}]})";
  const auto follows = live.job({"/bin/true"}, behind);
  const auto job = live.wait_one(id);
  EXPECT_EQ(job.result, "COMPLETED");
  EXPECT_EQ(job.retries, 2u);
  EXPECT_EQ(runs_of(live), 3u);
  EXPECT_EQ(read_file(job.output), "attempt 1\nattempt 2\nattempt 3\n") << "nothing is lost";
  const auto after = live.wait_one(follows);
  EXPECT_EQ(after.result, "COMPLETED") << "it waits for the last attempt";
  EXPECT_GE(after.t_start, job.t_finish);
  const auto requeues = requeues_of(live, id);
  ASSERT_EQ(requeues.size(), 2u);
  EXPECT_EQ(waited_ms(requeues[0]), 1'000);
  EXPECT_EQ(waited_ms(requeues[1]), 2'000);
  EXPECT_EQ(requeues[0]["context"]["note"], "exit code 75");
  EXPECT_GE(job.t_start, requeues[1]["context"]["begin_ms"].get<std::int64_t>());
}

TEST_F(Requeue, EndsWithTheLastAttemptAndAtOtherCodes) {
  const Live& live = shared({"--resources", "node=1/core=2"});
  const auto often = live.job({"/bin/sh", "-c", "exit 3"}, retried(1, "any"));
  const auto other = live.job({"/bin/sh", "-c", "exit 4"}, retried(9, "3"));
  const auto never = live.job({"/bin/sh", "-c", "exit 3"}, retried(9));
  for (const auto& [id, retries, code] :
       {std::tuple(often, 1u, 3), std::tuple(other, 0u, 4), std::tuple(never, 0u, 3)}) {
    const auto job = live.wait_one(id);
    EXPECT_EQ(job.result, "FAILED");
    EXPECT_EQ(job.exit_code, code);
    EXPECT_EQ(job.retries, retries);
  }
}

TEST_F(Requeue, RunsAgainWhatAnAgentTookWithIt) {
  const Live live({"--resources", "node=1/core=1"});
  const auto command = attempt(live, "[ $n = 2 ] || exec sleep 1000");
  const auto id = live.job(command, retried(1));
  live.when_running(id);
  ASSERT_TRUE(eventually([&] { return runs_of(live) == 1; }));
  testing::signal_process(live.agent(), SIGKILL);
  const auto job = live.wait_one(id);
  EXPECT_EQ(job.result, "COMPLETED") << job.reason;
  EXPECT_EQ(job.retries, 1u);
  EXPECT_EQ(runs_of(live), 2u);
}

TEST_F(Requeue, RunsAllPartsAgainWhereOneAgentWasLost) {
  const Live live({"--resources", "node=2/core=1", "--agents", "2"});
  const std::string dir = live.dir();
  JobOptions options = retried(1);
  options.tasks = 2;
  const auto id = live.job(
      {"/bin/sh", "-c",
       "echo run >> " + dir + "/runs; while [ ! -e " + dir + "/good ]; do sleep 0.05; done"},
      options);
  ASSERT_TRUE(eventually([&] { return runs_of(live) == 2; }));
  ASSERT_TRUE(eventually([&] { return live.record(id).pids.size() == 2; }));
  testing::signal_process(live.agent(1), SIGKILL);
  ASSERT_TRUE(eventually([&] { return live.record(id).retries == 1; }));
  succeed(live);
  const auto job = live.wait_one(id);
  EXPECT_EQ(job.result, "COMPLETED") << job.reason;
  EXPECT_EQ(runs_of(live), 4u);
}

TEST_F(Requeue, WhatIsToldAgainOfAnAttemptSaysNothingOfTheNext) {
  const LoneBroker live("node=1/core=1");
  FakeAgent agent(live, FakeAgent::hello_of(live, 0));
  const auto id = live.job({"/bin/true"}, retried(3, "75"));
  ASSERT_TRUE(agent.is_told("agent.start"));
  EXPECT_EQ(agent.starts.at(0).jobs.at(0).attempt, 0u);
  EXPECT_TRUE(agent.starts.at(0).jobs.at(0).truncate);
  launch::msg::Finished ended;
  ended.job = id;
  ended.reason = "exit";
  ended.exit_code = 75;
  ended.tasks = {{0, 75 << 8, true, 0, 0}};
  ASSERT_TRUE(eventually([&] {
    agent.report(ended);
    return agent.starts.size() == 2;
  }));
  const auto& second = agent.starts.at(1).jobs.at(0);
  EXPECT_EQ(second.job, id);
  EXPECT_EQ(second.attempt, 1u);
  EXPECT_FALSE(second.truncate) << "the output of the attempt before stays";
  agent.report(ended);
  EXPECT_EQ(live.record(id).retries, 1u);
  EXPECT_EQ(live.record(id).state, "RUN");
  ended.attempt = 1;
  ended.exit_code = 0;
  ended.tasks = {{0, 0, true, 0, 0}};
  agent.report(ended);
  EXPECT_EQ(live.wait_one(id).result, "COMPLETED");
}

TEST_F(Requeue, OutlivesTheBroker) {
  const Live live({"--resources", "node=1/core=1"});
  const auto id = live.job(failing(live), retried(20, "75"));
  for (std::uint32_t retries = 1; retries <= 2; ++retries) {
    ASSERT_TRUE(eventually([&] { return live.record(id).retries >= retries; }));
    live.kill_broker();
  }
  succeed(live);
  const auto job = live.wait_one(id);
  EXPECT_EQ(job.result, "COMPLETED");
  EXPECT_EQ(runs_of(live), job.retries + 1) << "each attempt ran once";
}

TEST_F(Requeue, OutlivesTheWholeInstance) {
  Live live({"--resources", "node=1/core=1"});
  const auto id = live.job(attempt(live, "[ $n = 2 ] || exec sleep 1000"), retried(1));
  live.when_running(id);
  ASSERT_TRUE(eventually([&] { return runs_of(live) == 1; }));
  const std::vector<pid_t> all = {live.supervisor(), live.broker(), live.agent()};
  // A broker that still runs when its supervisor is gone would cancel the job.
  for (const int signal : {SIGSTOP, SIGKILL})
    for (const pid_t pid : all) testing::signal_process(pid, signal);
  live.start_again();
  const auto job = live.wait_one(id);
  EXPECT_EQ(job.result, "COMPLETED") << job.reason;
  EXPECT_EQ(job.retries, 1u);
  EXPECT_EQ(runs_of(live), 2u);
}

// The broker that is left ends what runs in order; nobody has cancelled it.
TEST_F(Requeue, RunsAgainAtTheNextStartWhereTheSupervisorAloneWasKilled) {
  Live live({"--resources", "node=1/core=2", "--conf", "job.grace=1s"});
  const auto again = live.job(attempt(live, "[ $n = 2 ] || exec sleep 1000"), retried(1));
  const auto array =
      live.job({"/bin/sh", "-c", "[ -e " + live.dir() + "/good ] || exec sleep 1000"}, [&] {
        JobOptions options;
        options.count = 2;
        options.system = R"({"holon":{"array":{},"requeue":1}})";
        return options;
      }());
  live.when_running(again);
  ASSERT_TRUE(eventually([&] { return runs_of(live) == 1; }));
  ASSERT_TRUE(eventually([&] { return live.record(array).state == "RUN"; }));
  std::set<pid_t> all;
  testing::add_tree(live.supervisor(), all);
  testing::signal_process(live.supervisor(), SIGKILL);
  EXPECT_TRUE(eventually([&] { return std::none_of(all.begin(), all.end(), testing::alive); }));
  succeed(live);
  live.start();
  const auto job = live.wait_one(again);
  EXPECT_EQ(job.result, "COMPLETED") << job.reason;
  EXPECT_EQ(job.retries, 1u);
  EXPECT_EQ(runs_of(live), 2u);
  const auto tasks = live.wait_one(array);
  EXPECT_EQ(tasks.result, "COMPLETED") << tasks.reason;
  const auto requeues = requeues_of(live, again);
  ASSERT_EQ(requeues.size(), 1u);
  EXPECT_THAT(std::string(requeues[0]["context"]["note"]), HasSubstr("its supervisor is gone"));
}

TEST_F(Requeue, IsOverWithACancel) {
  const Live& live = shared({"--resources", "node=1/core=1"});
  const auto id = live.job(failing(live), retried(20, "75"));
  ASSERT_TRUE(eventually([&] { return live.record(id).retries >= 2; }));
  const auto waits = live.record(id);
  if (waits.state == "DEPEND") {
    EXPECT_THAT(waits.reason, HasSubstr("failed: exit code 75"));
  }
  live.cancel(id);
  const auto job = live.wait_one(id);
  EXPECT_EQ(job.result, "CANCELED") << job.reason;
  EXPECT_GE(job.retries, 1u);
}

TEST_F(Requeue, IsRefusedWhereItCannotBe) {
  const Live& live = shared({"--resources", "node=1/core=1"});
  const std::pair<std::string, const char*> cases[] = {
      {R"({"holon":{"requeue":-1}})", "/attributes/system/holon/requeue"},
      {R"({"holon":{"requeue":1001}})", "/attributes/system/holon/requeue"},
      {R"({"holon":{"requeue":1,"retry_on":"0"}})", "/attributes/system/holon/retry_on"},
      {R"({"holon":{"requeue":1,"retry_on":"256"}})", "/attributes/system/holon/retry_on"},
      {R"({"holon":{"requeue":1,"retry_on":3}})", "/attributes/system/holon/retry_on"},
      {R"({"holon":{"retry_on":"3"}})", "/attributes/system/holon/retry_on"},
      {R"({"holon":{"requeue":1},"shell":{"options":{"input":{"stdin":{"type":"service"}}}}})",
       "/attributes/system/holon/requeue"}};
  for (const auto& [system, where] : cases) {
    JobOptions options;
    options.system = system;
    const auto refused = live.submit({"/bin/true"}, options);
    ASSERT_FALSE(refused) << system;
    EXPECT_EQ(refused.error().code, Errc::invalid_argument) << system;
    EXPECT_EQ(refused.error().where, where);
  }
  JobOptions child = retried(1);
  child.is_instance = true;
  const auto refused = live.submit({HOLON_BINARY, "start", "--grant", "--bg"}, child);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unsupported);
}

}  // namespace
}  // namespace holon::instance
