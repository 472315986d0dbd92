// The part of the Broker that waits for its agents: until a root's resources can be put together,
// and until jobs can be run.
#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include "base/hostlist.hpp"
#include "instance/basics/exit_codes.hpp"
#include "instance/basics/text.hpp"
#include "instance/broker/broker.hpp"

namespace holon::instance {

Status Broker::gather(ResourceSource own) {
  const std::string own_host = options_.hosts.empty() ? "" : options_.hosts.front();
  gathering_.emplace(std::move(own), own_host, options_.secrets.agents, config_.quorum);
  if (gathering_->complete()) return bring_up_gathered();
  constexpr Duration kLook = 200;
  if (pulse_ != nullptr) gather_look_ = reactor_.every(kLook, [this] { look_for_lost_agents(); });
  return {};
}

// The supervisor sees when the processes end that start agents.
void Broker::look_for_lost_agents() {
  if (gathering_ && gathering_->complete(pulse_->lost_agents())) begin_with_gathered();
}

Status Broker::bring_up_gathered() {
  const ResourceSource source = gathering_->resources();
  lacks_lost_ = !gathering_->complete();
  gathering_.reset();
  gather_look_.cancel();
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

// Begins without the agents that have not come by now.
void Broker::gathered_enough() {
  is_gathered_ = true;
  if (gathering_) begin_with_gathered();
  tell_when_ready();
}

std::string Broker::without() const {
  Hostlist missing;
  for (std::uint32_t rank = 0; rank < options_.hosts.size(); ++rank)
    if (!options_.secrets.agents[rank].empty() && !instance_->agents.is_connected(rank))
      missing.append(options_.hosts[rank]);
  if (missing.empty()) return {};
  constexpr std::size_t kLongest = 2'000;  // characters, for hosts whose names share nothing
  std::string names = missing.str();
  if (names.size() > kLongest) names = names.substr(0, kLongest) + "...";
  const bool is_one = missing.count() == 1;
  const std::string how =
      is_gathered_  ? fmt::format("did not come within {} (instance.gather-timeout)",
                                  duration_text(config_.gather_timeout))
      : lacks_lost_ ? "will not come, for what was to start an agent there has failed"
                    : fmt::format("{} not come yet (instance.quorum)", is_one ? "has" : "have");
  const char* const them = is_one ? "it" : "them";
  const bool may_come = is_gathered_ || !lacks_lost_;
  return fmt::format("{} {}; the instance begins without {}{}", names, how, them,
                     may_come ? fmt::format(", and takes {} in later", them) : "");
}

void Broker::tell_when_ready() {
  if (!instance_ || is_ready_ || phase_ == Phase::over) return;
  const Agents& agents = instance_->agents;
  const bool enough = is_gathered_ && agents.beside_broker().connected();
  if (!enough && !agents.all_connected()) return;
  is_ready_ = true;
  gather_timer_.cancel();
  agents_are_up();
}

}  // namespace holon::instance
