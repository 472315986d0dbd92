// topics.hpp - every request between clients, parents and children, with what answers it, as data.
#pragma once
#include "transport/codec/shape.hpp"

namespace holon::msg {

// The topics in the order of docs/protocol.md.
transport::TopicGroup topics();

}  // namespace holon::msg
