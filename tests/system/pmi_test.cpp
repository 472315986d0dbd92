// PMI with those who made it: our client under a real Slurm and a real mpiexec, our server with a
// real MPI program.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "batch/environment.hpp"
#include "batch/hosts.hpp"
#include "places.hpp"  // written by CMake
#include "pmi/client.hpp"
#include "tests/pmi/served.hpp"
#include "tests/system/mpi_program.hpp"
#include "tests/system/private_slurm.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;

constexpr Duration kPatience = 20'000;

// Each task says a word, and hears those of all.
void exchange_with_others(pmi::Client& client) {
  ASSERT_TRUE(
      client.put(fmt::format("word.{}", client.rank()), fmt::format("tcp://of-{}", client.rank())));
  ASSERT_TRUE(client.fence());
  std::string heard;
  for (std::uint64_t rank = 0; rank < client.size(); ++rank)
    heard += client.get(fmt::format("word.{}", rank)).value_or("nothing") + " ";
  EXPECT_TRUE(client.get("word.99").error().code == Errc::not_found);
  EXPECT_TRUE(client.finalize());
  fmt::print("{} of {} heard {}\n", client.rank(), client.size(), heard);
}

// Other tests start this one as a task of Slurm or mpiexec. By itself it is the only task, of a
// server of its own.
TEST(PmiTask, ExchangesAWordWithTheOthers) {
  const auto environment = batch::current_environment();
  const auto number = [&](const char* name, std::uint64_t otherwise) {
    return batch::whole_number(environment.at(name)).value_or(otherwise);
  };
  const auto version =
      environment.at("TEST_PMI_VERSION") == "2" ? pmi::Version::two : pmi::Version::one;
  int ends[2] = {-1, -1};
  std::thread served;
  pmi::Server server({"alone", 1, ""}, {0});
  server.on_fence = [&](const pmi::Pairs&) { server.release({}); };
  if (!environment.has("PMI_FD")) {
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    served = std::thread([&] { EXPECT_TRUE(pmi::serve(server, {ends[0]})); });
  }
  const pmi::Client::Task task{
      static_cast<int>(number("PMI_FD", static_cast<std::uint64_t>(ends[1]))),
      number("PMI_RANK", 0), number("PMI_SIZE", 1), environment.at("PMI_JOBID")};
  auto client = pmi::Client::hello(task, version, kPatience);
  EXPECT_TRUE(client) << to_string(client.error());
  if (client) exchange_with_others(*client);
  if (ends[1] >= 0) close(ends[1]);
  if (served.joinable()) served.join();
}

std::vector<std::string> as_task(std::vector<std::string> launcher) {
  launcher.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
  launcher.emplace_back("--gtest_filter=PmiTask.*");
  return launcher;
}

TEST(Pmi, OfSlurmServesOurClient) {
  if (const auto why = PrivateSlurm::missing(); !why.empty()) GTEST_SKIP() << why;
  Sandbox sandbox;
  PrivateSlurm slurm(sandbox, 2, 2);
  ASSERT_TRUE(slurm.up());
  for (const char* version : {"1", "2"}) {
    sandbox.environment()["TEST_PMI_VERSION"] = version;
    const Ran ran = slurm.run(as_task({"srun", "--mpi=pmi2", "-N2", "-n4"}));
    EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
    for (int rank = 0; rank < 4; ++rank)
      EXPECT_THAT(ran.out, HasSubstr(fmt::format(
                               "{} of 4 heard tcp://of-0 tcp://of-1 tcp://of-2 tcp://of-3 ", rank)))
          << "PMI-" << version;
  }
}

TEST(Pmi, OfMpiexecServesOurClient) {
  if (access("/usr/bin/mpiexec.mpich", X_OK) != 0)
    GTEST_SKIP() << "there is no mpiexec.mpich here: apt-get install mpich";
  Sandbox sandbox;
  Process mpiexec(as_task({"/usr/bin/mpiexec.mpich", "-launcher", "fork", "-n", "3"}),
                  sandbox.environment(), sandbox.folder());
  const Ran ran = mpiexec.finish();
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_THAT(ran.out,
                HasSubstr(fmt::format("{} of 3 heard tcp://of-0 tcp://of-1 tcp://of-2 ", rank)));
}

// Never an instance each: of those on one node the first is it.
TEST(Pmi, OfMpiexecLetsTasksOfOneNodeBeOneInstance) {
  if (access("/usr/bin/mpiexec.mpich", X_OK) != 0)
    GTEST_SKIP() << "there is no mpiexec.mpich here: apt-get install mpich";
  Sandbox sandbox;
  Process mpiexec({"/usr/bin/mpiexec.mpich", "-launcher", "fork", "-n", "2", HOLON_BINARY, "start",
                   HOLON_BINARY, "run", "echo", "one"},
                  sandbox.environment(), sandbox.folder());
  const Ran ran = mpiexec.finish();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "one\n") << ran.err;
}

class MpiProgram : public testing::Test {
 protected:
  static constexpr std::uint64_t kTasks = 4;

  void SetUp() override {
    if (const auto why = why_not(kMpich); !why.empty()) GTEST_SKIP() << why;
    compile(sandbox_, kMpich);
  }

  // Started by no launcher, each with a descriptor of ours.
  void start(const std::vector<std::string>& arguments) {
    for (std::uint64_t rank = 0; rank < kTasks; ++rank) {
      int ends[2];
      ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
      fds_.push_back(ends[0]);
      auto environment = sandbox_.environment();
      environment["PMI_RANK"] = std::to_string(rank);
      environment["PMI_SIZE"] = std::to_string(kTasks);
      environment["PMI_FD"] = std::to_string(kDescriptor);
      // A descriptor made for the task must not be closed as it starts.
      const int kept = dup2(ends[1], kDescriptor);
      ASSERT_EQ(kept, kDescriptor);
      std::vector<std::string> words = {sandbox_.folder() + "/ring.mpich"};
      words.insert(words.end(), arguments.begin(), arguments.end());
      tasks_.emplace_back(words, environment, sandbox_.folder());
      close(kept);
      close(ends[1]);
    }
  }

  static constexpr int kDescriptor = 200;
  Sandbox sandbox_;
  std::vector<int> fds_;
  std::vector<Process> tasks_;
};

TEST_F(MpiProgram, IsServedByOurServer) {
  start({});
  pmi::Server server({"job-7", kTasks, pmi::process_mapping({kTasks})}, {0, 1, 2, 3});
  server.on_fence = [&](const pmi::Pairs&) { server.release({}); };
  EXPECT_TRUE(pmi::serve(server, fds_));
  for (std::uint64_t rank = 0; rank < kTasks; ++rank) {
    const Ran ran = tasks_[rank].finish();
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.out, fmt::format("{} of 4: sum 6, token {}\n", rank, rank * (rank + 1) / 2));
    EXPECT_TRUE(server.is_finalized(rank));
  }
}

TEST_F(MpiProgram, ThatAbortsTellsItsCode) {
  start({"abort"});
  pmi::Server server({"job-8", kTasks, pmi::process_mapping({kTasks})}, {0, 1, 2, 3});
  server.on_fence = [&](const pmi::Pairs&) { server.release({}); };
  std::string told;
  server.on_abort = [&](std::uint64_t rank, int code, const std::string&) {
    told = fmt::format("{} aborted with {}", rank, code);
    for (const Process& task : tasks_) task.signal(SIGKILL);
  };
  EXPECT_TRUE(pmi::serve(server, fds_));
  for (auto& task : tasks_) task.finish();
  EXPECT_EQ(told, "1 aborted with 7");
}

}  // namespace
}  // namespace holon::system_test
