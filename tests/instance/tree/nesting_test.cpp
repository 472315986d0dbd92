// Instances in instances: grants, routing, records that outlive their child, fencing.
#include "launch/tracking/process.hpp"
#include "places.hpp"  // written by CMake
#include "tests/instance/live.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

namespace holon::instance {
namespace {

using testing::alive;
using testing::eventually;
using ::testing::HasSubstr;
using testing::Live;

std::map<std::string, msg::JobRecord> by_path(const std::vector<msg::JobRecord>& records) {
  std::map<std::string, msg::JobRecord> found;
  for (const auto& record : records) found.emplace(record.path, record);
  return found;
}

TEST(Nesting, ThreeLevelsWithTheirOwnQueuesAndOneTree) {
  const Live live({"--resources", "node=1/core=4"});
  const auto child = live.child({2}, "", {"queue.policy=easy"});
  EXPECT_EQ(child, 1u);
  const auto grandchild = live.child({1}, "/1");
  EXPECT_EQ(grandchild, 1u);
  const auto leaf = live.job({"/bin/sh", "-c", "echo deep"}, {}, "/1/1");
  const auto record = live.wait_one(leaf, "/1/1");
  EXPECT_EQ(record.path, "/1/1/1");
  EXPECT_EQ(record.result, "COMPLETED") << record.reason;

  const auto tree = live.call<msg::TreeNode>("tree", msg::TreeRequest{});
  ASSERT_TRUE(tree);
  ASSERT_EQ(tree->children.size(), 1u);
  EXPECT_EQ(tree->cores, 4);
  EXPECT_EQ(tree->cores_free, 2);
  const auto& middle = tree->children.front();
  EXPECT_EQ(middle.path, "/1");
  EXPECT_EQ(middle.policy, "easy");
  EXPECT_EQ(middle.cores, 2);
  EXPECT_EQ(middle.cores_free, 1);
  ASSERT_EQ(middle.children.size(), 1u);
  EXPECT_EQ(middle.children.front().path, "/1/1");
  EXPECT_EQ(middle.children.front().inactive, 1);

  // More than the grant has is refused inside, though the root has it.
  const auto too_much = live.submit({"/bin/true"}, {3}, "/1");
  ASSERT_FALSE(too_much);
  EXPECT_EQ(too_much.error().code, Errc::unsatisfiable);

  // From a leaf, any instance of the tree can be reached.
  auto from_leaf = transport::BlockingClient::connect(middle.children.front().uri, 30'000);
  ASSERT_TRUE(from_leaf);
  EXPECT_EQ(from_leaf->call<msg::TreeNode>("status", msg::Empty{}, "/")->path, "/");
  EXPECT_EQ(from_leaf->call<msg::TreeNode>("status", msg::Empty{}, "..")->path, "/1");
  EXPECT_EQ(from_leaf->call<msg::TreeNode>("status", msg::Empty{}, "../..")->path, "/");

  const auto all = by_path(live.jobs(true, true));
  EXPECT_EQ(all.at("/1/1/1").result, "COMPLETED");
  EXPECT_EQ(all.at("/1/1").state, "RUN");
  EXPECT_EQ(all.at("/1").state, "RUN");
}

TEST(Nesting, RecordsOutliveTheChild) {
  const Live live({"--resources", "node=1/core=2"});
  live.child({2});
  live.child({1}, "/1");
  for (int i = 0; i < 5; ++i) live.job({"/bin/sh", "-c", "exit " + std::to_string(i)}, {}, "/1/1");
  const auto pending = live.job({"/bin/sleep", "600"}, {1}, "/1/1");
  live.wait({1, 2, 3, 4, 5}, "/1/1");
  live.when_running(pending, "/1/1");
  live.cancel(1);
  EXPECT_EQ(live.wait_one(1).result, "CANCELED");
  const auto all = by_path(live.jobs(true, true));
  ASSERT_EQ(all.size(), 8u);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(all.at("/1/1/" + std::to_string(i + 1)).exit_code, i);
  EXPECT_EQ(all.at("/1/1/6").result, "CANCELED");
  // Requests for the gone are answered from the records.
  EXPECT_EQ(live.status("/1")->health, "ended");
  msg::JobsRequest ask;
  ask.all = true;
  EXPECT_EQ(live.call<msg::JobsReply>("jobs", ask, "/1/1")->jobs.size(), 6u);
  EXPECT_EQ(live.call<msg::JobInfoReply>("job.info", msg::JobInfoRequest{3}, "/1/1")->job.exit_code,
            2);
  EXPECT_FALSE(live.submit({"/bin/true"}, {}, "/1"));
  EXPECT_EQ(live.status()->cores_free, 2);
}

// 70 MB of records: more than one message may have.
TEST(Nesting, RecordsThatDoNotFitIntoOneMessageAreSentInSeveral) {
  const Live live({"--resources", "node=1/core=1"});
  live.child({1});
  live.when_running(live.job({"/bin/sleep", "600"}, {}, "/1"), "/1");
  live.job({"/bin/true"}, {1, 0, 700}, "/1");
  msg::CancelRequest everything;
  everything.all = true;
  everything.reason = std::string(100'000, 'x');
  ASSERT_TRUE(live.call<msg::CancelReply>("cancel", everything, "/1", 120'000));
  live.call<msg::Empty>("shutdown", msg::ShutdownRequest{}, "/1");
  live.wait_one(1);
  const auto left = live.status("/1");
  ASSERT_TRUE(left) << left.error().what;
  EXPECT_EQ(left->inactive, 701);
  EXPECT_EQ(left->failed, 701);
  msg::JobsRequest ask;
  ask.all = true;
  ask.ids = {701};
  const auto last = live.call<msg::JobsReply>("jobs", ask, "/1");
  ASSERT_TRUE(last) << last.error().what;
  ASSERT_EQ(last->jobs.size(), 1u);
  EXPECT_EQ(last->jobs[0].reason.size(), 100'000u) << "as the child said it, not closed for it";
}

TEST(Nesting, TheInitialProgramDecidesTheChildsLifeAndExitCode) {
  const Live live({"--resources", "node=1/core=2"});
  const auto id = live.job({HOLON_BINARY, "start", "--grant", "--", "/bin/sh", "-c",
                            "test -n \"$HOLON_URI\" && test -z \"$HOLON_SECRETS_FD\" && exit 7"},
                           {1, 0, 1, true});
  const auto record = live.wait_one(id);
  EXPECT_EQ(record.exit_code, 7) << record.reason << testing::read_file(record.error);
  EXPECT_TRUE(record.is_instance);
}

TEST(Nesting, CancellingAChildEndsEverythingInIt) {
  const Live live({"--resources", "node=1/core=2"});
  live.child({2});
  live.child({1}, "/1");
  const auto leaf = live.when_running(live.job({"/bin/sleep", "600"}, {}, "/1/1"), "/1/1");
  std::set<pid_t> below;
  for (const pid_t pid : testing::children_of(live.agent())) testing::add_tree(pid, below);
  EXPECT_GE(below.size(), 7u);
  live.cancel(1);
  EXPECT_EQ(live.wait_one(1).result, "CANCELED");
  EXPECT_TRUE(eventually([&] { return std::none_of(below.begin(), below.end(), alive); }));
  EXPECT_FALSE(alive(static_cast<pid_t>(leaf.pids.at(0))));
}

bool is_stopped(pid_t pid) {
  const auto stat = launch::stat_of(pid);
  return stat && stat->state == 'T';
}

// Each instance above waits half a minute for one that ends in order, and kills it then.
TEST(Nesting, AGrandchildWhoseProcessesAreStoppedEndsInOrderAsItsParentIsCancelled) {
  const Live live({"--resources", "node=1/core=2"});
  live.child({2});
  live.job({HOLON_BINARY, "start", "--grant", "--", "/bin/sleep", "600"}, {1, 0, 1, true}, "/1");
  live.when_running(live.job({"/bin/sleep", "600"}, {}, "/1/1"), "/1/1");
  std::set<pid_t> below;
  testing::add_tree(testing::parent_of(static_cast<pid_t>(live.status("/1/1")->pid)), below);
  EXPECT_GE(below.size(), 5u);
  for (const pid_t pid : below) testing::signal_process(pid, SIGSTOP);
  // On a busy machine a process stops only when it is its turn, which may be after the cancel.
  ASSERT_TRUE(eventually([&] { return std::all_of(below.begin(), below.end(), is_stopped); }));
  live.cancel(1);
  live.wait_one(1);
  const auto records = by_path(live.jobs(true, true));
  ASSERT_TRUE(records.contains("/1/1"));
  EXPECT_EQ(records.at("/1/1").exit_code, 128 + SIGTERM) << "it was killed";
  ASSERT_TRUE(records.contains("/1/1/1"));
  EXPECT_THAT(records.at("/1/1/1").reason, HasSubstr("its instance ended"));
  EXPECT_TRUE(eventually([&] { return std::none_of(below.begin(), below.end(), alive); }));
}

TEST(Nesting, AChildAnswersWhileItEndsManyWaitingJobs) {
  const Live live({"--resources", "node=1/core=2"});
  live.child({1});
  constexpr std::uint64_t kWaiting = 20'000;
  live.job({"/bin/sleep", "600"}, {.count = kWaiting}, "/1");
  auto client = transport::BlockingClient::connect(live.status("/1")->uri);
  ASSERT_TRUE(client) << to_string(client.error());
  // The next request comes while the end goes on.
  client->client().call({"shutdown", transport::pack(msg::ShutdownRequest{})},
                        [](const Result<std::string>&) {});
  const auto ending = client->call<msg::TreeNode>("status", msg::Empty{});
  ASSERT_TRUE(ending) << to_string(ending.error());
  EXPECT_EQ(ending->health, "ending");
  EXPECT_GT(ending->pending, 0) << "they were all ended in one turn";
  live.wait_one(1);
  const auto ended = live.status("/1");
  ASSERT_TRUE(ended) << to_string(ended.error());
  EXPECT_EQ(ended->cancelled, static_cast<std::int64_t>(kWaiting));
}

TEST(Nesting, AKilledAgentTakesItsChildrenWithIt) {
  const Live live({"--resources", "node=1/core=2"});
  live.child({2});
  const auto leaf = live.when_running(
      live.job({"/bin/sh", "-c", "trap '' TERM; while :; do sleep 1; done"}, {}, "/1"), "/1");
  std::set<pid_t> below;
  for (const pid_t pid : testing::children_of(live.agent())) testing::add_tree(pid, below);
  kill(live.agent(), SIGKILL);
  const auto record = live.wait_one(1);
  EXPECT_EQ(record.result, "FAILED");
  EXPECT_THAT(record.reason, HasSubstr("died"));
  EXPECT_TRUE(eventually([&] { return std::none_of(below.begin(), below.end(), alive); }));
  EXPECT_FALSE(alive(static_cast<pid_t>(leaf.pids.at(0))));
  EXPECT_EQ(live.wait_one(live.job({"/bin/true"}, {2})).result, "COMPLETED");
  EXPECT_TRUE(eventually([&] {
    const auto records = by_path(live.jobs(true, true));
    return records.contains("/1/1") && records.at("/1/1").state == "INACTIVE";
  }));
}

TEST(Nesting, AGrantsEndIsTheChildsHorizon) {
  const Live live({"--resources", "node=1/core=2"});
  live.child({1, 600});
  const auto inside = live.status("/1");
  ASSERT_TRUE(inside) << inside.error().what;
  EXPECT_NEAR(double(inside->expiration), double(live.record(1).expiration), 10'000)
      << "but for the time that the parent's word was on its way";
  const auto refused = live.submit({"/bin/true"}, {1, 3600}, "/1");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("asks for 1h"));
}

TEST(Nesting, AChildsBrokerCanBeKilledToo) {
  const Live live({"--resources", "node=1/core=2"});
  live.child({1});
  const auto running = live.job(live.gated("gate"), {}, "/1");
  const auto queued = live.job({"/bin/true"}, {}, "/1");
  const auto before = live.when_running(running, "/1");
  const auto inside = live.status("/1");
  ASSERT_TRUE(inside);
  testing::signal_process(static_cast<pid_t>(inside->pid), SIGKILL);
  ASSERT_TRUE(eventually([&] {
    const auto now = live.status("/1");
    return now && now->pid != inside->pid;
  }));
  EXPECT_EQ(live.record(running, "/1").pids, before.pids);
  EXPECT_EQ(live.record(queued, "/1").state, "SCHED");
  live.release("gate");
  EXPECT_EQ(live.wait_one(running, "/1").result, "COMPLETED");
  EXPECT_EQ(live.wait_one(queued, "/1").result, "COMPLETED");
}

TEST(Nesting, ChildrenGoOnWhenTheParentsBrokerIsKilled) {
  const Live live({"--resources", "node=1/core=2"});
  live.child({1});
  const auto running = live.job(live.gated("gate"), {}, "/1");
  live.when_running(running, "/1");
  live.kill_broker();
  live.release("gate");
  EXPECT_EQ(live.wait_one(running, "/1").result, "COMPLETED");
  EXPECT_TRUE(eventually([&] {
    const auto all = by_path(live.jobs(true, true));
    return all.count("/1/1") == 1 && all.at("/1/1").result == "COMPLETED";
  }));
}

// What parent and child say to each other is not taken from clients, nor passed on to a child.
TEST(Nesting, NobodySpeaksForAParentOrAChild) {
  const Live live({"--resources", "node=1/core=2"});
  live.child({1});
  ASSERT_TRUE(live.status("/1"));
  for (const char* topic : {"lease", "hello", "record", "agent.hello"})
    for (const char* path : {"", "/1"}) {
      const auto answer = live.call<msg::Empty>(topic, msg::Lease{1, 0, -1, "", false}, path);
      ASSERT_FALSE(answer) << topic;
      EXPECT_EQ(answer.error().code, Errc::denied) << topic;
    }
}

TEST(Nesting, AChildThatEndsIsShownAsEnding) {
  const Live live({"--resources", "node=1/core=1", "--conf", "job.grace=1s"});
  const auto child = live.child({});
  const std::string path = "/" + std::to_string(child);
  const std::string ready = live.dir() + "/ready";
  // It does not end when it is asked to, so that the child's end takes a while.
  live.job({"/bin/sh", "-c", "trap '' TERM; touch " + ready + "; sleep 2 & wait; sleep 60"}, {},
           path);
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(ready); }));
  live.cancel(child);
  std::set<std::string> seen;
  EXPECT_TRUE(eventually([&] {
    const auto tree = live.call<msg::TreeNode>("tree", msg::TreeRequest{});
    if (!tree || tree->children.empty()) return tree.has_value();
    seen.insert(tree->children.front().health);
    return false;
  }));
  EXPECT_EQ(seen.count("ending"), 1u);
  EXPECT_EQ(seen.count("unreachable"), 0u);
  live.wait_one(child);
}

}  // namespace
}  // namespace holon::instance
