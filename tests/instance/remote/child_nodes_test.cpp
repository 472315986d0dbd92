// Child instances over several nodes of their parent: its agents start the child's, and nothing of
// a child is left anywhere when its job is over.
#include <gmock/gmock.h>

#include <algorithm>

#include "batch/hosts.hpp"
#include "tests/instance/live.hpp"
#include "tests/instance/remote/fake_ssh.hpp"

namespace holon::instance {
namespace {

using testing::alive;
using testing::eventually;
using ::testing::HasSubstr;
using testing::JobOptions;
using testing::Live;
using testing::read_file;

class ChildNodesTest : public ::testing::Test {
 protected:
  // Returns its job; `cores_` are those of each of the three nodes.
  std::uint64_t child_on_two(const Live& live, const std::vector<std::string>& conf = {}) {
    const auto status = live.status();
    EXPECT_TRUE(status);
    if (!status) return 0;
    cores_ = status->cores / status->nodes;
    before_ = processes_of(live);
    return up(live, live.child(on_nodes(2), "", conf), "", 2);
  }
  JobOptions on_nodes(std::int64_t nodes) const {
    JobOptions options;
    options.tasks = nodes * cores_;
    return options;
  }
  static std::uint64_t up(const Live& live, std::uint64_t job, const std::string& above,
                          std::int64_t nodes) {
    const std::string path = above + "/" + std::to_string(job);
    EXPECT_TRUE(eventually([&] {
      const auto child = live.status(path);
      return child && child->nodes == nodes;
    })) << path
        << ": " << live.record(job, above).reason;
    return job;
  }
  static std::set<pid_t> processes_of(const Live& live) {
    std::set<pid_t> all;
    testing::add_tree(live.supervisor(), all);
    return all;
  }
  // Those that have come since before the child.
  std::set<pid_t> of_child(const Live& live) const {
    std::set<pid_t> all = processes_of(live);
    std::erase_if(all, [&](pid_t pid) { return before_.contains(pid); });
    return all;
  }
  // No process is left on its second node that could start another agent there.
  void lose_second_node(const Live& live) const {
    const pid_t keeper = agent_of_child(live);
    const auto agents = testing::children_of(keeper);
    testing::signal_process(keeper, SIGKILL);
    for (const pid_t agent : agents) testing::signal_process(agent, SIGKILL);
  }
  // Its process on its second node, which keeps its agent there: a task of the parent's agent, and
  // no supervisor.
  pid_t agent_of_child(const Live& live) const {
    for (const pid_t pid : of_child(live)) {
      const auto below = testing::children_of(pid);
      const bool has_broker = std::any_of(below.begin(), below.end(), [](pid_t one) {
        return testing::command_of(one).find(" broker ") != std::string::npos;
      });
      if (before_.contains(testing::parent_of(pid)) && !has_broker) return pid;
    }
    return 0;
  }
  // A task on each of `nodes` nodes writes where it is, and what `holon jobs` says there.
  static std::set<std::string> uris_seen_by(const Live& live, const JobOptions& all,
                                            const std::string& path, int nodes) {
    const std::string file = live.dir() + "/seen" + std::to_string(path.size());
    const std::string script = "test $HOLON_LOCAL_RANK = 0 && { echo $HOLON_URI $HOLON_NODELIST; " +
                               std::string(HOLON_BINARY) + " jobs --json; } > " + file +
                               ".$HOLON_NODE_INDEX; :";
    const auto id = live.job({"/bin/sh", "-c", script}, all, path);
    const auto over = live.wait_one(id, path);
    EXPECT_EQ(over.result, "COMPLETED") << over.reason;
    std::set<std::string> uris;
    for (int node = 0; node < nodes; ++node) {
      const std::string said = read_file(file + "." + std::to_string(node));
      EXPECT_THAT(said, HasSubstr("\"" + path + "/" + std::to_string(id) + "\""));
      uris.insert(said.substr(0, said.find(' ')));
    }
    return uris;
  }

  testing::FakeSsh ssh_;
  std::int64_t cores_ = 0;
  std::set<pid_t> before_;
};

TEST_F(ChildNodesTest, TasksOfAChildAndOfItsChildAskItOnEachNode) {
  const Live live(ssh_.options());
  const auto child = child_on_two(live);
  const auto of_child_uris = uris_seen_by(live, on_nodes(2), "/1", 2);
  EXPECT_EQ(of_child_uris.size(), 2U) << "each node has a socket of its own";
  const auto grandchild = up(live, live.child(on_nodes(2), "/1"), "/1", 2);
  const std::string path = "/1/" + std::to_string(grandchild);
  const auto below = uris_seen_by(live, on_nodes(2), path, 2);
  EXPECT_EQ(below.size(), 2U);
  for (const auto& uri : below) EXPECT_FALSE(of_child_uris.contains(uri));
  const auto all = of_child(live);
  ASSERT_GE(all.size(), 4U) << "supervisor, broker, two agents";
  live.cancel(child);
  EXPECT_EQ(live.wait_one(child).result, "CANCELED");
  for (const pid_t pid : all) EXPECT_FALSE(alive(pid)) << testing::command_of(pid);
  EXPECT_EQ(live.wait_one(1, path).result, "COMPLETED") << "its records were handed up";
}

TEST_F(ChildNodesTest, NoKeyOfItIsSeenByOthers) {
  const Live live(ssh_.options());
  child_on_two(live);
  live.when_running(live.job({"/bin/sleep", "1000"}, on_nodes(2), "/1"), "/1");
  for (const pid_t pid : of_child(live)) {
    const std::string command = testing::command_of(pid);
    const std::string environment = read_file("/proc/" + std::to_string(pid) + "/environ");
    EXPECT_EQ(command.find("tcp://"), std::string::npos) << command;
    for (const char* word : {"tcp://", "HOLON_INVITATION", "HOLON_TOKEN"})
      EXPECT_EQ(environment.find(word), std::string::npos) << command;
  }
}

TEST_F(ChildNodesTest, NothingIsLeftOfOneThatIsKilled) {
  const Live live(ssh_.options());
  const auto child = child_on_two(live);
  live.when_running(live.job({"/bin/sleep", "1000"}, on_nodes(2), "/1"), "/1");
  const auto all = of_child(live);
  ASSERT_GE(all.size(), 4U) << "supervisor, broker, two agents";
  const auto broker = live.status("/1");
  ASSERT_TRUE(broker);
  testing::signal_process(testing::parent_of(static_cast<pid_t>(broker->pid)), SIGKILL);
  EXPECT_EQ(live.wait_one(child).result, "FAILED");
  for (const pid_t pid : all) EXPECT_FALSE(alive(pid)) << testing::command_of(pid);
}

// Its agent there is gone for good: nobody starts it again.
TEST_F(ChildNodesTest, OneThatLosesANodeGoesOnWithoutIt) {
  const Live live(ssh_.options());
  const auto child = child_on_two(live, {"instance.rejoin-timeout=1s"});
  auto lost = live.job({"/bin/sleep", "1000"}, on_nodes(1), "/1");
  auto beside = live.job({"/bin/sleep", "1000"}, on_nodes(1), "/1");
  const auto hosts = batch::expand_hosts(live.record(child).nodelist);
  ASSERT_TRUE(hosts);
  live.when_running(beside, "/1");
  if (live.when_running(lost, "/1").nodelist == hosts->front()) std::swap(lost, beside);
  lose_second_node(live);
  const auto over = live.wait_one(lost, "/1");
  EXPECT_EQ(over.result, "FAILED");
  EXPECT_THAT(over.reason, HasSubstr("away for 1s"));
  EXPECT_EQ(live.record(beside, "/1").state, "RUN");
  EXPECT_TRUE(live.call<msg::Empty>("shutdown", msg::ShutdownRequest{}, "/1"));
  EXPECT_EQ(live.wait_one(child).result, "COMPLETED") << "how its agent ended is not how it did";
}

TEST_F(ChildNodesTest, OneThatIsToEndsWithTheFirstNodeThatItLoses) {
  const Live live(ssh_.options());
  child_on_two(live);
  JobOptions options = on_nodes(2);
  live.cancel(1);
  live.wait_one(1);
  options.is_instance = true;
  const auto child = up(live,
                        live.job({HOLON_BINARY, "start", "--grant", "--exit-on-loss", "--conf",
                                  "instance.rejoin-timeout=1s", "--", "/bin/sleep", "1000"},
                                 options),
                        "", 2);
  live.when_running(live.job({"/bin/sleep", "1000"}, on_nodes(2), "/2"), "/2");
  lose_second_node(live);
  EXPECT_EQ(live.wait_one(child).result, "FAILED");
  EXPECT_THAT(live.wait_one(1, "/2").reason, HasSubstr("away for 1s"));
}

TEST_F(ChildNodesTest, ItsJobsOutliveItsBrokerAndThatOfItsParent) {
  const Live live(ssh_.options());
  const auto child = child_on_two(live);
  const auto last = std::to_string(2 * cores_ - 1);
  const auto gate = live.gated("gate").back();
  const auto id =
      live.job({"/bin/sh", "-c", "test $HOLON_TASK_RANK != " + last + " || { " + gate + "; }"},
               on_nodes(2), "/1");
  live.when_running(id, "/1");
  const auto broker = live.status("/1");
  ASSERT_TRUE(broker);
  testing::signal_process(static_cast<pid_t>(broker->pid), SIGKILL);
  live.kill_broker();
  EXPECT_TRUE(eventually([&] {
    const auto next = live.status("/1");
    return next && next->pid != broker->pid;
  }));
  ASSERT_EQ(live.record(id, "/1").state, "RUN");
  live.release("gate");
  EXPECT_EQ(live.wait_one(id, "/1").result, "COMPLETED");
  EXPECT_TRUE(live.call<msg::Empty>("shutdown", msg::ShutdownRequest{}, "/1"));
  EXPECT_EQ(live.wait_one(child).result, "COMPLETED");
}

// Addresses at which this process listens over tcp: "0100007F:4711" in the kernel's words.
std::set<std::string> listens_at(pid_t pid) {
  std::set<std::string> sockets, addresses;
  std::error_code gone;
  for (std::filesystem::directory_iterator fd("/proc/" + std::to_string(pid) + "/fd", gone), end;
       !gone && fd != end; fd.increment(gone))
    sockets.insert(std::filesystem::read_symlink(fd->path(), gone).string());
  std::istringstream table(read_file("/proc/net/tcp"));
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::vector<std::string> word;
    for (std::string one; words >> one;) word.push_back(one);
    if (word.size() > 9 && word[3] == "0A" && sockets.contains("socket:[" + word[9] + "]"))
      addresses.insert(word[1]);
  }
  return addresses;
}

TEST_F(ChildNodesTest, AgentsOfOneMachineAreReachedOverItsLoopbackOnly) {
  const Live live({"--agents", "2", "--resources", "node=2/core=2"});
  cores_ = 2;
  const auto alone = up(live, live.child(on_nodes(1)), "", 1);
  const auto of_one = live.status("/" + std::to_string(alone));
  ASSERT_TRUE(of_one);
  EXPECT_TRUE(listens_at(static_cast<pid_t>(of_one->pid)).empty());
  live.cancel(alone);
  live.wait_one(alone);
  up(live, live.child(on_nodes(2)), "", 2);
  EXPECT_EQ(uris_seen_by(live, on_nodes(2), "/2", 2).size(), 2U);
  const auto broker = live.status("/2");
  ASSERT_TRUE(broker);
  const auto addresses = listens_at(static_cast<pid_t>(broker->pid));
  ASSERT_EQ(addresses.size(), 1U);
  EXPECT_THAT(*addresses.begin(), ::testing::StartsWith("0100007F:"));
}

}  // namespace
}  // namespace holon::instance
