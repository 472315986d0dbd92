// In one batch job of a real Slurm: steps of Slurm beside jobs of holon, as bench/in_allocation.py
// measures them. What they took is printed; that all of them run is what the test asks.
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

TEST(RatesInSlurm, OfStepsAndOfJobsInsideArePrinted) {
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
  for (const char* const rate : {"jobs_per_second", "steps_per_second"})
    EXPECT_GT(found[rate].get<double>(), 0) << rate;
  for (const char* const time : {"run_on_another_node", "step_on_another_node"})
    EXPECT_GT(found[time]["median_ms"].get<double>(), 0) << time;
}

}  // namespace
}  // namespace holon::system_test
