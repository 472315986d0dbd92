// topics.hpp - every request between clients, parents and children, with what answers it, as data.
#pragma once
#include <span>

#include "msg/topic.hpp"

namespace holon::msg {

// The topics in the order of docs/protocol.md.
std::span<const Topic> table();
// The same without the rights, for the schema.
transport::TopicGroup topics();

}  // namespace holon::msg
