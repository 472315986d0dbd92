// Real MPI programs as jobs of an instance.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/system/mpi_program.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;

class MpiJob : public testing::TestWithParam<MpiKind> {
 protected:
  void SetUp() override {
    if (const auto why = why_not(GetParam()); !why.empty()) GTEST_SKIP() << why;
    compile(sandbox_, GetParam());
  }
  Ran run(const std::vector<std::string>& options, const std::vector<std::string>& arguments = {}) {
    std::vector<std::string> words = {"run"};
    words.insert(words.end(), options.begin(), options.end());
    words.push_back(sandbox_.folder() + "/ring." + GetParam().name);
    words.insert(words.end(), arguments.begin(), arguments.end());
    return sandbox_.run(words);
  }
  static void expect_ring(const Ran& ran, int size) {
    EXPECT_EQ(ran.code, 0) << ran.err;
    for (int rank = 0; rank < size; ++rank)
      EXPECT_THAT(ran.out, HasSubstr(fmt::format("{} of {}: sum {}, token {}\n", rank, size,
                                                 size * (size - 1) / 2, rank * (rank + 1) / 2)));
  }

  Sandbox sandbox_;
};

TEST_P(MpiJob, IsOneProgram) {
  Instance instance(sandbox_, {"--resources", "node=1/core=4"});
  expect_ring(run({"-n4"}), 4);
  expect_ring(run({"-n1"}), 1);
}

TEST_P(MpiJob, ThatAbortsEndsWithItsCode) {
  Instance instance(sandbox_, {"--resources", "node=1/core=4"});
  const Ran ran = run({"-n4"}, {"abort"});
  EXPECT_EQ(ran.code, 7) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("task 1"));
}

// As on two nodes, which here are one machine: shared memory would find itself.
TEST_P(MpiJob, IsOneProgramOverTwoAgents) {
  sandbox_.environment()["OMPI_MCA_btl"] = "self,tcp";
  sandbox_.environment()["OMPI_MCA_btl_tcp_if_include"] = "lo";
  Instance instance(sandbox_, {"--resources", "node=2/core=2", "--agents", "2"});
  expect_ring(run({"-N2", "-n4"}), 4);
  EXPECT_EQ(run({"-N2", "-n4"}, {"abort"}).code, 7);
  expect_ring(run({"-N2", "-n4", "--distribution", "cyclic"}), 4);
}

class OpenMpiJob : public MpiJob {};

TEST_P(OpenMpiJob, LeavesNoFolderAndNoServer) {
  Instance instance(sandbox_, {"--resources", "node=1/core=2"});
  const auto script =
      "echo $PMIX_SERVER_TMPDIR; exec " + sandbox_.folder() + "/ring." + GetParam().name;
  const Ran ran = sandbox_.run({"run", "--mpi", "pmix", "-n2", "sh", "-c", script});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const auto folder = ran.out.substr(0, ran.out.find('\n'));
  EXPECT_THAT(folder, HasSubstr("/holon-mpi-"));
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_TRUE(sandbox_.processes({"holon", "pmix"}).empty());
}

INSTANTIATE_TEST_SUITE_P(Of, OpenMpiJob, testing::Values(kOpenMpi),
                         [](const auto& kind) { return kind.param.name; });
INSTANTIATE_TEST_SUITE_P(Of, MpiJob, testing::Values(kMpich, kOpenMpi),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace holon::system_test
