// holon invite, join, leave: nodes that come to a running instance, and go.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ostream>

#include "cli/connect.hpp"
#include "cli/options/start_options.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/units.hpp"
#include "cli/verbs.hpp"
#include "instance/assembly/remote_agent.hpp"
#include "instance/assembly/system_join.hpp"
#include "instance/basics/clock.hpp"
#include "launch/remote/invitation.hpp"
#include "transport/unique_fd.hpp"

namespace holon::cli {
namespace {

constexpr std::int64_t kMostGuests = 1'000'000;

// Makes a file that nobody else can read; an existing one is not overwritten.
Result<transport::UniqueFd> new_secret_file(const std::string& file) {
  transport::UniqueFd out(open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!out) return fail(Errc::system, std::strerror(errno), file);
  return out;
}

Status check_is_secret(const std::string& file) {
  struct stat about {};
  if (stat(file.c_str(), &about) != 0)
    return fail(Errc::invalid_argument, std::strerror(errno), "--key " + file);
  if (S_ISREG(about.st_mode) && (about.st_mode & 077U) != 0)
    return fail(Errc::invalid_argument,
                "others may read this file, or write to it; chmod 600 keeps them out",
                "--key " + file);
  return {};
}

std::string name_of_this_host() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace

int verb_invite(Invocation& call) {
  std::string file;
  msg::InviteRequest request;
  std::int64_t uses = 1;
  Parser parser("invite", "let nodes join an instance: write them an invitation");
  parser.required("FILE", file, "made, for its owner's eyes only (0600); -: standard output")
      .group("Options")
      .option("--nodes", number_up_to(kMostGuests, uses), "N", "so many may come by it; 1")
      .option(
          "--expires",
          [&request](const std::string& word) -> Status {
            const auto limit = parse_limit(word);
            if (!limit) return tl::unexpected(limit.error());
            request.lifetime = *limit;
            return {};
          },
          "TIME", "after 30s, 5m, 2h nobody comes by it any more; a bare number is minutes; 1h")
      .instance(call)
      .note(
          "Whoever has it can add a node and run what the instance's jobs run there: it is a "
          "secret. An instance of one node has to be started with --joinable.")
      .example("holon invite ~/.holon-key",
               "then, on a node that shares the home: "
               "holon join --key ~/.holon-key")
      .example("holon invite - | ssh n7 holon join", "without a file");
  if (const auto code = parser.parse(call)) return *code;
  if (uses < 1)
    return report(call, "invite", {Errc::invalid_argument, "at least one is to come", "--nodes"});
  request.uses = static_cast<std::uint64_t>(uses);
  auto client = connect_to_instance(call);
  if (!client) return report(call, "invite", client.error());
  Result<transport::UniqueFd> out = transport::UniqueFd();
  if (file != "-") out = new_secret_file(file);
  if (!out) return report(call, "invite", out.error());
  const auto invitation = client->invite(request);
  if (!invitation) {
    if (file != "-") unlink(file.c_str());
    return report(call, "invite", invitation.error());
  }
  const std::string line = *invitation + "\n";
  if (file == "-") {
    call.io.out << line;
  } else if (const auto n = write(out->get(), line.data(), line.size());
             n != static_cast<ssize_t>(line.size())) {
    const char* const why = n < 0 ? std::strerror(errno) : "there is no room for all of it";
    unlink(file.c_str());
    return report(call, "invite", {Errc::system, why, file});
  }
  return kOk;
}

int verb_join(Invocation& call) {
  instance::RemoteAgentOptions options;
  instance::SystemJoin system;
  std::string account, runtime_place;
  bool for_users = false;
  options.at_hand = true;
  Parser parser("join", "add this node to a running instance");
  parser
      .positional("URI", options.uri,
                  "tcp://HOST:PORT, where the addresses of the invitation do "
                  "not lead from here")
      .group("Options")
      .option("--key", options.invitation, "FILE", "the invitation, of `holon invite`")
      .option(
          "--until",
          [&options](const std::string& word) -> Status {
            const auto time = parse_time(word, instance::wall_clock_ms());
            if (!time) return tl::unexpected(time.error());
            options.until = *time;
            return {};
          },
          "TIME",
          "the node is gone then: +1h, 18:30, 2026-12-24 18:30; no job is placed here that would "
          "last longer. In a batch job its end counts, too")
      .option("--name", options.name, "NAME", "what this node is called; the host's name")
      .option("--log-level", options.log_level, "LEVEL", "trace, debug, info, warn, error, off")
      .flag("--system", for_users,
            "to an instance of several users (holon start --system): as root, which starts their "
            "tasks here as them by a small process that does nothing else")
      .option("--account", account, "USER",
              "with --system: the account, without privilege, of all else here (holon)")
      .option("--runtime-dir", runtime_place, "DIR",
              "with --system: where users reach the instance on this node (/run/holon)")
      .option(
          "--conf", system.conf, "KEY=VALUE|FILE",
          "with --system: whom root starts tasks for on this node (access. ...); may be repeated")
      .note(fmt::format(
          "Without --key the invitation is taken from {} or from standard input, never from the "
          "command line, which others can read. It runs until the instance ends, `holon leave` "
          "takes the node out, or Ctrl-C ends it with the jobs it runs.",
          launch::kInvitation))
      .example("holon join --key ~/.holon-key", "this node's cores are the instance's from now on")
      .example("holon join --key ~/.holon-key --until +8h", "and are its owner's again tonight");
  if (const auto code = parser.parse(call)) return *code;
  if (!options.uri.empty() && !options.uri.starts_with("tcp://"))
    return report(call, "join",
                  {Errc::invalid_argument, "tcp://HOST:PORT is expected", options.uri});
  const bool has_variable = std::getenv(launch::kInvitation) != nullptr;
  if (!options.invitation.empty()) {
    if (auto is_secret = check_is_secret(options.invitation); !is_secret)
      return report(call, "join", is_secret.error());
  } else if (!has_variable && isatty(STDIN_FILENO) == 1) {
    return report(call, "join",
                  {Errc::invalid_argument, "an invitation is needed; `holon invite FILE` makes one",
                   "--key"});
  }
  const std::string unused = !account.empty()         ? "--account"
                             : !runtime_place.empty() ? "--runtime-dir"
                             : !system.conf.empty()   ? "--conf"
                                                      : "";
  if (!for_users && !unused.empty())
    return report(call, "join",
                  {Errc::invalid_argument, "only with --system: a node for several users", unused});
  if (!account.empty()) system.account = account;
  if (!runtime_place.empty()) system.runtime_place = runtime_place;
  put_own_folder_in_path();
  return for_users ? instance::system_join_main(std::move(options), system)
                   : instance::remote_agent_main(options);
}

int verb_leave(Invocation& call) {
  msg::LeaveRequest request;
  Parser parser("leave", "take a node out of an instance, in order");
  parser.positional("NODE", request.host, "this one unless it is named")
      .group("Options")
      .flag("--now", request.now, "cancel what runs there, instead of waiting for its end")
      .instance(call)
      .note(
          "The node takes no new work, what runs there ends, and then its agent does. "
          "`holon join` brings it back.")
      .example("holon leave n7",
               "returns when nothing runs there any more and its agent was told to end");
  if (const auto code = parser.parse(call)) return *code;
  if (request.host.empty() && !request.now && std::getenv("HOLON_JOB_PATH") != nullptr)
    return report(call, "leave",
                  {Errc::invalid_argument,
                   "this job runs here, and would wait for its own end; --now cancels what runs "
                   "here, NODE names another node",
                   {}});
  if (request.host.empty()) request.host = name_of_this_host();
  auto client = connect_to_instance(call);
  if (!client) return report(call, "leave", client.error());
  const auto left = client->leave(request);
  return left ? static_cast<int>(kOk) : report(call, "leave", left.error());
}

}  // namespace holon::cli
