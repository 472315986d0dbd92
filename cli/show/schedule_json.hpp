// schedule_json.hpp - what --json prints of the schedule and the queues: field names are those of
// the protocol.
#pragma once
#include <string>
#include <vector>

#include "instance/service/queue_messages.hpp"
#include "instance/service/schedule_messages.hpp"

namespace holon::cli {

std::string json_text(const instance::msg::ExplainReply& reply);
std::string json_text(const instance::msg::PriorityReply& reply);
std::string json_text(const instance::msg::PlanPart& plan);
std::string json_text(const instance::msg::WindowsReply& reply);
std::string json_text(const std::vector<instance::msg::QueueInfo>& queues);  // {"queues": [...]}
std::string json_text(const instance::msg::StatsReply& stats);

}  // namespace holon::cli
