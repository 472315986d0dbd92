// What a mark says of a process, who is found by it, and who does not outlive whom.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "launch/lifeline.hpp"
#include "launch/tracking/leftovers.hpp"
#include "launch/tracking/lineage.hpp"
#include "tests/launch/fixture.hpp"

namespace holon::launch {
namespace {

TEST(Lineage, NamesTheJobInEveryTreeTheProcessIsInsideOf) {
  const std::string outer = lineage_of_job(lineage_of_root("", "a"), 3);
  EXPECT_EQ(outer, "a/3");
  EXPECT_EQ(lineage_of_job(outer, 7), "a/3/7");
  EXPECT_EQ(lineage_of_job(lineage_of_root(outer, "b"), 1), "a/3 b/1");
  EXPECT_EQ(jobs_prefix("a/3 b/"), "b/");
  EXPECT_EQ(jobs_prefix("a/3"), "a/3/");
}

TEST(Lineage, AJobIsWithinItsInstanceAndThoseAbove) {
  for (const char* inside : {"a/3", "a/3/7", "x/1 a/3/7", "a/3/7 x/1"})
    EXPECT_TRUE(is_within(inside, "a/3/")) << inside;
  for (const char* outside : {"", "a/", "a/33", "b/3/7", "aa/3"})
    EXPECT_FALSE(is_within(outside, "a/3/")) << outside;
  EXPECT_TRUE(is_within("a/", "a/"));
  EXPECT_EQ(job_within("a/3/7 b/1", "a/"), 3U);
  EXPECT_EQ(job_within("a/3/7 b/1", "a/3/"), 7U);
  EXPECT_EQ(job_within("a/3/7 b/1", "b/"), 1U);
  EXPECT_EQ(job_within("a/3", "a/3/"), std::nullopt) << "the child's own processes";
  EXPECT_EQ(job_within("a/", "a/"), std::nullopt);
}

// Each test has marks of its own: another one may run beside it, and would end its processes.
class LeftoversTest : public ProcessTest {
 protected:
  // `sh -c script` with this lineage ("": with an empty environment), started in `dir_`. Returns
  // when it is that: before, it is a copy of this process, which has no lineage.
  pid_t run(const std::string& lineage, const std::string& script) {
    const std::string entry = std::string(kLineage) + "=" + lineage;
    const std::array<const char*, 4> argv = {"sh", "-c", script.c_str(), nullptr};
    const std::array<const char*, 2> env = {lineage.empty() ? nullptr : entry.c_str(), nullptr};
    std::array<int, 2> until_exec{};
    EXPECT_EQ(pipe2(until_exec.data(), O_CLOEXEC), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      if (chdir(dir_.c_str()) != 0) _exit(1);
      execve("/bin/sh", const_cast<char**>(argv.data()), const_cast<char**>(env.data()));
      _exit(127);
    }
    pids_.push_back(pid);
    close(until_exec[1]);
    char nothing = 0;
    EXPECT_EQ(::read(until_exec[0], &nothing, 1), 0);
    close(until_exec[0]);
    return pid;
  }
  void TearDown() override {
    for (const pid_t pid : pids_) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
    ProcessTest::TearDown();
  }
  bool end(Leftovers::What what) {
    Leftovers remains(std::move(what));
    return until([&] { return remains.end(); });
  }
  std::vector<pid_t> pids_;
};

TEST_F(LeftoversTest, WhatIsOfTheInstanceIsEndedAndNothingElse) {
  const pid_t task = run("mark1-1/3/7", "exec sleep 1000");
  const pid_t own = run("mark1-1/", "exec sleep 1000");
  const pid_t other = run("mark1-2/3", "exec sleep 1000");
  const pid_t nobodys = run("", "exec /bin/sleep 1000");
  EXPECT_TRUE(end({.prefix = "mark1-1/"}));
  EXPECT_FALSE(alive(task));
  EXPECT_TRUE(alive(own)) << "no job's";
  EXPECT_TRUE(end({.prefix = "mark1-1/", .of_instance = true}));
  EXPECT_FALSE(alive(own));
  EXPECT_TRUE(alive(other));
  EXPECT_TRUE(alive(nobodys));
}

// The tasks of another agent of the same instance have the same mark.
TEST_F(LeftoversTest, WhatIsBelowAProcessThatIsSparedStays) {
  const pid_t lost = run("mark2-1/3", "exec sleep 1000");
  const pid_t other = run("mark2-1/", "HOLON_LINEAGE=mark2-1/3 sleep 1000 & echo $! > task; wait");
  ASSERT_TRUE(until([&] { return !read(dir_ + "/task").empty(); }));
  const pid_t task = std::stoi(read(dir_ + "/task"));
  ASSERT_TRUE(until([&] { return variable_of(*stat_of(task), kLineage) == "mark2-1/3"; }));
  EXPECT_TRUE(end({.prefix = "mark2-1/", .spare = [other] { return std::vector<pid_t>{other}; }}));
  EXPECT_FALSE(alive(lost));
  EXPECT_TRUE(alive(task));
  EXPECT_TRUE(end({.prefix = "mark2-1/"}));
  EXPECT_FALSE(alive(task));
}

// What the test after this one runs, with a mark that its parent has, too.
TEST_F(LeftoversTest, DISABLED_EndsTheInstanceItIsPartOf) {
  EXPECT_TRUE(end({.prefix = "mark-3/", .of_instance = true}));
}

TEST_F(LeftoversTest, WhoAsksIsNeverMeantNorWhomItComesFrom) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const pid_t other = run("mark-3/2", "exec sleep 1000");
  // Before its first exec it is a copy of this process, without the mark.
  ASSERT_TRUE(until([&] { return variable_of(*stat_of(other), kLineage) == "mark-3/2"; }));
  const pid_t asks = run("mark-3/1", self +
                                         " --gtest_filter=LeftoversTest.DISABLED_* "
                                         "--gtest_also_run_disabled_tests > said; exit $?");
  int status = -1;
  EXPECT_TRUE(until([&] { return waitpid(asks, &status, WNOHANG) == asks; }));
  EXPECT_EQ(status, 0) << read(dir_ + "/said");
  EXPECT_FALSE(alive(other));
  std::erase(pids_, asks);
}

// While a process becomes another program it has no environment for some microseconds.
TEST_F(LeftoversTest, AProcessThatIsJustBecomingAnotherProgramIsNotTakenForOneWithoutMark) {
  std::ofstream(dir_ + "/again") << "exec /bin/sh ./again\n";
  const pid_t pid = run("mark-4/1", "exec /bin/sh ./again");
  // Before its first exec it is a copy of this process.
  ASSERT_TRUE(until([&] { return variable_of(*stat_of(pid), kLineage) == "mark-4/1"; }));
  int inconclusive = 0;
  for (int look = 0; look < 10'000; ++look) {
    const auto stat = stat_of(pid);
    ASSERT_TRUE(stat);
    const auto lineage = variable_of(*stat, kLineage);
    if (!lineage) ++inconclusive;
    ASSERT_EQ(lineage.value_or("mark-4/1"), "mark-4/1");
  }
  RecordProperty("inconclusive", inconclusive);
  EXPECT_TRUE(end({.prefix = "mark-4/"}));
  EXPECT_FALSE(alive(pid));
}

// A parent whose child holds on to it; the child's loop is one that never looks.
pid_t parent_with_child(int patience, pid_t& child) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    if (fork() == 0) {
      const auto line = Lifeline::to_parent(getppid(), patience);
      const pid_t self = line ? getpid() : 0;
      if (write(ends[1], &self, sizeof self) < 0) _exit(1);
      for (;;) pause();
    }
    for (;;) pause();
  }
  EXPECT_EQ(read(ends[0], &child, sizeof child), ssize_t{sizeof child});
  close(ends[0]);
  close(ends[1]);
  return parent;
}

class LifelineTest : public ProcessTest {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "the thread sanitizer cannot follow a process with threads through fork()";
#endif
    ProcessTest::SetUp();
  }
};

TEST_F(LifelineTest, WhoseParentDiesEndsThoughItsLoopHangs) {
  pid_t child = 0;
  const pid_t parent = parent_with_child(10, child);
  ASSERT_GT(child, 0);
  EXPECT_TRUE(alive(child));
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_TRUE(until([&] { return !alive(child); }));
}

TEST_F(LifelineTest, AStoppedProcessIsWokenByItsParentsEnd) {
  pid_t child = 0;
  const pid_t parent = parent_with_child(10, child);
  ASSERT_GT(child, 0);
  kill(child, SIGSTOP);
  ASSERT_TRUE(until([&] { return stat_of(child)->state == 'T'; }));
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_TRUE(until([&] { return !alive(child); }));
}

TEST_F(LifelineTest, WhoIsNotOurParentCannotHoldUs) {
  EXPECT_EQ(Lifeline::to_parent(getpid(), 1000).error().code, Errc::disconnected);
}

}  // namespace
}  // namespace holon::launch
