#include "instance/service/rights.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace holon::instance {
namespace {

// Every broker of a tree is of one user, and proves it to its neighbours at both ends of their
// connection: what it passes on was asked for by the owner.
constexpr unsigned kUser = kOwner | kParent;
constexpr bool kAudited = true;

constexpr std::array kRights = {
    Right{"submit", kUser, Reach::tree, kAudited},
    Right{"jobs", kUser, Reach::tree},
    Right{"job.tasks", kUser, Reach::tree},
    Right{"job.info", kUser, Reach::tree},
    Right{"job.watch", kUser, Reach::tree},
    Right{"job.wait", kUser, Reach::tree},
    Right{"events", kUser, Reach::tree},
    Right{"job.attach", kUser, Reach::tree},
    Right{"job.input", kUser, Reach::tree},
    Right{"cancel", kUser, Reach::tree, kAudited},
    Right{"job.signal", kUser, Reach::tree, kAudited},
    Right{"job.update", kUser, Reach::tree, kAudited},
    Right{"job.suspend", kUser, Reach::tree, kAudited},
    Right{"tree", kUser, Reach::tree},
    Right{"status", kUser, Reach::tree},
    Right{"journal.compact", kUser, Reach::tree, kAudited},
    Right{"shutdown", kUser, Reach::tree, kAudited},
    Right{"explain", kUser, Reach::tree},
    Right{"plan", kUser, Reach::tree},
    Right{"windows", kUser, Reach::tree},
    Right{"priority", kUser, Reach::tree},
    Right{"urgency", kUser, Reach::tree, kAudited},
    Right{"queue.gate", kUser, Reach::tree, kAudited},
    Right{"policy.load", kUser, Reach::tree, kAudited},
    Right{"policy.disable", kUser, Reach::tree, kAudited},
    Right{"policy.show", kUser, Reach::tree},
    Right{"policy.what-if", kUser, Reach::tree},
    Right{"stats", kUser, Reach::tree},
    Right{"audit", kUser, Reach::tree},
    Right{"reserve", kUser, Reach::tree, kAudited},
    Right{"reservations", kUser, Reach::tree},
    Right{"unreserve", kUser, Reach::tree, kAudited},
    Right{"resource.list", kUser, Reach::tree},
    Right{"resource.R", kUser, Reach::tree},
    Right{"resource.drain", kUser, Reach::tree, kAudited},
    Right{"node.invite", kUser, Reach::tree, kAudited},
    Right{"node.leave", kUser, Reach::tree, kAudited},
    Right{"provision.add", kUser, Reach::tree, kAudited},
    Right{"provision.list", kUser, Reach::tree},
    Right{"provision.change", kUser, Reach::tree, kAudited},
    // With these, agents and children prove what they are: before that they are clients, or have an
    // invitation.
    Right{"agent.hello", kOwner, Reach::neighbours},
    Right{"hello", kOwner, Reach::neighbours},
    Right{"invitation", kOwner, Reach::neighbours},
    Right{"agent.join", kGuest, Reach::neighbours},
    Right{"agent.report", kAgent, Reach::neighbours},
    Right{"agent.fence", kAgent, Reach::neighbours},
    Right{"agent.files", kAgent, Reach::neighbours},
    Right{"agent.keep", kAgent, Reach::neighbours},
    Right{"record", kChild, Reach::neighbours},
    Right{"ending", kChild, Reach::neighbours},
    Right{"lease", kParent, Reach::neighbours},
    Right{"drain", kParent, Reach::neighbours},
};

const char* names_of(unsigned askers) {
  if ((askers & kOwner) != 0) return "the instance's own user";
  if ((askers & kAgent) != 0) return "the agent that said hello last";
  if ((askers & kGuest) != 0) return "who has an invitation";
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
                fmt::format("{} is taken from {} only", topic, names_of(right->askers)));
  return {};
}

bool is_audited(std::string_view topic) {
  const Right* right = find_right(topic);
  return right != nullptr && right->audited;
}

}  // namespace holon::instance
