// holon shutdown: ends an instance in order, and returns once it is gone.
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/paths.hpp"
#include "cli/show/units.hpp"
#include "cli/verbs.hpp"
#include "instance/basics/text.hpp"
#include "transport/unique_fd.hpp"

namespace holon::cli {
namespace {

struct ShutdownArgs {
  std::string reason;
  bool background = false;
  Duration patience = 60'000;
};

// The supervisor of an instance on this machine: the parent of its broker. It is the last process
// to go, after tasks, agent and directories. None where it cannot be seen.
transport::UniqueFd handle_of_supervisor(std::int64_t broker) {
  std::ifstream status(fmt::format("/proc/{}/status", broker));
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("PPid:"))
      return transport::UniqueFd(
          static_cast<int>(syscall(SYS_pidfd_open, std::stol(line.substr(5)), 0)));
  return {};
}

// Serves the connection meanwhile: an ending instance waits for clients that do not read.
bool ends(Client& client, int supervisor, Duration patience) {
  bool gone = false;
  const auto watch =
      client.reactor().on_fd(supervisor, transport::kReadable, [&gone](unsigned) { gone = true; });
  return watch && client.reactor().run_until([&gone] { return gone; }, patience);
}

// The instance is the one connected to, or one above, which takes that with it: its end is its
// supervisor's or, from another machine, the connection's.
Status wait_for_own_end(Client& client, const transport::UniqueFd& supervisor, Duration patience) {
  if (supervisor ? ends(client, supervisor.get(), patience) : client.wait_until_gone(patience))
    return {};
  return fail(Errc::timed_out, "it is still ending after " + show_duration(patience));
}

// A child, seen from another instance, is gone when its job is over.
Status wait_for_child(Client& client, const std::string& path) {
  const auto jobs = parse_jobs(path);
  if (!jobs) return tl::unexpected(jobs.error());
  client.set_path(jobs->front().instance);
  msg::WaitRequest request;
  request.ids = {jobs->front().id};
  const auto ended = client.wait(request);
  if (!ended) return tl::unexpected(ended.error());
  return {};
}

Status shut_down(Client& client, const ShutdownArgs& args) {
  const auto here = client.status();
  if (!here) return tl::unexpected(here.error());
  const std::string target = client.path();
  client.set_path("");
  const auto nearest = target.empty() ? here : client.status();
  if (!nearest) return tl::unexpected(nearest.error());
  client.set_path(target);
  const bool own = nearest->path == here->path;
  const bool above = instance::child_towards(here->path, nearest->path).has_value();
  // The number of a broker means something on its own machine only.
  const bool on_this_machine = own || (above && client::may_come_back(here->uri));
  const auto supervisor =
      on_this_machine && !args.background ? handle_of_supervisor(here->pid) : transport::UniqueFd();
  msg::ShutdownRequest request;
  request.reason = args.reason;
  if (const auto asked = client.shutdown(request); !asked) return asked;
  if (args.background) return {};
  return own || above ? wait_for_own_end(client, supervisor, args.patience)
                      : wait_for_child(client, here->path);
}

}  // namespace

int verb_shutdown(Invocation& call) {
  ShutdownArgs args;
  Parser parser("shutdown", "end an instance in order");
  parser.option("-m,--message", args.reason, "TEXT", "why; it is kept with the jobs it ends")
      .flag("--background", args.background, "do not wait until it is gone")
      .instance(call)
      .note(
          "Running jobs are cancelled first, child instances with all that is in them. What was "
          "journalled stays readable in its state directory.")
      .example("holon shutdown", "the instance this shell belongs to, or the only one there is")
      .example("holon shutdown -i /3", "the child that is job 3");
  if (const auto code = parser.parse(call)) return *code;
  auto client = connect_to_instance(call);
  if (!client) return report(call, "shutdown", client.error());
  const auto done = shut_down(*client, args);
  return done ? kOk : report(call, "shutdown", done.error());
}

}  // namespace holon::cli
