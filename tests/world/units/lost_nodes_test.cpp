// Instances of several hosts that lose some of them: what is given up, when, and what goes on. All
// of it is real but the supervisors and the tasks; time is virtual.
#include <gmock/gmock.h>

#include <csignal>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <utility>

#include "msg/reservation.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "tests/world/units/tree_scene.hpp"

namespace holon::world {
namespace {

using ::testing::HasSubstr;

constexpr Micros kLong = 3'600 * kSecond;
constexpr Micros kFewTurns = 500 * kMs;

class LostNodesTest : public TreeScene {
 protected:
  static constexpr std::int64_t kCores = 2;  // of each host
  void begin(const std::vector<std::string>& conf) { begin_root(conf, 3, "node=3/core=2"); }
  static Wanted on_nodes(std::int64_t nodes) { return {.tasks = nodes * kCores}; }
  std::int64_t started_tasks(std::uint64_t job) { return std::int64_t(record(job).pids.size()); }
  // Time that passes until it is over.
  Micros time_until_over(std::uint64_t job, const std::string& path = "") {
    const Micros begin = now();
    EXPECT_EQ(when_over(job, path).state, "INACTIVE");
    return now() - begin;
  }
  static int host_named(const std::string& name) {
    return std::atoi(name.c_str() + std::string("node").size());
  }
  // Its agent on its second node, which a task of its parent's agent there is.
  AgentProcess& second_agent_of(const std::string& path) const {
    for (const auto& agent : loose())
      if (agent->name() == "agent 1 of " + path) return *agent;
    throw std::logic_error("it has none");
  }
  // Two jobs of a child over two nodes, a node each: the first is on the node of its broker.
  std::pair<std::uint64_t, std::uint64_t> two_jobs_of(const std::string& path) {
    const auto one = work(kLong, on_nodes(1), path), other = work(kLong, on_nodes(1), path);
    when_running(other, path);
    const bool is_first = when_running(one, path).nodelist == Hosts::name_of(instance(path).host());
    return is_first ? std::pair(one, other) : std::pair(other, one);
  }
};

// The one agent on a node is gone for good: nobody starts it again.
TEST_F(LostNodesTest, ANodeThatIsLostTakesItsJobsAndNothingElse) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    set(seed);
    begin({"instance.rejoin-timeout=15s"});
    std::map<int, std::uint64_t> jobs;
    for (int i = 0; i < 3; ++i) {
      const auto job = work(120 * kSecond, on_nodes(1));
      jobs[host_named(when_running(job).nodelist)] = job;
    }
    ASSERT_EQ(jobs.size(), 3U) << "one on each";
    lose_for_good(2);
    const Micros given_up = time_until_over(jobs[2]);
    EXPECT_GE(given_up, 15 * kSecond);
    EXPECT_LE(given_up, 15 * kSecond + kFewTurns);
    const auto over = record(jobs[2]);
    EXPECT_EQ(over.result, "FAILED");
    EXPECT_THAT(over.reason, HasSubstr("away for 15s"));
    for (const int host : {0, 1}) EXPECT_EQ(record(jobs[host]).state, "RUN") << host;
    pass(120 * kSecond);
    for (const int host : {0, 1}) EXPECT_EQ(record(jobs[host]).result, "COMPLETED") << host;
  }
}

// It is stopped, and goes on later.
TEST_F(LostNodesTest, ANodeThatWasGivenUpEndsWhatItRunsAndIsUpAgain) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    set(seed);
    begin({"instance.rejoin-timeout=10s", "instance.peer-timeout=10s", "instance.heartbeat=500ms"});
    const auto lost = work(kLong, on_nodes(3));
    ASSERT_TRUE(until([&] { return started_tasks(lost) == 3 * kCores; })) << "all of them run";
    AgentProcess* const agent = instance().agent_on(2);
    EXPECT_EQ(tasks_on(2, lost), std::size_t{kCores});
    agent->stall(60 * kSecond);
    const auto over = when_over(lost);
    EXPECT_EQ(over.result, "FAILED");
    EXPECT_THAT(over.reason, HasSubstr("away for 10s"));
    EXPECT_EQ(tasks_on(2, lost), std::size_t{kCores}) << "nobody there has ended them";
    const auto next = work(kMs, on_nodes(3));
    pass(10 * kSecond);
    EXPECT_EQ(record(next).t_start, 0) << "its node is down";
    EXPECT_EQ(when_over(next).result, "COMPLETED") << "all are up again";
    EXPECT_EQ(tasks_on(2, lost), 0U);
    EXPECT_EQ(instance().agent_on(2), agent) << "it is the same as before";
  }
}

TEST_F(LostNodesTest, AnEndDoesNotWaitForANodeThatIsLost) {
  begin({"instance.shutdown-timeout=1h"});
  const auto job = work(kLong, on_nodes(3));
  when_running(job);
  lose_for_good(2);
  const Micros begin = now();
  Instance& root = instance();
  root.on_signal(SIGTERM);
  ASSERT_TRUE(until([&] { return root.over(); }));
  EXPECT_LE(now() - begin, 15 * kSecond);
}

// Its agent there is gone for good: nobody starts it again.
TEST_F(LostNodesTest, AChildThatLosesANodeGoesOnWithoutIt) {
  begin({});
  const auto child_job = child(2 * kCores, {"instance.rejoin-timeout=15s"});
  const auto [beside, lost] = two_jobs_of("/1");
  second_agent_of("/1").kill("for good");
  const Micros given_up = time_until_over(lost, "/1");
  EXPECT_GE(given_up, 15 * kSecond);
  EXPECT_LE(given_up, 15 * kSecond + kFewTurns);
  EXPECT_EQ(record(lost, "/1").result, "FAILED");
  EXPECT_THAT(record(lost, "/1").reason, HasSubstr("away for 15s"));
  EXPECT_EQ(record(beside, "/1").state, "RUN");
  EXPECT_TRUE(call<msg::Empty>("shutdown", msg::ShutdownRequest{}, "/1"));
  EXPECT_EQ(when_over(child_job).result, "COMPLETED") << "how its agent ended is not how it did";
}

TEST_F(LostNodesTest, AChildThatIsToEndsWithTheFirstNodeThatItLoses) {
  begin({});
  const auto child_job = child(2 * kCores, {"--exit-on-loss", "instance.rejoin-timeout=15s"});
  const auto job = work(kLong, on_nodes(2), "/1");
  when_running(job, "/1");
  second_agent_of("/1").kill("for good");
  const Micros ended = time_until_over(child_job);
  EXPECT_GE(ended, 15 * kSecond) << "it may come back before that";
  EXPECT_THAT(record(job, "/1").reason, HasSubstr("away for 15s"));
}

// Nobody has asked for that end: it runs again, with what waits in it.
TEST_F(LostNodesTest, AChildThatGoesOnDoesSoBehindALostNode) {
  begin({});
  const auto child_job =
      child_that_goes_on(2 * kCores, {"--exit-on-loss", "instance.rejoin-timeout=15s"});
  const std::string its = "/" + std::to_string(child_job);
  when_running(work(kLong, on_nodes(2), its), its);
  const auto waits = work(kSecond, on_nodes(2), its);
  second_agent_of(its).kill("for good");
  pass(15 * kSecond);  // it may come back before that
  EXPECT_TRUE(until([&] { return record(child_job).retries == 1 && is_up(its); }));
  EXPECT_EQ(when_over(waits, its).result, "COMPLETED");
}

class EndsTest : public TreeScene {
 protected:
  std::uint64_t reserve(Duration lasts) {
    resource::JobShape shape;
    shape.command = {"reservation"};
    shape.cwd = "/";
    msg::ReserveRequest ask;
    ask.jobspec = resource::write_jobspec(*resource::jobspec_for(shape));
    ask.begin = instance().core()->clock.wall(instance().core()->clock.now());
    ask.end = ask.begin + lasts;
    ask.user = "ada";
    const auto reply = call<msg::ReserveReply>("reserve", ask);
    EXPECT_TRUE(reply) << to_string(reply.error());
    return reply ? reply->id : 0;
  }
};

TEST_F(EndsTest, ATimeLimitEndsAnInstanceAndJobsThatCannotEndBeforeAreToldTheTimeLeft) {
  begin_root({}, 1, "node=1/core=2", 10'000);
  const auto refused = submit_work(kMs, {.limit = 3'600});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("asks for 1h"));
  const auto running = when_running(work(kLong, {}));
  EXPECT_EQ(running.expiration, call<msg::TreeNode>("status", msg::Empty{})->expiration);
  Instance& root = instance();
  ASSERT_TRUE(until([&] { return root.over(); }));
  EXPECT_GE(now(), 10 * kSecond);
  EXPECT_LE(now(), 11 * kSecond);
  begin_root({}, 1, "node=1/core=2", 10'000);
  EXPECT_EQ(when_over(running.id).result, "TIMEOUT");
}

TEST_F(EndsTest, AJobIsToldWhichEndItHasReached) {
  begin_root({}, 1, "node=1/core=3", 15'000);
  const auto reservation = reserve(6'000);
  const auto inside =
      work(kLong, {.system = R"({"holon":{"reservation":)" + std::to_string(reservation) + "}}"});
  const auto limited = work(kLong, {.limit = 0.2});
  const auto open = work(kLong, {});
  EXPECT_EQ(when_over(limited).reason, "its time limit was reached");
  EXPECT_EQ(when_over(inside).reason,
            "advance reservation " + std::to_string(reservation) + ", in which it ran, is over");
  EXPECT_EQ(record(open).state, "RUN");
  Instance& root = instance();
  ASSERT_TRUE(until([&] { return root.over(); }));
  EXPECT_GE(now(), 15 * kSecond);
  begin_root({}, 1, "node=1/core=3");
  EXPECT_THAT(record(open).reason, HasSubstr("is over"));
}

}  // namespace
}  // namespace holon::world
