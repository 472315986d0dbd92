#include "standalone/getent.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <utility>

#include "tests/standalone/own_etc.hpp"

namespace holon::standalone {
namespace {

const GetentAnswer kNone = std::optional<std::string>();

GetentAnswer said(const std::string& text) {
  return std::optional(text);
}

TEST(Getent, ItsAnswerIsWhatItPrints) {
  const OwnEtc etc;
  etc.answer("passwd ann", "ann:x:1:1::/:/bin/sh");
  EXPECT_EQ(ask_getent(etc.sources(), "passwd", "ann"), said("ann:x:1:1::/:/bin/sh\n"));
  EXPECT_EQ(ask_getent(etc.sources(), "passwd", "bob"), kNone) << "it failed";
}

TEST(Getent, IsNotAskedWhatItWouldTakeForAnOption) {
  const OwnEtc etc;
  for (const std::string key : {"", "--help", "-s", "ann\nroot"})
    EXPECT_EQ(ask_getent(etc.sources(), "passwd", key), kNone) << key;
  EXPECT_EQ(etc.questions(), "");
}

TEST(Getent, AnswersNothingWhereItIsNot) {
  EXPECT_EQ(ask_getent({"/etc", {"/nonexistent/getent"}, 60'000, nullptr}, "passwd", "root"),
            kNone);
  EXPECT_EQ(ask_getent({"/etc", {}, 60'000, nullptr}, "passwd", "root"), kNone);
}

TEST(Getent, TheNextPlaceCountsWhereTheFirstHasNone) {
  const OwnEtc etc;
  etc.answer("passwd ann", "here");
  Sources two = etc.sources();
  two.getent.insert(two.getent.begin(), "/nonexistent/getent");
  EXPECT_EQ(ask_getent(two, "passwd", "ann"), said("here\n"));
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
  EXPECT_EQ(answer, said("LC_ALL=C\nPATH=/usr/bin:/bin\nSigBlk:\t0000000000000000\n"));
}

TEST(Getent, IsEndedWhereItTakesTooLong) {
  const OwnEtc etc;
  etc.program("#!/bin/sh\necho an answer that does not end\nexec tail -f /dev/null\n");
  Sources hasty = etc.sources();
  hasty.patience = 100;
  const auto answer = ask_getent(hasty, "passwd", "ann");
  ASSERT_FALSE(answer) << "nobody has said that there is no ann";
  EXPECT_EQ(answer.error().code, Errc::timed_out);
  EXPECT_EQ(to_string(answer.error()),
            etc.sources().etc + "/getent passwd ann: no answer in 100 ms");
}

// What it says about the database or the key is an answer; how it ends otherwise is none.
TEST(Getent, TellsThatThereIsNoneFromThatItCouldNotBeAsked) {
  const OwnEtc etc;
  for (const std::string own : {"1", "2", "3"}) {
    etc.program("#!/bin/sh\nexit " + own + "\n");
    EXPECT_EQ(ask_getent(etc.sources(), "initgroups", "ann"), kNone) << own;
  }
  const std::pair<std::string, Errc> broken[] = {
      {"#!/bin/sh\nexit 127\n", Errc::system},
      {"#!/bin/sh\nkill -9 $$\n", Errc::system},
      {"#!/nonexistent/shell\n", Errc::system},
      {"#!/bin/sh\nhead -c 2000000 /dev/zero\n", Errc::out_of_range}};
  for (const auto& [script, code] : broken) {
    etc.program(script);
    const auto answer = ask_getent(etc.sources(), "passwd", "ann");
    ASSERT_FALSE(answer) << script;
    EXPECT_EQ(answer.error().code, code) << script << to_string(answer.error());
  }
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
  EXPECT_EQ(answer, said("here\n"));
}

TEST(Nsswitch, SaysWhichDatabasesHaveServices) {
  const OwnEtc etc;
  EXPECT_FALSE(has_services(etc.sources(), "passwd").value()) << "there is no such file";
  etc.write("nsswitch.conf",
            "# passwd: ldap\npasswd:  files\ngroup: files [SUCCESS=merge] systemd\n\nnonsense\n"
            "shadow:\n hosts: files\t# dns\n");
  EXPECT_FALSE(has_services(etc.sources(), "passwd").value());
  EXPECT_TRUE(has_services(etc.sources(), "group").value());
  EXPECT_FALSE(has_services(etc.sources(), "shadow").value());
  EXPECT_FALSE(has_services(etc.sources(), "hosts").value());
  EXPECT_FALSE(has_services(etc.sources(), "initgroups").value());
}

}  // namespace
}  // namespace holon::standalone
