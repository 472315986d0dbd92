// reason.hpp - why a pending job is not running, in a sentence that a person can act on. Private to
// qmanager/.
#pragma once
#include <string>

#include "qmanager/state.hpp"

namespace holon::qmanager {

std::string reason_text(const Scheduler::State& state, const Job& job);

}  // namespace holon::qmanager
