#include "instance/assembly/launcher.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "instance/basics/text.hpp"
#include "instance/process/spawn.hpp"
#include "launch/remote/invitation.hpp"

namespace holon::instance {
namespace {

constexpr Duration kFarPatience = 10'000;  // for agents on other nodes, after the broker's end
constexpr Duration kLastPatience = 3'000;  // for a launcher that was told to end

// The launcher's name, with its node if it is for one: enough to tell one ssh from another.
std::string launcher_name(const std::vector<std::string>& command,
                          const std::vector<std::string>& hosts) {
  const auto is_host = [&](const auto& word) {
    return std::find(hosts.begin(), hosts.end(), word) != hosts.end();
  };
  const auto host = std::find_if(command.begin() + 1, command.end(), is_host);
  return host == command.end() ? command[0] : command[0] + " " + *host;
}

std::string failure_of(const std::string& name, int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  return WIFSIGNALED(status) ? fmt::format("{} was ended by signal {}", name, WTERMSIG(status))
                             : fmt::format("{} ended with code {}", name, WEXITSTATUS(status));
}

// The line fits into a pipe: nobody has to read while it is written.
Result<transport::UniqueFd> input_with(const std::string& line) {
  auto pipe = make_pipe();
  if (!pipe) return tl::unexpected(pipe.error());
  const std::string text = line + "\n";
  if (write(pipe->write.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return fail(Errc::system, std::strerror(errno), "pipe");
  return std::move(pipe->read);
}

Status write_for_owner(const std::string& file, const std::string& text) {
  unlink(file.c_str());
  const transport::UniqueFd out(open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!out || write(out.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return fail(Errc::system, std::strerror(errno), file);
  return {};
}

}  // namespace

Launcher::~Launcher() {
  if (!nodes_.invitation_file.empty()) unlink(nodes_.invitation_file.c_str());
}

Result<BrokerOptions::Secrets::Keys> Launcher::prepare(const Nodes& nodes,
                                                       const std::string& address) {
  nodes_ = nodes;
  endpoint_ = nodes.endpoint;
  if (!endpoint_) {
    auto made = make_endpoint(nodes.hosts.size(), address, 0, nodes.may_grow);
    if (!made && nodes.may_grow) {
      spdlog::warn(fmt::format("no other node can come: {}", to_string(made.error())));
      return BrokerOptions::Secrets::Keys();
    }
    if (!made) return tl::unexpected(made.error());
    endpoint_ = std::make_shared<const Endpoint>(std::move(*made));
  }
  return endpoint_->keys;
}

Status Launcher::start() {
  if (!endpoint_) return {};
  const std::string invitation = launch::write_invitation(endpoint_->invitation);
  if (auto left = leave_invitation(invitation); !left) return left;
  for (const auto& command : nodes_.step.commands)
    if (auto started = start_one(command, invitation); !started) return started;
  return {};
}

// Leaves the invitation in the file and for MUNGE: it is not known here whether the other nodes see
// this node's files.
Status Launcher::leave_invitation(const std::string& invitation) {
  const std::string& file = nodes_.invitation_file;
  const Status written = file.empty() ? Status() : write_for_owner(file, invitation);
  if (nodes_.handover.empty()) return written;
  auto munge = transport::Munge::load(nodes_.munge_socket);
  auto opened =
      munge ? transport::Handover::open(reactor_, std::move(*munge), nodes_.handover, invitation)
            : tl::unexpected(munge.error());
  if (opened) {
    handover_ = std::move(*opened);
    return {};
  }
  return file.empty() ? tl::unexpected(opened.error()) : written;
}

Status Launcher::start_one(const std::vector<std::string>& command, const std::string& invitation) {
  const batch::Step& step = nodes_.step;
  Program program;
  program.argv = command;
  program.own_group = true;
  program.unset = step.unset;
  program.output = STDERR_FILENO;
  const auto input = input_with(step.passes_input ? invitation : "");
  if (!input) return tl::unexpected(input.error());
  program.input = input->get();
  if (!step.passes_input && step.passes_environment) program.set[launch::kInvitation] = invitation;
  auto pid = spawn(program);
  if (!pid)
    return fail(pid.error().code,
                pid.error().what +
                    "; it starts the instance on its other nodes; --here leaves them "
                    "alone",
                command.front());
  Process& process =
      processes_.emplace_back(Process{launcher_name(command, nodes_.hosts), *pid, {}});
  auto watch = reactor_.on_child(*pid, [this, &process](const transport::ChildExit& exit) {
    process.pid = 0;
    const bool is_for_one = nodes_.step.commands.size() > 1;
    on_ended_({failure_of(process.name, exit.status), is_for_one ? 1 : nodes_.hosts.size() - 1});
  });
  if (!watch) return tl::unexpected(watch.error());
  process.watch = std::move(*watch);
  return {};
}

// The broker had the socket, too. An agent that connects now is refused at once.
void Launcher::see_out(Duration orphan_timeout) {
  handover_.reset();
  if (endpoint_) shutdown(endpoint_->socket.fd.get(), SHUT_RDWR);
  patience_ = reactor_.after(kFarPatience, [this, orphan_timeout] {
    if (pids().empty()) return;
    const std::string until = orphan_timeout > 0
                                  ? "ends by itself after " + duration_text(orphan_timeout)
                                  : "stays until somebody ends it";
    say_(
        fmt::format("{}: not over {} s after the instance; an agent may be left where that leads, "
                    "and {} (instance.orphan-timeout)",
                    unended(), kFarPatience / 1000, until));
    signal(SIGTERM);
    patience_ = reactor_.after(kLastPatience, [this] { signal(SIGKILL); });
  });
}

// "ssh n3, ssh n4"
std::string Launcher::unended() const {
  std::string names;
  for (const auto& process : processes_)
    if (process.pid > 0) names += (names.empty() ? "" : ", ") + process.name;
  return names;
}

std::vector<pid_t> Launcher::pids() const {
  std::vector<pid_t> pids;
  for (const auto& process : processes_)
    if (process.pid > 0) pids.push_back(process.pid);
  return pids;
}

void Launcher::signal(int signal) const {
  for (const pid_t pid : pids()) kill(pid, signal);
}

}  // namespace holon::instance
