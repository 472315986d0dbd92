#include "cli/show/job_json.hpp"

#include <nlohmann/json.hpp>

namespace holon::cli {

using Json = nlohmann::ordered_json;

Json to_json(const msg::JobRecord& job) {
  return {{"path", job.path},
          {"id", job.id},
          {"name", job.name},
          {"user", job.user},
          {"group", job.group},
          {"account", job.account},
          {"qos", job.qos},
          {"queue", job.queue},
          {"urgency", job.urgency},
          {"state", job.state},
          {"result", job.result},
          {"exit_code", job.exit_code},
          {"reason", job.reason},
          {"command", job.command},
          {"nodelist", job.nodelist},
          {"resources", job.resources},
          {"nnodes", job.nnodes},
          {"ncores", job.ncores},
          {"ngpus", job.ngpus},
          {"ntasks", job.ntasks},
          {"t_submit", job.t_submit},
          {"t_alloc", job.t_alloc},
          {"t_start", job.t_start},
          {"t_finish", job.t_finish},
          {"t_inactive", job.t_inactive},
          {"t_estimate", job.t_estimate},
          {"expiration", job.expiration},
          {"limit", job.limit},
          {"selection", job.selection},
          {"is_instance", job.is_instance},
          {"child_uri", job.child_uri},
          {"output", job.output},
          {"error", job.error},
          {"cpu_ms", job.cpu_ms},
          {"max_rss_kb", job.max_rss_kb},
          {"pids", job.pids}};
}

namespace {

Json node_json(const msg::TreeNode& node) {
  Json json = {{"path", node.path},
               {"name", node.name},
               {"policy", node.policy},
               {"uri", node.uri},
               {"health", node.health},
               {"pid", node.pid},
               {"nodes", node.nodes},
               {"cores", node.cores},
               {"cores_free", node.cores_free},
               {"gpus", node.gpus},
               {"gpus_free", node.gpus_free},
               {"pending", node.pending},
               {"running", node.running},
               {"inactive", node.inactive},
               {"failed", node.failed},
               {"cancelled", node.cancelled},
               {"t_started", node.t_started},
               {"expiration", node.expiration},
               {"children", Json::array()}};
  for (const auto& child : node.children) json["children"].push_back(node_json(child));
  return json;
}

Json resources_json(const msg::ResourceReply& resources) {
  Json drained = Json::array();
  for (const auto& node : resources.nodes_drained)
    drained.push_back({{"host", node.host},
                       {"reason", node.reason},
                       {"since", node.since},
                       {"above", node.above},
                       {"busy", node.busy}});
  return {{"total", resources.total},
          {"free", resources.free},
          {"down", resources.down},
          {"drained", resources.drained},
          {"nodes_free", resources.nodes_free},
          {"nodes_allocated", resources.nodes_allocated},
          {"nodes_down", resources.nodes_down},
          {"nodes_drained", std::move(drained)}};
}

}  // namespace

std::string pretty(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string json_text(const std::vector<msg::JobRecord>& jobs) {
  Json list = Json::array();
  for (const auto& job : jobs) list.push_back(to_json(job));
  return pretty({{"jobs", std::move(list)}});
}
std::string JsonJobs::next(const std::vector<msg::JobRecord>& jobs) {
  std::string text = begun_ ? "" : "{\n  \"jobs\": [";
  for (const auto& job : jobs) {
    text += any_ ? ",\n    " : "\n    ";
    // A line feed within a string is written as \n, so that each of these begins a line.
    for (const char c : to_json(job).dump(2, ' ', false, Json::error_handler_t::replace)) {
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
  return pretty(node_json(node));
}
std::string json_text(const msg::ResourceReply& resources) {
  return pretty(resources_json(resources));
}
std::string indented(const std::string& json) {
  return pretty(Json::parse(json));
}

}  // namespace holon::cli
