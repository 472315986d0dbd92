// topics.hpp - every request between a broker and its agents, with its answer, as data.
#pragma once
#include <span>

#include "msg/topic.hpp"

namespace holon::launch {

// In the order of docs/protocol.md.
std::span<const holon::msg::Topic> table();
// The same without the rights, for the schema.
transport::TopicGroup topics();

}  // namespace holon::launch
