// The part of the Broker that handles a parent: the grant, and its lease.
#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include "instance/basics/exit_codes.hpp"
#include "instance/broker/broker.hpp"

namespace holon::instance {
namespace {

// The longest that a parent's word about a lease is on its way; a difference beyond it means that
// the end was moved.
constexpr Duration kTransit = 1'000;
// What agents have sent before the lease was over is read within this time. A broker that was
// stopped beyond its lease finds the ends of its jobs in its sockets when it goes on.
constexpr Duration kToHear = 100;
// A broker that begins after the end that it knows may have been given more time while it was away:
// the parent's first word is awaited for so long, which is less than the parent waits for it.
constexpr Duration kToHearParent = 2'000;

}  // namespace

// The parent may be gone for good, even before it was ever reached.
void Broker::await_parent() {
  if (config_.orphan_timeout > 0)
    orphan_timer_ =
        reactor_.after(config_.orphan_timeout, [this] { end_unasked("its parent is gone"); });
}

void Broker::hear_grant(const msg::Grant& grant) {
  orphan_timer_.cancel();
  grant_.epoch = grant.epoch;
  const msg::Lease lease{grant.time_left,         grant.lease,   grant.elastic, grant.moved_by,
                         grant.moved_by_operator, grant.for_good};
  is_last_end_ = grant.for_good;
  if (instance_) {
    instance_->identity.patience = grant.patience;
    // Tells a parent that has just begun, or one that an earlier broker of this instance had told.
    after_commit_.add([this] { say_ending(); });
    instance_->grants.connected();
    return move_lease(lease);
  }
  grant_.path = grant.path;
  grant_.name = options_.start.name.empty() ? grant.name : options_.start.name;
  const Time end = end_of_lease(lease);
  keep_lease(lease, end);
  Identity identity;
  identity.path = grant_.path;
  identity.name = grant_.name;
  identity.patience = grant.patience;
  if (auto up = bring_up({"jgf", grant.jgf, grant.bind}, std::move(identity), end); !up) {
    end_reason_ = fmt::format("the grant cannot be used: {}", to_string(up.error()));
    spdlog::error(end_reason_);
    return finish(kCannotStart);
  }
  instance_->set_end_mover({lease.moved_by, lease.moved_by_operator});
  instance_->grants.set_most(lease.elastic, reactor_.now());
}

// The parent says how long is left, since its clock is not ours. Each repetition, after a reconnect
// or a restart of either, has been on its way for a different time: the end that was computed first
// stands, unless the parent has moved it.
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

void Broker::watch_lease(Time end) {
  lease_timer_.cancel();
  hearing_.cancel();
  if (end != kTimeMax) lease_timer_ = reactor_.at(end, [this] { end_with_lease(); });
  // Who has told it to stop does not take that back by another word.
  if (is_told_ && phase_ == Phase::up) end_by_signal();
}

bool Broker::is_lease_over() const {
  return instance_ && instance_->identity.lease_end <= reactor_.now();
}

// A child is told to stop at the end that its parent knows, which is earlier than its own by as
// long as the parent's word was on its way.
bool Broker::is_lease_over_above() const {
  if (!parent_ || !instance_ || instance_->identity.lease_end == kTimeMax) return is_lease_over();
  return instance_->identity.lease_end <= saturating_add(reactor_.now(), kTransit);
}

// The jobs that ended in time have their own ends, not the lease's: what was sent about them is
// heard first. The lease may be moved meanwhile, which cancels this (watch_lease).
void Broker::end_with_lease() {
  if (hearing_) return;
  const bool is_cut_off = parent_ && !parent_->is_up();
  hearing_ = reactor_.after(is_cut_off ? kToHearParent : kToHear, [this] { let_lease_end(); });
}

void Broker::let_lease_end() {
  hearing_.cancel();
  begin_end("timeout", "its time is over");
}

void Broker::move_lease(const msg::Lease& told) {
  is_last_end_ = told.for_good;
  const Time end = end_of_lease(told);
  keep_lease(told, end);
  instance_->set_end_mover({told.moved_by, told.moved_by_operator});
  instance_->set_lease(end, reactor_.now());
  instance_->grants.set_most(told.elastic, reactor_.now());
  watch_lease(end);
  hear_last_end();
}

}  // namespace holon::instance
