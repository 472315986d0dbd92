// What an instance for several users counts by user it counts by who they are proved to be: limits,
// fairshare, lists of users. And a task at a terminal is its user's, too.
#include <gmock/gmock.h>

#include "tests/system/users/users_fixture.hpp"

namespace holon::system_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class UserCounts : public Users {
 protected:
  // All cores are in use, by an operator.
  void fill() const { wait_for("eve", ok("eve", {"submit", "-n", "6", "sleep", "1000"}), "RUN"); }
};

TEST_F(UserCounts, LimitsAreOfWhoSubmits) {
  start({"--conf", "limits.user.default.max-job=1", "--conf", "limits.user.bob.max-proc=2"});
  const std::string first = ok("ann", {"submit", "sleep", "1000"});
  wait_for("ann", first, "RUN");
  // A name in the environment, or of the job, is no user's.
  const Ran second = starts("ann", {HOLON_BINARY, "submit", "--name", "bob", "sleep", "1000"},
                            {{"USER", "bob"}, {"LOGNAME", "bob"}})
                         .finish();
  ASSERT_EQ(second.code, 0) << second.err;
  EXPECT_EQ(ok("bob", {"run", "-n", "2", "sh", "-c", "id -un | head -1"}), "bob\nbob");
  const auto waits = json("ann", {"jobs", trimmed(second.out)})["jobs"][0];
  EXPECT_EQ(waits["state"], "SCHED");
  EXPECT_EQ(waits["user"], "ann");
  EXPECT_THAT(ok("ann", {"explain", trimmed(second.out)}), HasSubstr("user ann runs 1 job"));
  const std::string wide = ok("bob", {"submit", "-n", "3", "true"});
  EXPECT_THAT(ok("bob", {"explain", wide}), AllOf(HasSubstr("user bob"), HasSubstr("limit of 2")));
  ok("eve", {"cancel", "--all"});
}

TEST_F(UserCounts, FairshareIsOfWhoHasUsed) {
  start({"--conf", "priority.fsuser-weight=1000", "--conf", "priority.user.default.fstarget=33"});
  EXPECT_EQ(ok("ann", {"run", "-n", "6", "sh", "-c", "sleep 1"}), "");
  fill();
  const std::string hers = ok("ann", {"submit", "-n", "6", "true"});
  const std::string his = ok("bob", {"submit", "-n", "6", "true"});
  const auto order = json("eve", {"priority"})["jobs"];
  ASSERT_EQ(order.size(), 2U) << order;
  EXPECT_EQ(order[0]["id"], std::stoi(his)) << order;
  EXPECT_EQ(order[1]["id"], std::stoi(hers)) << order;
  const auto users = json("eve", {"users"})["users"];
  ASSERT_GE(users.size(), 1U);
  for (const auto& one : users) EXPECT_EQ(one["cores"], one["user"] == "eve" ? 6 : 0) << users;
  ok("eve", {"cancel", "--all"});
}

TEST_F(UserCounts, APolicyIsShownProvedUsers) {
  const std::string policy = folder() + "/mine.lua";
  std::ofstream(policy) << "base = 'easy'\nfunction admit(job, view)\n"
                           "  if view.user(job.user).running > 0 then\n"
                           "    return false, job.user .. ' runs one'\n  end\nend\n";
  ASSERT_EQ(chmod(policy.c_str(), 0644), 0);
  start({"--conf", "queue.policy=" + policy});
  wait_for("ann", ok("ann", {"submit", "sleep", "1000"}), "RUN");
  const Ran second = as("ann", {"submit", "true"});
  EXPECT_NE(second.code, 0);
  EXPECT_THAT(second.err, HasSubstr("mine.lua:2: ann runs one"));
  EXPECT_EQ(ok("bob", {"run", "id", "-un"}), "bob");
  const std::string for_bob = ok("eve", {"submit", "--for", "bob", "true"});
  EXPECT_EQ(json("eve", {"jobs", for_bob})["jobs"][0]["user"], "bob");
  EXPECT_NE(as("eve", {"submit", "--for", "ann", "true"}).code, 0);
  ok("eve", {"cancel", "--all"});
}

// `script` plays the terminal.
TEST_F(UserCounts, ATaskAtATerminalIsItsUsers) {
  if (!fs::exists("/usr/bin/script")) GTEST_SKIP() << "there is no script(1)";
  start();
  const Ran ran = shell_as("ann",
                           "script -qec \"$HOLON run --pty sh -c 'id -un; id -G; stat -c "
                           "terminal-of-%U \\$(tty); cat " +
                               state_dir() + "/journal.db'\" /dev/null </dev/null");
  EXPECT_THAT(ran.out, HasSubstr("ann\r\n61001 61050\r\nterminal-of-ann\r\n")) << ran.err;
  EXPECT_THAT(ran.out, Not(HasSubstr("SQLite")));
  EXPECT_THAT(ran.out, HasSubstr("Permission denied"));
}

}  // namespace
}  // namespace holon::system_test
