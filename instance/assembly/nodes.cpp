#include "instance/assembly/nodes.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/text/printable.hpp"
#include "base/whole_file.hpp"
#include "transport/secret.hpp"
#include "transport/unique_fd.hpp"

namespace holon::instance {
namespace {

constexpr std::size_t kLongestHostfile = 64 << 20;  // bytes of a pipe
constexpr Duration kPipePatience = 10'000;          // until somebody writes to it

std::string name_of_this_node(const batch::Allocation& allocation) {
  if (!allocation.node.empty()) return allocation.node;
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

// As much of what was typed as a line has room for.
std::string as_typed(const std::string& text) {
  constexpr std::size_t kRoom = 200;
  return printable(text.size() <= kRoom ? text : text.substr(0, kRoom) + "...");
}

// Refuses names of no host: they would be an option or more words for ssh, or are a user's slip.
Status check_hosts(const std::vector<std::string>& hosts, const char* where) {
  constexpr std::size_t kLongestHostName = 255;
  const auto may_be_in_it = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("-._:@%").find(c) != std::string_view::npos;
  };
  for (const auto& host : hosts)
    if (host.empty() || host.size() > kLongestHostName || host[0] == '-' ||
        !std::all_of(host.begin(), host.end(), may_be_in_it))
      return fail(Errc::invalid_argument,
                  fmt::format("'{}' is no name of a host: letters, digits, '.', '_' and '-' are "
                              "accepted, and no '-' at its beginning",
                              as_typed(host)),
                  where);
  return {};
}

std::vector<std::string> agent_command(const std::string& binary) {
  return {binary, "agent", "--join"};
}

// ssh hands every host the same words: each host is told its rank, for it may have another name for
// itself.
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

// This node alone, with an endpoint for nodes that people let in.
Nodes joinable_node(const std::string& here) {
  Nodes nodes;
  nodes.hosts = {here};
  return nodes;
}

// Leaves this node out where the launcher takes one node at a time: its agent is the supervisor's.
// An agent that the launcher starts late on this node would outlive the instance.
void leave_out_own(const batch::Allocation& allocation, batch::Step& step) {
  if (step.commands.size() != allocation.nodes.size()) return;
  step.commands.erase(step.commands.begin() + static_cast<std::ptrdiff_t>(*allocation.node_index));
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
  leave_out_own(allocation, nodes.step);
  return nodes;
}

}  // namespace

Result<Nodes> find_nodes(const StartOptions& options, const config::Config& config,
                         const Surroundings& around, const std::string& binary) {
  const batch::Allocation& allocation = around.allocation;
  const std::string here = name_of_this_node(allocation);
  const bool is_holons = allocation.system == batch::System::holon;
  const bool has_others =
      !options.here && !is_holons && allocation.nodes.size() > 1 && allocation.node_index;
  Result<Nodes> found = !options.hosts.empty() ? by_ssh(options.hosts, here, config, binary)
                        : has_others           ? by_batch_system(allocation, binary)
                                               : Nodes();
  if (found && found->hosts.empty() && config.joinable) return joinable_node(here);
  return found;
}

Result<std::string> read_pipe(const std::string& file, Duration patience) {
  const transport::UniqueFd in(open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!in) return fail(Errc::system, std::strerror(errno), file);
  std::string text;
  std::array<char, 4096> piece{};
  while (text.size() < kLongestHostfile) {
    pollfd ready{in.get(), POLLIN, 0};
    const int found = poll(&ready, 1, static_cast<int>(patience));
    if (found == 0)
      return fail(Errc::timed_out,
                  fmt::format("nobody has written to this pipe for {} ms", patience), file);
    const ssize_t n = found < 0 ? -1 : read(in.get(), piece.data(), piece.size());
    if (n == 0) return text;
    if (n > 0)
      text.append(piece.data(), static_cast<std::size_t>(n));
    else if (errno != EINTR && errno != EAGAIN)
      return fail(Errc::system, std::strerror(errno), file);
  }
  return fail(Errc::out_of_range, fmt::format("has more than {} bytes", kLongestHostfile), file);
}

Result<std::vector<std::string>> read_hosts_list(const std::string& list) {
  auto hosts = batch::expand_hosts(list);
  if (hosts && hosts->empty())
    return fail(Errc::invalid_argument, "a list of hosts is expected, like n[1-4]", "--hosts");
  if (!hosts) {
    const auto& [code, what, where] = hosts.error();
    return fail(
        Errc::invalid_argument,
        fmt::format("'{}': {}{}", as_typed(list), what, where.empty() ? "" : " at " + where),
        "--hosts");
  }
  if (auto named = check_hosts(*hosts, "--hosts"); !named) return tl::unexpected(named.error());
  return hosts;
}

Result<std::vector<std::string>> read_hosts_file(const std::string& file) {
  std::error_code ignored;
  const bool is_pipe = std::filesystem::is_fifo(file, ignored);
  const auto text = is_pipe ? read_pipe(file, kPipePatience) : read_whole_file(file);
  if (!text)
    return fail(Errc::invalid_argument, fmt::format("'{}': {}", as_typed(file), text.error().what),
                "--hostfile");
  std::vector<std::string> hosts;
  for (const auto line : batch::lines_of(*text))
    if (const auto words = batch::words_of(line); !words.empty() && !words.front().starts_with('#'))
      if (std::find(hosts.begin(), hosts.end(), words.front()) == hosts.end())
        hosts.emplace_back(words.front());
  if (hosts.empty())
    return fail(Errc::invalid_argument,
                fmt::format("'{}' names no host; a line for each is expected", as_typed(file)),
                "--hostfile");
  if (auto named = check_hosts(hosts, "--hostfile"); !named) return tl::unexpected(named.error());
  return hosts;
}

}  // namespace holon::instance
