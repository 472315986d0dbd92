// rights.hpp - what the tables of topics (msg/topic.hpp) say of a request: who may ask a broker for
// it, how far it travels in the tree, what answers for an ended instance, and what may be asked if
// nothing can be written.
#pragma once
#include <string_view>

#include "base/result.hpp"
#include "msg/topic.hpp"

namespace holon::instance {

using enum msg::Asker;
using msg::Reach;
using msg::WhenEnded;

// May a sender of these kinds ask for it? `passed_on`: the request names a path. Errors:
// unsupported (no such topic), denied.
Status may_ask(std::string_view topic, unsigned askers, bool passed_on);
// False for a topic that does not exist.
bool is_audited(std::string_view topic);
bool is_repeated(std::string_view topic);
WhenEnded answer_when_ended(std::string_view topic);
// Does it only look? Then a broker that cannot write may answer it.
bool is_look(std::string_view topic);

}  // namespace holon::instance
