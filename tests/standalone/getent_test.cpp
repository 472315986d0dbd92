#include "standalone/getent.hpp"

#include <gtest/gtest.h>

#include <csignal>

#include "tests/standalone/own_etc.hpp"

namespace holon::standalone {
namespace {

TEST(Getent, ItsAnswerIsWhatItPrints) {
  const OwnEtc etc;
  etc.answer("passwd ann", "ann:x:1:1::/:/bin/sh");
  EXPECT_EQ(ask_getent(etc.sources(), "passwd", "ann"), "ann:x:1:1::/:/bin/sh\n");
  EXPECT_EQ(ask_getent(etc.sources(), "passwd", "bob"), std::nullopt) << "it failed";
}

TEST(Getent, IsNotAskedWhatItWouldTakeForAnOption) {
  const OwnEtc etc;
  for (const std::string key : {"", "--help", "-s", "ann\nroot"})
    EXPECT_EQ(ask_getent(etc.sources(), "passwd", key), std::nullopt) << key;
  EXPECT_EQ(etc.questions(), "");
}

TEST(Getent, AnswersNothingWhereItIsNot) {
  EXPECT_EQ(ask_getent({"/etc", {"/nonexistent/getent"}, 60'000}, "passwd", "root"), std::nullopt);
  EXPECT_EQ(ask_getent({"/etc", {}, 60'000}, "passwd", "root"), std::nullopt);
}

TEST(Getent, TheNextPlaceCountsWhereTheFirstHasNone) {
  const OwnEtc etc;
  etc.answer("passwd ann", "here");
  Sources two = etc.sources();
  two.getent.insert(two.getent.begin(), "/nonexistent/getent");
  EXPECT_EQ(ask_getent(two, "passwd", "ann"), "here\n");
}

// It has neither this process's environment nor its signals: a directory's client would obey both.
TEST(Getent, StartsClean) {
  const OwnEtc etc;
  etc.program(
      "#!/bin/sh\nenv | grep -v '^PWD=\\|^_=\\|^SHLVL=\\|^OLDPWD=' | sort\ngrep SigBlk "
      "/proc/self/status\n");
  setenv("LD_PRELOAD_OF_MINE", "x", 1);
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigprocmask(SIG_BLOCK, &blocked, &before);
  const auto answer = ask_getent(etc.sources(), "passwd", "ann");
  sigprocmask(SIG_SETMASK, &before, nullptr);
  unsetenv("LD_PRELOAD_OF_MINE");
  EXPECT_EQ(answer, "LC_ALL=C\nPATH=/usr/bin:/bin\nSigBlk:\t0000000000000000\n");
}

TEST(Getent, IsEndedWhereItTakesTooLong) {
  const OwnEtc etc;
  etc.program("#!/bin/sh\necho an answer that does not end\nexec tail -f /dev/null\n");
  Sources hasty = etc.sources();
  hasty.patience = 100;
  EXPECT_EQ(ask_getent(hasty, "passwd", "ann"), std::nullopt);
}

// A process whose children the kernel reaps gets no exit code.
TEST(Getent, AnswersWhereChildrenAreReapedByTheKernel) {
  const OwnEtc etc;
  etc.answer("passwd ann", "here");
  struct sigaction ignore {
  }, before{};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGCHLD, &ignore, &before);
  const auto answer = ask_getent(etc.sources(), "passwd", "ann");
  sigaction(SIGCHLD, &before, nullptr);
  EXPECT_EQ(answer, "here\n");
}

TEST(Nsswitch, SaysWhichDatabasesHaveServices) {
  const OwnEtc etc;
  EXPECT_FALSE(has_services(etc.sources(), "passwd")) << "there is no such file";
  etc.write("nsswitch.conf",
            "# passwd: ldap\npasswd:  files\ngroup: files [SUCCESS=merge] systemd\n\nnonsense\n"
            "shadow:\n hosts: files\t# dns\n");
  EXPECT_FALSE(has_services(etc.sources(), "passwd"));
  EXPECT_TRUE(has_services(etc.sources(), "group"));
  EXPECT_FALSE(has_services(etc.sources(), "shadow"));
  EXPECT_FALSE(has_services(etc.sources(), "hosts"));
  EXPECT_FALSE(has_services(etc.sources(), "initgroups"));
}

}  // namespace
}  // namespace holon::standalone
