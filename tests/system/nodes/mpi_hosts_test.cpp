// MPI programs over several hosts, as jobs of one instance.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "places.hpp"  // written by CMake
#include "tests/system/mpi_program.hpp"
#include "tests/system/nodes/private_hosts.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;

class MpiOnHosts : public testing::TestWithParam<MpiKind> {
 protected:
  void SetUp() override {
    if (const auto why = why_not(GetParam()); !why.empty()) GTEST_SKIP() << why;
    if (const auto why = PrivateHosts::missing(); !why.empty()) GTEST_SKIP() << why;
    if (const auto why = PrivateHosts::no_remote_shell(); !why.empty()) GTEST_SKIP() << why;
    compile(sandbox_, GetParam());
    hosts_ = std::make_unique<PrivateHosts>(sandbox_, 4);
    ASSERT_TRUE(hosts_->up());
    instance_ = std::make_unique<Process>(
        hosts_->start(1, {HOLON_BINARY, "start", "--hosts", "n[1-4]", "--conf",
                          "launch.ssh=" + hosts_->remote_shell(), "--", "sh", "-c",
                          "echo $HOLON_URI; exec cat > /dev/null"}));
    sandbox_.environment()["HOLON_URI"] = instance_->read_line();
  }
  void TearDown() override {
    if (instance_) {
      EXPECT_EQ(instance_->finish().code, 0);
    }
    hosts_.reset();
  }
  Ran run(const std::vector<std::string>& arguments) {
    std::vector<std::string> words = {"run", "-t", "20s", "-N4", "-n8", program()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return hosts_->holon(1, words);
  }
  std::string program() const { return sandbox_.folder() + "/ring." + GetParam().name; }

  Sandbox sandbox_;
  std::unique_ptr<PrivateHosts> hosts_;
  std::unique_ptr<Process> instance_;
};

TEST_P(MpiOnHosts, EightRanksAreOneProgram) {
  // One of MPICH in two hangs in MPI_Finalize where the agents do not help (docs/mpi.md).
  for (int i = 0; i < 4; ++i) {
    const Ran again = run({});
    EXPECT_EQ(again.code, 0) << again.err;
  }
  const Ran ran = run({});
  EXPECT_EQ(ran.code, 0) << ran.err;
  for (int rank = 0; rank < 8; ++rank)
    EXPECT_THAT(ran.out,
                HasSubstr(fmt::format("{} of 8: sum 28, token {}\n", rank, rank * (rank + 1) / 2)));
}

// Each rank's neighbours are on other nodes then.
TEST_P(MpiOnHosts, RanksMayBeDealtToTheNodesInTurn) {
  const auto script = sandbox_.write_file(
      "where.sh",
      fmt::format("#!/bin/sh\necho rank $HOLON_TASK_RANK on $(hostname)\nexec {}\n", program()),
      true);
  const std::string mpi = GetParam().name == kOpenMpi.name ? "pmix" : "pmi2";
  const Ran ran = hosts_->holon(
      1, {"run", "-t", "20s", "-N4", "-n8", "--mpi", mpi, "--distribution", "cyclic", script});
  EXPECT_EQ(ran.code, 0) << ran.err;
  for (int rank = 0; rank < 8; ++rank) {
    EXPECT_THAT(ran.out, HasSubstr(fmt::format("rank {} on n{}\n", rank, rank % 4 + 1)));
    EXPECT_THAT(ran.out,
                HasSubstr(fmt::format("{} of 8: sum 28, token {}\n", rank, rank * (rank + 1) / 2)));
  }
}

TEST_P(MpiOnHosts, ARankThatAbortsEndsAll) {
  const Ran ran = run({"abort"});
  EXPECT_EQ(ran.code, 7) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("task 1"));
  for (const pid_t pid : sandbox_.processes({program()}))
    EXPECT_THAT(command_line(pid), HasSubstr("holon run")) << "left behind";
}

INSTANTIATE_TEST_SUITE_P(Of, MpiOnHosts, testing::Values(kMpich, kOpenMpi),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace holon::system_test
