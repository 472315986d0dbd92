// The end of the starter, which only root can make again.
#include "tests/system/users/users_fixture.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;

// The instance says why it ended, and the next one goes on with the queue.
TEST_F(Users, AnInstanceWhoseStarterIsKilledSaysSo) {
  start();
  const auto roots = processes_of(0, "--system");  // before there are keepers
  ASSERT_EQ(roots.size(), 1U);
  const std::string runs = ok("ann", {"submit", "-n", "6", "sleep", "1000"});
  wait_for("ann", runs, "RUN");
  const std::string waits = ok("bob", {"submit", "-c", "6", "id", "-un"});
  ASSERT_EQ(kill(roots[0].pid, SIGKILL), 0);
  wait_for_none_of(kInstance);
  wait_for_none_of(kAnn);
  wait_for_none_of(0, folder());
  const std::string log = text_of(state_dir() + "/instance.log");
  EXPECT_THAT(log, HasSubstr("the starter, which root has made to start tasks as their users"));
  start();
  EXPECT_THAT(json("ann", {"jobs", "-a", runs})["jobs"][0]["reason"].get<std::string>(),
              HasSubstr("the starter, which starts tasks as their users, has ended or was killed"));
  ok("bob", {"job", "wait", waits});
  EXPECT_EQ(ok("bob", {"job", "output", waits}), "bob");
}

// With the keepers, as by `pkill -9` or for want of memory: nobody ends what tasks have started
// then.
TEST_F(Users, TheNextStartEndsWhatStarterAndKeepersHaveLeft) {
  start();
  const std::string job =
      ok("ann",
         {"submit", "sh", "-c",
          "setsid sleep 1001 & setsid sh -c 'trap : TERM; echo up >~/up; sleep 1002; sleep 1002' "
          "& trap '' TERM; sleep 1003; sleep 1003"});
  wait_for("ann", job, "RUN");
  ASSERT_TRUE(eventually([&] { return fs::exists(home_of("ann") + "/up"); }));
  for (const auto& process : processes_of(0, "--system")) kill(process.pid, SIGKILL);
  wait_for_none_of(kInstance);
  wait_for_none_of(0, folder());
  EXPECT_FALSE(processes_of(kAnn, "sleep").empty()) << "or there is nothing to be ended";
  start();
  EXPECT_TRUE(processes_of(kAnn, "").empty());
  EXPECT_EQ(json("ann", {"jobs", "-a", job})["jobs"][0]["state"], "INACTIVE");
}

}  // namespace
}  // namespace holon::system_test
