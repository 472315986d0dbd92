// Jobs whose place others take: what they are told, what becomes of them, and over crashes.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "instance/basics/clock.hpp"
#include "msg/queue.hpp"
#include "msg/schedule.hpp"
#include "tests/instance/shared_live.hpp"

namespace holon::instance {
namespace {

using testing::eventually;
using ::testing::HasSubstr;
using testing::JobOptions;
using testing::Live;
using testing::read_file;

std::vector<std::string> conf(const std::string& mode, const std::string& grace) {
  return {"--resources", "node=1/core=2",
          "--conf",      "queues.default.policy=easy",
          "--conf",      "queues.urgent.policy=easy",
          "--conf",      "queues.urgent.preempt.mode=" + mode,
          "--conf",      "queues.urgent.preempt.grace=" + grace};
}

JobOptions of_queue(const std::string& queue) {
  JobOptions options;
  options.cores = 2;
  options.system = nlohmann::json{{"queue", queue}}.dump();
  return options;
}

JobOptions preemptible(int checkpoint_signal = 0) {
  JobOptions options;
  options.cores = 2;
  nlohmann::json ours = {{"preemptible", true}};
  if (checkpoint_signal != 0) ours["checkpoint_signal"] = checkpoint_signal;
  options.system = nlohmann::json{{"holon", ours}}.dump();
  return options;
}

// Writes a line to `runs` at each start, and one to `saved` for each SIGUSR1; then does `what`.
std::vector<std::string> checkpointing(const Live& live, const std::string& what) {
  return {"/bin/bash", "-c",
          "trap 'echo saved >> " + live.dir() + "/saved; " + what + "' USR1; echo run >> " +
              live.dir() + "/runs; [ $(wc -l < " + live.dir() +
              "/runs) -gt 1 ] && exit 0; while :; do sleep 0.05; done"};
}

std::size_t lines_of(const Live& live, const std::string& name) {
  const std::string lines = read_file(live.dir() + "/" + name);
  return static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n'));
}

class Preempt : public testing::SharedLive {};

TEST_F(Preempt, OneIsToldSavesAndRunsAgain) {
  const Live& live = shared(conf("requeue", "60s"));
  const auto id = live.job(checkpointing(live, "exit 75"), preemptible(SIGUSR1));
  ASSERT_TRUE(eventually([&] { return lines_of(live, "runs") == 1; }));
  const auto urgent = live.job({"/bin/true"}, of_queue("urgent"));
  const auto first = live.wait_one(urgent);
  EXPECT_EQ(first.result, "COMPLETED");
  const auto job = live.wait_one(id);
  EXPECT_EQ(job.result, "COMPLETED") << job.reason;
  EXPECT_EQ(job.preemptions, 1u);
  EXPECT_EQ(job.retries, 1u);
  EXPECT_EQ(lines_of(live, "saved"), 1u);
  EXPECT_EQ(lines_of(live, "runs"), 2u);
  EXPECT_LE(first.t_finish, job.t_start);
  const auto info = live.call<msg::JobInfoReply>("job.info", msg::JobInfoRequest{id});
  ASSERT_TRUE(info);
  EXPECT_THAT(info->eventlog, HasSubstr(R"("name":"preempt","context":{"by":)" +
                                        std::to_string(urgent) + R"(,"mode":"requeue")"));
}

TEST_F(Preempt, WhatDoesNotEndInItsGraceIsEnded) {
  const Live live(conf("cancel", "300ms"));
  const auto id = live.job(checkpointing(live, ":"), preemptible(SIGUSR1));
  ASSERT_TRUE(eventually([&] { return lines_of(live, "runs") == 1; }));
  const auto urgent = live.job({"/bin/true"}, of_queue("urgent"));
  const auto job = live.wait_one(id);
  EXPECT_EQ(job.result, "CANCELED");
  EXPECT_EQ(job.reason, "job " + std::to_string(urgent) + " takes its place");
  EXPECT_EQ(job.preemptions, 1u);
  EXPECT_EQ(lines_of(live, "saved"), 1u);
  EXPECT_EQ(live.wait_one(urgent).result, "COMPLETED");
}

TEST_F(Preempt, BothAreToldWhy) {
  const Live& live = shared(conf("requeue", "60s"));
  const auto id = live.job(checkpointing(live, ":"), preemptible(SIGUSR1));
  ASSERT_TRUE(eventually([&] { return lines_of(live, "runs") == 1; }));
  const auto urgent = live.job({"/bin/true"}, of_queue("urgent"));
  ASSERT_TRUE(eventually([&] { return lines_of(live, "saved") == 1; }));
  EXPECT_THAT(live.record(id).reason, HasSubstr("takes its place: it is ended at"));
  EXPECT_THAT(live.record(urgent).reason, HasSubstr("is preempted for it, by"));
  const auto why = live.call<msg::ExplainReply>("explain", msg::ExplainRequest{{urgent}});
  ASSERT_TRUE(why && why->jobs.size() == 1 && why->jobs[0].in_the_way.size() == 1);
  EXPECT_EQ(why->jobs[0].in_the_way[0].id, id);
  EXPECT_EQ(why->jobs[0].in_the_way[0].kind, "preempted");
  const Time grace_ends = why->jobs[0].in_the_way[0].until;
  EXPECT_GE(grace_ends, live.record(id).t_start + 60'000);
  EXPECT_LE(grace_ends, wall_clock_ms() + 60'000);
  live.cancel(id);
  EXPECT_EQ(live.wait_one(id).result, "CANCELED") << "it does not run again";
  EXPECT_EQ(live.wait_one(urgent).result, "COMPLETED");
}

TEST_F(Preempt, OutlivesTheBroker) {
  const Live live(conf("requeue", "3s"));
  const auto id = live.job(checkpointing(live, ":"), preemptible(SIGUSR1));
  ASSERT_TRUE(eventually([&] { return lines_of(live, "runs") == 1; }));
  const auto urgent = live.job({"/bin/true"}, of_queue("urgent"));
  ASSERT_TRUE(eventually([&] { return lines_of(live, "saved") == 1; }));
  live.kill_broker();
  live.kill_broker();
  const auto job = live.wait_one(id);
  EXPECT_EQ(job.result, "COMPLETED") << job.reason;
  EXPECT_EQ(lines_of(live, "saved"), 1u) << "it is told once";
  EXPECT_EQ(lines_of(live, "runs"), 2u);
  EXPECT_EQ(job.preemptions, 1u);
  const auto first = live.wait_one(urgent);
  EXPECT_EQ(first.result, "COMPLETED");
  EXPECT_LE(first.t_finish, job.t_start) << "its place is kept";
}

// What its agent takes with it was to end anyhow.
TEST_F(Preempt, OutlivesTheAgentAndTheWholeInstance) {
  Live live(conf("requeue", "60s"));
  const auto id = live.job(checkpointing(live, ":"), preemptible(SIGUSR1));
  ASSERT_TRUE(eventually([&] { return lines_of(live, "runs") == 1; }));
  const auto urgent = live.job({"/bin/true"}, of_queue("urgent"));
  ASSERT_TRUE(eventually([&] { return lines_of(live, "saved") == 1; }));
  const std::vector<pid_t> all = {live.supervisor(), live.broker(), live.agent()};
  for (const int signal : {SIGSTOP, SIGKILL})
    for (const pid_t pid : all) testing::signal_process(pid, signal);
  live.start_again();
  EXPECT_EQ(live.wait_one(urgent).result, "COMPLETED");
  const auto job = live.wait_one(id);
  EXPECT_EQ(job.result, "COMPLETED") << job.reason;
  EXPECT_EQ(job.preemptions, 1u);
}

TEST_F(Preempt, AStoppedJobGoesOnToSave) {
  const Live& live = shared(conf("requeue", "60s"));
  const auto id = live.job(checkpointing(live, "exit 75"), preemptible(SIGUSR1));
  ASSERT_TRUE(eventually([&] { return lines_of(live, "runs") == 1; }));
  live.when_running(id);  // the agent tells of a start a little later
  ASSERT_TRUE(live.call<msg::Empty>("job.suspend", msg::SuspendRequest{{id}, true}));
  EXPECT_GT(live.record(id).t_suspended, 0);
  const auto urgent = live.job({"/bin/true"}, of_queue("urgent"));
  EXPECT_EQ(live.wait_one(urgent).result, "COMPLETED");
  EXPECT_EQ(live.wait_one(id).result, "COMPLETED");
  EXPECT_EQ(lines_of(live, "saved"), 1u);
}

TEST_F(Preempt, AnInstanceIsCancelledInEitherMode) {
  const Live& live = shared(conf("requeue", "60s"));
  JobOptions options = preemptible();
  const auto id = live.child(options);
  ASSERT_TRUE(eventually([&] { return !live.record(id).child_uri.empty(); }));
  const auto inner = live.job({"/bin/sleep", "1000"}, {}, "/" + std::to_string(id));
  live.when_running(inner, "/" + std::to_string(id));
  const auto urgent = live.job({"/bin/true"}, of_queue("urgent"));
  EXPECT_EQ(live.wait_one(urgent).result, "COMPLETED");
  EXPECT_EQ(live.wait_one(id).result, "CANCELED");
}

TEST_F(Preempt, IsCountedByTheQueue) {
  const Live live(conf("cancel", "0s"));
  const auto id = live.job({"/bin/sleep", "1000"}, preemptible());
  live.when_running(id);
  const auto urgent = live.job({"/bin/true"}, of_queue("urgent"));
  EXPECT_EQ(live.wait_one(urgent).result, "COMPLETED");
  const auto stats = live.call<msg::StatsReply>("stats", msg::Empty{});
  ASSERT_TRUE(stats);
  for (const auto& queue : stats->queues)
    EXPECT_EQ(queue.preempted, queue.name == "default" ? 1 : 0) << queue.name;
}

TEST_F(Preempt, WhatDoesNotFitIsRefusedWithItsPlace) {
  const Live live({"--resources", "node=1/core=1"});
  const std::pair<std::string, const char*> cases[] = {
      {R"({"holon":{"preemptible":1}})", "/attributes/system/holon/preemptible"},
      {R"({"holon":{"checkpoint_signal":0}})", "/attributes/system/holon/checkpoint_signal"},
      {R"({"holon":{"checkpoint_signal":"USR1"}})", "/attributes/system/holon/checkpoint_signal"}};
  for (const auto& [system, where] : cases) {
    JobOptions options;
    options.system = system;
    const auto refused = live.submit({"/bin/true"}, options);
    ASSERT_FALSE(refused) << system;
    EXPECT_EQ(refused.error().where, where);
  }
  JobOptions options = preemptible(SIGUSR1);
  options.cores = 1;
  options.is_instance = true;
  const auto refused = live.submit({HOLON_BINARY, "start", "--grant"}, options);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("an instance has no checkpoint"));
}

}  // namespace
}  // namespace holon::instance
