// job_json.hpp - what `--json` prints: the fields of the messages under their own names and in
// their own units (docs/protocol.md): times in ms since the epoch, durations in ms.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "instance/messages.hpp"
#include "instance/resource_messages.hpp"

namespace holon::cli {

nlohmann::ordered_json to_json(const instance::msg::JobRecord& job);
nlohmann::ordered_json to_json(const std::vector<instance::msg::JobRecord>& jobs);
nlohmann::ordered_json to_json(const instance::msg::TreeNode& node);
nlohmann::ordered_json to_json(const instance::msg::ResourceReply& resources);

// Indented, with a newline at the end; bytes that are not UTF-8 are replaced.
std::string pretty(const nlohmann::ordered_json& json);

}  // namespace holon::cli
