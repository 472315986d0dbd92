// One instance with real processes: jobs from submit to record, limits, cancels, refusals, rubbish
// on the wire.
#include "tests/instance/shared_live.hpp"

#include <gmock/gmock.h>

namespace holon::instance {
namespace {

using testing::alive;
using testing::eventually;
using ::testing::HasSubstr;
using testing::Live;
using testing::read_file;

class LiveInstance : public testing::SharedLive {};

TEST_F(LiveInstance, AJobRunsAndIsRemembered) {
  const Live& live = shared({"--resources", "node=1/core=2"});
  const auto id = live.job({"/bin/sh", "-c", "echo out; echo err >&2; exit 3"});
  const auto record = live.wait_one(id);
  EXPECT_EQ(record.state, "INACTIVE");
  EXPECT_EQ(record.result, "FAILED");
  EXPECT_EQ(record.exit_code, 3);
  EXPECT_EQ(record.path, "/" + std::to_string(id));
  EXPECT_EQ(record.user, "ada");
  EXPECT_EQ(record.nodelist, "node0");
  EXPECT_EQ(record.ncores, 1);
  EXPECT_EQ(read_file(record.output), "out\n");
  EXPECT_EQ(read_file(record.error), "err\n");
  EXPECT_GE(record.t_finish, record.t_start);
  EXPECT_GE(record.t_start, record.t_submit);

  const auto info = live.call<msg::JobInfoReply>("job.info", msg::JobInfoRequest{id});
  ASSERT_TRUE(info);
  EXPECT_THAT(info->R, HasSubstr("\"scheduling\""));
  std::string names;
  std::istringstream lines(info->eventlog);
  for (std::string line; std::getline(lines, line);)
    names +=
        line.substr(line.find("name") + 7, line.find("\",\"context") - line.find("name") - 7) + " ";
  EXPECT_EQ(names, "submit validate depend priority alloc start finish release free clean ");
}

TEST_F(LiveInstance, ManyEqualJobsInOneRequest) {
  const Live live({"--resources", "node=1/core=4"});
  const auto reply = live.submit({"/bin/true"}, {1, 0, 100});
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->count, 100u);
  const auto records = live.wait({});
  for (const auto& record : live.jobs(true, false)) EXPECT_EQ(record.result, "COMPLETED");
  EXPECT_EQ(live.jobs(true, false).size(), 100u);
  EXPECT_EQ(live.status()->inactive, 100);
  EXPECT_EQ(live.status()->cores_free, 4);
}

TEST_F(LiveInstance, WhatCanNeverRunIsRefusedWithTheReasonAndARecord) {
  const Live& live = shared({"--resources", "node=1/core=2"});
  const auto before = live.jobs(true, false).size();
  const auto refused = live.submit({"/bin/true"}, {3, 0, 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unsatisfiable);
  EXPECT_FALSE(refused.error().what.empty());
  const auto records = live.jobs(true, false);
  ASSERT_EQ(records.size(), before + 1);
  EXPECT_EQ(records.back().result, "REJECTED");
  EXPECT_EQ(records.back().reason, refused.error().what);
}

TEST_F(LiveInstance, ATimeLimitIsEnforced) {
  const Live& live = shared({"--resources", "node=1/core=1"});
  const auto record = live.wait_one(live.job({"/bin/sleep", "600"}, {1, 0.2, 1}));
  EXPECT_EQ(record.result, "TIMEOUT");
  EXPECT_EQ(record.exit_code, 143);
}

TEST_F(LiveInstance, PendingAndRunningJobsCanBeCancelled) {
  const Live& live = shared({"--resources", "node=1/core=1"});
  const auto running = live.job({"/bin/sleep", "600"});
  const auto pending = live.job({"/bin/true"});
  live.when_running(running);
  const auto waits = live.record(pending);
  EXPECT_EQ(waits.state, "SCHED");
  EXPECT_FALSE(waits.reason.empty());
  live.cancel(pending);
  EXPECT_EQ(live.wait_one(pending).result, "CANCELED");
  live.cancel(running);
  EXPECT_EQ(live.wait_one(running).result, "CANCELED");
  EXPECT_EQ(live.status()->cores_free, 1);
}

TEST_F(LiveInstance, ACommandThatIsNotThereFailsWithTheReason) {
  const Live& live = shared({"--resources", "node=1/core=1"});
  const auto record = live.wait_one(live.job({"/no/such/program"}));
  EXPECT_EQ(record.result, "FAILED");
  EXPECT_EQ(record.exit_code, 127);
  EXPECT_THAT(record.reason, HasSubstr("/no/such/program"));
}

TEST_F(LiveInstance, AttachStreamsTheOutputToItsEnd) {
  const Live& live = shared({"--resources", "node=1/core=1"});
  const auto id = live.job(live.gated("gate"));
  auto client = transport::BlockingClient::connect(live.uri(), 30'000);
  ASSERT_TRUE(client);
  live.when_running(id);
  live.release("gate");
  std::string text;
  const auto ended = client->stream<msg::OutputChunk>("job.attach", msg::AttachRequest{id}, "",
                                                      [&](const msg::OutputChunk& chunk) {
                                                        text += chunk.data;
                                                        return true;
                                                      });
  EXPECT_TRUE(ended);
  EXPECT_EQ(text, "go\n");
  text.clear();  // and again, from the files
  EXPECT_TRUE(client->stream<msg::OutputChunk>("job.attach", msg::AttachRequest{id}, "",
                                               [&](const msg::OutputChunk& chunk) {
                                                 text += chunk.data;
                                                 return true;
                                               }));
  EXPECT_EQ(text, "go\n");
}

TEST_F(LiveInstance, WatchTellsEveryEventOnce) {
  const Live& live = shared({"--resources", "node=1/core=1"});
  const auto id = live.job(live.gated("gate"));
  auto client = transport::BlockingClient::connect(live.uri(), 30'000);
  ASSERT_TRUE(client);
  std::vector<std::string> names;
  const auto ended = client->stream<msg::JobEvent>("job.watch", msg::WatchRequest{{id}, false}, "",
                                                   [&](const msg::JobEvent& e) {
                                                     names.push_back(e.name);
                                                     if (e.name == "start") live.release("gate");
                                                     return true;
                                                   });
  EXPECT_TRUE(ended) << ended.error().what;
  EXPECT_THAT(names, ::testing::ElementsAre("submit", "validate", "depend", "priority", "alloc",
                                            "start", "finish", "release", "free", "clean"));
}

// Every topic with bytes that are no message, an array, a map of wrong types, and deep nesting: an
// error each, and the broker serves on.
TEST_F(LiveInstance, RubbishIsAnsweredWithAnError) {
  const Live& live = shared({"--resources", "node=1/core=1"});
  const std::vector<std::string> topics = {"submit",       "jobs",  "job.info", "job.wait",
                                           "cancel",       "tree",  "shutdown", "agent.hello",
                                           "agent.report", "hello", "record",   "lease"};
  const std::vector<std::string> rubbish = {"",
                                            "\xc1",
                                            "\x93\x01\x02\x03",
                                            "\xa5hello",
                                            std::string(1000, '\x91'),
                                            "\xdf\xff\xff\xff\xff"};
  auto client = transport::BlockingClient::connect(live.uri(), 30'000);
  ASSERT_TRUE(client);
  for (const auto& topic : topics)
    for (const auto& bytes : rubbish)
      EXPECT_FALSE(client->call(topic, bytes, "", 10'000))
          << topic << " of " << bytes.size() << " bytes";
  const auto unknown = client->call("no.such.topic", "\x80", "", 10'000);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Errc::unsupported);
  for (const char* path : {"/x", "..", "/1/2", "/01", "//9"})
    EXPECT_FALSE(live.status(path)) << path;
  EXPECT_EQ(live.wait_one(live.job({"/bin/true"})).result, "COMPLETED");
}

TEST_F(LiveInstance, ABadJobspecIsRefusedWithItsPlace) {
  const Live& live = shared({"--resources", "node=1/core=1"});
  const auto before = live.jobs(true, false).size();
  msg::SubmitRequest ask;
  for (const char* bad :
       {"", "{", "{}", R"({"version":1,"resources":[],"tasks":[],"attributes":{}})"}) {
    ask.jobspec = bad;
    const auto reply = live.call<msg::SubmitReply>("submit", ask);
    ASSERT_FALSE(reply) << bad;
    EXPECT_EQ(reply.error().code, Errc::invalid_argument) << bad;
  }
  ask = Live::request({"/bin/true"});
  ask.count = 0;
  EXPECT_FALSE(live.call<msg::SubmitReply>("submit", ask));
  ask.count = UINT64_MAX;
  EXPECT_FALSE(live.call<msg::SubmitReply>("submit", ask));
  ask.count = 1;
  ask.urgency = 32;
  EXPECT_FALSE(live.call<msg::SubmitReply>("submit", ask));
  EXPECT_EQ(live.jobs(true, false).size(), before);
}

TEST_F(LiveInstance, ShutdownLeavesNoProcessBehind) {
  Live live({"--resources", "node=1/core=2"});
  const auto record = live.when_running(live.job({"/bin/sh", "-c", "sleep 600 & sleep 600"}));
  std::set<pid_t> all;
  testing::add_tree(live.supervisor(), all);
  EXPECT_GE(all.size(), 4u);
  const auto answer = live.call<msg::Empty>("shutdown", msg::ShutdownRequest{});
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_TRUE(eventually([&] { return std::none_of(all.begin(), all.end(), alive); }));
}

}  // namespace
}  // namespace holon::instance
