// The part of the Broker that has a parent: the grant, and the lease that comes with it.
#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include "instance/basics/exit_codes.hpp"
#include "instance/broker/broker.hpp"

namespace holon::instance {
namespace {

// A parent's word about a lease is on its way for so long at most; then its end is not the one that
// was worked out from an earlier word.
constexpr Duration kTransit = 1'000;

}  // namespace

// It may be gone for good, also before it was ever reached.
void Broker::await_parent() {
  if (config_.orphan_timeout > 0)
    orphan_timer_ = reactor_.after(config_.orphan_timeout, [this] { end("its parent is gone"); });
}

void Broker::hear_grant(const msg::Grant& grant) {
  orphan_timer_.cancel();
  grant_.epoch = grant.epoch;
  const msg::Lease lease{grant.time_left, grant.lease};
  if (instance_) {
    // For a parent that has just begun, or one that another broker of this instance had told.
    after_commit_.add([this] { say_ending(); });
    return move_lease(lease);
  }
  grant_.path = grant.path;
  grant_.name = options_.start.name.empty() ? grant.name : options_.start.name;
  const Time end = end_of_lease(lease);
  keep_lease(lease, end);
  Identity identity;
  identity.path = grant_.path;
  identity.name = grant_.name;
  if (auto up = bring_up({"jgf", grant.jgf, grant.bind}, std::move(identity), end); !up) {
    end_reason_ = fmt::format("the grant cannot be used: {}", to_string(up.error()));
    spdlog::error(end_reason_);
    finish(kCannotStart);
  }
}

// The parent says how long is left, since its clock is not ours. Each time it says so again, after
// a reconnect or a restart of either, the word has been on its way for another while: the end that
// was worked out first stands, unless the parent has moved it.
Time Broker::end_of_lease(const msg::Lease& told) const {
  if (told.time_left == 0) return kTimeMax;
  const Time end = saturating_add(reactor_.now(), told.time_left);
  const Time known = grant_.end;
  const bool same = grant_.lease == told.lease;
  return same && known > 0 && known <= saturating_add(end, kTransit) ? known : end;
}

void Broker::keep_lease(const msg::Lease& told, Time end) {
  grant_.lease = told.lease;
  grant_.end = end == kTimeMax ? 0 : end;
  journal_.put_grant(grant_);
}

void Broker::move_lease(const msg::Lease& told) {
  const Time end = end_of_lease(told);
  keep_lease(told, end);
  instance_->set_lease(end, reactor_.now());
  watch_lease(end);
}

}  // namespace holon::instance
