// What goes on beside a call, and requests that are put together of several.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <numeric>
#include <optional>
#include <thread>

#include "client/client.hpp"
#include "tests/cli/fake_broker.hpp"
#include "tests/instance/live.hpp"

namespace holon::client {
namespace {

using cli::FakeBroker;
using instance::testing::Live;
using instance::testing::signal_process;
using ::testing::ElementsAre;

constexpr Duration kPatience = 30'000;
// Of who waits for an instance that may not answer.
constexpr Patience kImpatient = {.ask_again = 100, .silence = 50};

std::string path_of(const msg::JobRecord& record) {
  return record.path;
}

// Its supervisor lives as the connection is lost, and a moment later it does not.
TEST(OverLater, TellsOfAnInstanceWhoseSupervisorIsKilledAfterItsBroker) {
  const Live live({"--resources", "node=1/core=1"});
  const auto job = live.job({"sleep", "60"});
  live.when_running(job);
  auto client = Client::connect({live.uri(), {}, {}});
  ASSERT_TRUE(client) << to_string(client.error());
  std::optional<Result<msg::JobRecord>> told;
  const auto watch = client->over_later(job, [&](const auto& record) { told = record; });
  const auto agent = live.child_named("agent");
  signal_process(live.supervisor(), SIGSTOP);
  signal_process(live.broker(), SIGKILL);
  EXPECT_TRUE(client->wait_until_gone(kPatience));
  client->reactor().run_until([] { return false; }, 200);
  EXPECT_FALSE(told) << "its supervisor starts a broker again";
  signal_process(live.supervisor(), SIGKILL);
  ASSERT_TRUE(client->reactor().run_until([&] { return told.has_value(); }, kPatience));
  EXPECT_EQ(told->error().code, Errc::disconnected);
  EXPECT_TRUE(instance::testing::eventually([&] { return !instance::testing::alive(agent); }));
}

// What is asked without a connection is not kept for a broker that never comes.
TEST(Requests, EndAtOnceWhereTheInstanceHasEndedMeanwhile) {
  Live live({"--resources", "node=1/core=1"});
  auto client = Client::connect({live.uri(), {}, {}});
  ASSERT_TRUE(client) << to_string(client.error());
  live.stop();
  ASSERT_TRUE(client->wait_until_gone(kPatience));
  const auto listed = client->jobs({});
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().code, Errc::disconnected);
  EXPECT_EQ(listed.error().what, "the instance has ended");
  const auto waited = client->wait({{1}});
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code, Errc::disconnected);
  std::optional<Result<msg::JobRecord>> told;
  const auto watch = client->over_later(1, [&](const auto& record) { told = record; });
  ASSERT_TRUE(client->reactor().run_until([&] { return told.has_value(); }, kPatience));
  EXPECT_EQ(told->error().code, Errc::disconnected);
}

// A child that is stopped keeps its requests, and says nothing.
TEST(Requests, WhoWaitsIsToldThatTheInstanceDoesNotAnswer) {
  transport::Request waits, silent;
  FakeBroker broker;
  std::atomic<int> times{0};
  broker.handle("job.wait", [&](const transport::Request& request) { waits = request; });
  broker.handle("status", [&](const transport::Request& request) {
    if (++times == 1) {
      silent = request;  // and is not answered
      return;
    }
    request.reply(transport::pack(msg::TreeNode{}));
    waits.reply(transport::pack(msg::WaitReply{}));
  });
  broker.start();
  std::vector<std::string> said;
  auto client = Client::connect(
      {"", "/3", [&said](const std::string& notice) { said.push_back(notice); }, kImpatient});
  ASSERT_TRUE(client) << to_string(client.error());
  EXPECT_TRUE(client->wait({{1}}));
  EXPECT_EQ(said, std::vector<std::string>{"instance /3 does not answer; waiting for it"});
}

TEST(Requests, WhoWaitsIsToldOnceThatTheJournalCannotBeWritten) {
  transport::Request waits;
  FakeBroker broker;
  std::atomic<int> times{0};
  broker.handle("job.wait", [&](const transport::Request& request) { waits = request; });
  broker.handle("status", [&](const transport::Request& request) {
    msg::TreeNode node;
    node.health = "read-only";
    request.reply(transport::pack(node));
    if (++times == 2) waits.reply(transport::pack(msg::WaitReply{}));
  });
  broker.start();
  std::vector<std::string> said;
  auto client = Client::connect(
      {"", "", [&said](const std::string& notice) { said.push_back(notice); }, kImpatient});
  ASSERT_TRUE(client) << to_string(client.error());
  EXPECT_TRUE(client->wait({{1}}));
  EXPECT_EQ(said, std::vector<std::string>{"the instance cannot write its journal and starts "
                                           "nothing; waiting until it can"});
}

// The last event of the job came, and the broker is lost before it has said how the job ended.
TEST(OverLater, AsksAgainForARecordThatWasLost) {
  FakeBroker broker;
  std::atomic<int> times{0};
  broker.stream<msg::JobEvent>("job.watch", {{7, 0, "finish", "{}"}});
  broker.handle("jobs", [&times](const transport::Request& request) {
    if (++times < 3) return request.fail({Errc::disconnected, "the broker is gone", ""});
    msg::JobsReply reply;
    reply.jobs.emplace_back().state = "INACTIVE";
    request.reply(transport::pack(reply));
  });
  broker.start();
  auto client = Client::connect();
  ASSERT_TRUE(client) << to_string(client.error());
  std::optional<Result<msg::JobRecord>> told;
  const auto watch = client->over_later(7, [&](const auto& record) { told = record; });
  ASSERT_TRUE(client->reactor().run_until([&] { return told.has_value(); }, kPatience));
  EXPECT_EQ(told->value().state, "INACTIVE");
}

TEST(FollowTree, EndsWhereAllProcessesOfTheInstanceWereKilled) {
  const Live live({"--resources", "node=1/core=1"});
  auto client = Client::connect({live.uri(), {}, {}});
  ASSERT_TRUE(client) << to_string(client.error());
  bool killed = false;
  const auto late = client->reactor().after(2 * kPatience, [] { FAIL() << "it does not end"; });
  const auto followed = client->follow_tree(
      {}, {}, [&](const std::string&, const msg::EventsPart& part, const TreeCursors&) {
        if (part.cursor.empty() || std::exchange(killed, true)) return true;
        const auto broker = live.broker();
        signal_process(live.supervisor(), SIGKILL);
        signal_process(broker, SIGKILL);
        return true;
      });
  ASSERT_FALSE(followed);
  EXPECT_EQ(followed.error().code, Errc::disconnected);
}

TEST(Requests, ARecordIsOneOfTheInstanceConnectedTo) {
  FakeBroker broker;
  msg::TreeNode here;
  here.path = "/3";
  broker.answer("status", here);
  msg::JobsReply all;
  for (const char* path : {"/5", "/3/5"}) all.jobs.emplace_back().path = path;
  broker.answer("jobs", all);
  broker.start();
  auto client = Client::connect();
  ASSERT_TRUE(client) << to_string(client.error());
  EXPECT_THAT(client->record(5).map(path_of).value_or("none"), "/3/5");
  EXPECT_EQ(broker.last<msg::JobsRequest>("jobs").ids, std::vector<std::uint64_t>{3});
}

// They are one request, of which the broker does all or nothing.
TEST(Requests, NoneOfManyJobsIsCancelledWhereOneDoesNotExist) {
  FakeBroker broker;
  broker.refuse("cancel", {Errc::not_found, "no job 6000", ""});
  broker.start();
  auto client = Client::connect();
  ASSERT_TRUE(client) << to_string(client.error());
  msg::CancelRequest request;
  request.ids.resize(6'000);
  std::iota(request.ids.begin(), request.ids.end(), 1);
  EXPECT_EQ(client->cancel(request).error().code, Errc::not_found);
  EXPECT_THAT(broker.asked(), ElementsAre("cancel "));
  EXPECT_EQ(broker.last<msg::CancelRequest>("cancel").numbers, "1-6000");
}

}  // namespace
}  // namespace holon::client
