#include "instance/remote/nodes.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/whole_file.hpp"
#include "transport/secret.hpp"

namespace holon::instance {
namespace {

std::string name_of_this_node(const batch::Allocation& allocation) {
  if (!allocation.node.empty()) return allocation.node;
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::vector<std::string> agent_command(const std::string& binary) {
  return {binary, "agent", "--join"};
}

// ssh hands every host the same words: each is told its rank, for it may know itself by another
// name.
Result<Nodes> by_ssh(std::vector<std::string> hosts, const std::string& here,
                     const config::Config& config, const std::string& binary) {
  std::erase_if(hosts, [&](const auto& host) {
    return host == "localhost" || batch::is_same_host(host, here);
  });
  Nodes nodes;
  if (hosts.empty()) return nodes;
  if (auto usable = batch::step_by_ssh(hosts, agent_command(binary)); !usable)
    return tl::unexpected(usable.error());
  nodes.hosts = {here};
  for (const auto& host : hosts) {
    auto command = agent_command(binary);
    command.insert(command.end(), {"--rank", std::to_string(nodes.hosts.size())});
    auto step = batch::step_by_ssh({host}, command);
    if (!step) return tl::unexpected(step.error());
    step->commands.front().front() = config.ssh;
    nodes.hosts.push_back(host);
    nodes.step.commands.push_back(std::move(step->commands.front()));
    nodes.step.passes_input = step->passes_input;
  }
  return nodes;
}

Result<Nodes> by_batch_system(const batch::Allocation& allocation, const std::string& binary) {
  Nodes nodes;
  nodes.hosts = {allocation.nodes[*allocation.node_index].name};
  for (std::size_t i = 0; i < allocation.nodes.size(); ++i)
    if (i != *allocation.node_index) nodes.hosts.push_back(allocation.nodes[i].name);
  auto command = agent_command(binary);
  auto step = batch::step_on_nodes(allocation, command);
  if (step && !step->passes_input && !step->passes_environment) {
    const char* const home = std::getenv("HOME");
    nodes.invitation_file = fmt::format("{}/.holon-invitation-{}", home != nullptr ? home : "/tmp",
                                        transport::new_secret());
    command.insert(command.end(), {"--invitation", nodes.invitation_file});
    step = batch::step_on_nodes(allocation, command);
  }
  if (!step) return tl::unexpected(step.error());
  nodes.step = std::move(*step);
  return nodes;
}

}  // namespace

Result<Nodes> find_nodes(const StartOptions& options, const config::Config& config,
                         const Surroundings& around, const std::string& binary) {
  const batch::Allocation& allocation = around.allocation;
  if (!options.hosts.empty())
    return by_ssh(options.hosts, name_of_this_node(allocation), config, binary);
  const bool is_holons = allocation.system == batch::System::holon;
  if (options.here || is_holons || allocation.nodes.size() < 2 || !allocation.node_index)
    return Nodes();
  return by_batch_system(allocation, binary);
}

Result<std::vector<std::string>> read_hosts_list(const std::string& list) {
  auto hosts = batch::expand_hosts(list);
  if (hosts && !hosts->empty()) return hosts;
  if (hosts)
    return fail(Errc::invalid_argument, "a list of hosts is expected, like n[1-4]", "--hosts");
  Error error = hosts.error();
  error.where = fmt::format("--hosts {}{}", list, error.where.empty() ? "" : ": " + error.where);
  return tl::unexpected(error);
}

Result<std::vector<std::string>> read_hosts_file(const std::string& file) {
  const auto text = read_whole_file(file);
  if (!text)
    return fail(text.error().code == Errc::not_found ? Errc::invalid_argument : text.error().code,
                text.error().what, "--hostfile " + file);
  std::vector<std::string> hosts;
  for (const auto line : batch::lines_of(*text))
    if (const auto words = batch::words_of(line); !words.empty() && !words.front().starts_with('#'))
      if (std::find(hosts.begin(), hosts.end(), words.front()) == hosts.end())
        hosts.emplace_back(words.front());
  if (hosts.empty())
    return fail(Errc::invalid_argument, "it names no host; a line for each is expected",
                "--hostfile " + file);
  return hosts;
}

}  // namespace holon::instance
