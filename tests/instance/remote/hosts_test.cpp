// One instance of several nodes, all of which are this machine: what stands for ssh runs its words
// here.
#include <gmock/gmock.h>

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

class HostsTest : public ::testing::Test {
 protected:
  std::vector<std::string> options(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = ssh_.options();
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static std::string word_of(pid_t pid, const std::string& name) {
    std::string variables = read_file("/proc/" + std::to_string(pid) + "/environ");
    const auto at = ('\0' + variables).find('\0' + name + "=");
    return at == std::string::npos ? "" : variables.substr(at + name.size() + 1).c_str();
  }
  static std::set<pid_t> processes_of(const Live& live) {
    std::set<pid_t> all;
    testing::add_tree(live.supervisor(), all);
    return all;
  }

  static pid_t process_of(const Live& live, const std::string& words) {
    for (const pid_t pid : processes_of(live))
      if (testing::command_of(pid).find(words) != std::string::npos &&
          testing::command_of(pid).find("sh ") == std::string::npos)
        return pid;
    return 0;
  }
  // Its process, which the one that keeps it there has started.
  static pid_t agent_of(const Live& live, int rank) {
    return process_of(live, " agent --rank " + std::to_string(rank) + " --handed");
  }
  // No process is left there that could start another one.
  static void lose_for_good(const Live& live, int rank) {
    const pid_t agent = agent_of(live, rank);
    testing::signal_process(process_of(live, " agent --join --rank " + std::to_string(rank)),
                            SIGKILL);
    testing::signal_process(agent, SIGKILL);
  }

  testing::FakeSsh ssh_;
};

TEST_F(HostsTest, AreOneInstanceWhoseTasksAskItOnEachNode) {
  const Live live(options());
  const auto status = live.status();
  ASSERT_TRUE(status) << status.error().what;
  ASSERT_EQ(status->nodes, 3);
  JobOptions all;
  all.tasks = status->cores;  // of all nodes
  const std::string script = "test $HOLON_LOCAL_RANK = 0 && " HOLON_BINARY " jobs --json > " +
                             live.dir() +
                             "/jobs$HOLON_NODE_INDEX; echo $HOLON_URI $HOLON_NODELIST > " +
                             live.dir() + "/uri$HOLON_NODE_INDEX";
  const auto id = live.job({"/bin/sh", "-c", script}, all);
  EXPECT_EQ(live.wait_one(id).result, "COMPLETED");
  std::set<std::string> uris;
  for (const char* node : {"0", "1", "2"}) {
    EXPECT_THAT(read_file(live.dir() + "/jobs" + node), HasSubstr("\"id\": 1"));
    const std::string said = read_file(live.dir() + "/uri" + node);
    EXPECT_THAT(said, HasSubstr("far[1-2]"));
    uris.insert(said.substr(0, said.find(' ')));
  }
  EXPECT_EQ(uris.size(), 3U) << "each node has a socket of its own";
  EXPECT_TRUE(uris.contains(live.uri()));
}

// Neither a command line nor an environment that others may look at shows what lets somebody in.
TEST_F(HostsTest, NothingIsLeftOfThemAndNoKeyIsSeen) {
  Live live(options());
  const auto id = live.job({"/bin/sleep", "1000"});
  live.when_running(id);
  const auto all = processes_of(live);
  int agents = 0;
  for (const pid_t pid : all) {
    const std::string command = testing::command_of(pid);
    agents += command.find(" agent --join") != std::string::npos ? 1 : 0;
    EXPECT_EQ(command.find("tcp://"), std::string::npos) << command;
    EXPECT_EQ(word_of(pid, "HOLON_INVITATION"), "");
  }
  EXPECT_GE(agents, 2);
  live.stop();
  for (const pid_t pid : all) EXPECT_FALSE(alive(pid)) << pid;
}

TEST_F(HostsTest, AgentsFindTheNextBrokerAtTheSameAddress) {
  const Live live(options());
  const auto status = live.status();
  ASSERT_TRUE(status);
  JobOptions all;
  all.tasks = status->cores;
  live.gated("gate");
  const auto id = live.job({"/bin/sh", "-c",
                            "test $HOLON_TASK_RANK != " + std::to_string(all.tasks - 1) +
                                " || read line < " + live.dir() + "/gate"},
                           all);
  live.when_running(id);
  live.kill_broker();
  live.release("gate");
  EXPECT_EQ(live.wait_one(id).result, "COMPLETED");
}

// Its job is lost at once, not when the node is given up, and the next one has its place.
TEST_F(HostsTest, AnAgentThatDiedIsFollowedByAnotherAndTakesItsJobs) {
  const Live live(options({"--conf", "instance.rejoin-timeout=1h"}));
  const auto status = live.status();
  ASSERT_TRUE(status);
  JobOptions all;
  all.tasks = status->cores;
  const auto lost = live.job({"/bin/sleep", "1000"}, all);
  ASSERT_TRUE(eventually([&] {
    return static_cast<std::int64_t>(live.record(lost).pids.size()) == all.tasks;
  })) << "all of them run";
  const pid_t agent = agent_of(live, 2);
  const auto tasks = testing::children_of(agent);
  EXPECT_FALSE(tasks.empty());
  testing::signal_process(agent, SIGKILL);
  const auto over = live.wait_one(lost);
  EXPECT_EQ(over.result, "FAILED");
  EXPECT_THAT(over.reason, HasSubstr("the agent on far2 died while the job ran"));
  EXPECT_EQ(live.wait_one(live.job({"/bin/true"}, all)).result, "COMPLETED");
  for (const pid_t task : tasks) EXPECT_FALSE(alive(task));
  EXPECT_NE(agent_of(live, 2), agent);
}

// The one agent on a node is gone for good: nobody starts it again.
TEST_F(HostsTest, ANodeThatIsLostTakesItsJobsAndNothingElse) {
  const Live live(options({"--conf", "instance.rejoin-timeout=1s"}));
  const auto status = live.status();
  ASSERT_TRUE(status);
  JobOptions two;
  two.tasks = 2 * status->cores / status->nodes;  // two nodes
  const auto lost = live.job({"/bin/sleep", "1000"}, two);
  const std::string nodes = live.when_running(lost).nodelist;
  const auto beside = live.job(live.gated("gate"));
  live.when_running(beside);
  const bool is_first =
      nodes.find("far1") != std::string::npos || nodes.find("far[") != std::string::npos;
  lose_for_good(live, is_first ? 1 : 2);
  const auto over = live.wait_one(lost);
  EXPECT_EQ(over.result, "FAILED");
  EXPECT_THAT(over.reason, HasSubstr("away for 1s"));
  EXPECT_EQ(live.record(beside).state, "RUN");
  live.release("gate");
  EXPECT_EQ(live.wait_one(beside).result, "COMPLETED");
}

TEST_F(HostsTest, ANodeThatWasGivenUpEndsWhatItRunsAndIsUpAgain) {
  const Live live(options({"--conf", "instance.rejoin-timeout=1s", "--conf",
                           "instance.peer-timeout=3s", "--conf", "instance.heartbeat=500ms"}));
  const auto status = live.status();
  ASSERT_TRUE(status);
  JobOptions all;
  all.tasks = status->cores;
  const auto lost = live.job({"/bin/sleep", "1000"}, all);
  ASSERT_TRUE(eventually([&] {
    return static_cast<std::int64_t>(live.record(lost).pids.size()) == all.tasks;
  })) << "all of them run";
  const pid_t agent = agent_of(live, 2);
  const auto tasks = testing::children_of(agent);
  EXPECT_FALSE(tasks.empty());
  testing::signal_process(agent, SIGSTOP);
  EXPECT_EQ(live.wait_one(lost).result, "FAILED");
  testing::signal_process(agent, SIGCONT);
  EXPECT_TRUE(eventually([&] {
    return live.wait_one(live.job({"/bin/true"}, all)).result == "COMPLETED";
  })) << "all are up again";
  for (const pid_t task : tasks) EXPECT_FALSE(alive(task));
  EXPECT_EQ(agent_of(live, 2), agent) << "it is the same as before";
}

TEST_F(HostsTest, ThoseThatDoNotComeAreNamed) {
  std::ofstream(ssh_.program()) << "#!/bin/sh\nexit 3\n";
  std::string dir = ::testing::TempDir() + "holon-alone-XXXXXX";
  ASSERT_NE(mkdtemp(dir.data()), nullptr);
  std::string command = HOLON_BINARY " start --state-dir " + dir + "/state";
  for (const auto& word : options({"--conf", "instance.gather-timeout=1h"}))
    command += " '" + word + "'";
  FILE* const out = popen((command + " true 2>&1").c_str(), "r");
  ASSERT_NE(out, nullptr);
  std::string said;
  for (int c = 0; (c = std::fgetc(out)) != EOF;) said += static_cast<char>(c);
  EXPECT_EQ(pclose(out), 0) << said;
  EXPECT_THAT(said, HasSubstr("ended with code 3; it was to start agents on other nodes"));
  EXPECT_THAT(said, HasSubstr("far[1-2] will not come, for what was to start an agent there has "
                              "failed; the instance begins without them"));
  std::filesystem::remove_all(dir);
}

TEST_F(HostsTest, OneThatComesAfterTheBeginningIsTakenIn) {
  ssh_.keep_out("far2");
  const Live live(options({"--quorum", "2"}));
  const auto status = live.status();
  ASSERT_TRUE(status);
  EXPECT_EQ(status->nodes, 2);
  JobOptions all;
  all.tasks = status->cores / 2 * 3;
  const auto id = live.job({"/bin/true"}, all);
  EXPECT_TRUE(eventually([&] {
    return live.record(id).reason.find("far2 has not come yet") != std::string::npos;
  })) << live.record(id).reason;
  const auto beside = live.job({"/bin/true"});
  EXPECT_EQ(live.wait_one(beside).result, "COMPLETED") << "it needs nothing of far2";
  ssh_.let_in("far2");
  const auto record = live.wait_one(id);
  EXPECT_EQ(record.result, "COMPLETED");
  EXPECT_THAT(record.nodelist, HasSubstr("far[1-2]"));
  live.kill_broker();
  const auto later = live.status();
  ASSERT_TRUE(later);
  EXPECT_EQ(later->nodes, 3);
  EXPECT_EQ(live.wait_one(live.job({"/bin/true"}, all)).result, "COMPLETED");
}

TEST_F(HostsTest, WhoRunsNothingEndsWhenNothingIsLeftOfTheInstance) {
  const Live live(options());
  std::vector<pid_t> far;
  for (const int rank : {1, 2}) {
    far.push_back(agent_of(live, rank));
    far.push_back(process_of(live, " agent --join --rank " + std::to_string(rank)));
  }
  testing::signal_process(live.supervisor(), SIGSTOP);  // it starts no other broker
  testing::signal_process(live.broker(), SIGKILL);
  testing::signal_process(live.supervisor(), SIGKILL);
  for (const pid_t pid : far) {
    EXPECT_GT(pid, 1);
    EXPECT_TRUE(eventually([&] { return !alive(pid); })) << testing::command_of(pid);
  }
}

// Whether it is gone nobody can say then.
TEST_F(HostsTest, AnAgentThatIsNotGoneAWhileAfterTheEndIsNamed) {
  Live live(options());
  const pid_t agent = agent_of(live, 2);
  testing::signal_process(agent, SIGSTOP);
  testing::signal_process(live.supervisor(), SIGTERM);
  const auto said = [&] { return read_file(live.dir() + "/state/instance.log"); };
  EXPECT_TRUE(eventually([&] { return said().find("an agent may be left") != std::string::npos; }));
  EXPECT_THAT(said(), HasSubstr("/ssh far2: not over 10 s after the instance"));
  EXPECT_THAT(said(), HasSubstr("ends by itself after 1h"));
  EXPECT_TRUE(eventually([&] { return !alive(live.supervisor()); }));
}

}  // namespace
}  // namespace holon::instance
