#include "sim/metrics.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "places.hpp"  // written by CMake
#include "qmanager/machine/flat_machine.hpp"
#include "sim/trace_file.hpp"

namespace holon::sim {
namespace {

Workload two_jobs() {
  Workload workload;
  workload.jobs = {{.id = 1,
                    .submit = 0,
                    .procs = 2,
                    .limit = 100,
                    .run = 100,
                    .user = {},
                    .group = {},
                    .queue = {}},
                   {.id = 2,
                    .submit = 10,
                    .procs = 1,
                    .limit = 5,
                    .run = 5,
                    .user = {},
                    .group = {},
                    .queue = {}}};
  return workload;
}

TEST(Metrics, AreWhatTheDefinitionsSay) {
  SimOptions options;
  const auto result = simulate(two_jobs(), std::make_unique<qmanager::FlatMachine>(2), options);
  const Metrics metrics = measure(two_jobs(), *result, 2);
  EXPECT_EQ(metrics.jobs, 2u);
  EXPECT_DOUBLE_EQ(metrics.wait.mean, 45);  // 0 and 90
  EXPECT_DOUBLE_EQ(metrics.wait.median, 0);
  EXPECT_DOUBLE_EQ(metrics.wait.max, 90);
  EXPECT_DOUBLE_EQ(metrics.bounded_slowdown.mean, (1.0 + 95.0 / 10.0) / 2);
  EXPECT_EQ(metrics.makespan, 105);
  EXPECT_DOUBLE_EQ(metrics.utilization, 205.0 / 210.0);
  ASSERT_EQ(metrics.sizes.size(), 2u);
  EXPECT_EQ(metrics.sizes[1].name, "2-4");
}

// Gaussier, Glesser, Reis, Trystram: "Improving Backfilling by using Machine Learning to predict
// Running Times", SC'15.
TEST(Metrics, GiveThePublishedSlowdownOfEasyOnKthSp2) {
  const std::string path = HOLON_SOURCE_DIR "/../shared/traces/kth-sp2-full28481.swf";
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << "NO TRACE at " << path << ": nothing was compared";
  const auto trace = read_trace_file(path, {});
  ASSERT_TRUE(trace) << to_string(trace.error());
  SimOptions options;
  options.config.defaults.policy = "easy";
  options.config.defaults.queue_depth = 1'000'000;
  options.order = Order::event;
  const auto result =
      simulate(trace->workload, std::make_unique<qmanager::FlatMachine>(100), options);
  EXPECT_NEAR(measure(trace->workload, *result, 100).bounded_slowdown.mean, 92.57654, 0.000005);
}

}  // namespace
}  // namespace holon::sim
