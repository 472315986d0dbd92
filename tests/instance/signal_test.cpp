// Signals that users send to what runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "msg/audit.hpp"
#include "tests/instance/shared_live.hpp"

namespace holon::instance {
namespace {

using testing::eventually;
using ::testing::HasSubstr;
using testing::JobOptions;
using testing::Live;
using testing::read_file;

Status send(const Live& live, std::vector<std::uint64_t> ids, int signal) {
  const auto reply =
      live.call<msg::Empty>("job.signal", msg::SignalRequest{std::move(ids), signal});
  return reply ? Status() : tl::unexpected(reply.error());
}

// Each of its tasks writes that it is ready, and ends with 3 at SIGUSR1.
std::vector<std::string> waits_for_usr1(const Live& live, const std::string& name) {
  const std::string script = "trap 'exit 3' USR1; echo ready >> " + live.dir() + "/" + name +
                             "; while :; do sleep 0.05; done";
  return {"/bin/sh", "-c", script};
}

bool ready(const Live& live, const std::string& name, int tasks) {
  std::string all;
  for (int i = 0; i < tasks; ++i) all += "ready\n";
  return eventually([&] { return read_file(live.dir() + "/" + name) == all; });
}

class Signal : public testing::SharedLive {};
class Warning : public testing::SharedLive {};

TEST_F(Signal, ComesToAllTasksOfTheJobsOnAllNodes) {
  const Live live({"--resources", "node=2/core=2", "--agents", "2"});
  JobOptions wide;
  wide.tasks = 3;
  const auto first = live.job(waits_for_usr1(live, "first"), wide),
             second = live.job(waits_for_usr1(live, "second"));
  ASSERT_TRUE(ready(live, "first", 3));
  ASSERT_TRUE(ready(live, "second", 1));
  live.when_running(first);
  live.when_running(second);
  live.kill_broker();
  ASSERT_TRUE(eventually([&] { return bool(send(live, {first, second, first}, SIGUSR1)); }));
  for (const auto id : {first, second}) {
    const auto record = live.wait_one(id);
    EXPECT_EQ(record.result, "FAILED");
    EXPECT_EQ(record.exit_code, 3);
  }
  const auto audit = live.call<msg::AuditReply>("audit", msg::AuditRequest{});
  ASSERT_TRUE(audit);
  EXPECT_EQ(audit->entries.front().what, "USR1 to jobs 1-2");
}

TEST_F(Signal, OfOneThatDoesNotRunGoesToNone) {
  const Live& live = shared({"--resources", "node=1/core=1"});
  const auto over = live.job({"/bin/true"});
  live.wait_one(over);
  const auto runs = live.job(waits_for_usr1(live, "runs"));
  ASSERT_TRUE(ready(live, "runs", 1));
  live.when_running(runs);
  const auto waits = live.job({"/bin/true"});
  const auto code = [&](std::uint64_t id, int signal) {
    return send(live, {runs, id}, signal).error().code;
  };
  EXPECT_EQ(code(over, SIGUSR1), Errc::denied);
  EXPECT_EQ(code(waits, SIGUSR1), Errc::denied);
  EXPECT_EQ(code(999999, SIGUSR1), Errc::not_found);
  EXPECT_EQ(code(runs, 0), Errc::invalid_argument);
  EXPECT_EQ(code(runs, SIGRTMAX + 1), Errc::invalid_argument);
  EXPECT_THAT(send(live, {waits}, SIGUSR1).error().what, HasSubstr("has not started"));
  EXPECT_THAT(send(live, {over}, SIGUSR1).error().what, HasSubstr("is over: COMPLETED"));
  EXPECT_EQ(live.record(runs).state, "RUN");
  EXPECT_TRUE(send(live, {runs}, SIGUSR1));
  EXPECT_EQ(live.wait_one(runs).exit_code, 3);
  EXPECT_EQ(live.wait_one(waits).result, "COMPLETED");
}

TEST_F(Signal, OfAnInstanceIsForTheJobsInIt) {
  const Live& live = shared({"--resources", "node=1/core=1"});
  const auto child = live.child({});
  ASSERT_TRUE(eventually([&] { return !live.record(child).child_uri.empty(); }));
  const std::string path = "/" + std::to_string(child);
  EXPECT_THAT(send(live, {child}, SIGUSR1).error().what, HasSubstr("is an instance"));
  const auto inner = live.job(waits_for_usr1(live, "inner"), {}, path);
  ASSERT_TRUE(ready(live, "inner", 1));
  live.when_running(inner, path);
  ASSERT_TRUE(live.call<msg::Empty>("job.signal", msg::SignalRequest{{inner}, SIGUSR1}, path));
  EXPECT_EQ(live.wait_one(inner, path).exit_code, 3);
}

// The default action of the signal ends the task, whenever it comes.
TEST_F(Warning, ComesBeforeTheLimit) {
  const Live& live = shared({"--resources", "node=1/core=1"});
  JobOptions options;
  options.duration = 3600;
  options.system = R"({"shell":{"options":{"signal":{"signum":10,"timeleft":3599.5}}}})";
  const auto job = live.wait_one(live.job({"/bin/sleep", "600"}, options));
  EXPECT_EQ(job.result, "FAILED");
  EXPECT_EQ(job.exit_code, 128 + SIGUSR1);
}

TEST_F(Warning, ThatCannotBeIsRefused) {
  const Live& live = shared({"--resources", "node=1/core=1"});
  JobOptions options;
  options.duration = 60;
  for (const char* signal : {"7", R"({"signum":0})", R"({"signum":65})", R"({"signum":"USR1"})",
                             R"({"timeleft":0})", R"({"timeleft":60})"}) {
    options.system = R"({"shell":{"options":{"signal":)" + std::string(signal) + "}}}";
    const auto refused = live.submit({"/bin/true"}, options);
    ASSERT_FALSE(refused) << signal;
    EXPECT_EQ(refused.error().code, Errc::invalid_argument);
    EXPECT_EQ(refused.error().where, "/attributes/system/shell/options/signal");
  }
}

}  // namespace
}  // namespace holon::instance
