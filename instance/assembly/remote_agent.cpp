#include "instance/assembly/remote_agent.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "base/text/printable.hpp"
#include "instance/assembly/agent_guard.hpp"
#include "instance/basics/clock.hpp"
#include "instance/basics/surroundings.hpp"
#include "instance/process/spawn.hpp"
#include "launch/agent.hpp"
#include "launch/remote/invitation.hpp"
#include "launch/remote/place.hpp"
#include "launch/tracking/lineage.hpp"
#include "transport/unique_fd.hpp"

namespace holon::instance {
namespace {

// The broker may be reachable later: it is there before the launcher, but maybe not its network.
constexpr Duration kJoinPatience = 60'000;

std::string own_name(const Surroundings& around) {
  if (!around.allocation.node.empty()) return around.allocation.node;
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

int give_up_on(const std::string& host, const RemoteAgentOptions& options, const Error& error) {
  const std::string who = options.at_hand ? "holon join" : "holon agent on " + host;
  std::fputs((who + ": " + printable_lines(to_string(error)) + "\n").c_str(), stderr);
  return launch::kAgentCouldNotBegin;
}

launch::AgentOptions agent_options(const launch::Invitation& invitation, launch::AgentPlace place,
                                   const Surroundings& around, const RemoteAgentOptions& options) {
  launch::AgentOptions agent;
  agent.broker_uri = std::move(place.address);
  agent.secret = place.is.secret;
  agent.rank = place.is.rank;
  agent.hostname = place.is.host;
  agent.orphan_timeout = place.is.orphan_timeout;
  agent.log_level = options.log_level;
  agent.at_hand = options.at_hand;
  agent.starter = options.starter_of_agent;
  if (options.cpuset)
    agent.cpuset = *options.cpuset;
  else
    agent.most_memory = most_memory(around);
  if (options.at_hand) {  // else the instance is in that batch job, and ends with it
    if (options.until > 0) agent.lasts = std::max<Duration>(1, options.until - wall_clock_ms());
    agent.batch_job = around.allocation.job;
    if (!agent.batch_job.empty()) agent.batch_system = batch::name_of(around.allocation.system);
  }
  agent.security = {invitation.server_key, place.is.public_key, place.is.secret_key};
  return agent;
}

}  // namespace

int remote_agent_with(const launch::Invitation& invitation, const RemoteAgentOptions& options) {
  const Surroundings around = look_around(config::Config());
  const std::string host = options.name.empty() ? own_name(around) : options.name;
  redirect(STDIN_FILENO, "/dev/null", O_RDONLY);
  for (const auto& name : around.of_place) unsetenv(name.c_str());
  unsetenv("HOLON_URI");  // of an instance around this one
  if (!options.cpuset) {
    if (const auto cut = keep_granted_cores(around); !cut)
      return give_up_on(host, options, cut.error());
    show_granted_gpus(around);
  }
  auto place = launch::ask_for_place(
      invitation, {options.rank, host, options.starter_of_agent >= 0}, kJoinPatience);
  if (!place) return give_up_on(host, options, place.error());
  if (place->is.rank == 0) return launch::kAgentDone;  // the launcher has started one here, too
  if (options.at_hand)
    std::fprintf(stderr, "holon join: %s is node %u of the instance at %s\n", host.c_str(),
                 place->is.rank, place->address.c_str());
  if (!place->is.lineage.empty()) setenv(kLineage, place->is.lineage.c_str(), 1);
  return keep_agent(agent_options(invitation, std::move(*place), around, options), options.starter);
}

int remote_agent_main(const RemoteAgentOptions& options) {
  transport::take_standard_descriptors();
  auto invitation = launch::take_invitation(options.invitation);
  if (!invitation)
    return give_up_on(own_name(look_around(config::Config())), options, invitation.error());
  if (!options.uri.empty()) invitation->addresses = {options.uri};
  return remote_agent_with(*invitation, options);
}

}  // namespace holon::instance
