// In one batch job of a real Slurm: steps of Slurm beside jobs of holon, as bench/in_allocation.py
// measures them. What is looked at are ratios, for both have the same machine.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "places.hpp"  // written by CMake
#include "tests/system/nodes/private_hosts.hpp"
#include "tests/system/private_slurm.hpp"

namespace holon::system_test {
namespace {

TEST(RatesInSlurm, JobsOfHolonAreFasterThanStepsOfSlurm) {
  if (const auto why = PrivateHosts::missing(); !why.empty()) GTEST_SKIP() << why;
  if (const auto why = PrivateSlurm::missing(); !why.empty()) GTEST_SKIP() << why;
  Sandbox sandbox;
  PrivateHosts hosts(sandbox, 4);
  ASSERT_TRUE(hosts.up());
  PrivateSlurm slurm(sandbox, hosts, 2);
  ASSERT_TRUE(slurm.up());
  const auto script = sandbox.write_file(
      "measure.sh",
      fmt::format("#!/bin/sh\nexec python3 {}/bench/in_allocation.py {} 40 500 10\n",
                  HOLON_SOURCE_DIR, HOLON_BINARY),
      true);
  const std::string job = slurm.submit({"-W", "-N4", "--ntasks-per-node=2", "-t5"}, script);
  const std::string said = sandbox.read_file("job-" + job);
  std::cout << said;
  // Before it stands what srun has to say of the machine.
  const auto found =
      nlohmann::json::parse(said.substr(std::min(said.find('{'), said.size())), nullptr, false);
  ASSERT_TRUE(found.is_object()) << said;
  EXPECT_GT(found["jobs_per_second"].get<double>(), 3 * found["steps_per_second"].get<double>());
  EXPECT_LT(found["run_on_another_node"]["median_ms"].get<double>(),
            found["step_on_another_node"]["median_ms"].get<double>());
}

}  // namespace
}  // namespace holon::system_test
