// What one request can cost an instance, and those who ask something else meanwhile.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "instance/basics/shared_bytes.hpp"
#include "msg/queue.hpp"
#include "msg/schedule.hpp"
#include "tests/instance/shared_live.hpp"
#include "tests/transport/raw_peer.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

using testing::Live;

constexpr std::uint32_t kHeld = 0;

std::uint64_t submit_held(const Live& live, std::uint64_t count, const std::string& path = "") {
  testing::JobOptions options;
  options.count = count;
  auto ask = Live::request({"/bin/true"}, options);
  ask.urgency = kHeld;
  const auto reply = live.call<msg::SubmitReply>("submit", ask, path, 120'000);
  EXPECT_TRUE(reply) << reply.error().what;
  return reply ? reply->first_id : 0;
}

// Pages of a listing, until there are no more.
std::vector<std::vector<msg::JobRecord>> pages_of(const Live& live, msg::JobsRequest ask,
                                                  const std::string& path = "") {
  std::vector<std::vector<msg::JobRecord>> pages;
  do {
    auto reply = live.call<msg::JobsReply>("jobs", ask, path);
    EXPECT_TRUE(reply) << reply.error().what;
    if (!reply) break;
    pages.push_back(std::move(reply->jobs));
    ask.after = std::move(reply->next);
  } while (!ask.after.empty() && pages.size() < 1000);
  return pages;
}

std::multiset<std::string> paths_of(const std::vector<std::vector<msg::JobRecord>>& pages) {
  std::multiset<std::string> paths;
  for (const auto& page : pages)
    for (const auto& job : page) paths.insert(job.path);
  return paths;
}

class Bounds : public testing::SharedLive {};

// Most of what is looked at is not asked for.
TEST_F(Bounds, AFilteredListingHasEveryJobThatIsAskedForOnce) {
  const Live live({"--resources", "node=1/core=1"});
  submit_held(live, 4500);
  msg::CancelRequest some;
  for (std::uint64_t id = 1; id <= 4500; id += 500) some.ids.push_back(id);
  ASSERT_TRUE(live.call<msg::CancelReply>("cancel", some));
  msg::JobsRequest ask;
  ask.all = true;
  ask.filter.states = {"CANCELED"};
  std::multiset<std::string> over;
  for (const auto id : some.ids) over.insert("/" + std::to_string(id));
  const auto pages = pages_of(live, ask);
  EXPECT_EQ(pages.size(), 1u) << "jobs that are not over are not looked at";
  EXPECT_EQ(paths_of(pages), over);
  ask.recursive = true;
  EXPECT_EQ(paths_of(pages_of(live, ask)), over);
  ask.recursive = false;
  ask.limit = 2;
  EXPECT_EQ(paths_of(pages_of(live, ask)), (std::multiset<std::string>{"/3501", "/4001"}));
  ask.limit = 0;
  ask.filter.states = {"PENDING"};
  EXPECT_EQ(paths_of(pages_of(live, ask)).size(), 4500u - over.size());
  ask.filter.name = "no-such-name";
  EXPECT_TRUE(paths_of(pages_of(live, ask)).empty());
}

TEST_F(Bounds, JobsAreCountedWithoutBeingSent) {
  const Live live({"--resources", "node=1/core=1"});
  submit_held(live, 4500);
  msg::CancelRequest some;
  some.ids = {1, 4000};
  ASSERT_TRUE(live.call<msg::CancelReply>("cancel", some));
  msg::JobsRequest ask;
  ask.all = ask.stats = true;
  std::map<std::string, std::uint64_t> counts;
  do {
    const auto reply = live.call<msg::JobsReply>("jobs", ask);
    ASSERT_TRUE(reply) << reply.error().what;
    EXPECT_TRUE(reply->jobs.empty());
    for (const auto& count : reply->counts) counts[count.state] += count.jobs;
    ask.after = reply->next;
  } while (!ask.after.empty());
  EXPECT_EQ(counts, (std::map<std::string, std::uint64_t>{{"CANCELED", 2}, {"SCHED", 4498}}));
  ask.recursive = true;
  EXPECT_EQ(live.call<msg::JobsReply>("jobs", ask).error().code, Errc::invalid_argument);
  ask = {};
  ask.filter.states = {"BROKEN"};
  EXPECT_EQ(live.call<msg::JobsReply>("jobs", ask).error().code, Errc::invalid_argument);
}

TEST_F(Bounds, AListingComesInPagesInWhichEveryJobIsOnce) {
  const Live live({"--resources", "node=1/core=1"});
  submit_held(live, 2500);
  msg::CancelRequest some;
  for (std::uint64_t id = 1; id <= 2500; id += 7) some.ids.push_back(id);
  ASSERT_TRUE(live.call<msg::CancelReply>("cancel", some));
  msg::JobsRequest ask;
  ask.all = true;
  const auto pages = pages_of(live, ask);
  EXPECT_GE(pages.size(), 3u);
  std::uint64_t last = 0;
  for (const auto& page : pages) {
    EXPECT_LE(page.size(), 1000u);
    for (const auto& job : page) {
      EXPECT_EQ(job.id, last + 1);
      last = job.id;
      EXPECT_EQ(job.state, job.id % 7 == 1 ? "INACTIVE" : "SCHED") << job.id;
    }
  }
  EXPECT_EQ(last, 2500u);
  ask.page = 1;
  ask.limit = 4;
  const auto newest = paths_of(pages_of(live, ask));
  EXPECT_EQ(newest, (std::multiset<std::string>{"/2497", "/2498", "/2499", "/2500"}));
  ask = {};
  ask.ids = {3, 5, 8};
  ask.page = 2;
  EXPECT_EQ(paths_of(pages_of(live, ask)), (std::multiset<std::string>{"/3", "/5", "/8"}));
}

TEST_F(Bounds, PagesOfAWholeTreeHaveWhatLivesAndWhatIsGone) {
  const Live live({"--resources", "node=1/core=4"});
  for (const std::string path : {"", "", "/1"}) live.child({1}, path);
  for (const std::string path : {"/1", "/2", "/1/1"}) submit_held(live, 3, path);
  msg::ShutdownRequest end;
  ASSERT_TRUE(live.call<msg::Empty>("shutdown", end, "/2"));
  live.wait_one(2);
  submit_held(live, 2);
  const std::multiset<std::string> all{"/1",     "/1/1", "/1/2", "/1/3", "/1/4", "/1/1/1", "/1/1/2",
                                       "/1/1/3", "/2",   "/2/1", "/2/2", "/2/3", "/3",     "/4"};
  msg::JobsRequest ask;
  ask.all = true;
  ask.recursive = true;
  for (const std::uint64_t page : {1, 2, 3, 5, 100}) {
    ask.page = page;
    EXPECT_EQ(paths_of(pages_of(live, ask)), all) << page << " a page";
  }
  ask.ids = {2};
  ask.page = 1;
  EXPECT_EQ(paths_of(pages_of(live, ask)),
            (std::multiset<std::string>{"/2", "/2/1", "/2/2", "/2/3"}));
  ask.ids = {};
  EXPECT_EQ(paths_of(pages_of(live, ask, "/2")),
            (std::multiset<std::string>{"/2/1", "/2/2", "/2/3"}));
}

TEST_F(Bounds, RecordsOfAnInstanceThatIsGoneArePassedOverInSeveralPages) {
  const Live live({"--resources", "node=1/core=2"});
  live.child({1});
  submit_held(live, 2500, "/1");
  ASSERT_TRUE(live.call<msg::Empty>("shutdown", msg::ShutdownRequest{}, "/1"));
  live.wait_one(1);
  msg::JobsRequest ask;
  ask.recursive = true;
  const auto pages = pages_of(live, ask);
  EXPECT_GE(pages.size(), 2u) << "all of them were read in one turn";
  EXPECT_TRUE(paths_of(pages).empty()) << "none is active";
  // What one request may ask for is bounded there, too.
  ask.ids.assign(10'001, 1);
  const auto jobs = live.call<msg::JobsReply>("jobs", ask, "/1");
  ASSERT_FALSE(jobs);
  EXPECT_NE(jobs.error().what.find("one request may have 10000"), std::string::npos);
  msg::WaitRequest many;
  many.ids.assign(10'001, 1);
  const auto wait = live.call<msg::WaitReply>("job.wait", many, "/1");
  ASSERT_FALSE(wait);
  EXPECT_NE(wait.error().what.find("one request may have 10000"), std::string::npos);
}

// A cursor's fields, as job_pages.cpp has them.
struct ForgedChild {
  std::uint64_t child = 1;
  std::string after;
  HOLON_FIELDS(child, after)
};
struct ForgedRecords {
  std::string prefix, after;
  HOLON_FIELDS(prefix, after)
};
struct ForgedCursor {
  bool own_done = true;
  std::uint64_t own = 0, listed = 0;
  std::string child;
  std::vector<ForgedChild> live;
  std::vector<ForgedRecords> gone;
  HOLON_FIELDS(own_done, own, listed, child, live, gone)
};

TEST_F(Bounds, ACursorThatWasNotGivenOutIsRefused) {
  const Live& live = shared({"--resources", "node=1/core=1"});
  msg::JobsRequest ask;
  ask.recursive = true;
  ForgedCursor cursor;
  ask.after = transport::pack(cursor);
  EXPECT_TRUE(live.call<msg::JobsReply>("jobs", ask)) << "such a one is given out";
  cursor.live.resize(10'000);  // each of them would be asked at once
  for (const std::string& after : {std::string("rubbish"), transport::pack(cursor)}) {
    ask.after = after;
    const auto reply = live.call<msg::JobsReply>("jobs", ask);
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().code, Errc::invalid_argument);
  }
}

// The answers of two requests over connections of their own, in the order they came; the slow one
// is about the instance `path`.
std::vector<std::string> race(const Live& live, const std::string& topic, std::string slow,
                              Duration patience, const std::string& path = "") {
  const auto reactor = std::move(*transport::Reactor::create());
  const auto first = std::move(*transport::Client::connect(*reactor, live.uri()));
  const auto second = std::move(*transport::Client::connect(*reactor, live.uri()));
  reactor->run_until([&] { return first->connected() && second->connected(); }, patience);
  std::vector<std::string> order;
  bool asked = false;
  first->call({topic, std::move(slow), path, patience}, [&](const Result<std::string>& answer) {
    order.push_back(answer ? topic : answer.error().what);
  });
  const auto next = reactor->after(1, [&] {  // by now the first one is on its way
    asked = true;
    second->call({"status", transport::pack(msg::Empty{}), "", patience},
                 [&](const Result<std::string>& answer) {
                   order.push_back(answer ? "status" : answer.error().what);
                 });
  });
  reactor->run_until([&] { return asked && order.size() == 2; }, patience);
  return order;
}

TEST_F(Bounds, ManyJobsAreSubmittedAndCancelledInPortionsBetweenWhichOthersAreServed) {
  const Live live({"--resources", "node=1/core=1"});
  testing::JobOptions options;
  options.count = 30'000;
  auto ask = Live::request({"/bin/true"}, options);
  ask.urgency = kHeld;
  EXPECT_EQ(race(live, "submit", transport::pack(ask), 120'000),
            (std::vector<std::string>{"status", "submit"}));
  EXPECT_EQ(live.status()->pending, 30'000);
  EXPECT_EQ(race(live, "priority", transport::pack(msg::PriorityRequest{}), 120'000),
            (std::vector<std::string>{"status", "priority"}));
  live.kill_broker();
  EXPECT_EQ(live.status()->pending, 30'000) << "they are in the journal";
  msg::CancelRequest some;
  some.ids.resize(3000);
  for (std::uint64_t i = 0; i < some.ids.size(); ++i) some.ids[i] = 10'001 + i;
  EXPECT_EQ(race(live, "cancel", transport::pack(some), 120'000),
            (std::vector<std::string>{"status", "cancel"}));
  EXPECT_EQ(live.status()->inactive, 3000);
  const auto over = live.wait(some.ids);
  ASSERT_EQ(over.size(), 3000u);
  EXPECT_EQ(over.back().id, 13'000u);
  EXPECT_EQ(over.back().result, "CANCELED");
}

TEST_F(Bounds, TheJobsOfAnEndedInstanceAreCounted) {
  const Live live({"--resources", "node=1/core=1"});
  live.child({1});
  submit_held(live, 4000, "/1");
  ASSERT_TRUE(live.call<msg::Empty>("shutdown", msg::ShutdownRequest{}, "/1"));
  live.wait_one(1);
  const auto left = live.status("/1");
  ASSERT_TRUE(left) << left.error().what;
  EXPECT_EQ(left->inactive, 4000);
  EXPECT_EQ(left->cancelled, 4000);
}

std::size_t most_memory_mb(pid_t pid) {
  const std::string status = testing::read_file("/proc/" + std::to_string(pid) + "/status");
  return std::stoul(status.substr(status.find("VmHWM:") + 6)) >> 10;
}

TEST_F(Bounds, ForAnAttachedClientThatReadsSlowlyOnlySomeOutputIsKept) {
  const Live live({"--resources", "node=1/core=1"});
  constexpr std::size_t kBytes = 60'000'000;
  const auto id = live.job({"/bin/sh", "-c", "head -c 60000000 /dev/zero; exec sleep 600"});
  const std::string output = live.when_running(id).output;
  ASSERT_TRUE(testing::eventually([&] {
    std::error_code not_yet;
    return std::filesystem::file_size(output, not_yet) == kBytes;
  }));
  const std::size_t before = most_memory_mb(live.broker());
  transport::RawPeer slow(live.uri());
  slow.handshake();
  slow.hello();
  msg::AttachRequest attach;
  attach.id = id;
  slow.send({transport::Kind::request, 7, "job.attach", "", transport::pack(attach)});
  EXPECT_TRUE(testing::eventually([&] {
    const std::size_t read = slow.skip_some(256 << 10);
    slow.send({transport::Kind::heartbeat, read, "", "", ""});
    return read > kBytes;
  }));
  EXPECT_LT(most_memory_mb(live.broker()), before + 30);
  live.cancel(id);
}

TEST_F(Bounds, WhatIsTooLargeIsRefusedWithTheNumberThatIsAccepted) {
  const Live& live = shared({"--resources", "node=1/core=1"});
  auto ask = Live::request({"/bin/true", std::string(9 << 20, 'x')});
  const auto jobspec = live.call<msg::SubmitReply>("submit", ask);
  ASSERT_FALSE(jobspec);
  EXPECT_NE(jobspec.error().what.find("at most 8388608"), std::string::npos);
  msg::WaitRequest many;
  many.ids.assign(10'001, 1);
  const auto wait = live.call<msg::WaitReply>("job.wait", many);
  ASSERT_FALSE(wait);
  EXPECT_NE(wait.error().what.find("one request may have 10000"), std::string::npos);
  msg::UrgencyRequest changed;
  changed.ids = many.ids;
  const auto urgency = live.call<msg::Empty>("urgency", changed);
  ASSERT_FALSE(urgency);
  EXPECT_EQ(urgency.error().code, Errc::out_of_range);
  EXPECT_TRUE(live.status());
}

TEST_F(Bounds, JobsThatAClientWaitsForAreCounted) {
  const Live& live = shared({"--resources", "node=1/core=1"});
  const auto held = submit_held(live, 1);
  std::vector<Error> refused;  // what is still asked at the end is answered by that of the client
  auto client = transport::BlockingClient::connect(live.uri());
  ASSERT_TRUE(client) << to_string(client.error());
  msg::WaitRequest many;
  many.ids.assign(10'000, held);
  const std::string packed = transport::pack(many);
  const auto ask = [&] {
    return client->client().call({"job.wait", packed, "", 0},
                                 [&](const Result<std::string>& answer) {
                                   if (!answer) refused.push_back(answer.error());
                                 });
  };
  const auto first = ask();
  for (int i = 1; i < 11; ++i) ask();
  EXPECT_TRUE(client->call<msg::TreeNode>("status", msg::Empty{}));
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused.front().code, Errc::busy);
  EXPECT_EQ(refused.front().what, "this client waits for 100000 jobs already");
  client->client().cancel(first);
  ask();
  EXPECT_TRUE(client->call<msg::TreeNode>("status", msg::Empty{}));
  EXPECT_EQ(refused.size(), 1u) << "there is room again";
}

// Started with so few open files; what it printed, and its exit code.
std::pair<int, std::string> with_files(rlim_t most, const std::string& command) {
  int ends[2];
  if (pipe(ends) != 0) return {-1, "pipe"};
  const pid_t pid = fork();
  if (pid == 0) {
    const rlimit limit{most, most};
    setrlimit(RLIMIT_NOFILE, &limit);
    dup2(ends[1], STDERR_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    close_range(3, ~0U, 0);  // whatever this process inherited would count
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  close(ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}

TEST_F(Bounds, TooFewOpenFilesAreSaidBeforeAnythingIsMade) {
  std::string dir = ::testing::TempDir() + "holon-files-XXXXXX";
  ASSERT_NE(mkdtemp(dir.data()), nullptr);
  const std::string environment = "TMPDIR=" + dir + " XDG_RUNTIME_DIR=" + dir + " ";
  const auto start = with_files(
      20, environment + "exec " HOLON_BINARY " start --bg --state-dir " + dir + "/state");
  EXPECT_EQ(start.first, 1) << start.second;
  EXPECT_NE(start.second.find("(ulimit -n) is 20"), std::string::npos) << start.second;
  EXPECT_TRUE(std::filesystem::is_empty(dir)) << "a folder is left";
  std::filesystem::remove_all(dir);
  const Live live({"--resources", "node=1/core=1"});
  const auto jobs = with_files(6, "HOLON_URI=" + live.uri() + " exec " HOLON_BINARY " jobs");
  EXPECT_GT(jobs.first, 0) << "aborted: " << jobs.second;
  EXPECT_NE(jobs.second.find("(ulimit -n) is 6"), std::string::npos) << jobs.second;
}

TEST(SharedBytes, AreOfOneUserAndGivenBack) {
  SharedBytes shared(100);
  {
    auto first = shared.take("ada", 60);
    ASSERT_TRUE(first);
    EXPECT_FALSE(shared.take("ada", 41));
    EXPECT_TRUE(shared.take("ada", 40));
    EXPECT_TRUE(shared.take("bob", 1'000)) << "alone";
    const SharedBytes::Hold moved = std::move(*first);
    EXPECT_FALSE(shared.take("ada", 41));
  }
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(shared.take("ada", 90)) << i;
}

}  // namespace
}  // namespace holon::instance
