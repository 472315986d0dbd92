// A broker that hangs: noticed, told, started again; a job at which that happens twice is set
// aside. And it does not outlive its supervisor.
#include "instance/process/watchdog.hpp"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "instance/process/crash_guard.hpp"
#include "instance/process/lifeline.hpp"
#include "instance/process/spawn.hpp"
#include "msg/queue.hpp"
#include "msg/schedule.hpp"
#include "tests/instance/live.hpp"
#include "tests/instance/process/tampered_clock.hpp"

namespace holon::instance {
namespace {

using testing::alive;
using testing::eventually;
using ::testing::HasSubstr;
using testing::JobOptions;
using testing::Live;
using testing::TamperedClock;

// ---- the page that both have ----

TEST(Pulse, AJobAtWhichTwoBrokersInARowFailedIsSuspect) {
  auto pulse = std::move(*Pulse::create());
  const auto fail_at = [&](std::uint64_t job) {
    pulse.begin();
    pulse.looking_at() = job;
    pulse.failed();
  };
  fail_at(7);
  EXPECT_EQ(pulse.take_suspect(), std::nullopt);
  fail_at(8);
  fail_at(7);
  EXPECT_EQ(pulse.take_suspect(), std::nullopt) << "not in a row";
  fail_at(0);  // at no job
  fail_at(7);
  EXPECT_EQ(pulse.take_suspect(), (Suspect{JobId(7), true}));
  EXPECT_EQ(pulse.take_suspect(), std::nullopt) << "it has been told";
  fail_at(7);
  EXPECT_EQ(pulse.take_suspect(), std::nullopt);
  pulse.turn();
  pulse.failed();
  EXPECT_EQ(pulse.take_suspect(), (Suspect{JobId(7), false})) << "one of them had made a turn";
}

TEST(Pulse, IsSharedThroughItsDescriptor) {
  auto mine = std::move(*Pulse::create());
  auto yours = Pulse::open(transport::UniqueFd(dup(mine.fd())));
  ASSERT_TRUE(yours);
  EXPECT_EQ(mine.turns(), 0u);
  yours->turn();
  EXPECT_EQ(mine.turns(), 1u);
  yours->ask_for_agent(true);
  EXPECT_TRUE(mine.asks_for_agent());
  mine.give_up_agent();
  EXPECT_TRUE(yours->agent_given_up());
  mine.begin();
  EXPECT_FALSE(mine.asks_for_agent()) << "that was another broker's";
  const auto pipe = make_pipe();
  EXPECT_FALSE(Pulse::open(transport::UniqueFd(dup(pipe->read.get()))));
  EXPECT_FALSE(Pulse::open(transport::UniqueFd(-1)));
}

// The page of a supervisor of an earlier version ends before the last two numbers.
TEST(Pulse, OfAnOlderSupervisorSaysNothingOfAgents) {
  const transport::UniqueFd page(memfd_create("older", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(page.get(), 7 * sizeof(std::uint64_t)), 0);
  auto pulse = Pulse::open(transport::UniqueFd(dup(page.get())));
  ASSERT_TRUE(pulse) << to_string(pulse.error());
  EXPECT_FALSE(pulse->agent_given_up());
  pulse->ask_for_agent(true);
  pulse->turn();
  EXPECT_EQ(pulse->turns(), 1u);
  ASSERT_EQ(ftruncate(page.get(), 6 * sizeof(std::uint64_t)), 0);
  EXPECT_FALSE(Pulse::open(transport::UniqueFd(dup(page.get()))));
}

TEST(CrashGuard, CountsCrashesThatAreCloseTogether) {
  CrashGuard guard;
  for (std::size_t i = 0; i < kCrashes; ++i) EXPECT_TRUE(guard.crashed(1'000));
  EXPECT_FALSE(guard.crashed(2'000));
  EXPECT_TRUE(guard.crashed(2'000 + kCrashWindow + 1));
}

// ---- the watchdog ----

class WatchdogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    pid_ = fork();
    if (pid_ == 0) {
      while (true) pause();
    }
  }
  void TearDown() override {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  static constexpr Duration kPatience = 80;

  pid_t pid_ = 0;
  std::unique_ptr<transport::Reactor> reactor_ = std::move(*transport::Reactor::create());
  Pulse pulse_ = std::move(*Pulse::create());
};

TEST_F(WatchdogTest, NoticesALoopThatDoesNotTurn) {
  Watchdog watchdog(*reactor_, pulse_, kPatience);
  bool hangs = false;
  int turns = 0;
  watchdog.watch(pid_, [&] { hangs = true; });
  auto ticks = reactor_->every(5, [&] {
    if (++turns <= 50) pulse_.turn();
  });
  EXPECT_TRUE(reactor_->run_until([&] { return hangs; }, 30'000));
  EXPECT_GT(turns, 50) << "not while it turned";
}

TEST_F(WatchdogTest, NoticesABeginningThatDoesNotGetOn) {
  Watchdog watchdog(*reactor_, pulse_, kPatience);
  bool hangs = false;
  int beats = 0;
  watchdog.watch(pid_, [&] { hangs = true; });
  auto ticks = reactor_->every(5, [&] {
    if (++beats <= 50) pulse_.beat_at(JobId(3));
  });
  EXPECT_TRUE(reactor_->run_until([&] { return hangs; }, 30'000));
  EXPECT_GT(beats, 50) << "not while it got on";
  EXPECT_EQ(pulse_.turns(), 0u);
}

TEST_F(WatchdogTest, DoesNotMindOneThatIsStopped) {
  kill(pid_, SIGSTOP);
  waitpid(pid_, nullptr, WUNTRACED);
  pulse_.turn();
  bool stopped = false, never = false, hangs = false;
  Watchdog of_stopped(*reactor_, pulse_, kPatience), off(*reactor_, pulse_, 0),
      control(*reactor_, pulse_, 2 * kPatience);
  of_stopped.watch(pid_, [&] { stopped = true; });
  off.watch(getpid(), [&] { never = true; });
  control.watch(getpid(), [&] { hangs = true; });
  EXPECT_TRUE(reactor_->run_until([&] { return hangs; }, 30'000));
  EXPECT_FALSE(stopped || never);
  kill(pid_, SIGCONT);
  EXPECT_TRUE(reactor_->run_until([&] { return stopped; }, 30'000)) << "it goes on, and hangs";
}

// ---- the lifeline ----

// How a process ends that holds `line`, whose other end is closed; `live` is what its loop does.
int ends_with(Duration to_notice, Duration to_end,
              const std::function<void(std::unique_ptr<Lifeline>, int fd)>& live) {
  auto pipe = std::move(*make_pipe());
  const pid_t pid = fork();
  if (pid == 0) {
    pipe.write = {};
    auto line = Lifeline::hold(pipe.read.get(), to_notice, to_end);
    if (!line) _exit(99);
    live(std::move(*line), pipe.read.get());
    _exit(0);
  }
  pipe.write = {};
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

void spin() {
  const std::atomic<bool> for_ever{true};
  while (for_ever) {
  }
}

TEST(Lifeline, EndsAProcessThatDoesNotNotice) {
  const int status = ends_with(50, 60'000, [](auto, int) { spin(); });
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST(Lifeline, EndsAProcessThatDoesNotComeToItsEnd) {
  const int status = ends_with(60'000, 50, [](auto line, int) {
    line->noticed();
    spin();
  });
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST(Lifeline, LeavesAProcessAloneThatEnds) {
  EXPECT_EQ(ends_with(60'000, 60'000,
                      [](auto line, int fd) {
                        char byte = 0;
                        while (read(fd, &byte, 1) > 0) continue;
                        line->noticed();
                      }),
            0);
}

// ---- all of it in a live instance ----

std::string log_of(const Live& live) {
  return testing::read_file(live.dir() + "/state/instance.log");
}

// The page of a broker, of which the test has a share.
Pulse pulse_of(pid_t broker) {
  const std::string dir = "/proc/" + std::to_string(broker) + "/fd";
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    std::error_code ignored;
    if (std::filesystem::read_symlink(entry, ignored).string().find("holon pulse") ==
        std::string::npos)
      continue;
    return std::move(*Pulse::open(transport::UniqueFd(open(entry.path().c_str(), O_RDWR))));
  }
  ADD_FAILURE() << "the broker shows no pulse";
  return std::move(*Pulse::create());
}

class HangingBroker : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!TamperedClock::kAvailable) GTEST_SKIP();
  }
  // Makes the broker spin, in a pass over `job` for all it shows, and returns when another is
  // there.
  void hang(const Live& live, std::uint64_t job) {
    const pid_t before = live.broker();
    ASSERT_NE(before, 0);
    Pulse pulse = pulse_of(before);
    clock_.hang(before);
    ASSERT_TRUE(eventually([&] {
      if (alive(before)) pulse.looking_at() = job;
      return live.broker() != 0 && live.broker() != before;
    })) << log_of(live);
    clock_.hang(0);
  }
  // The same, before a first turn: of the next two brokers. The third answers.
  void hang_two_beginnings(const Live& live, std::uint64_t job) {
    Pulse pulse = pulse_of(live.broker());
    clock_.hang_brokers(2);
    testing::signal_process(live.broker(), SIGKILL);
    pid_t before = 0;
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(eventually([&] { return clock_.hung_broker() != before; })) << log_of(live);
      pulse.looking_at() = job;
      before = clock_.hung_broker();
    }
    ASSERT_TRUE(eventually([&] { return live.broker() != 0 && live.broker() != before; }))
        << log_of(live);
    ASSERT_TRUE(live.status()) << log_of(live);
  }

  TamperedClock clock_;
};

TEST_F(HangingBroker, IsStartedAgainWithItsStackInTheLog) {
  const Live live({"--resources", "node=1/core=1", "--conf", "instance.watchdog=2s"});
  const auto job = live.job(live.gated("gate"));
  const auto before = live.when_running(job);
  hang(live, 0);
  EXPECT_EQ(live.record(job).pids, before.pids) << "its jobs run on";
  EXPECT_THAT(log_of(live), HasSubstr("the broker hangs: it has made no turn for 2000 ms"));
  EXPECT_THAT(log_of(live), HasSubstr("signal 06; its stack:\n"));
  EXPECT_THAT(log_of(live), HasSubstr("clock_gettime")) << "where it was";
  live.release("gate");
  EXPECT_EQ(live.wait_one(job).result, "COMPLETED");
}

TEST_F(HangingBroker, AJobAtWhichItHangsTwiceIsSetAsideAndTheOthersGoOn) {
  const Live live({"--resources", "node=1/core=1", "--conf", "instance.watchdog=2s"});
  const auto first = live.job(live.gated("gate"));
  live.when_running(first);
  const auto culprit = live.job({"/bin/true"});
  const auto next = live.job({"/bin/true"});
  hang(live, culprit);
  EXPECT_EQ(live.record(culprit).urgency, 16u) << "once may be chance";
  hang(live, culprit);
  const auto aside = live.record(culprit);
  EXPECT_EQ(aside.urgency, 0u);
  EXPECT_THAT(aside.reason, HasSubstr("failed twice in a row while it looked at this job"));
  const auto why = live.call<msg::ExplainReply>("explain", msg::ExplainRequest{{culprit}});
  ASSERT_TRUE(why) << why.error().what;
  EXPECT_EQ(why->jobs.at(0).reason, aside.reason);
  live.release("gate");
  EXPECT_EQ(live.wait_one(next).result, "COMPLETED");
  live.kill_broker();
  EXPECT_EQ(live.record(culprit).reason, aside.reason) << "a later broker knows";
  ASSERT_TRUE(live.call<msg::Empty>("urgency", msg::UrgencyRequest{{culprit}, 16}));
  EXPECT_EQ(live.wait_one(culprit).result, "COMPLETED");
}

TEST_F(HangingBroker, AJobAtWhichItHangsTwiceBeforeItsFirstTurnIsSetAside) {
  const Live live({"--resources", "node=1/core=1", "--conf", "instance.watchdog=2s"});
  const auto first = live.job(live.gated("gate"));
  const auto before = live.when_running(first);
  const auto culprit = live.job({"/bin/true"});
  const auto next = live.job({"/bin/true"});
  hang_two_beginnings(live, culprit);
  EXPECT_THAT(log_of(live),
              HasSubstr("the broker hangs as it begins: it has got no further for 2000 ms"));
  EXPECT_EQ(live.record(first).pids, before.pids) << "jobs run on";
  const auto aside = live.record(culprit);
  EXPECT_EQ(aside.urgency, 0u);
  EXPECT_THAT(aside.reason, HasSubstr("failed twice in a row while it looked at this job"));
  const auto why = live.call<msg::ExplainReply>("explain", msg::ExplainRequest{{culprit}});
  ASSERT_TRUE(why) << why.error().what;
  EXPECT_EQ(why->jobs.at(0).reason, aside.reason);
  live.release("gate");
  EXPECT_EQ(live.wait_one(next).result, "COMPLETED");
  EXPECT_EQ(live.record(culprit).state, "SCHED");
  ASSERT_TRUE(live.call<msg::Empty>("urgency", msg::UrgencyRequest{{culprit}, 16}));
  EXPECT_EQ(live.wait_one(culprit).result, "COMPLETED");
}

// What such a job holds cannot be given to anybody else while its tasks run.
TEST_F(HangingBroker, ARunningJobAtWhichItHangsTwiceBeforeItsFirstTurnIsOver) {
  const Live live({"--resources", "node=1/core=2", "--conf", "instance.watchdog=2s"});
  const auto culprit = live.job({"/bin/sleep", "600"});
  const auto tasks = live.when_running(culprit).pids;
  const auto other = live.job(live.gated("gate"));
  const auto before = live.when_running(other);
  hang_two_beginnings(live, culprit);
  const auto over = live.wait_one(culprit);
  EXPECT_EQ(over.result, "FAILED");
  EXPECT_THAT(over.reason, HasSubstr("failed twice in a row as it took this job up again"));
  EXPECT_EQ(live.wait_one(live.job({"/bin/true"})).result, "COMPLETED");
  EXPECT_FALSE(alive(static_cast<pid_t>(tasks.at(0)))) << "before its core was given away";
  EXPECT_EQ(live.record(other).pids, before.pids);
  live.release("gate");
  EXPECT_EQ(live.wait_one(other).result, "COMPLETED");
}

TEST_F(HangingBroker, ABeginningShowsThatItGetsOnAndAtWhichJobItIs) {
  const Live live({"--resources", "node=1/core=1", "--conf", "instance.watchdog=30s"});
  live.when_running(live.job(live.gated("gate")));
  JobOptions many;
  many.count = 200;
  live.job({"/bin/true"}, many);
  live.kill_broker();
  ASSERT_TRUE(live.status());
  Pulse pulse = pulse_of(live.broker());
  const auto beats = pulse.signs() - pulse.turns();
  EXPECT_GE(beats, 2 * many.count) << "as each is read, and as the scheduler is told of it";
  EXPECT_EQ(pulse.looking_at(), 0u) << "at none of them any more";
  live.release("gate");
}

TEST_F(HangingBroker, IsGoneSoonAfterItsSupervisor) {
  const Live live({"--resources", "node=1/core=1", "--conf", "instance.watchdog=1s"});
  const pid_t broker = live.broker(), agent = live.agent();
  clock_.hang(broker);
  testing::signal_process(live.supervisor(), SIGKILL);
  EXPECT_TRUE(eventually([&] { return !alive(broker); }));
  EXPECT_THAT(log_of(live), ::testing::Not(HasSubstr("its supervisor is gone")));
  testing::signal_process(agent, SIGTERM);
  EXPECT_TRUE(eventually([&] { return !alive(agent); }));
}

TEST(ABrokerThatCrashes, SaysWhereItWas) {
  const Live live({"--resources", "node=1/core=1"});
  const pid_t before = live.broker();
  testing::signal_process(before, SIGABRT);
  EXPECT_TRUE(eventually([&] { return live.broker() != 0 && live.broker() != before; }));
  EXPECT_THAT(log_of(live), HasSubstr("holon broker: signal 06; its stack:\n"));
}

}  // namespace
}  // namespace holon::instance
