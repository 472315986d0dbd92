// What an agent may ask of the starter, and what comes of it.
#include <linux/keyctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "tests/starter/starter_fixture.hpp"

namespace holon::starter {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TEST_F(Starters, ATaskIsItsUsers) {
  start();
  const Result ran = shell("ann", "id -u; id -g; id -G; umask; pwd; echo $HOME $USER; exit 7");
  EXPECT_EQ(ran.output, "61001\n61001\n61001 61050\n0022\n/\n" + home_of("ann") + " ann\n");
  EXPECT_EQ(WEXITSTATUS(ran.status), 7);
}

TEST_F(Starters, ItStartsInItsUsersHomeWhereNothingElseIsSaid) {
  start();
  Request what = request("bob", {"sh", "-c", "pwd; touch here"});
  what.cwd.clear();
  EXPECT_EQ(ran(what).output, home_of("bob") + "\n");
  struct stat info {};
  ASSERT_EQ(stat((home_of("bob") + "/here").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, kBob);
  what = request("bob", {"true"});
  what.cwd = home_of("ann");
  const Result refused = ran(what);
  EXPECT_EQ(refused.step, Step::enter);
  EXPECT_EQ(refused.error, EACCES);
}

TEST_F(Starters, NothingIsStartedForWhoIsNoUser) {
  settings_.everybody = false;
  settings_.users = {kAnn, kBob, 0, kInstance, 1};
  start();
  for (const auto& [name, why] :
       {std::pair("root", "as root"), std::pair("holon", "the instance's account"),
        std::pair("daemon", "are the system's"), std::pair("eve", "none of its users"),
        std::pair("nobody-knows", "there is no user"), std::pair("", "names no user"),
        std::pair("0", "there is no user"), std::pair("61001", "there is no user")}) {
    const Result ran = shell(name, "id -u");
    EXPECT_THAT(ran.refused, HasSubstr(why)) << name;
    EXPECT_EQ(ran.step, Step::account) << name;
    EXPECT_THAT(ran.output, IsEmpty()) << name;
  }
  EXPECT_EQ(shell("ann", "id -u").output, "61001\n");
  const auto file = opened("root", "/etc/shadow", O_RDONLY);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->told.what, What::failed);
}

TEST_F(Starters, ATaskHasNoWayBack) {
  start();
  const Result ran = shell("ann",
                           "setpriv --reuid 0 id -u 2>&1 | grep -c failed;"
                           "grep -E '^(Uid|Gid|CapInh|CapPrm|CapEff|CapAmb|NoNewPrivs)' "
                           "/proc/self/status | tr -s '\\t\\n' ' '");
  EXPECT_EQ(ran.output,
            "1\nUid: 61001 61001 61001 61001 Gid: 61001 61001 61001 61001 "
            "CapInh: 0000000000000000 CapPrm: 0000000000000000 CapEff: 0000000000000000 "
            "CapAmb: 0000000000000000 NoNewPrivs: 1 ");
}

// With the setting off the same program has root's rights: that is what it is worth.
TEST_F(Starters, ASetuidProgramGivesATaskNothing) {
  const std::string trick = folder_ + "/trick";
  fs::copy_file("/usr/bin/id", trick);
  ASSERT_EQ(chmod(trick.c_str(), 04755), 0);
  start();
  EXPECT_EQ(shell("ann", trick + " -u").output, "61001\n");
  asks_.close_it();
  ASSERT_EQ(waitpid(starter_, nullptr, 0), starter_);
  settings_.no_new_privileges = false;
  start();
  EXPECT_EQ(shell("ann", trick + " -u").output, "0\n");
}

// As for whoever has logged in as root and starts the instance.
TEST_F(Starters, ATaskDoesNotPossessTheKeysOfTheSession) {
  if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) < 0 ||
      syscall(SYS_add_key, "user", "holon-of-root", "x", 1, KEY_SPEC_SESSION_KEYRING) < 0)
    GTEST_SKIP() << "no keyrings here: " << strerror(errno);
  ASSERT_THAT(file_text("/proc/keys"), HasSubstr("holon-of-root"));
  start();
  EXPECT_EQ(shell("ann", "grep -c holon-of-root /proc/keys").output, "0\n");
}

TEST_F(Starters, ANamedPipeKeepsNobodyWaiting) {
  start();
  const std::string pipe = home_of("ann") + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0666), 0);
  ASSERT_EQ(chown(pipe.c_str(), kAnn, kAnn), 0);
  const auto file = opened("ann", pipe, O_WRONLY);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->told.what, What::failed);
  EXPECT_EQ(file->told.error, ENXIO);
  wait_until_idle();
}

TEST_F(Starters, LimitsAreSetWithTheUsersRights) {
  start();
  Request what = request("ann", {"sh", "-c", "ulimit -Sn; ulimit -Sc"});
  what.limits = {{RLIMIT_NOFILE, 77}, {RLIMIT_CORE, 0}};
  EXPECT_EQ(ran(what).output, "77\n0\n");
  rlimit own{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &own), 0);
  what.limits = {{RLIMIT_CORE, 0}, {RLIMIT_NOFILE, own.rlim_max + 1}};
  const Result refused = ran(what);
  EXPECT_EQ(refused.step, Step::limit);
  EXPECT_EQ(refused.error, EPERM);
}

TEST_F(Starters, ATaskFindsNothingOpenButItsStreams) {
  start();
  // Without a pipe or another process, which the shell would have open meanwhile.
  EXPECT_EQ(shell("ann",
                  "n=0; while [ $n -lt 64 ]; do [ -e /proc/$$/fd/$n ] && echo $n; "
                  "n=$((n + 1)); done")
                .output,
            "0\n1\n2\n");
}

// What the environment names is loaded and looked for by the user's process, as that user.
TEST_F(Starters, TheEnvironmentOfATaskIsItsUsersAffair) {
  const std::string secret = folder_ + "/roots-only";
  fs::create_directory(secret);
  ASSERT_EQ(chmod(secret.c_str(), 0700), 0);
  fs::copy_file("/usr/bin/id", secret + "/tool");
  start();
  Request what = request("ann", {"tool", "-u"});
  what.env = {"PATH=" + secret};
  EXPECT_EQ(ran(what).step, Step::find);  // root would have found it
  fs::copy_file("/usr/bin/id", home_of("ann") + "/tool");
  what.env = {"PATH=" + secret + ":" + home_of("ann"),
              "LD_PRELOAD=/no/such.so",
              "LD_AUDIT=x",
              "LD_LIBRARY_PATH=" + secret,
              "GCONV_PATH=" + secret,
              "GETCONF_DIR=" + secret};
  const Result ran_it = ran(what);
  EXPECT_THAT(ran_it.output, HasSubstr("61001"));
  EXPECT_THAT(ran_it.output, HasSubstr("/no/such.so"));  // ld.so's complaint, of ann's process
  EXPECT_THAT(file_text("/proc/" + std::to_string(starter_) + "/maps"),
              testing::Not(HasSubstr("such.so")));
  EXPECT_EQ(file_text("/proc/" + std::to_string(starter_) + "/environ").find(secret),
            std::string::npos);
}

TEST_F(Starters, WhyAProgramIsNotStartedIsTold) {
  start();
  EXPECT_EQ(ran(request("ann", {"no-such-program"})).step, Step::find);
  EXPECT_EQ(ran(request("ann", {"/no/such/program"})).error, ENOENT);
  const Result folder = ran(request("ann", {"/tmp"}));
  EXPECT_EQ(folder.step, Step::run);
  EXPECT_EQ(folder.error, EACCES);
}

TEST_F(Starters, FilesAreOpenedAsTheirUser) {
  const std::string secret = folder_ + "/secret";
  std::ofstream(secret) << "root's\n";
  ASSERT_EQ(chmod(secret.c_str(), 0600), 0);
  const std::string link = home_of("ann") + "/out";
  ASSERT_EQ(symlink(secret.c_str(), link.c_str()), 0);
  start();
  auto refused = opened("ann", link, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->told.what, What::failed);
  EXPECT_EQ(refused->told.error, EACCES);
  EXPECT_EQ(file_text(secret), "root's\n");
  refused = opened("bob", home_of("ann") + "/new", O_WRONLY | O_CREAT);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->told.error, EACCES);
  const auto made = opened("ann", home_of("ann") + "/new", O_WRONLY | O_CREAT);
  ASSERT_TRUE(made);
  ASSERT_EQ(made->told.what, What::opened);
  EXPECT_EQ(write(made->file.get(), "hers", 4), 4);
  struct stat info {};
  ASSERT_EQ(stat((home_of("ann") + "/new").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, kAnn);
  EXPECT_EQ(info.st_gid, kAnn);
  EXPECT_EQ(info.st_mode & 07777, 0644U);
}

// Two processes that have given up their session, their environment and their parents.
constexpr const char* kRunaway =
    "setsid env -i sh -c 'exec >/dev/null 2>&1 </dev/null; (setsid sleep 1000 &) & (setsid sleep "
    "1001 &) ; :' & wait; echo gone";

TEST_F(Starters, WhatATaskLeavesBehindEndsWhenItIsToldTo) {
  start();
  const Fd line = run(request("ann", {"sh", "-c", kRunaway}), -1);
  auto heard = hear(line.get());
  while (heard && heard->told.what != What::ended) heard = hear(line.get());
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->told.nothing_left, 0U);
  EXPECT_EQ(count(), 1U);
  wait_for(2, 0);
  give_order(line.get(), Do::end);
  EXPECT_FALSE(hear(line.get()));
  EXPECT_THAT(processes_of(kAnn), IsEmpty());
  wait_until_idle();
}

TEST_F(Starters, AnAgentThatDiesTakesItsTasksWithIt) {
  start();
  {
    const Fd line = run(request("ann", {"sh", "-c", std::string(kRunaway) + "; sleep 1002"}), -1);
    wait_for(3, 1);
    EXPECT_EQ(count(), 1U);
  }
  wait_until_idle();
  EXPECT_THAT(processes_of(kAnn), IsEmpty());
}

TEST_F(Starters, SignalsGoToTheTasksGroup) {
  start();
  int pipe_ends[2];
  ASSERT_EQ(pipe2(pipe_ends, O_CLOEXEC), 0);
  Fd from(pipe_ends[0]), to(pipe_ends[1]);
  const Fd line = run(
      request("ann",
              {"sh", "-c", "trap 'echo told; exit 3' USR1; echo r; while :; do sleep 0.05; done"}),
      to.get());
  to.close_it();
  char ready = 0;
  ASSERT_EQ(read(from.get(), &ready, 1), 1);
  give_order(line.get(), Do::signal, SIGUSR1);
  auto heard = hear(line.get());
  while (heard && heard->told.what != What::ended) heard = hear(line.get());
  ASSERT_TRUE(heard);
  EXPECT_EQ(WEXITSTATUS(heard->told.status), 3);
}

TEST_F(Starters, AKeeperCannotBeSignalledAndHasFewRights) {
  start();
  const Result ran = shell("ann",
                           "kill -9 $PPID 2>/dev/null || echo refused;"
                           "grep -E '^(Name|Uid|CapPrm|CapEff|Seccomp):' /proc/$PPID/status |"
                           " tr -s '\\t\\n' ' '; cat /proc/$PPID/environ 2>/dev/null | wc -c");
  EXPECT_THAT(ran.output, StartsWith("refused\nName: holon-keeper Uid: 0 0 0 0 "
                                     "CapPrm: 0000000000000020 CapEff: 0000000000000020 "));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_THAT(ran.output, HasSubstr("Seccomp: 2"));
#endif
  EXPECT_THAT(ran.output, testing::EndsWith(" 0\n"));
  const std::string status = file_text("/proc/" + std::to_string(starter_) + "/status");
  EXPECT_EQ(line_of(status, "CapEff"), "00000000000000e0");  // kill, setgid, setuid
}

TEST_F(Starters, UsersDoNotReachEachOthersTasks) {
  start();
  const Fd line = run(request("bob", {"sleep", "1000"}), -1);
  auto heard = hear(line.get());
  while (heard && heard->told.what != What::running) heard = hear(line.get());
  ASSERT_TRUE(heard);
  const std::string pid = std::to_string(heard->told.pid);
  EXPECT_EQ(
      shell("ann", "kill -9 " + pid + " 2>/dev/null || echo refused; cat /proc/" + pid +
                       "/environ 2>/dev/null | wc -c; ls /proc/" + pid + "/fd 2>/dev/null | wc -l")
          .output,
      "refused\n0\n0\n");
  EXPECT_EQ(processes_of(kBob).size(), 1U);
}

TEST_F(Starters, MessagesOfAnyOtherFormAreDropped) {
  start();
  const Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  const Ask good;
  Ask magic, kind, extras, reserved;
  magic.magic = 1;
  kind.kind = static_cast<Kind>(9);
  extras.extras = 8;
  reserved.reserved = 1;
  const std::vector<int> five(5, null.get());
  for (const Ask& ask : {magic, kind, extras, reserved})
    send_to(asks_.get(), &ask, sizeof ask, five);
  for (const std::size_t descriptors : {0, 1, 2, 3, 4, 6, 7, 12})
    send_to(asks_.get(), &good, sizeof good, std::vector<int>(descriptors, null.get()));
  send_to(asks_.get(), &good, 7, five);
  const std::string large(100'000, 'x');
  send_to(asks_.get(), large.data(), large.size(), five);
  send_to(asks_.get(), &good, sizeof good, five);  // a keeper's line that is none
  EXPECT_EQ(shell("ann", "echo lives").output, "lives\n");
  wait_until_idle();
  // The descriptors that came are closed again: the standard ones, its connection, its signals.
  std::size_t open_files = 0;
  for ([[maybe_unused]] const auto& entry :
       fs::directory_iterator("/proc/" + std::to_string(starter_) + "/fd"))
    ++open_files;
  EXPECT_EQ(open_files, 5U);
}

TEST_F(Starters, RequestsThatCannotBeReadAreRefused) {
  start();
  const std::string good = encode(request("ann", {"true"}));
  std::string lies = good;
  std::memset(lies.data(), 0xff, 8);  // the length of the first text
  for (const std::string& bytes :
       {std::string(), std::string("x"), good.substr(0, good.size() / 2), good + "more", lies}) {
    const Fd line = run(bytes, -1);
    const auto heard = hear(line.get());
    ASSERT_TRUE(heard);
    EXPECT_EQ(heard->told.what, What::failed);
    EXPECT_EQ(heard->told.step, Step::request);
  }
  // No memory at all, but a pipe that would never end.
  auto [ours, theirs] = pair_of_sockets();
  int pipe_ends[2];
  ASSERT_EQ(pipe2(pipe_ends, O_CLOEXEC), 0);
  const Fd from(pipe_ends[0]), to(pipe_ends[1]), null(open("/dev/null", O_RDWR | O_CLOEXEC));
  const Ask ask;
  send_to(asks_.get(), &ask, sizeof ask,
          {theirs.get(), from.get(), null.get(), null.get(), null.get()});
  const auto heard = hear(ours.get());
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->told.step, Step::request);
}

// Orders that are none, floods of them, and one for a task that has ended.
TEST_F(Starters, AKeeperTakesOrdersOfOneFormOnly) {
  start();
  const Fd line = run(request("ann", {"sleep", "0.3"}), -1);
  Order wrong;
  wrong.magic = 3;
  wrong.what = Do::end;
  Order far;
  far.signal = 100'000;
  Order negative;
  negative.signal = -9;
  for (const Order& order : {wrong, far, negative})
    EXPECT_EQ(send(line.get(), &order, sizeof order, MSG_NOSIGNAL),
              static_cast<ssize_t>(sizeof order));
  EXPECT_EQ(send(line.get(), "x", 1, MSG_NOSIGNAL), 1);
  auto heard = hear(line.get());
  while (heard && heard->told.what != What::ended) heard = hear(line.get());
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->told.status, 0);
  EXPECT_NE(heard->told.nothing_left, 0U);
}

}  // namespace
}  // namespace holon::starter
