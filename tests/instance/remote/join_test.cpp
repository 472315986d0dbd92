// Nodes that people add to a running instance, all of which are this machine.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include <thread>
#include <utility>

#include "msg/audit.hpp"
#include "msg/resource.hpp"
#include "tests/instance/live.hpp"
#include "tests/instance/remote/guest.hpp"

namespace holon::instance {
namespace {

using testing::eventually;
using testing::Guest;
using ::testing::HasSubstr;
using testing::JobOptions;
using testing::Live;
using testing::said_by;

class JoinTest : public ::testing::Test {
 protected:
  explicit JoinTest(const std::vector<std::string>& more = {}) : live_(options(more)) {}
  static std::vector<std::string> options(const std::vector<std::string>& more) {
    std::vector<std::string> words = {"--joinable", "--conf", "instance.address=127.0.0.1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // By the command that people use.
  std::pair<std::string, int> holon(const std::string& words) const {
    return said_by("HOLON_URI=" + live_.uri() + " " HOLON_BINARY " " + words);
  }
  std::string invitation(const std::string& name, const std::string& options = "") const {
    const std::string file = live_.dir() + "/" + name;
    const auto [said, code] = holon("invite " + options + " " + file);
    EXPECT_EQ(code, 0) << said;
    struct stat about {};
    EXPECT_EQ(stat(file.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777U, 0600U);
    return file;
  }
  bool has_nodes(std::int64_t n) const {
    return eventually([&] {
      const auto status = live_.status();
      return status && status->nodes == n;
    });
  }
  // On all cores of all nodes.
  msg::JobRecord run_everywhere(std::int64_t nodes) const {
    JobOptions all;
    all.tasks = cores_ * nodes;
    return live_.wait_one(live_.job({"/bin/true"}, all));
  }
  void SetUp() override {
    const auto status = live_.status();
    ASSERT_TRUE(status);
    EXPECT_EQ(status->nodes, 1);
    cores_ = status->cores;
  }

  const Live live_;
  std::int64_t cores_ = 0;
};

TEST_F(JoinTest, ANodeComesByAnInvitationAndStaysWithTheNextBroker) {
  const Guest guest(invitation("key"), "guest");
  ASSERT_TRUE(has_nodes(2));
  const auto record = run_everywhere(2);
  EXPECT_EQ(record.result, "COMPLETED");
  EXPECT_THAT(record.nodelist, HasSubstr("guest"));
  live_.kill_broker();
  ASSERT_TRUE(has_nodes(2));
  EXPECT_EQ(run_everywhere(2).result, "COMPLETED");
}

TEST_F(JoinTest, ANodeLeavesInOrderAndComesBack) {
  Guest guest(invitation("key"), "guest");
  ASSERT_TRUE(has_nodes(2));
  live_.gated("gate");
  JobOptions all;
  all.tasks = cores_ * 2;
  const auto id = live_.job(
      {"/bin/sh", "-c", "test $HOLON_TASK_RANK != 0 || read line < " + live_.dir() + "/gate"}, all);
  live_.when_running(id);
  std::thread releases([&] {
    EXPECT_TRUE(eventually([&] {
      const auto list = live_.call<msg::ResourceReply>("resource.list", msg::Empty{});
      return list && list->nodes_drained.size() == 1 && list->nodes_drained.front().busy;
    })) << "it takes no more work";
    live_.release("gate");
  });
  const auto [said, code] = holon("leave guest");
  releases.join();
  EXPECT_EQ(code, 0) << said;
  EXPECT_EQ(live_.wait_one(id).result, "COMPLETED") << "it was waited for";
  EXPECT_EQ(guest.wait(), 0);
  const Guest again(invitation("another"), "guest");
  EXPECT_EQ(run_everywhere(2).result, "COMPLETED");
}

class JoinAndSoonDown : public JoinTest {
 protected:
  JoinAndSoonDown()
      : JoinTest({"--conf", "instance.heartbeat=500ms", "--conf", "instance.peer-timeout=3s"}) {}
};

// It is drained, and that its agent is away is no news; also for the next broker.
TEST_F(JoinAndSoonDown, ANodeThatHasLeftIsNotDownToo) {
  Guest guest(invitation("key"), "guest"), lost(invitation("other-key"), "lost");
  ASSERT_TRUE(has_nodes(3));
  const auto [said, code] = holon("leave guest");
  EXPECT_EQ(code, 0) << said;
  EXPECT_EQ(guest.wait(), 0);
  const auto down = [&] {
    const auto list = live_.call<msg::ResourceReply>("resource.list", msg::Empty{});
    return list ? list->nodes_down : "no answer";
  };
  lost.lose_for_good();
  EXPECT_TRUE(eventually([&] { return down() == "lost"; })) << down();
  live_.kill_broker();
  EXPECT_TRUE(eventually([&] { return down() == "lost"; })) << down();
}

TEST_F(JoinTest, WhatWaitsForANodeThatHasLeftIsRunByTheAgentThatCameBack) {
  const Guest guest(invitation("key"), "guest");
  ASSERT_TRUE(has_nodes(2));
  guest.signal_agent(SIGSTOP);  // it is told to end, and does not yet
  const auto [said, code] = holon("leave guest");
  EXPECT_EQ(code, 0) << said;
  JobOptions all;
  all.tasks = cores_ * 2;
  const auto id = live_.job({"/bin/true"}, all);
  const Guest again(invitation("another"), "guest");
  EXPECT_EQ(live_.wait_one(id).result, "COMPLETED");
}

// Only who came by an invitation is forgotten with it.
TEST_F(JoinTest, ABrokerBeginsWithoutInvitationsThatItCannotRead) {
  invitation("key");
  testing::signal_process(live_.supervisor(), SIGSTOP);
  testing::signal_process(live_.broker(), SIGKILL);
  {
    SQLite::Database db(live_.dir() + "/state/journal.db", SQLite::OPEN_READWRITE);
    db.setBusyTimeout(30'000);
    EXPECT_EQ(db.exec("UPDATE meta SET value = '{' WHERE key = 'guests'"), 1);
  }
  testing::signal_process(live_.supervisor(), SIGCONT);
  EXPECT_TRUE(has_nodes(1));
  EXPECT_THAT(testing::read_file(live_.dir() + "/state/instance.log"),
              HasSubstr("the nodes that came by them, are forgotten"));
  const Guest guest(invitation("another"), "guest");
  EXPECT_TRUE(has_nodes(2));
}

TEST_F(JoinTest, WhatRunsOnANodeThatLeavesNowIsCancelled) {
  Guest guest(invitation("key"), "guest");
  ASSERT_TRUE(has_nodes(2));
  JobOptions all;
  all.tasks = cores_ * 2;
  const auto id = live_.job({"/bin/sleep", "1000"}, all);
  live_.when_running(id);
  const auto [said, code] = holon("leave --now guest");
  EXPECT_EQ(code, 0) << said;
  EXPECT_EQ(guest.wait(), 0);
  const auto over = live_.wait_one(id);
  EXPECT_EQ(over.result, "CANCELED");
  EXPECT_THAT(over.reason, HasSubstr("its node guest leaves"));
}

TEST_F(JoinTest, WhoMayNotIsRefusedAndInTheAudit) {
  const std::string key = invitation("key");
  const Guest guest(key, "guest");
  ASSERT_TRUE(has_nodes(2));
  const auto [again, code] = said_by(HOLON_BINARY " join --key " + key + " --name another");
  EXPECT_EQ(code, 1);
  EXPECT_THAT(again, HasSubstr("this invitation has been used"));
  EXPECT_THAT(holon("audit").first, HasSubstr("this invitation has been used"));
  EXPECT_EQ(live_.status()->nodes, 2);
  EXPECT_THAT(holon("invite " + key).first, HasSubstr("File exists"));
  chmod(key.c_str(), 0644);
  const auto [open, usage] = said_by(HOLON_BINARY " join --key " + key);
  EXPECT_EQ(usage, 2);
  EXPECT_THAT(open, HasSubstr("chmod 600"));
  EXPECT_THAT(holon("leave nowhere").first, HasSubstr("there is no node nowhere here"));
  const auto [nothing, none] = said_by(HOLON_BINARY " join < /dev/null");
  EXPECT_NE(none, 0);
  EXPECT_THAT(nothing, HasSubstr("holon join: standard input: an invitation was expected"));
  const auto [inside, refused] = said_by("HOLON_JOB_PATH=/1 " HOLON_BINARY " leave");
  EXPECT_EQ(refused, 2);
  EXPECT_THAT(inside, HasSubstr("would wait for its own end"));
}

TEST(NotJoinable, IsAnInstanceOfOneNodeUnlessItWasAskedFor) {
  const Live live({"--resources", "node=1/core=1"});
  const auto refused = live.call<msg::InviteReply>("node.invite", msg::InviteRequest{});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unsupported);
  EXPECT_THAT(refused.error().what, HasSubstr("--joinable"));
}

}  // namespace
}  // namespace holon::instance
