// job_json.hpp - what `--json` prints: the messages as transport/codec/json.hpp writes them, under
// their own names and in their own units (docs/protocol.md): times in ms since the epoch, durations
// in ms.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "msg/instance.hpp"
#include "msg/resource.hpp"

namespace holon::cli {

// The record as JSON; only a task of an array has an index.
nlohmann::ordered_json to_json(const msg::JobRecord& job);

// Indented, with a newline at the end; bytes that are not UTF-8 are replaced.
std::string pretty(const nlohmann::ordered_json& json);

// The text of pretty(), for verbs that do nothing else with JSON: its library takes seconds to
// compile.
std::string json_text(const msg::JobRecord& job);
std::string json_text(const std::vector<msg::JobRecord>& jobs);     // {"jobs": [...]}
std::string json_text(const std::vector<msg::StateCount>& counts);  // {"counts": {"FAILED": 3}}
std::string json_text(const std::vector<msg::Usage>& usages);       // {"usage": [...]}
// The text of jobs, piece by piece.
class JsonJobs {
 public:
  std::string next(const std::vector<msg::JobRecord>& jobs);
  // `cores`: of the machine they ran on; 0: unknown.
  std::string end(std::int64_t cores = 0);

 private:
  bool begun_ = false, any_ = false;
};
std::string json_text(const msg::TreeNode& node);
std::string json_text(const msg::ResourceReply& resources);
std::string indented(const std::string& json);  // REQUIRES: it is JSON

}  // namespace holon::cli
