#include "instance/users/rights.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "launch/topics.hpp"
#include "msg/topics.hpp"

namespace holon::instance {
namespace {

using msg::Audited;
using msg::Repeated;
using msg::Rights;
using msg::Topic;

const char* names_of(unsigned askers, unsigned asker) {
  if ((asker & kVisitor) != 0 && (askers & (kMember | kOperator)) != 0)
    return (askers & kMember) != 0 ? "users that the instance serves" : "its operators";
  if ((askers & kOwner) != 0) return "the instance's own user";
  if ((askers & kAgent) != 0) return "the agent that said hello last";
  if ((askers & kInvited) != 0) return "who has an invitation";
  return (askers & kChild) != 0 ? "a child that has said hello" : "the parent";
}

const Rights* find_rights(std::string_view topic) {
  for (const auto rows : {msg::table(), launch::table()}) {
    const auto row = std::find_if(rows.begin(), rows.end(),
                                  [&](const Topic& r) { return r.shape.name == topic; });
    if (row != rows.end()) return row->rights.askers == 0 ? nullptr : &row->rights;
  }
  return nullptr;
}

}  // namespace

Status may_ask(std::string_view topic, unsigned askers, bool passed_on) {
  const Rights* rights = find_rights(topic);
  if (rights == nullptr)
    return fail(Errc::unsupported, fmt::format("unknown request \"{}\"", topic));
  if (passed_on && rights->reach == Reach::neighbours)
    return fail(Errc::denied, fmt::format("{} is not passed on", topic));
  if ((rights->askers & askers) == 0)
    return fail(Errc::denied,
                fmt::format("{} is taken from {} only", topic, names_of(rights->askers, askers)));
  return {};
}

bool is_audited(std::string_view topic) {
  const Rights* rights = find_rights(topic);
  return rights != nullptr && rights->audited == Audited::yes;
}

bool is_repeated(std::string_view topic) {
  const Rights* rights = find_rights(topic);
  return rights != nullptr && rights->repeated == Repeated::yes;
}

WhenEnded answer_when_ended(std::string_view topic) {
  const Rights* rights = find_rights(topic);
  return rights == nullptr ? WhenEnded::refusal : rights->when_ended;
}

bool is_look(std::string_view topic) {
  const Rights* rights = find_rights(topic);
  return rights != nullptr && rights->reach == Reach::tree && rights->audited == Audited::no &&
         rights->repeated == Repeated::no;
}

}  // namespace holon::instance
