// A submission whose connection breaks before the answer is not made twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "client/client.hpp"
#include "tests/client/cut_proxy.hpp"
#include "tests/instance/lone_broker.hpp"

namespace holon::client {
namespace {

using instance::testing::eventually;
using instance::testing::Live;
using instance::testing::LoneBroker;
using testing::CutProxy;
using ::testing::HasSubstr;

std::vector<std::uint64_t> ids_of(const Live& live) {
  std::vector<std::uint64_t> ids;
  for (const auto& job : live.jobs(true, false)) ids.push_back(job.id);
  return ids;
}

TEST(Submit, TheSameKeyHasTheSameAnswerAndNoMoreJobs) {
  const Live live({"--resources", "node=1/core=1"});
  auto client = Client::connect({live.uri(), {}, {}});
  ASSERT_TRUE(client) << to_string(client.error());
  auto request = Live::request({"sleep", "60"}, {.count = 3});
  request.key = "a key";
  const auto first = client->submit(request);
  ASSERT_TRUE(first) << to_string(first.error());
  const auto again = client->submit(request);
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(again->first_id, first->first_id);
  EXPECT_EQ(again->count, 3u);
  EXPECT_EQ(ids_of(live).size(), 3u);

  request.count = 2;
  const auto other = client->submit(request);
  EXPECT_EQ(other.error().code, Errc::exists);
  EXPECT_THAT(other.error().what, HasSubstr("that of job 1"));
  EXPECT_EQ(other.error().where, "key");
  request.key = std::string(129, 'k');
  EXPECT_EQ(client->submit(request).error().code, Errc::invalid_argument);
  request.key = "another";
  EXPECT_EQ(client->submit(request)->first_id, 4u);
  request.key.clear();
  EXPECT_EQ(client->submit(request)->first_id, 6u) << "without a key of its own it gets a new one";
}

TEST(Submit, ARefusalIsKeptOnceForAKey) {
  const Live live({"--resources", "node=1/core=1"});
  auto client = Client::connect({live.uri(), {}, {}});
  ASSERT_TRUE(client) << to_string(client.error());
  auto request = Live::request({"true"}, {.cores = 9, .count = 5});
  request.key = "too large";
  const auto first = client->submit(request);
  EXPECT_EQ(first.error().code, Errc::unsatisfiable);
  const auto again = client->submit(request);
  EXPECT_EQ(again.error().code, Errc::unsatisfiable);
  EXPECT_EQ(again.error().what, first.error().what);
  EXPECT_EQ(ids_of(live).size(), 1u);
}

// The answer is lost, and then the connection.
TEST(Submit, IsSentAgainWhenTheConnectionBreaksBeforeTheAnswer) {
  const Live live({"--resources", "node=1/core=1"});
  CutProxy proxy(live.uri());
  auto client = Client::connect({proxy.uri(), {}, {}});
  ASSERT_TRUE(client) << to_string(client.error());
  proxy.swallow_answers();
  std::thread cutter([&] {
    EXPECT_TRUE(eventually([&] { return !ids_of(live).empty(); }));
    proxy.cut();
  });
  const auto reply = client->submit(Live::request({"sleep", "60"}, {.count = 3}));
  cutter.join();
  ASSERT_TRUE(reply) << to_string(reply.error());
  EXPECT_EQ(reply->first_id, 1u);
  EXPECT_EQ(reply->count, 3u);
  EXPECT_EQ(ids_of(live), (std::vector<std::uint64_t>{1, 2, 3}));
}

// The broker is killed after the submission was committed, and before the client has its answer.
TEST(Submit, IsDoneOnceWhenTheBrokerDiesBetweenCommitAndAnswer) {
  LoneBroker broker("node=1/core=1");
  CutProxy proxy(broker.uri());
  auto client = Client::connect({proxy.uri(), {}, {}});
  ASSERT_TRUE(client) << to_string(client.error());
  proxy.swallow_answers();
  std::thread killer([&] {
    EXPECT_TRUE(eventually([&] { return !ids_of(broker).empty(); }));
    broker.kill_broker();
    proxy.cut();
  });
  const auto reply = client->submit(Live::request({"sleep", "60"}, {.count = 700}));
  killer.join();
  ASSERT_TRUE(reply) << to_string(reply.error());
  EXPECT_EQ(reply->first_id, 1u);
  EXPECT_EQ(reply->count, 700u);
  EXPECT_EQ(ids_of(broker).size(), 700u);
}

}  // namespace
}  // namespace holon::client
