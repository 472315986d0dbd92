// The part of the Broker that waits for its agents: for what a root's resources are put together
// from, and until jobs can be run.
#include <spdlog/spdlog.h>

#include "instance/broker.hpp"
#include "instance/exit_codes.hpp"

namespace holon::instance {

Status Broker::gather(ResourceSource own) {
  gathering_.emplace(std::move(own), options_.secrets.agents);
  return gathering_->complete() ? bring_up_gathered() : Status();
}

Status Broker::bring_up_gathered() {
  const ResourceSource source = gathering_->resources();
  gathering_.reset();
  return bring_up_root(source);
}

Status Broker::bring_up_root(const ResourceSource& source) {
  Identity identity;
  identity.name = options_.start.name;
  return bring_up(source, std::move(identity), end_of_limit());
}

void Broker::begin_with_gathered() {
  const auto begun = bring_up_gathered();
  if (begun) return;
  spdlog::critical(to_string(begun.error()));
  finish(kCannotStart);
}

// Those that have not come by now are not waited for any more.
void Broker::gathered_enough() {
  is_gathered_ = true;
  if (gathering_) begin_with_gathered();
  tell_when_ready();
}

void Broker::tell_when_ready() {
  if (!core_ || is_ready_ || phase_ == Phase::over) return;
  const Agents& agents = core_->agents;
  const bool enough = is_gathered_ && agents.beside_broker().connected();
  if (!enough && !agents.all_connected()) return;
  is_ready_ = true;
  gather_timer_.cancel();
  agents_are_up();
}

}  // namespace holon::instance
