// topics.hpp - every request between a broker and its agents, with its answer, as data.
#pragma once
#include "transport/codec/shape.hpp"

namespace holon::launch {

// In the order of docs/protocol.md.
transport::TopicGroup topics();

}  // namespace holon::launch
