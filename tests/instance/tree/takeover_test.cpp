// What a child acknowledged is acknowledged: its jobs are on record, and over, whatever process of
// the tree is killed, and what was known of them can still be asked for.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "tests/instance/live.hpp"
#include "tests/instance/tree/tree.hpp"

namespace holon::instance {
namespace {

using testing::eventually;
using ::testing::HasSubstr;
using testing::InstanceProcesses;
using testing::kill_at_once;
using testing::Live;
using testing::processes_of;

// The first record is sent up at once, all after it a minute later.
const std::vector<std::string> kSilent = {"instance.record-interval=60s"};

std::map<std::string, msg::JobRecord> records_by_path(const Live& live) {
  std::map<std::string, msg::JobRecord> found;
  for (const auto& record : live.jobs(true, true)) found.emplace(record.path, record);
  return found;
}

// A job of the instance `path` that runs, and five that wait for it.
std::vector<std::string> fill(const Live& live, const std::string& path, std::int64_t cores) {
  const auto first = live.job({"/bin/sleep", "600"}, {cores}, path);
  live.when_running(first, path);
  const auto reply = live.submit({"/bin/true"}, {cores, 0, 5}, path);
  EXPECT_TRUE(reply) << reply.error().what;
  std::vector<std::string> paths;
  for (std::uint64_t id = first; id < first + 6; ++id)
    paths.push_back(path + "/" + std::to_string(id));
  return paths;
}

void all_are_over(const Live& live, const std::vector<std::string>& acknowledged) {
  const auto records = records_by_path(live);
  for (const auto& path : acknowledged) {
    ASSERT_TRUE(records.contains(path)) << path << " was acknowledged";
    const auto& record = records.at(path);
    EXPECT_EQ(record.state, "INACTIVE") << path;
    // One that had cores may have been cancelled by its instance before that was killed.
    EXPECT_TRUE(record.result == "CANCELED" || (record.t_alloc != 0 && record.result == "FAILED"))
        << path << ": " << record.result;
    EXPECT_FALSE(record.reason.empty()) << path;
    if (record.t_alloc == 0) continue;
    const auto& child = records.at(path.substr(0, path.rfind('/')));
    EXPECT_GE(record.t_finish, record.t_start) << path;
    EXPECT_GT(record.t_finish, 0) << path;
    // What the root knows last may be older than what the child's own journal says of a start, or
    // of an end that the child came to before it was killed.
    if (record.result == "FAILED") {
      EXPECT_LE(record.t_finish, std::max(child.t_finish, record.t_start)) << path;
    }
  }
}

TEST(Takeover, OfAChildWhoseSupervisorAndBrokerWereKilled) {
  const Live live({"--resources", "node=1/core=2"});
  live.child({2}, "", kSilent);
  const auto acknowledged = fill(live, "/1", 2);
  const auto child = processes_of(live, "/1");
  kill_at_once({child.supervisor, child.broker});
  EXPECT_EQ(live.wait_one(1).result, "FAILED");
  all_are_over(live, acknowledged);
}

TEST(Takeover, OfAGrandchildWhoseParentWasKilledWithIt) {
  const Live live({"--resources", "node=1/core=2"});
  live.child({2}, "", kSilent);
  live.child({2}, "/1", kSilent);
  const auto acknowledged = fill(live, "/1/1", 2);
  const auto child = processes_of(live, "/1"), grandchild = processes_of(live, "/1/1");
  kill_at_once({child.supervisor, child.broker, child.agent, grandchild.supervisor,
                grandchild.broker, grandchild.agent});
  EXPECT_EQ(live.wait_one(1).result, "FAILED");
  all_are_over(live, acknowledged);
  EXPECT_EQ(records_by_path(live).at("/1/1").result, "FAILED");
}

TEST(Takeover, WhenTheAgentAboveWasKilled) {
  const Live live({"--resources", "node=1/core=2"});
  live.child({2}, "", kSilent);
  const auto acknowledged = fill(live, "/1", 2);
  kill_at_once({live.agent()});
  EXPECT_EQ(live.wait_one(1).result, "FAILED");
  all_are_over(live, acknowledged);
}

TEST(Takeover, WhenAllOfTheRootWasKilledAndItIsStartedAgain) {
  Live live({"--resources", "node=1/core=2"});
  live.child({2}, "", kSilent);
  const auto acknowledged = fill(live, "/1", 2);
  const auto child = processes_of(live, "/1");
  kill_at_once({live.supervisor(), live.broker(), live.agent(), child.supervisor, child.broker,
                child.agent});
  live.start();
  EXPECT_EQ(live.wait_one(1).result, "FAILED");
  all_are_over(live, acknowledged);
  EXPECT_EQ(live.wait_one(1, "/1").state, "INACTIVE") << "a wait for what is over is over";
  EXPECT_TRUE(live.jobs(false, true).empty()) << "nothing is active";
}

// By the wall clock, in ms.
Time last_write_of_journal(const Live& live) {
  namespace fs = std::filesystem;
  Time last = 0;
  std::error_code ignored;
  for (const auto& file : fs::directory_iterator(live.dir() + "/state", ignored)) {
    struct stat info {};
    if (!file.path().filename().string().starts_with("journal")) continue;
    if (stat(file.path().c_str(), &info) == 0)
      last = std::max<Time>(last, info.st_mtim.tv_sec * 1000 + info.st_mtim.tv_nsec / 1'000'000);
  }
  return last;
}

// While the job runs nothing happens but that it does.
TEST(Takeover, AJobThatRanAsAllWasKilledHasRunForAsLongAsIsKnown) {
  Live live({"--resources", "node=1/core=1"});
  const auto id = live.job({"/bin/sleep", "600"});
  const Time start = live.when_running(id).t_start;
  EXPECT_TRUE(eventually([&] { return last_write_of_journal(live) > start + 2'000; }));
  kill_at_once({live.supervisor(), live.broker(), live.agent()});
  live.start_again();
  const auto record = live.wait_one(id);
  EXPECT_EQ(record.result, "FAILED");
  EXPECT_GE(record.t_finish - record.t_start, 1'000) << "it was seen to run for longer";
  EXPECT_LE(record.t_finish, record.t_inactive);
}

TEST(Takeover, WhenTheBrokerWasKilledWhileItsChildEnded) {
  const Live live({"--resources", "node=1/core=2"});
  live.child({2}, "", kSilent);
  const auto acknowledged = fill(live, "/1", 2);
  const auto supervisor = processes_of(live, "/1").supervisor;
  testing::signal_process(live.broker(), SIGSTOP);
  testing::signal_process(supervisor, SIGTERM);  // it cannot tell what becomes of its jobs
  EXPECT_TRUE(eventually([&] { return !testing::alive(supervisor); }));
  kill_at_once({live.broker()});
  live.wait_one(1);
  const auto records = records_by_path(live);
  for (const auto& path : acknowledged) {
    ASSERT_TRUE(records.contains(path)) << path << " was acknowledged";
    EXPECT_EQ(records.at(path).result, "CANCELED") << "as the child ended it";
    EXPECT_THAT(records.at(path).reason, HasSubstr("its instance ended"));
  }
}

TEST(Takeover, AJobThatHadCompletedStaysSo) {
  const Live live({"--resources", "node=1/core=2"});
  live.child({2}, "", kSilent);
  const auto first = live.job({"/bin/true"}, {}, "/1"), second = live.job({"/bin/true"}, {}, "/1");
  live.wait({first, second}, "/1");
  const auto child = processes_of(live, "/1");
  kill_at_once({child.supervisor, child.broker, child.agent});
  live.wait_one(1);
  const auto records = records_by_path(live);
  EXPECT_EQ(records.at("/1/1").result, "COMPLETED");
  EXPECT_EQ(records.at("/1/2").result, "COMPLETED");
}

TEST(Takeover, AJournalThatCannotBeReadIsSaidInTheReason) {
  const Live live({"--resources", "node=1/core=2"});
  live.child({2});
  const auto acknowledged = fill(live, "/1", 2);
  const auto child = processes_of(live, "/1");
  // Of a child that does not answer the root says what it knows itself.
  ASSERT_TRUE(eventually([&] {
    for (const pid_t pid : {child.supervisor, child.broker}) testing::signal_process(pid, SIGSTOP);
    msg::JobsRequest ask;
    ask.all = ask.recursive = true;
    ask.timeout = 200;
    const auto known = live.call<msg::JobsReply>("jobs", ask);
    if (known && known->jobs.size() == 7) return true;
    for (const pid_t pid : {child.supervisor, child.broker}) testing::signal_process(pid, SIGCONT);
    return false;
  }));
  const std::string journal = live.dir() + "/state/children/1/journal.db";
  for (const char* suffix : {"", "-wal"}) std::ofstream(journal + suffix) << std::string(8192, 'x');
  kill_at_once({child.supervisor, child.broker});
  EXPECT_EQ(live.wait_one(1).result, "FAILED") << "it is over all the same";
  const auto records = records_by_path(live);
  for (const auto& path : acknowledged)
    EXPECT_THAT(records.at(path).reason, HasSubstr("its journal cannot be read")) << path;
}

TEST(Takeover, WhatIsKeptAboutAJobCanBeAskedForWhenItsInstanceHasEnded) {
  const Live live({"--resources", "node=1/core=2"});
  live.child({2});
  live.child({1}, "/1");
  live.wait_one(live.job({"/bin/echo", "hello"}, {}, "/1/1"), "/1/1");
  live.cancel(1);
  live.wait_one(1);
  const auto info = live.call<msg::JobInfoReply>("job.info", msg::JobInfoRequest{1}, "/1/1");
  ASSERT_TRUE(info) << info.error().what;
  EXPECT_EQ(info->job.result, "COMPLETED");
  EXPECT_THAT(info->jobspec, HasSubstr("hello"));
  EXPECT_THAT(info->R, HasSubstr("R_lite"));
  EXPECT_THAT(info->eventlog, HasSubstr(R"("name":"submit")"));
  EXPECT_THAT(info->eventlog, HasSubstr(R"("name":"clean")"));

  auto client = transport::BlockingClient::connect(live.uri(), 30'000);
  ASSERT_TRUE(client);
  std::vector<std::string> names;
  const auto watched = client->stream<msg::JobEvent>(
      "job.watch", msg::WatchRequest{{1}, false}, "/1/1",
      [&](const msg::JobEvent& event) {
        names.push_back(event.name);
        return true;
      },
      30'000);
  EXPECT_TRUE(watched) << watched.error().what;
  ASSERT_FALSE(names.empty());
  EXPECT_EQ(names.front(), "submit");
  EXPECT_EQ(names.back(), "clean");
  std::string output;
  const auto attached = client->stream<msg::OutputChunk>(
      "job.attach", msg::AttachRequest{1}, "/1/1",
      [&](const msg::OutputChunk& chunk) {
        output += chunk.data;
        return true;
      },
      30'000);
  EXPECT_TRUE(attached) << attached.error().what;
  EXPECT_EQ(output, "hello\n");

  std::filesystem::remove_all(live.dir() + "/state/children/1");
  const auto bare = live.call<msg::JobInfoReply>("job.info", msg::JobInfoRequest{1}, "/1/1");
  ASSERT_TRUE(bare) << bare.error().what;
  EXPECT_EQ(bare->job.result, "COMPLETED") << "the record stays";
  EXPECT_EQ(bare->eventlog, "");
}

}  // namespace
}  // namespace holon::instance
