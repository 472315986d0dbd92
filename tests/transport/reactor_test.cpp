// The reactor's promises: order within a turn, cancelling from anywhere, signals, children with
// their usage.
#include "transport/reactor.hpp"

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <vector>

extern char** environ;

namespace holon::transport {
namespace {

class ReactorTest : public testing::Test {
 protected:
  std::unique_ptr<Reactor> reactor_ = std::move(*Reactor::create());

  pid_t shell(const std::string& command) {
    const std::array<const char*, 4> argv = {"sh", "-c", command.c_str(), nullptr};
    pid_t pid = -1;
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    EXPECT_EQ(posix_spawn(&pid, "/bin/sh", nullptr, &attributes, const_cast<char**>(argv.data()),
                          environ),
              0);
    posix_spawnattr_destroy(&attributes);
    return pid;
  }
};

TEST_F(ReactorTest, TimersFireInOrderOfTheirTimeNotOfTheirMaking) {
  std::string order;
  auto b = reactor_->after(20, [&] { order += 'b'; });
  auto a = reactor_->after(5, [&] { order += 'a'; });
  auto c = reactor_->after(20, [&] { order += 'c'; });
  EXPECT_TRUE(reactor_->run_until([&] { return order.size() == 3; }, 30'000));
  EXPECT_EQ(order, "abc");
}

TEST_F(ReactorTest, APeriodicTimerGoesOnUntilCancelledFromItsOwnCallback) {
  int ticks = 0;
  Subscription tick;
  tick = reactor_->every(1, [&] {
    if (++ticks == 3) tick.cancel();
  });
  bool later = false;
  auto end = reactor_->after(50, [&] { later = true; });
  EXPECT_TRUE(reactor_->run_until([&] { return later; }, 30'000));
  EXPECT_EQ(ticks, 3);
}

TEST_F(ReactorTest, ACancelledTimerNeverFires) {
  bool fired = false, later = false;
  auto first = reactor_->after(1, [&] { fired = true; });
  auto end = reactor_->after(10, [&] { later = true; });
  first.cancel();
  reactor_->run_until([&] { return later; }, 30'000);
  EXPECT_FALSE(fired);
}

TEST_F(ReactorTest, ATimerDueInTheSameTurnCanBeCancelledByAnEarlierOne) {
  bool fired = false, later = false;
  Subscription second;
  auto first = reactor_->after(1, [&] { second.cancel(); });
  second = reactor_->after(1, [&] { fired = true; });
  auto end = reactor_->after(10, [&] { later = true; });
  reactor_->run_until([&] { return later; }, 30'000);
  EXPECT_FALSE(fired);
}

TEST_F(ReactorTest, AtAPastTimeFiresAtOnce) {
  bool fired = false;
  auto past = reactor_->at(1, [&] { fired = true; });
  EXPECT_TRUE(reactor_->run_until([&] { return fired; }, 30'000));
}

TEST_F(ReactorTest, DeferredWorkRunsBeforeTheTurnEndHooksAndTheseInOrder) {
  std::string order;
  auto first = reactor_->at_turn_end([&] { order += '1'; });
  auto second = reactor_->at_turn_end([&] { order += '2'; });
  reactor_->defer([&] {
    order += 'd';
    reactor_->defer([&] { order += 'e'; });
  });
  reactor_->turn(0);
  EXPECT_EQ(order, "de12");
}

TEST_F(ReactorTest, NowStandsStillWithinATurn) {
  Time first = 0, last = 0;
  reactor_->defer([&] {
    first = reactor_->now();
    usleep(5000);
  });
  auto end = reactor_->at_turn_end([&] { last = reactor_->now(); });
  reactor_->turn(0);
  EXPECT_EQ(first, last);
  reactor_->turn(0);
  EXPECT_GE(reactor_->now(), first + 5);
}

TEST_F(ReactorTest, StopEndsRunAfterTheTurnsHooks) {
  int hooks = 0;
  auto hook = reactor_->at_turn_end([&] { ++hooks; });
  reactor_->defer([&] { reactor_->stop(); });
  reactor_->run();
  EXPECT_EQ(hooks, 1);
}

TEST_F(ReactorTest, RunUntilGivesUpAfterItsTimeout) {
  EXPECT_FALSE(reactor_->run_until([] { return false; }, 5));
}

TEST_F(ReactorTest, PipesAreReportedReadableThenHungUp) {
  std::array<int, 2> ends;
  ASSERT_EQ(pipe(ends.data()), 0);
  unsigned seen = 0;
  std::string got;
  auto watch = reactor_->on_fd(ends[0], kReadable, [&](unsigned events) {
    seen |= events;
    std::array<char, 16> buffer;
    const auto n = read(ends[0], buffer.data(), buffer.size());
    if (n > 0) got.append(buffer.data(), static_cast<std::size_t>(n));
  });
  ASSERT_TRUE(watch);
  ASSERT_EQ(write(ends[1], "hello", 5), 5);
  EXPECT_TRUE(reactor_->run_until([&] { return got == "hello"; }, 30'000));
  close(ends[1]);
  EXPECT_TRUE(reactor_->run_until([&] { return (seen & kHangUp) != 0; }, 30'000));
  watch->cancel();
  close(ends[0]);
}

TEST_F(ReactorTest, ADescriptorIsWatchedOnceOnlyAndARegularFileNotAtAll) {
  std::array<int, 2> ends;
  ASSERT_EQ(pipe(ends.data()), 0);
  auto watch = reactor_->on_fd(ends[0], kReadable, [](unsigned) {});
  const auto again = reactor_->on_fd(ends[0], kReadable, [](unsigned) {});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Errc::exists);
  FILE* file = tmpfile();
  EXPECT_FALSE(reactor_->on_fd(fileno(file), kReadable, [](unsigned) {}));
  fclose(file);
  watch->cancel();
  EXPECT_TRUE(reactor_->on_fd(ends[0], kReadable, [](unsigned) {}));
  close(ends[0]);
  close(ends[1]);
}

TEST_F(ReactorTest, EverySubscriberOfASignalIsCalledAndTheMaskIsRestored) {
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  int first = 0, second = 0;
  {
    auto a = reactor_->on_signal(SIGUSR1, [&] { ++first; });
    auto b = reactor_->on_signal(SIGUSR1, [&] { ++second; });
    ASSERT_TRUE(a && b);
    kill(getpid(), SIGUSR1);
    EXPECT_TRUE(reactor_->run_until([&] { return first == 1 && second == 1; }, 30'000));
    kill(getpid(), SIGUSR1);  // pending when the watch ends: must not kill the test
  }
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(sigismember(&before, SIGUSR1), sigismember(&after, SIGUSR1));
  EXPECT_FALSE(reactor_->on_signal(SIGKILL, [] {}));
}

TEST_F(ReactorTest, AChildsStatusAndUsageArrive) {
  const pid_t pid = shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 7");
  ChildExit got;
  auto watch = reactor_->on_child(pid, [&](const ChildExit& exit) { got = exit; });
  ASSERT_TRUE(watch);
  EXPECT_TRUE(reactor_->run_until([&] { return got.pid != 0; }, 20000));
  EXPECT_EQ(got.pid, pid);
  EXPECT_TRUE(WIFEXITED(got.status));
  EXPECT_EQ(WEXITSTATUS(got.status), 7);
  EXPECT_GT(got.usage.ru_utime.tv_sec * 1000000 + got.usage.ru_utime.tv_usec, 0);
  EXPECT_GT(got.usage.ru_maxrss, 0);
}

TEST_F(ReactorTest, AChildThatEndedBeforeItWasWatchedIsStillReported) {
  const pid_t pid = shell("exit 3");
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  int status = -2;
  auto watch = reactor_->on_child(pid, [&](const ChildExit& exit) { status = exit.status; });
  ASSERT_TRUE(watch);
  EXPECT_TRUE(reactor_->run_until([&] { return status != -2; }, 30'000));
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

TEST_F(ReactorTest, OtherChildrenAreReapedAndWatchedOnesKeepTheirWatch) {
  int watched = 0;
  std::vector<pid_t> others;
  auto rest =
      reactor_->on_other_children([&](const ChildExit& exit) { others.push_back(exit.pid); });
  ASSERT_TRUE(rest);
  const pid_t mine = shell("exit 1");
  auto watch = reactor_->on_child(mine, [&](const ChildExit&) { ++watched; });
  const pid_t stranger = shell("exit 0");
  EXPECT_TRUE(reactor_->run_until([&] { return watched == 1 && !others.empty(); }, 30'000));
  EXPECT_EQ(others, std::vector<pid_t>{stranger});
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a zombie is left";
}

TEST_F(ReactorTest, WatchingAProcessThatDoesNotExistSaysSo) {
  const pid_t pid = shell("exit 0");
  waitpid(pid, nullptr, 0);
  const auto watch = reactor_->on_child(pid, [](const ChildExit&) {});
  ASSERT_FALSE(watch);
  EXPECT_EQ(watch.error().code, Errc::not_found);
}

TEST_F(ReactorTest, ASubscriptionMayOutliveItsReactor) {
  Subscription timer = reactor_->after(1000, [] {});
  auto signal = reactor_->on_signal(SIGUSR2, [] {});
  reactor_.reset();
  timer.cancel();
  signal->cancel();
}

}  // namespace
}  // namespace holon::transport
