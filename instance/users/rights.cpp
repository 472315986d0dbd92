#include "instance/users/rights.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace holon::instance {
namespace {

// All brokers of a tree run as one user, which both ends of their connections prove: requests that
// they pass on come from the owner.
constexpr unsigned kUser = kOwner | kParent;
constexpr unsigned kOperators = kUser | kOperator;  // not over other users
constexpr unsigned kUsers = kOperators | kMember;   // about their own jobs: Access
constexpr unsigned kAll = kUsers | kVisitor;
constexpr bool kAudited = true;
constexpr bool kRepeated = true;

constexpr std::array kRights = {
    Right{"submit", kUsers, Reach::tree, kAudited},
    Right{"submit.graph", kUsers, Reach::tree, kAudited},
    Right{"job.extend", kUsers, Reach::tree, kAudited},
    Right{"jobs", kUsers, Reach::tree, !kAudited, WhenEnded::job_list},
    Right{"job.tasks", kUsers, Reach::tree},
    Right{"job.info", kUsers, Reach::tree, !kAudited, WhenEnded::info},
    Right{"job.watch", kUsers, Reach::tree, !kAudited, WhenEnded::events},
    Right{"job.wait", kUsers, Reach::tree, !kAudited, WhenEnded::records},
    Right{"events", kUsers, Reach::tree},
    Right{"job.attach", kUsers, Reach::tree, !kAudited, WhenEnded::output},
    Right{"job.input", kUsers, Reach::tree, !kAudited, WhenEnded::refusal, kRepeated},
    Right{"cancel", kUsers, Reach::tree, kAudited},
    Right{"job.signal", kUsers, Reach::tree, kAudited},
    Right{"job.update", kUsers, Reach::tree, kAudited},
    Right{"job.suspend", kUsers, Reach::tree, kAudited},
    Right{"tree", kAll, Reach::tree, !kAudited, WhenEnded::counts},
    Right{"status", kAll, Reach::tree, !kAudited, WhenEnded::counts},
    Right{"journal.compact", kOperators, Reach::tree, kAudited},
    Right{"shutdown", kOperators, Reach::tree, kAudited},
    Right{"explain", kUsers, Reach::tree},
    Right{"plan", kOperators, Reach::tree},
    Right{"windows", kUsers, Reach::tree},
    Right{"priority", kOperators, Reach::tree},
    Right{"urgency", kUsers, Reach::tree, kAudited},
    Right{"queue.gate", kOperators, Reach::tree, kAudited},
    Right{"policy.load", kOperators, Reach::tree, kAudited},
    Right{"policy.disable", kOperators, Reach::tree, kAudited},
    Right{"policy.show", kOperators, Reach::tree},
    Right{"policy.what-if", kOperators, Reach::tree},
    Right{"stats", kOperators, Reach::tree},
    Right{"config.get", kOperators, Reach::tree},
    Right{"config.reload", kOperators, Reach::tree, kAudited},
    Right{"audit", kOperators, Reach::tree},
    Right{"reserve", kOperators, Reach::tree, kAudited},
    Right{"reservations", kOperators, Reach::tree},
    Right{"unreserve", kOperators, Reach::tree, kAudited},
    Right{"resource.list", kAll, Reach::tree},
    Right{"grant.ask", kOperators, Reach::tree, kAudited},
    Right{"grant.show", kOperators, Reach::tree},
    Right{"grant.release", kOperators, Reach::tree, kAudited},
    Right{"grant.recall", kOperators, Reach::tree, kAudited},
    Right{"grant.history", kOperators, Reach::tree},
    Right{"user.instance", kAll, Reach::tree},
    Right{"resource.R", kUsers, Reach::tree},
    Right{"resource.drain", kOperators, Reach::tree, kAudited},
    Right{"node.invite", kOperators, Reach::tree, kAudited},
    Right{"node.leave", kOperators, Reach::tree, kAudited},
    // What is passed to the batch system runs as the owner.
    Right{"provision.add", kUser, Reach::tree, kAudited},
    Right{"provision.list", kOperators, Reach::tree},
    Right{"provision.change", kOperators, Reach::tree, kAudited},
    // With these topics agents and children prove what they are: before that they are clients, or
    // have an invitation.
    Right{"agent.hello", kOwner, Reach::neighbours, !kAudited, WhenEnded::refusal, kRepeated},
    Right{"hello", kOwner | kMember, Reach::neighbours, !kAudited, WhenEnded::refusal, kRepeated},
    Right{"invitation", kOwner | kMember, Reach::neighbours},
    Right{"agent.join", kInvited, Reach::neighbours},
    Right{"user.prove", kInvited, Reach::neighbours},
    Right{"agent.vouch", kInvited, Reach::neighbours},
    Right{"agent.report", kAgent, Reach::neighbours, !kAudited, WhenEnded::refusal, kRepeated},
    Right{"agent.fence", kAgent, Reach::neighbours, !kAudited, WhenEnded::refusal, kRepeated},
    Right{"agent.files", kAgent, Reach::neighbours, !kAudited, WhenEnded::refusal, kRepeated},
    Right{"agent.keep", kAgent, Reach::neighbours, !kAudited, WhenEnded::refusal, kRepeated},
    Right{"agent.refused", kAgent, Reach::neighbours, !kAudited, WhenEnded::refusal, kRepeated},
    Right{"record", kChild, Reach::neighbours, !kAudited, WhenEnded::refusal, kRepeated},
    Right{"ending", kChild, Reach::neighbours},
    Right{"lease", kParent, Reach::neighbours},
    Right{"grant", kChild | kParent, Reach::neighbours, !kAudited, WhenEnded::refusal, kRepeated},
    Right{"drain", kParent, Reach::neighbours},
};

const char* names_of(unsigned askers, unsigned asker) {
  if ((asker & kVisitor) != 0 && (askers & (kMember | kOperator)) != 0)
    return (askers & kMember) != 0 ? "users that the instance serves" : "its operators";
  if ((askers & kOwner) != 0) return "the instance's own user";
  if ((askers & kAgent) != 0) return "the agent that said hello last";
  if ((askers & kInvited) != 0) return "who has an invitation";
  return (askers & kChild) != 0 ? "a child that has said hello" : "the parent";
}

const Right* find_right(std::string_view topic) {
  const auto* const right = std::find_if(kRights.begin(), kRights.end(),
                                         [&](const Right& r) { return r.topic == topic; });
  return right == kRights.end() ? nullptr : right;
}

}  // namespace

std::span<const Right> rights() {
  return kRights;
}

Status may_ask(std::string_view topic, unsigned askers, bool passed_on) {
  const Right* right = find_right(topic);
  if (right == nullptr)
    return fail(Errc::unsupported, fmt::format("unknown request \"{}\"", topic));
  if (passed_on && right->reach == Reach::neighbours)
    return fail(Errc::denied, fmt::format("{} is not passed on", topic));
  if ((right->askers & askers) == 0)
    return fail(Errc::denied,
                fmt::format("{} is taken from {} only", topic, names_of(right->askers, askers)));
  return {};
}

bool is_audited(std::string_view topic) {
  const Right* right = find_right(topic);
  return right != nullptr && right->audited;
}

bool is_repeated(std::string_view topic) {
  const Right* right = find_right(topic);
  return right != nullptr && right->repeated;
}

WhenEnded answer_when_ended(std::string_view topic) {
  const Right* right = find_right(topic);
  return right == nullptr ? WhenEnded::refusal : right->when_ended;
}

bool is_look(std::string_view topic) {
  const Right* right = find_right(topic);
  return right != nullptr && right->reach == Reach::tree && !right->audited && !right->repeated;
}

}  // namespace holon::instance
