// Finding an instance, and what is said where there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "client/client.hpp"
#include "tests/instance/live.hpp"

namespace holon::client {
namespace {

using instance::testing::Live;
using ::testing::HasSubstr;

TEST(Connect, ByAddressBySocketByEnvironmentAndByPath) {
  const Live live({"--resources", "node=1/core=2"});
  setenv("HOLON_URI", live.uri().c_str(), 1);
  for (const auto& address : {Address{live.uri(), {}, {}}, Address{live.uri().substr(6), {}, {}},
                              Address{}, Address{{}, "/", {}}, Address{{}, ".", {}}}) {
    auto client = Client::connect(address);
    ASSERT_TRUE(client) << to_string(client.error());
    EXPECT_EQ(client->status()->path, "/");
  }
  setenv("HOLON_URI", live.uri().substr(6).c_str(), 1);
  auto by_socket = Client::connect();
  ASSERT_TRUE(by_socket) << to_string(by_socket.error());
  EXPECT_EQ(by_socket->status()->path, "/");
  auto child = Client::connect({{}, "7", {}});
  ASSERT_TRUE(child) << "a path is looked for with the first request";
  EXPECT_EQ(child->path(), "/7");
  EXPECT_EQ(child->status().error().code, Errc::not_found);
  const auto wrong = Client::connect({{}, "/x", {}});
  EXPECT_EQ(wrong.error().code, Errc::invalid_argument);
  unsetenv("HOLON_URI");
}

TEST(Connect, SaysWhatIsWrong) {
  const auto nobody = Client::connect({"ipc:///nowhere/broker", {}, {}});
  EXPECT_EQ(nobody.error().code, Errc::disconnected);
  EXPECT_THAT(nobody.error().what, HasSubstr("no instance listens there"));
  EXPECT_EQ(nobody.error().where, "ipc:///nowhere/broker");
  EXPECT_EQ(Patience().connect, 5'000);
  const auto silent = Client::connect({"tcp://127.0.0.1:1", {}, {}, {.connect = 50}});
  EXPECT_EQ(silent.error().code, Errc::disconnected);
  EXPECT_EQ(silent.error().what, "the instance did not answer within 50 ms");
}

TEST(Requests, AreAnsweredWithTypedMessages) {
  const Live live({"--resources", "node=1/core=2"});
  auto client = Client::connect({live.uri(), {}, {}});
  ASSERT_TRUE(client) << to_string(client.error());
  EXPECT_EQ(client->resources()->total.at("core"), 2);
  EXPECT_EQ(client->tree()->cores, 2);
  const auto job = client->submit(Live::request({"sh", "-c", "echo hello"}))->first_id;
  std::string output;
  EXPECT_TRUE(client->attach(job, [&](const msg::OutputChunk& chunk) {
    output += chunk.data;
    return true;
  }));
  EXPECT_EQ(output, "hello\n");
  EXPECT_EQ(client->wait({{job}})->jobs.at(0).result, "COMPLETED");
  EXPECT_EQ(client->record(job)->exit_code, 0);
  EXPECT_THAT(client->info(job)->eventlog, HasSubstr("\"clean\""));
  EXPECT_TRUE(client->jobs({})->jobs.empty()) << "none is active";
  EXPECT_EQ(client->stats()->queues.size(), 1u);
  EXPECT_EQ(client->windows()->cores, 2);
  EXPECT_TRUE(client->explain({})->jobs.empty());
  EXPECT_TRUE(client->priority({})->jobs.empty());
  EXPECT_TRUE(client->reservations()->reservations.empty());
  EXPECT_TRUE(client->plan({}, [](const msg::PlanPart&) {}));
  EXPECT_EQ(client->cancel({{job}, false, {}})->already_inactive, std::vector{job});
  EXPECT_EQ(client->cancel({{99}, false, {}}).error().code, Errc::not_found);
  const auto later = client->submit(Live::request({"true"}, {.cores = 9}));
  EXPECT_EQ(later.error().code, Errc::unsatisfiable);
}

}  // namespace
}  // namespace holon::client
