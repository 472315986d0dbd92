// simulate_options.hpp - the command line of `holon simulate`.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/verb.hpp"

namespace holon::cli {

constexpr std::int64_t kDeepestQueue = 1'000'000;

struct SimulateOptions {
  std::string trace;
  std::optional<std::int64_t> procs;
  std::string resources;  // "": a flat machine
  std::string tree;       // "": one instance
  std::string policy;
  std::string compare;
  std::vector<std::string> conf;
  std::string order = "batch";
  std::optional<std::int64_t> queue_depth;
  std::string starts;
  std::string schedule;
  std::string report;
  std::string title;
  bool json = false;
  bool strict = false;
  bool keep_overruns = false;
  bool think_times = false;
  bool charge_scheduler = false;
  bool timings = false;

  // The policies of --policy or --compare; none: the configuration's.
  std::vector<std::string> policies() const;
};

// Reads call.args. Faults that show without the trace are told now, not after hours of simulation.
// nullopt: go on; else the exit code.
std::optional<int> parse_options(Invocation& call, SimulateOptions& options);

}  // namespace holon::cli
