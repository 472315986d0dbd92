#include "instance/assembly/system_join.hpp"

#include <cstdio>

#include "base/text/printable.hpp"
#include "instance/assembly/system_start.hpp"
#include "launch/agent.hpp"
#include "launch/remote/invitation.hpp"
#include "transport/endpoint.hpp"
#include "transport/unique_fd.hpp"

namespace holon::instance {
namespace {

Result<StarterEnds> begin(const SystemJoin& system) {
  const auto items = config::read_conf(system.conf);
  if (!items) return tl::unexpected(items.error());
  const auto config = config::config_of(*items);
  if (!config) return tl::unexpected(config.error());
  return begin_node_for_users(system.account, system.runtime_place, *config, *items);
}

int cannot_join(const Error& error) {
  std::fprintf(stderr, "holon join: %s\n", printable_lines(to_string(error)).c_str());
  return launch::kAgentCouldNotBegin;
}

}  // namespace

int system_join_main(RemoteAgentOptions options, const SystemJoin& system) {
  transport::take_standard_descriptors();
  // Root reads the invitation: its file may be root's alone.
  auto invitation = launch::take_invitation(options.invitation);
  if (!invitation) return cannot_join(invitation.error());
  if (!options.uri.empty()) invitation->addresses = {options.uri};
  const auto starter = begin(system);
  if (!starter) return cannot_join(starter.error());
  options.starter = starter->supervisor;
  options.starter_of_agent = starter->agent;
  return remote_agent_with(*invitation, options);
}

}  // namespace holon::instance
