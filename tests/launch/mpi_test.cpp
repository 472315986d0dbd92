// The tasks of a job find each other through their agent: shells speak PMI-1 over the descriptor
// that they have inherited.
#include <gmock/gmock.h>

#include "tests/launch/fixture.hpp"

namespace holon::launch {
namespace {

using testing::HasSubstr;

// `say LINE` sends a line and leaves the answer in $answer.
constexpr const char* kSay = R"sh(
say() { printf '%s\n' "$1" >&$PMI_FD && read -r answer <&$PMI_FD; }
hello() { say 'cmd=init pmi_version=1 pmi_subversion=1' && say 'cmd=get_my_kvsname'; }
)sh";

class Mpi : public JobsTest {
 protected:
  msg::Start mpi_start(std::uint64_t job, std::uint32_t ntasks, std::string kind = "pmi2") {
    msg::Start how = start(job, ntasks);
    how.mpi = std::move(kind);
    return how;
  }
  msg::Finished run_tasks(const std::string& script, std::uint32_t ntasks) {
    return run(shell(kSay + script), mpi_start(1, ntasks));
  }
};

TEST_F(Mpi, TasksOfAJobReadWhatOthersHavePutBeforeAFence) {
  const auto finished = run_tasks(R"sh(
    hello
    say "cmd=put kvsname=${answer#*kvsname=} key=k$PMI_RANK value=from-$PMI_RANK"
    say 'cmd=barrier_in'
    say "cmd=get kvsname=holon-1 key=k$(( (PMI_RANK + 1) % PMI_SIZE ))"
    echo "$PMI_RANK of $PMI_SIZE: ${answer##*value=}"
    say 'cmd=finalize')sh",
                                  3);
  EXPECT_EQ(finished.reason, "exit") << finished.what;
  EXPECT_EQ(finished.exit_code, 0);
  for (const char* line : {"0 of 3: from-1\n", "1 of 3: from-2\n", "2 of 3: from-0\n"})
    EXPECT_THAT(output(), HasSubstr(line));
}

TEST_F(Mpi, AnAbortEndsAllTasksWithItsCode) {
  const auto finished = run_tasks(R"sh(
    hello
    [ $PMI_RANK = 1 ] && printf 'cmd=abort exitcode=7\n' >&$PMI_FD
    exec sleep 1000)sh",
                                  3);
  EXPECT_EQ(finished.reason, "abort");
  EXPECT_EQ(finished.exit_code, 7);
  EXPECT_THAT(finished.what, HasSubstr("task 1 has ended the job (MPI_Abort)"));
}

// Its last words are heard though it has gone.
TEST_F(Mpi, AnAbortOfATaskThatExitsAtOnceCounts) {
  const auto finished = run_tasks(R"sh(
    hello
    [ $PMI_RANK = 0 ] && printf 'cmd=abort exitcode=9\n' >&$PMI_FD && exit 3
    exec sleep 1000)sh",
                                  2);
  EXPECT_EQ(finished.reason, "abort");
  EXPECT_EQ(finished.exit_code, 9);
}

TEST_F(Mpi, ATaskThatEndsWithoutGoodbyeEndsAll) {
  const auto finished = run_tasks(R"sh(
    hello
    [ $PMI_RANK = 1 ] && kill -KILL $$
    exec sleep 1000)sh",
                                  2);
  EXPECT_EQ(finished.reason, "abort");
  EXPECT_EQ(finished.exit_code, 128 + SIGKILL);
  EXPECT_THAT(finished.what, HasSubstr("task 1 was ended by signal 9 without having left MPI"));
}

TEST_F(Mpi, AScriptMayRunOneProgramAfterTheOther) {
  const auto finished = run_tasks(R"sh(
    hello; say 'cmd=barrier_in'; say 'cmd=finalize'
    hello; say 'cmd=barrier_in'; say 'cmd=finalize'
    echo "$answer"; exit 5)sh",
                                  2);
  EXPECT_EQ(finished.reason, "exit");
  EXPECT_EQ(finished.exit_code, 5);
  EXPECT_EQ(output(), "cmd=finalize_ack\ncmd=finalize_ack\n");
}

TEST_F(Mpi, TasksThatAreNoMpiProgramNoticeNothing) {
  EXPECT_EQ(run_tasks("exit $PMI_RANK", 3).exit_code, 2);
  EXPECT_EQ(finished_[1].reason, "exit");
}

TEST_F(Mpi, ATaskThatSaysSomethingElseIsNotHeardAnyMore) {
  const auto finished =
      run_tasks("printf 'GET / HTTP/1.1\\r\\n\\r\\n' >&$PMI_FD; cat <&$PMI_FD; exit 4", 2);
  EXPECT_EQ(finished.reason, "exit");
  EXPECT_EQ(finished.exit_code, 4);
}

// What it does not read is not kept for it, and other jobs have their turns.
TEST_F(Mpi, ATaskThatAsksAndReadsNothingHoldsNobodyUp) {
  ASSERT_TRUE(jobs_->start(
      request(shell(kSay + std::string("hello; touch asked; exec yes cmd=get_maxes >&$PMI_FD")),
              mpi_start(1, 2))));
  ASSERT_TRUE(until([&] { return std::filesystem::exists(dir_ + "/asked"); }));
  EXPECT_EQ(run(shell("exit 3"), start(2)).exit_code, 3);
  jobs_->kill({{1}, 0});
  EXPECT_TRUE(until([&] { return finished_.contains(1); }));
  EXPECT_EQ(finished_[1].reason, "killed");
}

TEST_F(Mpi, OnlyTheVersionAskedForIsSpoken) {
  run(shell(kSay + std::string("say 'cmd=init pmi_version=2 pmi_subversion=0'; echo \"$answer\"")),
      mpi_start(1, 1, "pmi1"));
  EXPECT_THAT(output(), HasSubstr("rc=-1"));
  EXPECT_EQ(run(shell("true"), mpi_start(2, 2, "pmi7")).reason, "exec");
  EXPECT_THAT(finished_[2].what, HasSubstr("'pmi7' is none of auto, pmi1, pmi2 and pmix"));
}

TEST_F(Mpi, NobodyFindsThePlaceOfAnotherLaunchersTask) {
  msg::Program inner = shell("echo ${PMI_FD-none} ${PMIX_RANK-none} ${PMI_DEBUG-none}");
  inner.env.insert({{"PMI_FD", "9"}, {"PMIX_RANK", "3"}, {"PMI_DEBUG", "1"}});
  run(inner, start(1));
  EXPECT_EQ(output(), "none none 1\n");
}

}  // namespace
}  // namespace holon::launch
