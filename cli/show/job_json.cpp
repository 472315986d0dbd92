#include "cli/show/job_json.hpp"

#include <nlohmann/json.hpp>

#include "resource/jobspec/ordered_json.hpp"
#include "transport/codec/json.hpp"

namespace holon::cli {

using Json = nlohmann::ordered_json;

Json to_json(const msg::JobRecord& job) {
  return Json::parse(transport::to_json(job));
}

std::string pretty(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
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
    // A line feed within a string is written as \n, so that each of these begins a line.
    for (const char c : transport::to_json(job, 2)) {
      text += c;
      if (c == '\n') text += "    ";
    }
    any_ = true;
  }
  begun_ = true;
  return text;
}
std::string JsonJobs::end() {
  return next({}) + (any_ ? "\n  ]\n}\n" : "]\n}\n");
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
