// array_jobs.hpp - jobs that are arrays, and what is said of them, for the tests of arrays.
#pragma once
#include <fmt/core.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/instance/live.hpp"

namespace holon::instance::testing {

using Ids = std::vector<std::uint64_t>;

inline const std::vector<std::string> kFour = {"--resources", "node=1/core=4"};

inline JobOptions array_of(std::uint64_t count, nlohmann::json ours = nlohmann::json::object(),
                           nlohmann::json system = nlohmann::json::object()) {
  JobOptions options;
  options.count = count;
  if (!ours.contains("array")) ours["array"] = nlohmann::json::object();
  system["holon"] = std::move(ours);
  options.system = system.dump();
  return options;
}

// Each task adds its index to the file `ran`.
inline std::vector<std::string> noted(const Live& live, const std::string& then) {
  return {"/bin/sh", "-c", "echo $HOLON_ARRAY_INDEX >> " + live.dir() + "/ran; " + then};
}

inline std::map<std::string, int> ran(const Live& live) {
  std::map<std::string, int> times;
  std::istringstream lines(read_file(live.dir() + "/ran"));
  for (std::string line; std::getline(lines, line);) ++times[line];
  return times;
}

inline std::string counts_of(const msg::JobRecord& array) {
  return fmt::format("{} of {}: {} pending, {} running, {} completed, {} failed, {} cancelled",
                     array.result, array.tasks, array.tasks_pending, array.tasks_running,
                     array.tasks_completed, array.tasks_failed, array.tasks_cancelled);
}

inline Ids ids_of(const std::vector<msg::JobRecord>& records) {
  Ids ids;
  for (const auto& record : records) ids.push_back(record.id);
  return ids;
}

inline JobOptions behind_each(std::uint64_t target, std::uint64_t count) {
  return array_of(
      count, {},
      {{"dependencies", {{{"scheme", "aftercorr"}, {"value", std::to_string(target)}}}}});
}

// "7.2-4": of array 7.
inline std::string tasks_of(std::uint64_t array, const std::string& indices) {
  return fmt::format("{}.{}", array, indices);
}

inline JobOptions behind_tasks(const std::string& scheme, const std::string& tasks) {
  JobOptions options;
  options.system =
      nlohmann::json{{"dependencies", {{{"scheme", scheme}, {"value", tasks}}}}}.dump();
  return options;
}

}  // namespace holon::instance::testing
