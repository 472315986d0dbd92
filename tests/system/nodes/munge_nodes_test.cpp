// Tasks of a Slurm step without PMI on hosts that share no home: they meet by MUNGE, with a real
// munged on each host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "places.hpp"  // written by CMake
#include "tests/system/nodes/campaign.hpp"
#include "tests/system/nodes/private_hosts.hpp"
#include "tests/system/private_munge.hpp"
#include "tests/system/private_slurm.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

class MungedNodes : public testing::Test {
 protected:
  void SetUp() override {
    for (const auto& why : {PrivateHosts::missing(), PrivateSlurm::missing(), no_munged()})
      if (!why.empty()) GTEST_SKIP() << why;
    hosts_ = std::make_unique<PrivateHosts>(sandbox_, 4, PrivateHosts::Files::own);
    ASSERT_TRUE(hosts_->up());
    sandbox_.environment()["HOME"] = sandbox_.folder() + "/state";  // each host has another one
    slurm_ = std::make_unique<PrivateSlurm>(sandbox_, *hosts_, 2);
    ASSERT_TRUE(slurm_->up());
  }
  void TearDown() override {
    slurm_.reset();
    daemons_.clear();
    hosts_.reset();
  }

  // At the usual place; it ends with its host.
  void start_munged(std::size_t host) {
    ASSERT_EQ(hosts_->run(host, {"mkdir", "-p", "/run/munge"}).code, 0);
    const auto key = write_munge_key(sandbox_.folder());
    daemons_.push_back(std::make_unique<Process>(
        hosts_->on(host, munged_words(key, "/run/munge", "/run/munge/munge.socket.2")),
        std::map<std::string, std::string>{{"PATH", "/usr/sbin:/usr/bin:/sbin:/bin"}}, "/"));
    ASSERT_TRUE(eventually([&] { return hosts_->run(host, {"munge", "-n"}).code == 0; }));
  }
  Ran start_in_step(const Words& options, const std::string& program) {
    Words words = {"srun",       "-N4",   "--ntasks-per-node=1", "--mpi=none",
                   HOLON_BINARY, "start", "--state-dir",         sandbox_.folder() + "/state/kept"};
    words.insert(words.end(), options.begin(), options.end());
    words.push_back(program);
    return slurm_->run(words);
  }

  Sandbox sandbox_;
  std::unique_ptr<PrivateHosts> hosts_;
  std::unique_ptr<PrivateSlurm> slurm_;
  std::vector<std::unique_ptr<Process>> daemons_;
};

TEST_F(MungedNodes, TasksThatShareNothingMeet) {
  for (std::size_t host = 1; host <= 4; ++host) start_munged(host);
  const Ran ran = start_in_step({}, write_campaign(sandbox_));
  EXPECT_EQ(ran.code, 7) << ran.err;
  expect_campaign(ran.out);
  for (const pid_t pid : sandbox_.processes({"holon"}))
    ADD_FAILURE() << "left behind: " << pid << " " << command_line(pid);
  const Ran kept = hosts_->holon(1, {"journal", "check", sandbox_.folder() + "/state/kept"});
  EXPECT_EQ(kept.code, 0) << kept.err;
}

TEST_F(MungedNodes, WithoutItNoTaskIsAnInstanceOfItsOwn) {
  start_munged(1);
  const Ran ran = start_in_step({"--conf", "instance.gather-timeout=3s"}, "true");
  EXPECT_THAT(ran.err, HasSubstr("MUNGE brings none"));
  EXPECT_THAT(ran.err, HasSubstr("srun --mpi=pmi2"));
  EXPECT_EQ(ran.code, 4) << ran.err;
}

TEST_F(MungedNodes, TheDoctorSaysHowTheyWouldMeet) {
  start_munged(1);
  const auto seen_on = [&](const std::string& node) {
    return slurm_
        ->run({"srun", "-N4", "--ntasks-per-node=1", "--mpi=none", "sh", "-c",
               "[ $SLURMD_NODENAME != " + node + " ] || " HOLON_BINARY " doctor --here"})
        .out;
  };
  EXPECT_THAT(seen_on("n1"),
              HasSubstr("they meet by a file in the home where the nodes share it, else by MUNGE"));
  EXPECT_THAT(seen_on("n2"), HasSubstr("which the nodes have to share, for there is no MUNGE"));
}

}  // namespace
}  // namespace holon::system_test
