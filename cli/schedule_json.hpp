// schedule_json.hpp - what --json prints of the schedule and the queues: field names are those of
// the protocol.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "instance/queue_messages.hpp"
#include "instance/schedule_messages.hpp"

namespace holon::cli {

nlohmann::ordered_json to_json(const instance::msg::Explained& job);
nlohmann::ordered_json to_json(const instance::msg::Prioritized& job);
nlohmann::ordered_json to_json(const instance::msg::Span& span);
nlohmann::ordered_json to_json(const instance::msg::WindowsReply& reply);
nlohmann::ordered_json to_json(const instance::msg::QueueInfo& queue);
nlohmann::ordered_json to_json(const instance::msg::StatsReply& stats);

}  // namespace holon::cli
