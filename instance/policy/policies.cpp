#include "instance/policy/policies.hpp"

#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

namespace holon::instance {
namespace {

using nlohmann::json;

// In the journal's table of single values, by queue.
std::string state_key(const std::string& queue) {
  return "policy.state." + queue;
}

// What a policy keeps is of use to that policy alone.
std::string written_down(const std::string& policy, const std::string& state) {
  return json{{"policy", policy}, {"state", state}}.dump();
}

Result<std::pair<std::string, std::string>> read_down(const std::string& bytes) {
  const json read = json::parse(bytes, nullptr, false);
  if (!read.is_object() || !read.contains("policy") || !read.contains("state") ||
      !read["policy"].is_string() || !read["state"].is_string())
    return fail(Errc::invalid_argument, "it is damaged in the journal");
  return std::pair(read["policy"].get<std::string>(), read["state"].get<std::string>());
}

}  // namespace

Status Policies::restore() {
  for (const auto& queue : scheduler_.queues())
    if (Status read = restore(queue); !read) return read;
  return {};
}

Status Policies::restore(const qmanager::QueueStatus& queue) {
  if (!queue.hooks) return {};
  const auto kept = journal_.meta(state_key(queue.name));
  if (!kept) return tl::unexpected(kept.error());
  if (!*kept) return {};
  const auto read = read_down(**kept);
  if (read && read->first != queue.policy) return {};
  const Status restored = read ? scheduler_.restore_policy_state(queue.name, read->second)
                               : tl::unexpected(read.error());
  if (!restored)
    spdlog::warn("what the policy {} of queue {} kept is not used: {}", queue.policy, queue.name,
                 to_string(restored.error()));
  return {};
}

void Policies::keep() {
  for (const auto& [queue, policy, state] : scheduler_.take_policy_states())
    journal_.set_meta(state_key(queue), written_down(policy, state));
}

}  // namespace holon::instance
