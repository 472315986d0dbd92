// traces.hpp - logs of real machines for the benchmarks, where they are at hand.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "sim/swf.hpp"

namespace holon::bench {

// Of this log in the folder that HOLON_TRACES names. nullopt: there is no such variable or log.
inline std::optional<sim::Workload> workload_of(const std::string& trace) {
  const char* const folder = std::getenv("HOLON_TRACES");
  if (folder == nullptr) return std::nullopt;
  std::ifstream in(std::filesystem::path(folder) / trace, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  auto read = sim::read_swf(bytes, {});
  if (!read || read->workload.jobs.empty()) return std::nullopt;
  return std::move(read->workload);
}

}  // namespace holon::bench
