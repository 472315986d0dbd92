// Tasks that a launcher has started together find each other.
#include "instance/assembly/rendezvous.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <optional>
#include <thread>

#include "instance/assembly/endpoint.hpp"
#include "instance/assembly/launcher.hpp"
#include "tests/pmi/served.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {
namespace {

using ::testing::ElementsAre;

config::Config on_loopback() {
  config::Config config;
  config.address = "127.0.0.1";
  return config;
}

Surroundings launched_by(const std::string& launcher) {
  Surroundings around;
  around.allocation.place.launcher = launcher;
  return around;
}

// The tasks of these hosts, by rank, meet over PMI.
std::vector<Rendezvous> meet_by_pmi(const std::vector<std::string>& hosts) {
  std::vector<std::uint64_t> ranks;
  std::vector<int> fds;
  std::vector<std::thread> tasks;
  std::vector<Rendezvous> met(hosts.size());
  for (std::uint64_t rank = 0; rank < hosts.size(); ++rank) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    ranks.push_back(rank);
    fds.push_back(ends[0]);
    tasks.emplace_back([&met, &hosts, fd = ends[1], rank] {
      batch::Environment environment;
      environment.variables = {{"PMI_FD", std::to_string(fd)},
                               {"PMI_RANK", std::to_string(rank)},
                               {"PMI_SIZE", std::to_string(hosts.size())}};
      environment.host_name = hosts[rank];
      const auto how = meet(environment, launched_by("mpiexec"), on_loopback());
      EXPECT_TRUE(how) << to_string(how.error());
      if (how && *how) met[rank] = **how;
      close(fd);
    });
  }
  pmi::Server server({"7.0", hosts.size(), ""}, ranks);
  server.on_fence = [&](const auto&) { server.release({}); };
  EXPECT_TRUE(pmi::serve(server, fds));
  for (auto& task : tasks) task.join();
  return met;
}

TEST(Rendezvous, ByPmiTheFirstTaskOfEachNodeGetsAPlace) {
  const auto met = meet_by_pmi({"n1", "n1", "n2", "n3", "n2"});
  ASSERT_EQ(met.size(), 5U);
  EXPECT_TRUE(met[0].is_first);
  EXPECT_THAT(met[0].nodes.hosts, ElementsAre("n1", "n2", "n3"));
  EXPECT_TRUE(met[0].nodes.step.commands.empty()) << "all are started already";
  ASSERT_TRUE(met[0].nodes.endpoint);
  EXPECT_EQ(met[0].nodes.endpoint->keys.agents.size(), 3U);
  for (const std::size_t needed : {2U, 3U}) {
    EXPECT_FALSE(met[needed].is_first);
    ASSERT_TRUE(met[needed].invitation);
    EXPECT_EQ(*met[needed].invitation, met[0].nodes.endpoint->invitation);
  }
  EXPECT_EQ(met[2].rank, 1);
  EXPECT_EQ(met[3].rank, 2);
  for (const std::size_t too_many : {1U, 4U}) {
    EXPECT_FALSE(met[too_many].is_first);
    EXPECT_FALSE(met[too_many].invitation);
  }
}

TEST(Rendezvous, OfTasksOfOneNodeTheFirstIsTheInstance) {
  const auto met = meet_by_pmi({"n1", "n1"});
  ASSERT_EQ(met.size(), 2U);
  EXPECT_TRUE(met[0].is_first);
  EXPECT_TRUE(met[0].nodes.hosts.empty());
  EXPECT_FALSE(met[0].nodes.endpoint);
  EXPECT_FALSE(met[1].is_first);
  EXPECT_FALSE(met[1].invitation);
}

class RendezvousByFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "holon-home-XXXXXX";
    home_ = mkdtemp(name.data());
  }
  void TearDown() override { std::filesystem::remove_all(home_); }
  Result<std::optional<Rendezvous>> meet_as(int task, const std::string& host, int on_node,
                                            Duration patience = 60'000) const {
    batch::Environment environment;
    environment.variables = {{"HOME", home_},
                             {"SLURM_JOB_ID", "7"},
                             {"SLURM_STEP_ID", "0"},
                             {"SLURM_PROCID", std::to_string(task)},
                             {"SLURM_LOCALID", std::to_string(on_node)},
                             {"SLURM_STEP_NODELIST", "n[1-3]"}};
    environment.host_name = host;
    config::Config config = on_loopback();
    config.gather_timeout = patience;
    return meet(environment, launched_by("srun"), config);
  }

  std::string home_;
};

TEST_F(RendezvousByFile, TheFirstTaskOfASlurmStepLeavesTheInvitation) {
  auto first = meet_as(0, "n2", 0);
  ASSERT_TRUE(first && *first);
  EXPECT_TRUE((*first)->is_first);
  EXPECT_THAT((*first)->nodes.hosts, ElementsAre("n2", "n1", "n3"));
  std::optional<Rendezvous> other;
  std::thread waits([&] {
    auto met = meet_as(1, "n1", 0);
    if (met) other = *met;
  });
  {
    const auto reactor = std::move(*transport::Reactor::create());
    Launcher launcher(
        *reactor, [](const std::string&) {}, [](const Launcher::Ended&) {});
    EXPECT_TRUE(launcher.prepare((*first)->nodes, ""));
    EXPECT_TRUE(launcher.start());
    waits.join();
  }
  ASSERT_TRUE(other && other->invitation);
  EXPECT_EQ(*other->invitation, (*first)->nodes.endpoint->invitation);
  EXPECT_LT(other->rank, 0) << "its host says which";
  EXPECT_TRUE(std::filesystem::is_empty(home_)) << "it goes with the instance";
}

TEST_F(RendezvousByFile, ASecondTaskOfANodeIsNotNeeded) {
  const auto second = meet_as(1, "n1", 1);
  ASSERT_TRUE(second && *second);
  EXPECT_FALSE((*second)->is_first);
  EXPECT_FALSE((*second)->invitation);
}

TEST_F(RendezvousByFile, WhereNothingComesTheRemedyIsNamed) {
  const auto alone = meet_as(1, "n1", 0, 1);
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().code, Errc::timed_out);
  EXPECT_THAT(alone.error().what, ::testing::HasSubstr("srun --mpi=pmi2"));
}

TEST(Rendezvous, WithoutAnythingToMeetByThereIsNone) {
  const auto met = meet(batch::Environment(), launched_by("mpirun"), on_loopback());
  ASSERT_TRUE(met);
  EXPECT_FALSE(*met);
}

}  // namespace
}  // namespace holon::instance
