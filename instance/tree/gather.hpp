// gather.hpp - asks several children one question at once, and collects their answers.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "base/strong.hpp"
#include "transport/rpc.hpp"

namespace holon::instance {

using Answers = std::map<JobId, std::string>;  // of the children that answered in time

// Asks each child with `call` (its timeout is the patience) and calls `done` once, when all have
// answered or failed. Without children: at once.
void gather(transport::Server& server, const std::map<JobId, transport::PeerId>& children,
            const transport::Call& call, std::function<void(const Answers&)> done);

}  // namespace holon::instance
