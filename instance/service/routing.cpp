#include "instance/service/routing.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <utility>

#include "instance/agents/agent_admission.hpp"
#include "instance/basics/text.hpp"
#include "instance/job/array.hpp"
#include "instance/job/no_array.hpp"
#include "instance/users/rights.hpp"

namespace holon::instance {
namespace {

// How long a request waits for a child that was started and has not said hello yet.
constexpr Duration kChildPatience = 15'000;

}  // namespace

Routing::Routing(transport::Reactor& reactor, transport::Server& server, Uses uses, Upwards up)
    : reactor_(reactor), server_(server), uses_(uses), up_(std::move(up)), owner_(geteuid()) {}

unsigned Routing::kinds_of(const Request& request) const {
  const auto peer = request.peer();
  if (peer.value() == 0) return kParent;  // over our connection to the parent
  const auto& who = request.principal();
  const bool known = who.kind == transport::Principal::Kind::ipc;
  const bool is_user = known && (who.uid == owner_ || who.uid == 0);
  // Agents on other nodes pass on requests from there, of the owner's processes only.
  unsigned kinds = is_user || is_agent(who) ? unsigned{kOwner} : 0U;
  if (uses_.agents.knows(peer)) kinds |= kAgent;
  if (uses_.children.knows(peer)) kinds |= kChild;
  return kinds | uses_.access.kinds_of(who, reactor_.now());
}

std::optional<std::string> Routing::viewer_of(const Request& request) const {
  return uses_.access.sees_only(request.principal(), kinds_of(request), reactor_.now());
}

void Routing::take(const Request& request) {
  const bool passed_on = !request.path().empty();
  const unsigned kinds = kinds_of(request);
  const auto path = passed_on ? resolve(uses_.identity.path, request.path())
                              : Result<std::string>(uses_.identity.path);
  // A user's own child is to that user like an instance of their own.
  const unsigned there = path && is_of_own_child(request, *path) ? kinds | kOwner : kinds;
  if (auto may = may_ask(request.topic(), there, passed_on); !may)
    return uses_.refusals.refuse(request, may.error(), reactor_.now());
  if (path && *path == uses_.identity.path) {
    const auto left = uses_.access.narrow(request, kinds, reactor_.now());
    if (!left) return refuse(request, left.error());
    if (!*left) return;
  }
  if (is_audited(request.topic())) uses_.audit.asked(request, kinds == kParent);
  if (!path) return request.fail(path.error());
  pass_on(request, *path, kinds);
}

void Routing::refuse(const Request& request, const Error& why) {
  if (why.code != Errc::denied) return request.fail(why);
  uses_.refusals.refuse(request, why, reactor_.now());
}

bool Routing::is_of_own_child(const Request& request, const std::string& path) const {
  if (!uses_.access.serves_users() || path == uses_.identity.path) return false;
  const auto child = child_towards(uses_.identity.path, path);
  const std::string user = child ? uses_.jobs.user_of(*child) : std::string();
  return !user.empty() && uses_.access.may_reach(user, request, 0, reactor_.now());
}

void Routing::pass_on(const Request& request, const std::string& path, unsigned kinds) {
  if (path == uses_.identity.path) return uses_.here(request);
  if (const auto child = child_towards(uses_.identity.path, path)) {
    const std::string user = uses_.jobs.user_of(*child);
    if (auto may = uses_.access.may_reach(user, request, kinds, reactor_.now()); !may)
      return refuse(request, may.error());
    return to_child(*child, request, path);
  }
  if (up_) return up_(request, path);
  request.fail({Errc::not_found, fmt::format("there is no instance {}", path), {}});
}

void Routing::to_child(JobId child, const Request& request, const std::string& path) {
  if (const auto peer = uses_.children.peer(child); peer.value() != 0)
    return server_.forward(peer, request, path);
  const ActiveJob* job = uses_.jobs.find(child);
  if (job == nullptr) return uses_.gone.answer(request, path);
  if (job->submission->is_instance && is_array(*job))
    return request.fail(about_array_of_instances(uses_.jobs.path_of(child), child.value()));
  // A child that is ending is waited for: it is expected to end and to be taken over; and so is one
  // that goes on, which is between two starts.
  const bool is_between = job->submission->wishes.goes_on && job->life.retries > 0;
  const bool is_away = !is_pending(job->life.state) || is_between;
  if (!job->submission->is_instance || !is_away) {
    const char* what =
        job->submission->is_instance ? "has not started yet" : "is a job, not an instance";
    return request.fail(
        {Errc::not_found, fmt::format("{} {}", uses_.jobs.path_of(child), what), {}});
  }
  using Outcome = WaitingForChild::Outcome;
  const auto then = [this, child, request, path](const Result<Outcome>& outcome) {
    if (!outcome) return request.fail(outcome.error());
    if (*outcome == Outcome::connected)
      return server_.forward(uses_.children.peer(child), request, path);
    if (*outcome == Outcome::over) return uses_.gone.answer(request, path);
    request.fail({Errc::disconnected, fmt::format("instance {} does not answer", path), {}});
  };
  uses_.awaited.wait(child, kChildPatience, then);
}

}  // namespace holon::instance
