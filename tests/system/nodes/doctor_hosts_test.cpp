// `holon doctor` in a batch job of hosts that share a home, and of hosts that do not.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "places.hpp"  // written by CMake
#include "tests/system/nodes/private_hosts.hpp"
#include "tests/system/private_slurm.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;

class DoctorOnHosts : public testing::TestWithParam<PrivateHosts::Files> {
 protected:
  void SetUp() override {
    if (const auto why = PrivateHosts::missing(); !why.empty()) GTEST_SKIP() << why;
    if (const auto why = PrivateSlurm::missing(); !why.empty()) GTEST_SKIP() << why;
    hosts_ = std::make_unique<PrivateHosts>(sandbox_, 3, GetParam());
    ASSERT_TRUE(hosts_->up());
    slurm_ = std::make_unique<PrivateSlurm>(sandbox_, *hosts_, 2);
    ASSERT_TRUE(slurm_->up());
  }
  void TearDown() override {
    slurm_.reset();
    hosts_.reset();
  }

  Sandbox sandbox_;
  std::unique_ptr<PrivateHosts> hosts_;
  std::unique_ptr<PrivateSlurm> slurm_;
};

TEST_P(DoctorOnHosts, SaysWhetherTheyShareFiles) {
  const bool is_shared = GetParam() == PrivateHosts::Files::shared;
  if (!is_shared) sandbox_.environment()["HOME"] = sandbox_.folder() + "/state";
  const auto script = sandbox_.write_file(
      "look.sh", fmt::format("#!/bin/sh\nexec {} doctor\n", HOLON_BINARY), true);
  const std::string job = slurm_->submit({"-W", "-N3", "-n3", "-t5"}, script);
  const std::string said = sandbox_.read_file("job-" + job);
  EXPECT_THAT(said, HasSubstr("n[2-3]: reached, 2 cores can be bound"));
  const auto apart = HasSubstr("n[2-3]: home is not the one of this node");
  if (is_shared)
    EXPECT_THAT(said, testing::Not(apart));
  else
    EXPECT_THAT(said, apart);
}

INSTANTIATE_TEST_SUITE_P(Whose, DoctorOnHosts,
                         testing::Values(PrivateHosts::Files::shared, PrivateHosts::Files::own),
                         [](const auto& files) {
                           return files.param == PrivateHosts::Files::own ? "Own" : "Shared";
                         });

}  // namespace
}  // namespace holon::system_test
