// asked.hpp - a policy's text, compiled, and simulated on small made-up workloads.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "policy/program.hpp"
#include "qmanager/machine/flat_machine.hpp"
#include "sim/simulate.hpp"

namespace holon::policy {

inline std::shared_ptr<const qmanager::PolicyProgram> compiled(const std::string& text) {
  auto program = compile("mine.lua", text);
  EXPECT_TRUE(program) << to_string(program.error());
  return program ? *program : nullptr;
}

// What compiling says is wrong with the text.
inline std::string refusal_of(const std::string& text) {
  const auto program = compile("mine.lua", text);
  return program ? "" : to_string(program.error());
}

inline qmanager::SchedulerConfig config_with(const std::string& text, bool keep_promises = true) {
  qmanager::SchedulerConfig config;
  config.programs["mine.lua"] = compiled(text);
  config.defaults.policy = "mine.lua";
  config.defaults.queue_depth = 1'000'000;
  config.keep_promises = keep_promises;
  config.priority.ticks_per_second = 1;
  config.priority.interval = 60;
  config.priority.fairshare.interval = 86'400;
  return config;
}

inline sim::SimResult simulated(const sim::Workload& workload,
                                const qmanager::SchedulerConfig& config,
                                sim::Order order = sim::Order::batch, bool check = false) {
  sim::SimOptions options;
  options.config = config;
  options.order = order;
  options.check_invariants = check;
  auto result =
      sim::simulate(workload, std::make_unique<qmanager::FlatMachine>(workload.max_procs), options);
  EXPECT_TRUE(result) << to_string(result.error());
  return std::move(*result);
}

// Numbers that look random, the same on every machine.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::int64_t operator()(std::int64_t low, std::int64_t high) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return low +
           static_cast<std::int64_t>((state_ >> 33) % static_cast<std::uint64_t>(high - low + 1));
  }

 private:
  std::uint64_t state_;
};

// `n` jobs that come faster than 64 processors can serve them.
inline sim::Workload made_up(std::uint64_t seed, std::int64_t n) {
  Dice dice(seed);
  sim::Workload workload;
  workload.max_procs = 64;
  Time submit = 0;
  for (std::int64_t id = 1; id <= n; ++id) {
    sim::TraceJob job;
    job.id = id;
    job.submit = submit += dice(0, 60);
    job.procs = dice(0, 3) == 0 ? dice(16, 64) : dice(1, 12);
    job.limit = 60 * dice(1, 40);
    job.run = dice(0, 3) == 0 ? job.limit : dice(1, job.limit);
    job.user = std::string(1, static_cast<char>('a' + dice(0, 4)));
    workload.jobs.push_back(job);
  }
  return workload;
}

}  // namespace holon::policy
