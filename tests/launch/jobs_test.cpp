// Real processes: how they start, what they see, how they end, and that nothing is left of them.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <optional>
#include <set>

#include "tests/launch/fixture.hpp"

namespace holon::launch {
namespace {

TEST_F(JobsTest, ExitCodesAndSignalsAreReportedAsTheyAre) {
  const auto good = run("exit 0");
  EXPECT_EQ(good.reason, "exit");
  EXPECT_EQ(good.exit_code, 0);
  ASSERT_EQ(good.tasks.size(), 1U);
  EXPECT_TRUE(WIFEXITED(good.tasks[0].status));
  EXPECT_GT(good.t_start, 0);
  EXPECT_GE(good.t_finish, good.t_start);

  EXPECT_EQ(run(shell("exit 7"), start(2)).exit_code, 7);
  const auto killed = run(shell("kill -SEGV $$"), start(3));
  EXPECT_EQ(killed.reason, "exit");
  EXPECT_EQ(killed.exit_code, 128 + SIGSEGV);
  EXPECT_TRUE(WIFSIGNALED(killed.tasks[0].status));
}

TEST_F(JobsTest, SecretsAreInheritedInADescriptorAndStandInNoEnvironment) {
  auto trusted = start(1);
  // No name of a file or of an instance contains this.
  trusted.secrets = {{"KEY", "value"}, {"TOKEN", "not-to-be-seen"}};
  run(shell("tr '\\0' ' ' <&3; env | grep -c 'not-to-be-seen\\|^KEY='"), trusted);
  EXPECT_EQ(read(dir_ + "/1.out"), "KEY=value TOKEN=not-to-be-seen 0\n");
  run(shell("echo ${HOLON_SECRETS_FD-none}; ls /proc/self/fd"), start(2));
  EXPECT_EQ(read(dir_ + "/2.out"), "none\n0\n1\n2\n3\n") << "3 is ls's own";
}

TEST_F(JobsTest, UsageOfTheTaskAndItsChildrenIsMeasured) {
  const auto ended = run("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done");
  EXPECT_GT(ended.tasks[0].cpu_ms, 0);
  EXPECT_GT(ended.tasks[0].max_rss_kb, 100);
}

TEST_F(JobsTest, ACommandThatIsNotThereSaysSo) {
  const auto ended = run(program({"no-such-command-here"}), start(1));
  EXPECT_EQ(ended.reason, "exec");
  EXPECT_EQ(ended.exit_code, 127);
  EXPECT_EQ(ended.what, "command \"no-such-command-here\" not found in PATH");
  EXPECT_EQ(ended.t_start, 0);
  EXPECT_FALSE(ended.tasks[0].started);
  EXPECT_EQ(
      run(program({"ls -la"}), start(5)).what,
      "command \"ls -la\" not found in PATH; it holds a blank: drop the quotes, or use sh -c");
  const auto path = run(program({"/no/such/file"}), start(2));
  EXPECT_EQ(path.exit_code, 127);
  EXPECT_EQ(path.what, "cannot start \"/no/such/file\": No such file or directory");
  EXPECT_FALSE(path.denied) << "nobody refuses what is not there";
  EXPECT_EQ(run(program({""}), start(3)).exit_code, 127);
  EXPECT_EQ(run(program({}), start(4)).exit_code, 127);
}

TEST_F(JobsTest, AFileThatMayNotBeExecutedSaysSo) {
  std::ofstream(dir_ + "/data") << "not a program";
  const auto ended = run(program({dir_ + "/data"}), start(1));
  EXPECT_EQ(ended.exit_code, 126);
  EXPECT_EQ(ended.what, "cannot start \"" + dir_ + "/data\": Permission denied");
  EXPECT_TRUE(ended.denied);
  const auto directory = run(program({dir_}), start(2));
  EXPECT_EQ(directory.exit_code, 126);
}

TEST_F(JobsTest, AScriptWithoutFirstLineIsRunByTheShell) {
  std::ofstream(dir_ + "/script") << "echo ran $1\n";
  chmod((dir_ + "/script").c_str(), 0755);
  const auto ended = run(program({"./script", "well"}), start(1));
  EXPECT_EQ(ended.exit_code, 0) << ended.what;
  EXPECT_EQ(output(), "ran well\n");
}

TEST_F(JobsTest, AMissingInterpreterIsNotCalledAMissingFile) {
  std::ofstream(dir_ + "/script") << "#!/no/such/interpreter\n";
  chmod((dir_ + "/script").c_str(), 0755);
  const auto ended = run(program({dir_ + "/script"}), start(1));
  EXPECT_EQ(ended.exit_code, 126);
  EXPECT_NE(ended.what.find("interpreter"), std::string::npos) << ended.what;
}

TEST_F(JobsTest, TheWorkingDirectoryIsEnteredOrItsAbsenceReported) {
  run("pwd");
  EXPECT_EQ(output(), dir_ + "\n");
  auto lost = shell("pwd");
  lost.cwd = dir_ + "/gone";
  auto to = start(2);
  const auto ended = run(lost, to);
  EXPECT_EQ(ended.reason, "exec");
  EXPECT_EQ(ended.exit_code, 126);
  EXPECT_EQ(ended.what,
            "cannot enter the working directory \"" + dir_ + "/gone\": No such file or directory");
}

TEST_F(JobsTest, AnOutputFileThatCannotBeWrittenIsNamedAndNothingRuns) {
  auto to = start(1);
  to.output = dir_ + "/no/such/dir/out";
  const auto ended = run(shell("touch ran"), to);
  EXPECT_EQ(ended.reason, "exec");
  EXPECT_EQ(ended.what, "cannot write to the output file \"" + dir_ +
                            "/no/such/dir/out\": No such file or directory");
  EXPECT_FALSE(std::filesystem::exists(dir_ + "/ran"));
}

TEST_F(JobsTest, ANamedPipeWithoutReaderDoesNotStopTheAgent) {
  ASSERT_EQ(mkfifo((dir_ + "/pipe").c_str(), 0600), 0);
  auto to = start(1);
  to.output = dir_ + "/pipe";
  EXPECT_EQ(run(shell("echo x"), to).reason, "exec");
}

// More than a pipe holds: whoever writes waits until somebody reads, and that must not be the
// agent.
TEST_F(JobsTest, ANamedPipeThatIsReadSlowlyMakesItsTasksWaitAndNobodyElse) {
  ASSERT_EQ(mkfifo((dir_ + "/pipe").c_str(), 0600), 0);
  const UniqueFd reader(open((dir_ + "/pipe").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  auto to = start(1, 2);
  to.output = dir_ + "/pipe";
  ASSERT_TRUE(jobs_->start(request(shell("yes | head -c 200000"), to)));
  EXPECT_EQ(run(shell("true"), start(2)).exit_code, 0);
  EXPECT_FALSE(finished_.contains(1));
  std::size_t got = 0;
  EXPECT_TRUE(until([&] {
    std::array<char, 65536> some;
    for (ssize_t n = 1; n > 0; got += n > 0 ? static_cast<std::size_t>(n) : 0)
      n = ::read(reader.get(), some.data(), some.size());
    return finished_.contains(1) && got == 400000;
  }));

  to = start(3, 2);
  to.output = dir_ + "/pipe";
  to.label = true;
  const auto refused = run(shell("true"), to);
  EXPECT_EQ(refused.reason, "exec");
  EXPECT_NE(refused.what.find("no regular file"), std::string::npos) << refused.what;
}

TEST_F(JobsTest, OutputGoesWhereItWasAskedTo) {
  run("echo out; echo err >&2");
  EXPECT_EQ(output(), "out\nerr\n") << "merged, in the order of writing";

  auto two = start(2);
  two.error = "2.err";  // relative to the working directory
  run(shell("echo out; echo err >&2"), two);
  EXPECT_EQ(output(2), "out\n");
  EXPECT_EQ(read(dir_ + "/2.err"), "err\n");

  auto add = start(2);
  add.truncate = false;
  jobs_->acknowledge({finished_[2]}, {});
  finished_.clear();
  run(shell("echo more"), add);
  EXPECT_EQ(output(2), "out\nmore\n");

  auto none = start(3);
  none.output = "";
  EXPECT_EQ(run(shell("echo nowhere"), none).exit_code, 0);
}

TEST_F(JobsTest, EachTaskCanHaveItsOwnFile) {
  auto to = start(1, 3);
  to.output = dir_ + "/task-{{taskid}}.out";
  run(shell("echo I am $HOLON_TASK_RANK"), to);
  for (const std::string rank : {"0", "1", "2"})
    EXPECT_EQ(read(dir_ + "/task-" + rank + ".out"), "I am " + rank + "\n");
}

TEST_F(JobsTest, LabelledOutputHasTheRankBeforeEveryLineAndKeepsUnfinishedOnes) {
  auto to = start(1, 2);
  to.label = true;
  run(shell("echo a; printf b; if [ $HOLON_TASK_RANK = 1 ]; then yes | head -c 200000; fi"), to);
  std::ifstream file(dir_ + "/1.out");
  std::map<std::string, int> lines;
  for (std::string line; std::getline(file, line);) ++lines[line];
  EXPECT_EQ(lines["0: a"], 1);
  EXPECT_EQ(lines["1: a"], 1);
  EXPECT_EQ(lines["0: b"], 1);
  EXPECT_EQ(lines["1: by"], 1);
  EXPECT_EQ(lines["1: y"], 99999);
  EXPECT_EQ(lines.size(), 5U);
}

TEST_F(JobsTest, TasksSeeWhoTheyAre) {
  auto to = start(5, 2);
  to.path = "/3/5";
  to.ntasks = 6;
  to.nnodes = 3;
  to.node_index = 1;
  to.nodelist = "n[0-2]";
  to.tasks = {{2, "0-1", ""}, {3, "2-3", ""}};
  to.cores = "0-3";
  to.env = {{"HOLON_URI", "ipc:///x"}};
  to.output = dir_ + "/{{taskid}}";
  run(shell("echo $HOLON_JOB_ID $HOLON_JOB_PATH $HOLON_TASK_RANK $HOLON_LOCAL_RANK $HOLON_NTASKS "
            "$HOLON_LOCAL_NTASKS "
            "$HOLON_NNODES $HOLON_NODE_INDEX \"$HOLON_NODELIST\" $HOLON_CORES $OMP_NUM_THREADS "
            "$HOLON_URI"),
      to);
  EXPECT_EQ(read(dir_ + "/2"), "5 /3/5 2 0 6 2 3 1 n[0-2] 0-1 2 ipc:///x\n");
  EXPECT_EQ(read(dir_ + "/3"), "5 /3/5 3 1 6 2 3 1 n[0-2] 2-3 2 ipc:///x\n");
}

TEST_F(JobsTest, OnlyTheProgramsOwnEnvironmentIsPassedUnlessAskedForMore) {
  setenv("HOLON_TEST_LEAK", "yes", 1);
  auto jobs = std::make_unique<Jobs>(JobContext{*reactor_, std::move(*own_processes(*reactor_)),
                                                std::move(*Node::discover("")), NodeFrame{}});
  unsetenv("HOLON_TEST_LEAK");
  int ended = 0;
  jobs->on_finished([&](const msg::Finished&) { ++ended; });
  auto strict = shell("echo ${HOLON_TEST_LEAK:-none}");
  auto lax = strict;
  lax.inherit_env = true;
  ASSERT_TRUE(jobs->start(request(strict, start(1))));
  ASSERT_TRUE(jobs->start(request(lax, start(2))));
  EXPECT_TRUE(until([&] { return ended == 2; }));
  EXPECT_EQ(output(1), "none\n");
  EXPECT_EQ(output(2), "yes\n");
}

TEST_F(JobsTest, TasksInheritNoDescriptorAndNoBlockedSignal) {
  run("ls /proc/self/fd | tr '\\n' ' '; grep -E 'SigBlk|SigIgn' /proc/self/status");
  const std::string text = output();
  EXPECT_EQ(text.substr(0, 8), "0 1 2 3 ") << "3 is ls's own";
  EXPECT_NE(text.find("SigBlk:\t0000000000000000"), std::string::npos) << text;
  const auto at = text.find("SigIgn:\t");
  ASSERT_NE(at, std::string::npos);
  constexpr unsigned long kOfTheLibrary =
      0x180000000;  // 32 and 33, ignored by glibc's posix_spawn itself
  EXPECT_EQ(std::stoul(text.substr(at + 8, 16), nullptr, 16) & ~kOfTheLibrary, 0U) << text;
}

TEST_F(JobsTest, WhatTheAgentHasBegunToIgnoreIsNotIgnoredInItsTasks) {
  const std::array signals = {SIGPIPE, SIGURG, SIGRTMIN + 3};  // the last one is no standard signal
  for (const int signal : signals) std::signal(signal, SIG_IGN);
  run("grep SigIgn /proc/self/status");
  for (const int signal : signals) std::signal(signal, SIG_DFL);
  const std::string text = output();
  ASSERT_EQ(text.substr(0, 8), "SigIgn:\t") << text;
  const auto ignored = std::stoul(text.substr(8, 16), nullptr, 16);
  for (const int signal : signals)
    EXPECT_EQ(ignored >> (signal - 1) & 1, 0U) << "signal " << signal << ": " << text;
}

TEST_F(JobsTest, BoundTasksRunOnTheirCoresAndTheAgentStaysWhereItWas) {
  const auto before = CpuMask::current();
  auto to = start(1);
  to.bind = true;
  to.cores = "0";
  run(shell("grep Cpus_allowed_list /proc/self/status"), to);
  const auto node = Node::discover("");
  const auto cpus = node->cpus_of(*Idset::parse("0"));
  std::string list;
  for (unsigned cpu = 0; cpu < 4096; ++cpu)
    if (cpus->contains(cpu)) list += (list.empty() ? "" : ",") + std::to_string(cpu);
  EXPECT_EQ(output(), "Cpus_allowed_list:\t" + list + "\n");
  EXPECT_EQ(*before, *CpuMask::current());
}

TEST_F(JobsTest, ACoreTheNodeDoesNotHaveIsAnErrorThatNamesIt) {
  auto to = start(1);
  to.bind = true;
  to.cores = "999999";
  const auto ended = run(shell("true"), to);
  EXPECT_EQ(ended.reason, "exec");
  EXPECT_NE(ended.what.find("core 999999 does not exist"), std::string::npos) << ended.what;
}

TEST_F(JobsTest, TheTimeLimitEndsAJobThatHeedsSigterm) {
  auto to = start(1);
  to.limit = 50;
  const auto ended =
      run(shell("trap 'echo got term; exit 3' TERM; while :; do sleep 0.01; done 2>/dev/null"), to);
  EXPECT_EQ(ended.reason, "timeout");
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_EQ(output(), "got term\n");
  EXPECT_GE(ended.t_finish - ended.t_start, 50);
}

TEST_F(JobsTest, AJobThatIgnoresSigtermIsKilledAfterItsGrace) {
  auto to = start(1);
  to.limit = 50;
  to.grace = 60;
  const auto ended = run(shell("trap '' TERM; while :; do sleep 0.01; done"), to);
  EXPECT_EQ(ended.reason, "timeout");
  EXPECT_EQ(ended.exit_code, 128 + SIGKILL);
  EXPECT_GE(ended.t_finish - ended.t_start, 110);
}

TEST_F(JobsTest, ALimitCanBeMovedWhileTheJobRuns) {
  auto to = start(1);
  to.limit = 60000;
  ASSERT_TRUE(jobs_->start(request(shell("exec sleep 100"), to)));
  ASSERT_TRUE(until([&] { return started_.contains(1); }));
  jobs_->limit({1, 20});
  ASSERT_TRUE(until([&] { return finished_.contains(1); }));
  EXPECT_EQ(finished_[1].reason, "timeout");
}

TEST_F(JobsTest, AStoppedJobCanStillBeEnded) {
  ASSERT_TRUE(jobs_->start(request(shell("kill -STOP $$; exit 0"), start(1))));
  ASSERT_TRUE(until([&] { return started_.contains(1); }));
  const auto pid = static_cast<pid_t>(started_[1].processes[0].pid);
  ASSERT_TRUE(until([&] {
    const auto stat = stat_of(pid);
    return stat && stat->state == 'T';
  }));
  jobs_->kill({{1}, 10000});
  ASSERT_TRUE(until([&] { return finished_.contains(1); }));
  EXPECT_EQ(finished_[1].reason, "killed");
  EXPECT_EQ(finished_[1].exit_code, 128 + SIGTERM);
}

TEST_F(JobsTest, AreWarnedOnceBeforeTheirLimit) {
  msg::Start to = start(1);
  to.warn_signal = SIGUSR1;
  to.warn_before = 60'000;
  ASSERT_TRUE(jobs_->start(request(
      shell("trap 'echo warned >> got' USR1; touch ready; while :; do sleep 0.01; done"), to)));
  ASSERT_TRUE(until([&] { return std::filesystem::exists(dir_ + "/ready"); }));
  EXPECT_FALSE(std::filesystem::exists(dir_ + "/got")) << "without a limit there is no warning";
  jobs_->limit({1, 60'000});
  ASSERT_TRUE(until([&] { return read(dir_ + "/got") == "warned\n"; }));
  jobs_->limit({1, 50'000});
  jobs_->limit({1, 1});
  ASSERT_TRUE(until([&] { return finished_.contains(1); }));
  EXPECT_EQ(finished_[1].reason, "timeout");
  EXPECT_EQ(read(dir_ + "/got"), "warned\n");
}

TEST_F(JobsTest, SignalsReachTheWholeProcessGroup) {
  ASSERT_TRUE(jobs_->start(request(
      shell("trap 'echo parent >> got; wait; exit 5' USR1; "
            "(trap 'echo child >> got; exit 0' USR1; touch ready; while :; do sleep 0.01; done) & "
            "while :; do sleep 0.01; done"),
      start(1))));
  ASSERT_TRUE(until([&] { return std::filesystem::exists(dir_ + "/ready"); }));
  jobs_->signal({{1}, SIGUSR1});
  ASSERT_TRUE(until([&] { return finished_.contains(1); }));
  EXPECT_EQ(finished_[1].exit_code, 5);
  EXPECT_EQ(finished_[1].reason, "exit");
  const std::string got = read(dir_ + "/got");
  EXPECT_NE(got.find("child"), std::string::npos);
  EXPECT_NE(got.find("parent"), std::string::npos);
}

TEST_F(JobsTest, WhatATaskLeavesBehindInItsGroupIsKilledWithIt) {
  run("sleep 1000 & echo $!");
  const pid_t left = std::stoi(output());
  EXPECT_TRUE(until([&] { return !stat_of(left).has_value(); }))
      << "process " << left << " is still there, or a zombie";
}

TEST_F(JobsTest, WhatGotAwayIntoASessionOfItsOwnIsKilledTooAndReaped) {
  run("setsid sh -c 'sleep 1000 & echo $! $$ > pids; mv pids ready; wait' & "
      "while [ ! -e ready ]; do sleep 0.01; done");
  std::istringstream pids(read(dir_ + "/ready"));
  pid_t child = 0, leader = 0;
  pids >> child >> leader;
  ASSERT_GT(child, 0);
  EXPECT_TRUE(until([&] { return !stat_of(child).has_value() && !stat_of(leader).has_value(); }));
}

TEST_F(JobsTest, OrphansOfAJobThatStillRunsAreLeftAlone) {
  ASSERT_TRUE(jobs_->start(request(
      shell("(setsid sh -c 'echo $$ > pid; mv pid orphan; exec sleep 1000' &) ; exec sleep 1000"),
      start(1))));
  ASSERT_TRUE(until([&] { return std::filesystem::exists(dir_ + "/orphan"); }));
  run(shell("true"), start(2));  // its end leads to a sweep
  const pid_t orphan = std::stoi(read(dir_ + "/orphan"));
  bool swept = false;
  const auto later = reactor_->after(200, [&] { swept = true; });
  ASSERT_TRUE(until([&] { return swept; }));
  EXPECT_TRUE(alive(orphan));
  jobs_->kill({{1}, 0});
  EXPECT_TRUE(until([&] { return !stat_of(orphan).has_value(); }));
}

TEST_F(JobsTest, AParallelJobEndsWithItsLastTaskAndReportsTheWorst) {
  auto to = start(1, 4);
  const auto ended = run(shell("exit $HOLON_TASK_RANK"), to);
  EXPECT_EQ(ended.exit_code, 3);
  ASSERT_EQ(ended.tasks.size(), 4U);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(ended.tasks[rank].rank, rank);
    EXPECT_EQ(WEXITSTATUS(ended.tasks[rank].status), static_cast<int>(rank));
  }
}

TEST_F(JobsTest, OneBadTaskEndsTheOthersWhereThatIsWanted) {
  auto to = start(1, 3);
  to.kill_on_bad_exit = true;
  const auto ended =
      run(shell("if [ $HOLON_TASK_RANK = 1 ]; then exit 9; fi; exec sleep 1000"), to);
  EXPECT_EQ(ended.reason, "abort");
  EXPECT_EQ(ended.exit_code, 9);
  EXPECT_EQ(ended.what, "task 1 ended with exit code 9 (--kill-on-bad-exit)");
  EXPECT_EQ(WEXITSTATUS(ended.tasks[1].status), 9);
  EXPECT_TRUE(WIFSIGNALED(ended.tasks[0].status));
}

TEST_F(JobsTest, WhereOneTaskCannotStartTheOthersDoNotRunOn) {
  auto to = start(1, 3);
  to.output = dir_ + "/d{{taskid}}/out";
  std::filesystem::create_directory(dir_ + "/d0");
  std::filesystem::create_directory(dir_ + "/d1");
  const auto ended = run(shell("exec sleep 1000"), to);
  EXPECT_EQ(ended.reason, "exec");
  EXPECT_TRUE(ended.tasks[0].started);
  EXPECT_TRUE(ended.tasks[1].started);
  EXPECT_FALSE(ended.tasks[2].started);
  EXPECT_TRUE(WIFSIGNALED(ended.tasks[0].status));
}

TEST_F(JobsTest, AJobIsRunOnceHoweverOftenItIsStarted) {
  const auto ask = request(shell("echo once >> count; exec sleep 1000"), start(1));
  ASSERT_TRUE(jobs_->start(ask));
  ASSERT_TRUE(jobs_->start(ask));
  ASSERT_TRUE(until([&] { return read(dir_ + "/count") == "once\n"; }));
  jobs_->kill({{1}, 0});
  ASSERT_TRUE(until([&] { return finished_.contains(1); }));
  ASSERT_TRUE(jobs_->start(ask)) << "finished and not acknowledged";
  EXPECT_TRUE(jobs_->idle());
  EXPECT_EQ(ends_, 1);
  EXPECT_EQ(read(dir_ + "/count"), "once\n");
  ASSERT_EQ(jobs_->unacknowledged().size(), 1U);
  jobs_->acknowledge(jobs_->unacknowledged(), {});
  EXPECT_TRUE(jobs_->unacknowledged().empty());
}

TEST_F(JobsTest, ManyJobsOfOneRequestAllRunAndAllArriveInOrderOfStart) {
  msg::StartRequest ask;
  ask.programs = {shell("exit 0"), shell("exit 1")};
  for (std::uint64_t job = 1; job <= 100; ++job) {
    auto one = start(job);
    one.program = job % 2;
    ask.jobs.push_back(one);
  }
  ASSERT_TRUE(jobs_->start(ask));
  EXPECT_FALSE(jobs_->idle());
  ASSERT_TRUE(until([&] { return finished_.size() == 100; }));
  for (const auto& [job, ended] : finished_)
    EXPECT_EQ(ended.exit_code, static_cast<int>(job % 2)) << job;
  EXPECT_TRUE(jobs_->idle());
}

TEST_F(JobsTest, AKillReachesJobsThatWaitForTheirTurnToStart) {
  msg::StartRequest ask;
  ask.programs = {shell("exec sleep 1000")};
  for (std::uint64_t job = 1; job <= 50; ++job) ask.jobs.push_back(start(job));
  ASSERT_TRUE(jobs_->start(ask));
  jobs_->kill_all(0, "killed");
  ASSERT_TRUE(until([&] { return finished_.size() == 50; }));
  EXPECT_EQ(ends_, 50);
  for (const auto& [job, ended] : finished_) EXPECT_EQ(ended.reason, "killed") << job;
  EXPECT_EQ(finished_[50].t_start, 0);
  EXPECT_LT(started_.size(), 50U);
}

TEST_F(JobsTest, ARequestThatMakesNoSenseIsRefusedWhole) {
  auto ask = request(shell("touch ran"), start(1));
  ask.jobs.push_back(start(2));
  ask.jobs.back().program = 7;
  const auto refused = jobs_->start(ask);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::invalid_argument);
  ask.jobs.back().program = 0;
  ask.jobs.back().tasks.clear();
  EXPECT_FALSE(jobs_->start(ask));
  reactor_->turn(0);
  EXPECT_TRUE(jobs_->idle());
  EXPECT_FALSE(std::filesystem::exists(dir_ + "/ran"));
}

TEST_F(JobsTest, NoZombieIsLeft) {
  for (std::uint64_t job = 1; job <= 10; ++job) run(shell("(sleep 0.01 &) ; true"), start(job));
  EXPECT_TRUE(until([&] { return own_children().empty(); }));
}

// Somebody who cancels again and again must not keep a job alive.
TEST_F(JobsTest, AskingForTheEndAgainMakesItNoLater) {
  auto to = start(1);
  to.grace = 300;
  ASSERT_TRUE(jobs_->start(request(shell("trap '' TERM; echo up; while :; do sleep 1; done"), to)));
  ASSERT_TRUE(until([&] { return output() == "up\n"; }));
  const auto again = reactor_->every(50, [&] { jobs_->kill({{1}, -1}); });
  EXPECT_TRUE(reactor_->run_until([&] { return finished_.contains(1); }, 30'000));
}

// A child instance takes a second SIGTERM as "everything now".
TEST_F(JobsTest, HoweverOftenTheEndIsAskedForThereIsOneSigterm) {
  ASSERT_TRUE(jobs_->start(
      request(shell("trap 'echo term' TERM; echo up; while [ ! -e go ]; do sleep 0.01; done "
                    "2>/dev/null"),
              start(1))));
  ASSERT_TRUE(until([&] { return output() == "up\n"; }));
  jobs_->kill({{1}, 60'000});
  ASSERT_TRUE(until([&] { return output() == "up\nterm\n"; }));
  jobs_->kill({{1}, 60'000});
  jobs_->kill({{1}, 50'000});
  std::ofstream(dir_ + "/go") << "";
  ASSERT_TRUE(until([&] { return finished_.contains(1); }));
  EXPECT_EQ(output(), "up\nterm\n");
}

// What a program writes at once depends on its buffer, not on its lines.
TEST_F(JobsTest, LinesOfTasksThatShareAFileDoNotMix) {
  run(shell("r=$HOLON_TASK_RANK; i=0; while [ $i -lt 200 ]; do "
            "printf $r; printf $r; printf \"$r\\n\"; i=$((i+1)); done"),
      start(1, 4));
  std::ifstream file(dir_ + "/1.out");
  std::map<std::string, int> lines;
  for (std::string line; std::getline(file, line);) ++lines[line];
  EXPECT_EQ(lines,
            (std::map<std::string, int>{{"000", 200}, {"111", 200}, {"222", 200}, {"333", 200}}));
}

TEST_F(JobsTest, OutputOfATaskIsKeptToTheByte) {
  run(shell("[ $HOLON_TASK_RANK = 0 ] || printf 'a\\n\\nb'"), start(1, 2));
  EXPECT_EQ(output(), "a\n\nb");
}

TEST_F(JobsTest, OfOutputBeyondItsLimitALineIsKeptAndTheJobRunsOn) {
  msg::Start to = start(1);
  to.output_limit = 10;
  const auto finished =
      run(shell("printf 123456; printf 789; printf abcdef; seq 100000; exit 3"), to);
  EXPECT_EQ(finished.exit_code, 3);
  EXPECT_EQ(output(),
            "123456789a\n[holon: the output was cut here, at 10 bytes (job.output-limit); the job "
            "runs on]\n");
}

TEST_F(JobsTest, ALimitOfOutputIsForAllTasksAndBothStreams) {
  msg::Start to = start(1, 3);
  to.output_limit = 24;
  to.error = dir_ + "/1.err";
  run(shell("echo 1234567; echo 89abcde >&2"), to);
  const std::string text = output() + read(dir_ + "/1.err");
  const auto note = text.find("\n[holon: ");
  ASSERT_NE(note, std::string::npos);
  EXPECT_EQ(text.find("[holon: ", note + 5), std::string::npos) << "it is said once";
  EXPECT_EQ(text.size(), 24 + text.substr(note).find("]\n") + 2) << text;
}

TEST_F(JobsTest, WhatIsWithinTheLimitOfOutputIsThereAtOnceAndWhole) {
  msg::Start to = start(1);
  to.output_limit = 1000;
  ASSERT_TRUE(jobs_->start(request(shell("printf now; exec sleep 1000"), to)));
  EXPECT_TRUE(until([&] { return output() == "now"; })) << "no end of a line is waited for";
  jobs_->kill({{1}, 0});
  EXPECT_TRUE(until([&] { return finished_.contains(1); }));
}

// One descriptor a task, and more where lines are labelled: the usual limit is soon reached.
TEST_F(JobsTest, MoreTasksRunThanTheCallersLimitOfDescriptorsHasRoomForAndSeeThatLimit) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 64;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  auto jobs = std::make_unique<Jobs>(JobContext{*reactor_, std::move(*own_processes(*reactor_)),
                                                std::move(*Node::discover("")), NodeFrame{}});
  std::optional<msg::Finished> ended;
  jobs->on_finished([&](const msg::Finished& finished) { ended = finished; });
  ASSERT_TRUE(jobs->start(request(shell("ulimit -Sn; sleep 0.2"), start(1, 100))));
  ASSERT_TRUE(until([&] { return ended.has_value(); }));
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(ended->exit_code, 0) << ended->what;
  std::istringstream lines(output());
  int told = 0;
  for (std::string line; std::getline(lines, line); ++told) EXPECT_EQ(line, "64");
  EXPECT_EQ(told, 100);
}

}  // namespace
}  // namespace holon::launch
