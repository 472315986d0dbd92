// What users of one instance try against each other, and against what starts their tasks.
#include <gmock/gmock.h>

#include "tests/system/users/users_fixture.hpp"

namespace holon::system_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class HostileUsers : public Users {};

// A setuid program of root's, which says who it has become.
TEST_F(HostileUsers, SetuidProgramsGiveATaskNothing) {
  const std::string trick = folder() + "/trick";
  fs::copy_file("/usr/bin/id", trick);
  ASSERT_EQ(chown(trick.c_str(), 0, 0), 0);
  ASSERT_EQ(chmod(trick.c_str(), 04755), 0);
  start();
  if (shell_as("ann", trick + " -u").out != "0\n")
    GTEST_SKIP() << "setuid has no effect in " << folder();
  EXPECT_EQ(ok("ann", {"run", trick, "-u"}), "61001");
  const std::string child = "/" + ok("ann", {"alloc", "--bg", "-n", "1"});
  EXPECT_EQ(ok("ann", {"-i", child, "run", trick, "-u"}), "61001");
}

// What starts tasks is no program that is looked for or loaded; the program is, as the user.
TEST_F(HostileUsers, PathAndLoaderVariablesWorkForTheUserOnly) {
  start();
  ASSERT_EQ(shell_as("ann",
                     "mkdir bin; printf '#!/bin/sh\\n/usr/bin/id -u > ~/became.$1\\n' > "
                     "bin/work; chmod 755 bin/work; for name in sh holon holon-starter id; "
                     "do cp bin/work bin/$name; done")
                .code,
            0);
  for (const char* name : {"work", "sh", "holon", "id"}) {
    const Ran ran = starts("ann", {HOLON_BINARY, "run", name, name},
                           {{"PATH", home_of("ann") + "/bin"},
                            {"LD_PRELOAD", home_of("ann") + "/evil.so"},
                            {"LD_AUDIT", home_of("ann") + "/evil.so"},
                            {"LD_LIBRARY_PATH", home_of("ann")},
                            {"GCONV_PATH", home_of("ann")},
                            {"BASH_ENV", home_of("ann") + "/bin/work"}})
                        .finish();
    EXPECT_EQ(ran.code, 0) << name << ran.err;
    EXPECT_EQ(text_of(home_of("ann") + "/became." + name), "61001\n") << name;
    EXPECT_EQ(owner_of(home_of("ann") + "/became." + name), kAnn) << name;
  }
  EXPECT_THAT(text_of(state_dir() + "/instance.log"), Not(HasSubstr("evil.so")));
  EXPECT_THAT(processes_of(0, "evil"), IsEmpty());
}

TEST_F(HostileUsers, FoldersOfOthersAreNotEntered) {
  start();
  for (const std::string& folder : {home_of("bob"), state_dir(), std::string("/root")}) {
    const Ran ran = as("ann", {"run", "--cwd", folder, "pwd"});
    EXPECT_EQ(ran.code, 126) << folder;
    EXPECT_THAT(ran.err, HasSubstr("Permission denied")) << folder;
  }
  // Nor by way of a link, or of what is opened in it.
  ASSERT_EQ(shell_as("ann", "ln -s " + home_of("bob") + " way").code, 0);
  EXPECT_EQ(as("ann", {"run", "--cwd", home_of("ann") + "/way", "pwd"}).code, 126);
  const Ran deep = as("ann", {"run", "--output", home_of("ann") + "/way/file", "true"});
  EXPECT_EQ(deep.code, 126);
  EXPECT_FALSE(fs::exists(home_of("bob") + "/file"));
}

// A task's parent is root's, and takes no orders.
TEST_F(HostileUsers, WhatKeepsATaskIsOutOfItsReach) {
  start();
  EXPECT_EQ(ok("ann", {"run", "sh", "-c",
                       "for s in KILL STOP TERM; do kill -$s $PPID 2>/dev/null && echo sent; done; "
                       "cat /proc/$PPID/environ /proc/$PPID/mem 2>/dev/null | head -c 1; "
                       "ls /proc/$PPID/fd 2>/dev/null; echo done"}),
            "done");
  // It leaves its session, its group and its environment, and is ended all the same.
  ok("ann", {"run", "sh", "-c", "setsid env -i setsid sleep 1004 & setsid -f sleep 1005; exit 0"});
  wait_for_none_of(kAnn, "sleep 100");
  EXPECT_EQ(ok("bob", {"run", "id", "-un"}), "bob");
}

// A child is its user's: what it says of its jobs may be anything.
TEST_F(HostileUsers, RecordsOfAChildAreItsUsers) {
  start();
  const std::string ann = "/" + ok("ann", {"alloc", "--bg", "-n", "2"});
  const std::string secret = ok("bob", {"submit", "echo", "bob's secret"});
  ok("bob", {"job", "wait", secret});
  const std::string file = state_dir() + "/output/" + secret + ".out";
  ASSERT_THAT(text_of(file), HasSubstr("secret"));
  // In her own instance she may say whatever name: the tasks are hers.
  resource::JobShape plain;
  plain.command = {"true"};
  plain.cwd = "/";
  EXPECT_EQ(refusal_of("ann", ann, plain, "bob"), "");
  // A job with the number of bob's whose output she says is that file.
  ASSERT_EQ(secret, "2");
  EXPECT_EQ(ok("ann", {"-i", ann, "submit", "--output", file, "true"}), secret);
  (void)as("ann", {"-i", ann, "job", "wait", "--all"});
  EXPECT_THAT(ok("bob", {"jobs", "-a", "-R"}), Not(HasSubstr("forged")));
  ok("ann", {"-i", ann, "shutdown"});
  wait_for("ann", ann.substr(1), "INACTIVE");
  EXPECT_THAT(ok("bob", {"jobs", "-a", "-R"}), Not(HasSubstr("forged")));
  const auto all = json("eve", {"jobs", "-a", "-R"});
  EXPECT_THAT(all.dump(), HasSubstr("forged"));
  for (const auto& job : all["jobs"])
    if (job["name"] == "forged") {
      EXPECT_EQ(job["user"], "ann");
    }
  EXPECT_THAT(ok("ann", {"jobs", "-a", "-R"}), HasSubstr("forged"));
  const Ran read = as("ann", {"job", "output", ann + "/" + secret});
  EXPECT_NE(read.code, 0);
  EXPECT_THAT(read.out + read.err, Not(HasSubstr("bob's secret")));
}

// Three users with policies of their own: one that is hostile harms its user only.
TEST_F(HostileUsers, AHostilePolicyIsItsUsersAlone) {
  start({"--conf", "per-user.cores=2"});
  const std::string hostile =
      "mkdir -p ~/.config/holon; cat > ~/.config/holon/policy.lua <<'END'\nbase = 'fcfs'\n"
      "function priority(job) while true do end end\n"
      "function score(job, node) return string.rep('x', 1e9) end\nEND\n";
  const std::string fair =
      "mkdir -p ~/.config/holon; cat > ~/.config/holon/policy.lua <<'END'\nbase = 'easy'\n"
      "function priority(job) return -job.limit end\nEND\n";
  ASSERT_EQ(shell_as("bob", hostile).code, 0);
  ASSERT_EQ(shell_as("ann", fair).code, 0);
  for (const char* user : {"ann", "bob", "eve"})
    EXPECT_EQ(ok(user, {"run", "-t", "1m", "id", "-un"}), user);
  ok("bob", {"submit", "--count", "50", "-t", "1m", "sleep", "1000"});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ok("ann", {"run", "-t", "1m", "id", "-un"}), "ann");
  EXPECT_EQ(json("bob", {"jobs"})["jobs"].size(), 50U);  // answered, by the base policy's order
  EXPECT_THAT(json("bob", {"tree"})["policy_trouble"].get<std::string>(), HasSubstr("policy.lua"));
  EXPECT_EQ(json("ann", {"tree"})["policy_trouble"], "");
  const auto tree = json("root", {"tree"});
  EXPECT_EQ(tree["policy"], "fcfs");
  EXPECT_EQ(tree["policy_trouble"], "");
  ok("root", {"cancel", "--all"});
}

}  // namespace
}  // namespace holon::system_test
