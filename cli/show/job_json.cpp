#include "cli/show/job_json.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "resource/jobspec/ordered_json.hpp"
#include "transport/codec/json.hpp"

namespace holon::cli {

using Json = nlohmann::ordered_json;

namespace {

bool has_index(const msg::JobRecord& job) {
  return job.array != 0 && job.tasks == 0;
}

// The record, indented, without an index that it does not have. A line feed in a string is written
// as \n, so that each line begins with a key or a bracket.
std::string lines_of(const msg::JobRecord& job) {
  std::string text = transport::to_json(job, 2);
  if (has_index(job)) return text;
  const auto begin = text.find("\n  \"index\": ");
  if (begin != std::string::npos) text.erase(begin, text.find('\n', begin + 1) - begin);
  return text;
}

}  // namespace

Json to_json(const msg::JobRecord& job) {
  Json json = Json::parse(transport::to_json(job));
  if (!has_index(job)) json.erase("index");
  return json;
}

std::string pretty(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string json_text(const msg::JobRecord& job) {
  return lines_of(job) + "\n";
}
std::string json_text(const std::vector<msg::JobRecord>& jobs) {
  JsonJobs text;
  std::string all = text.next(jobs);
  return all += text.end();
}
std::string json_text(const std::vector<msg::StateCount>& counts) {
  Json json = {{"counts", Json::object()}};
  for (const auto& count : counts) json["counts"][count.state] = count.jobs;
  return pretty(json);
}
std::string json_text(const std::vector<msg::Usage>& usages) {
  Json json = {{"usage", Json::array()}};
  for (const auto& usage : usages) json["usage"].push_back(Json::parse(transport::to_json(usage)));
  return pretty(json);
}
std::string JsonJobs::next(const std::vector<msg::JobRecord>& jobs) {
  std::string text = begun_ ? "" : "{\n  \"jobs\": [";
  for (const auto& job : jobs) {
    text += any_ ? ",\n    " : "\n    ";
    for (const char c : lines_of(job)) {
      text += c;
      if (c == '\n') text += "    ";
    }
    any_ = true;
  }
  begun_ = true;
  return text;
}
std::string JsonJobs::end(std::int64_t cores) {
  const std::string behind = cores > 0 ? fmt::format(",\n  \"cores\": {}\n}}\n", cores) : "\n}\n";
  return next({}) + (any_ ? "\n  ]" : "]") + behind;
}

std::string json_text(const msg::TreeNode& node) {
  return transport::to_json(node, 2) + "\n";
}
std::string json_text(const msg::ResourceReply& resources) {
  Json json = Json::parse(transport::to_json(resources));
  json.erase("R");  // `holon resource R` prints it
  return pretty(json);
}
std::string indented(const std::string& json) {
  return pretty(resource::parse_ordered(json));
}

}  // namespace holon::cli
