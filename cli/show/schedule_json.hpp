// schedule_json.hpp - what --json prints of the schedule and the queues: field names are those of
// the protocol.
#pragma once
#include <string>
#include <vector>

#include "msg/policy.hpp"
#include "msg/queue.hpp"
#include "msg/schedule.hpp"

namespace holon::cli {

std::string json_text(const msg::ExplainReply& reply);
std::string json_text(const msg::PriorityReply& reply);
std::string json_text(const msg::PlanPart& plan);
std::string json_text(const msg::WindowsReply& reply);
std::string json_text(const std::vector<msg::QueueInfo>& queues);  // {"queues": [...]}
std::string json_text(const msg::StatsReply& stats);
std::string json_text(const msg::PolicyShown& shown);
std::string json_text(const msg::WhatIfReply& reply);

}  // namespace holon::cli
