#include "cli/show/schedule_json.hpp"

#include <nlohmann/json.hpp>

#include "cli/show/job_json.hpp"
#include "transport/codec/json.hpp"

namespace holon::cli {

std::string json_text(const msg::ExplainReply& reply) {
  return transport::to_json(reply, 2) + "\n";
}
std::string json_text(const msg::PriorityReply& reply) {
  return transport::to_json(reply, 2) + "\n";
}
std::string json_text(const msg::PlanPart& plan) {
  return transport::to_json(plan, 2) + "\n";
}
std::string json_text(const msg::WindowsReply& reply) {
  return transport::to_json(reply, 2) + "\n";
}
std::string json_text(const std::vector<msg::QueueInfo>& queues) {
  return pretty({{"queues", nlohmann::ordered_json::parse(transport::to_json(queues))}});
}
std::string json_text(const msg::StatsReply& stats) {
  return transport::to_json(stats, 2) + "\n";
}
std::string json_text(const msg::PolicyShown& shown) {
  return transport::to_json(shown, 2) + "\n";
}
std::string json_text(const msg::WhatIfReply& reply) {
  return transport::to_json(reply, 2) + "\n";
}

}  // namespace holon::cli
