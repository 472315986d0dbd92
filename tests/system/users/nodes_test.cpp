// Users of an instance of several hosts: each node has a starter of its own, by which root there
// lets tasks be their users', and the agent of a node says who its clients are.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include "tests/system/nodes/private_hosts.hpp"
#include "tests/system/users/users_fixture.hpp"
#include "transport/blocking_client.hpp"

namespace holon::system_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class UsersOverNodes : public Users {
 protected:
  void SetUp() override {
    Users::SetUp();
    if (IsSkipped()) return;
    if (const auto why = PrivateHosts::missing(); !why.empty()) GTEST_SKIP() << why;
    hosts_ = std::make_unique<PrivateHosts>(*sandbox_, 2);
    ASSERT_TRUE(hosts_->up());
    hosts_->let_folders_stay();
    const Ran ran = hosts_->holon(
        1, {"start", "--system", "--bg", "--joinable", "--runtime-dir", folder() + "/all-n1",
            "--state-dir", state_dir(), "--conf", "access.operators=eve", "--conf",
            "instance.address=" + Network::address_of(1)});
    ASSERT_EQ(ran.code, 0) << ran.err << text_of(state_dir() + "/instance.log");
    here_ = trimmed(ran.out);
  }
  void TearDown() override {
    if (hosts_ && !here_.empty()) {
      EXPECT_EQ(on(1, "root", {HOLON_BINARY, "shutdown"}).code, 0);
      if (join_) {
        EXPECT_EQ(join_->finish().code, 0);
      }
    }
    hosts_.reset();
    Users::TearDown();
  }

  // Root of n2 lets its node join, as the unit file of the administrator's page does.
  void join(const std::vector<std::string>& more = {}) {
    const std::string key = folder() + "/key";
    ASSERT_EQ(on(1, "root", {HOLON_BINARY, "invite", key}).code, 0);
    std::vector<std::string> words = {HOLON_BINARY, "join",          "--system",          "--key",
                                      key,          "--runtime-dir", folder() + "/all-n2"};
    words.insert(words.end(), more.begin(), more.end());
    join_ = std::make_unique<Process>(hosts_->start(2, words));
    const std::string mark = "HOLON_URI=";
    for (std::string line = join_->read_error_line(); !line.empty();
         line = join_->read_error_line()) {
      const auto at = line.find(mark);
      if (at != std::string::npos) there_ = line.substr(at + mark.size());
      if (!there_.empty()) break;
    }
    ASSERT_FALSE(there_.empty());
    for (int i = 0; i < 3'000 && nodes_up() < 2; ++i) poll(nullptr, 0, 10);
    ASSERT_EQ(nodes_up(), 2);
  }
  std::int64_t nodes_up() const {
    const Ran ran = on(1, "root", {HOLON_BINARY, "tree", "--json"});
    return nlohmann::json::parse(ran.out, nullptr, false).value("nodes", std::int64_t{0});
  }

  // What somebody's shell on that host runs.
  Ran on(std::size_t host, const std::string& user, std::vector<std::string> words) const {
    std::vector<std::string> all = {"env", "-i"};
    const std::string home = user == "root" ? folder() : home_of(user);
    for (const std::string& variable :
         {"HOME=" + home, std::string("PATH=/usr/bin:/bin"), std::string("LC_ALL=C.UTF-8"),
          "HOLON=" + std::string(HOLON_BINARY), "HOLON_URI=" + (host == 1 ? here_ : there_)})
      all.push_back(variable);
    if (user != "root") {
      const std::string uid = std::to_string(people_.at(user));
      all.insert(all.end(), {"setpriv", "--reuid", uid, "--regid", uid, "--init-groups"});
    }
    all.insert(all.end(), {"sh", "-c", "cd \"$HOME\" && exec \"$@\"", "sh"});
    all.insert(all.end(), words.begin(), words.end());
    return hosts_->run(host, std::move(all));
  }
  std::string ok_on(std::size_t host, const std::string& user,
                    std::vector<std::string> words) const {
    words.insert(words.begin(), HOLON_BINARY);
    const Ran ran = on(host, user, words);
    EXPECT_EQ(ran.code, 0) << user << ": " << testing::PrintToString(words) << ran.out << ran.err;
    return trimmed(ran.out);
  }
  Ran on_as(std::size_t host, const std::string& user, std::vector<std::string> words) const {
    words.insert(words.begin(), HOLON_BINARY);
    return on(host, user, words);
  }
  // Of this test, in all its namespaces: users of other tests have the same numbers.
  std::vector<pid_t> processes_with(unsigned uid, const std::string& words) const {
    std::vector<pid_t> found;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      struct stat info {};
      if (stat(entry.path().c_str(), &info) != 0 || info.st_uid != uid) continue;
      const std::string line = command_line(std::stoi(name));
      const std::string ours = line + text_of("/proc/" + name + "/environ");
      if (line.find(words) != std::string::npos && ours.find(folder()) != std::string::npos)
        found.push_back(std::stoi(name));
    }
    return found;
  }

  std::unique_ptr<PrivateHosts> hosts_;
  std::unique_ptr<Process> join_;
  std::string here_, there_;  // where the instance is reached on n1, and on n2
};

TEST_F(UsersOverNodes, TasksOnAnotherNodeAreTheirUsers) {
  join();
  for (const char* user : {"ann", "bob", "eve"})
    EXPECT_EQ(ok_on(1, user, {"run", "-w", "n2", "sh", "-c", "hostname; id -un; id -u; pwd"}),
              fmt::format("n2\n{}\n{}\n{}", user, people_.at(user), home_of(user)));
  EXPECT_EQ(ok_on(1, "ann", {"run", "-w", "n2", "id", "-G"}), fmt::format("{} {}", kAnn, kTeam));
  EXPECT_EQ(ok_on(1, "ann", {"run", "-w", "n2", "sh", "-c", "umask; ulimit -n 64; ulimit -n"}),
            "0022\n64");
  EXPECT_EQ(
      ok_on(1, "ann", {"run", "-w", "n2", "--rlimit", "nofile=123", "sh", "-c", "ulimit -Sn"}),
      "123");
  // Files are opened there, as their user.
  ok_on(1, "ann", {"run", "-w", "n2", "--output", home_of("ann") + "/out", "hostname"});
  EXPECT_EQ(text_of(home_of("ann") + "/out"), "n2\n");
  EXPECT_EQ(owner_of(home_of("ann") + "/out"), kAnn);
  const Ran others = on_as(1, "ann", {"run", "-w", "n2", "--output", home_of("bob") + "/x", "id"});
  EXPECT_EQ(others.code, 126) << others.err;
  EXPECT_FALSE(fs::exists(home_of("bob") + "/x"));
  // A job over both nodes.
  const std::string both = ok_on(1, "bob", {"run", "-N2", "-n2", "sh", "-c", "hostname; id -un"});
  EXPECT_THAT(both, AllOf(HasSubstr("n1"), HasSubstr("n2"), Not(HasSubstr("holon"))));
}

// Whoever asks on the other node is who the kernel of that node says.
TEST_F(UsersOverNodes, ClientsOnAnotherNodeAreWhoItsAgentSays) {
  join();
  const std::string job =
      ok_on(2, "ann", {"submit", "--name", "hers", "-w", "n2", "sleep", "1000"});
  EXPECT_THAT(ok_on(2, "ann", {"jobs"}), HasSubstr("hers"));
  EXPECT_THAT(ok_on(1, "ann", {"jobs"}), HasSubstr("hers"));
  EXPECT_THAT(ok_on(2, "bob", {"jobs", "-a"}), Not(HasSubstr("hers")));
  for (const std::vector<std::string>& words : {std::vector<std::string>{"cancel", job},
                                                {"signal", "KILL", job},
                                                {"job", "info", job},
                                                {"watch", job},
                                                {"job", "output", job}}) {
    const Ran ran = on_as(2, "bob", words);
    EXPECT_NE(ran.code, 0) << testing::PrintToString(words);
    EXPECT_THAT(ran.err, HasSubstr("another user's")) << testing::PrintToString(words);
  }
  EXPECT_THAT(on_as(2, "bob", {"submit", "--for", "ann", "id"}).err,
              HasSubstr("names user ann, and is bob's"));
  // From within a task, too; and root of that node is not the instance's owner.
  EXPECT_THAT(on_as(1, "bob", {"run", "-w", "n2", HOLON_BINARY, "cancel", job}).err,
              HasSubstr("another user's"));
  EXPECT_NE(on_as(2, "root", {"shutdown"}).code, 0);
  EXPECT_NE(on_as(2, "root", {"cancel", job}).code, 0);
  const std::string audit = ok_on(1, "eve", {"audit", "--refused", "--json"});
  EXPECT_THAT(audit, HasSubstr("from agent 1"));
  EXPECT_THAT(audit, HasSubstr("\"bob\""));
  // Nor is it lost whom the agent itself refuses.
  const pid_t child = fork();
  if (child == 0) {
    if (setresgid(kBob, kBob, kBob) != 0 || setresuid(kBob, kBob, kBob) != 0) _exit(2);
    auto client = transport::BlockingClient::connect(there_, 10'000);
    _exit(client && !client->call("agent.vouch", "", "", 10'000) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  const auto is_in_audit = [this] {
    const auto refused = nlohmann::json::parse(ok_on(1, "eve", {"audit", "--refused", "--json"}));
    return std::any_of(refused["entries"].begin(), refused["entries"].end(), [](const auto& entry) {
      return entry["user"] == "bob" && entry["topic"] == "agent.vouch" &&
             entry["what"] == "from agent 1" && entry["refused"] == "agent.vouch is not passed on";
    });
  };
  for (int i = 0; i < 1'000 && !is_in_audit(); ++i) poll(nullptr, 0, 10);
  EXPECT_TRUE(is_in_audit());
  ok_on(2, "eve", {"cancel", job});             // who is an operator wherever she is
  (void)on_as(1, "ann", {"job", "wait", job});  // it has not completed
  // What only an agent says is not taken from its clients.
  EXPECT_NE(on_as(2, "ann", {"invite", home_of("ann") + "/key"}).code, 0);
}

TEST_F(UsersOverNodes, AChildOverNodesIsItsUsers) {
  join();
  const std::string id = ok_on(1, "ann", {"alloc", "--bg", "-N", "2", "-x"});
  const std::string child = "/" + id;
  const std::string both =
      ok_on(1, "ann", {"-i", child, "run", "-N2", "-n2", "sh", "-c", "echo $(hostname) $(id -un)"});
  EXPECT_THAT(both, AllOf(HasSubstr("n1 ann"), HasSubstr("n2 ann")));
  EXPECT_EQ(processes_with(kAnn, "holon broker").size(), 1U);
  EXPECT_EQ(processes_with(kAnn, "holon agent").size(), 2U);
  EXPECT_THAT(ok_on(2, "ann", {"-i", child, "run", "-w", "n2", "id", "-un"}), "ann");
  for (const std::size_t host : {1U, 2U}) {
    EXPECT_NE(on_as(host, "bob", {"-i", child, "run", "id"}).code, 0);
    EXPECT_NE(on_as(host, "bob", {"-i", child, "jobs"}).code, 0);
  }
  ok_on(1, "ann", {"-i", child, "shutdown"});
  ok_on(1, "ann", {"job", "wait", id});
  for (int i = 0; i < 3'000 && !processes_with(kAnn, "holon").empty(); ++i) poll(nullptr, 0, 10);
  EXPECT_TRUE(processes_with(kAnn, "holon").empty());
  // One whose first node is the other one.
  const std::string far = ok_on(1, "bob", {"alloc", "--bg", "-n", "1", "-w", "n2"});
  EXPECT_EQ(ok_on(1, "bob", {"-i", "/" + far, "run", "sh", "-c", "hostname; id -un"}), "n2\nbob");
  ok_on(1, "bob", {"cancel", far});
}

// Its tasks end with an agent, and the next one starts tasks again.
TEST_F(UsersOverNodes, AnAgentThatIsKilledLeavesNothingOfItsUsersAndTheNextOneServesThem) {
  join();
  const std::string job = ok_on(1, "ann", {"submit", "-w", "n2", "sleep", "1006"});
  for (int i = 0; i < 3'000 && processes_with(kAnn, "sleep 1006").empty(); ++i)
    poll(nullptr, 0, 10);
  // What the agent is starting looks like the agent until it has become another program.
  auto agents = processes_with(kInstance, "agent --rank 1");
  for (int i = 0; i < 3'000 && agents.size() != 1; ++i) {
    poll(nullptr, 0, 10);
    agents = processes_with(kInstance, "agent --rank 1");
  }
  ASSERT_EQ(agents.size(), 1U);
  kill(agents.front(), SIGKILL);
  (void)on_as(1, "ann", {"job", "wait", job});  // it has not completed
  for (int i = 0; i < 3'000 && !processes_with(kAnn, "sleep").empty(); ++i) poll(nullptr, 0, 10);
  EXPECT_TRUE(processes_with(kAnn, "sleep").empty());
  for (int i = 0; i < 3'000 && nodes_up() < 2; ++i) poll(nullptr, 0, 10);
  EXPECT_EQ(ok_on(1, "bob", {"run", "-w", "n2", "sh", "-c", "hostname; id -un"}), "n2\nbob");
  EXPECT_EQ(ok_on(2, "bob", {"run", "id", "-un"}), "bob");
}

// An agent without a starter would run everybody's tasks as whoever has started it.
TEST_F(UsersOverNodes, ANodeWithoutAStarterIsNotLetIn) {
  const std::string key = folder() + "/plain-key";
  ASSERT_EQ(on(1, "root", {HOLON_BINARY, "invite", key}).code, 0);
  const Ran plain = hosts_->holon(2, {"join", "--key", key});
  EXPECT_NE(plain.code, 0);
  EXPECT_THAT(plain.err, HasSubstr("holon join --system"));
  const Ran unprivileged = on_as(2, "ann", {"join", "--system", "--key", key});
  EXPECT_NE(unprivileged.code, 0);
  const Ran useless = hosts_->holon(2, {"join", "--key", key, "--account", "ann"});
  EXPECT_EQ(useless.code, 2);
  EXPECT_THAT(useless.err, HasSubstr("only with --system"));
}

// Whom root of a node starts nothing for, nobody starts anything for there.
TEST_F(UsersOverNodes, TheNodesOwnRootSaysForWhom) {
  join({"--conf", "access.users=ann"});
  EXPECT_EQ(ok_on(1, "ann", {"run", "-w", "n2", "id", "-un"}), "ann");
  const Ran ran = on_as(1, "bob", {"run", "-w", "n2", "id", "-un"});
  EXPECT_EQ(ran.code, 126) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("none of its users"));
  EXPECT_THAT(ok_on(1, "eve", {"audit", "--refused"}), HasSubstr("none of its users"));
}

}  // namespace
}  // namespace holon::system_test
