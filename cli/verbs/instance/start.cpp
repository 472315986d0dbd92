// holon start: makes an instance and runs the initial program in it.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <ostream>

#include "cli/connect.hpp"
#include "cli/options/start_options.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/table.hpp"
#include "cli/show/units.hpp"
#include "cli/verbs.hpp"
#include "cli/verbs/instance/await_tree.hpp"
#include "cli/verbs/instance/same_folder.hpp"
#include "instance/assembly/nodes.hpp"
#include "instance/registry/left.hpp"
#include "instance/registry/registry.hpp"
#include "instance/resources/declared.hpp"
#include "instance/resources/resources.hpp"
#include "resource/graph/spec.hpp"
#include "transport/blocking_client.hpp"
#include "web/server.hpp"

namespace holon::cli {
namespace {

using Hosts = std::vector<std::string>;

std::function<Status(const std::string&)> hosts_reader(
    Result<Hosts> (*read)(const std::string& word), Hosts& target) {
  return [read, &target](const std::string& word) -> Status {
    auto hosts = read(word);
    if (!hosts) return tl::unexpected(hosts.error());
    target = std::move(*hosts);
    return {};
  };
}

constexpr std::int64_t kMostAgents = 1'024;
constexpr std::int64_t kMostNodes = 1'000'000;

// A supervisor just killed keeps its lock until the kernel is done with it, which takes long where
// processors or disks are busy. One whose broker answers is alive; a broker without a supervisor is
// about to end.
bool stays(const client::RunningInstance& other) {
  constexpr Duration kPatience = 500;
  constexpr int kTries = 120;
  constexpr useconds_t kBetweenTries = 25'000;
  for (int i = 0; i < kTries && client::may_come_back(other.uri); ++i) {
    if (i == 0 && transport::BlockingClient::connect(other.uri, kPatience)) return true;
    usleep(kBetweenTries);
  }
  return client::may_come_back(other.uri);
}

// Two instances cannot share a state directory.
Status check_state_dir(const instance::StartOptions& options) {
  if (options.state_dir.empty()) return {};
  for (const auto& other : client::running_roots())
    if (is_same_folder(options.state_dir, other.state_dir) && stays(other))
      return fail(
          Errc::busy,
          fmt::format("an instance uses it already: HOLON_URI={} ({})", other.uri, describe(other)),
          "--state-dir " + options.state_dir);
  return {};
}

// Warns that two instances on one machine share its cores. An instance inside a job has that job's
// cores.
void warn_of_others(Invocation& call, const instance::StartOptions& options) {
  const char* const job = std::getenv("HOLON_JOB_PATH");
  const bool is_machine = (options.resources.empty() && !options.keeps_declared) ||
                          options.resources == instance::kThisMachine;
  if (!is_machine || (job != nullptr && *job != '\0')) return;
  const auto others = client::running_roots();
  const auto other = std::find_if(others.begin(), others.end(),
                                  [](const auto& running) { return running.is_machine; });
  if (other == others.end()) return;
  call.io.err << fmt::format(
      "holon start: another instance gives out this machine's cores already, HOLON_URI={} ({}); "
      "`holon alloc` makes one with cores of its own\n",
      other->uri, printable(describe(*other)));
}

// Tells of waiting jobs: a user who starts again where an instance was killed, or ended with jobs
// in its queue, may mean to go on with it.
void tell_of_waiting_jobs(Invocation& call, const instance::StartOptions& options) {
  if (!options.state_dir.empty()) return;
  std::error_code ignored;
  const std::string here = std::filesystem::current_path(ignored).string();
  std::string latest;
  std::int64_t waiting = 0, others = 0;
  for (const auto& entry : instance::read_registry()) {
    if (entry.folder != here || instance::stand_of(entry) != instance::Stand::over) continue;
    const auto left = instance::jobs_left(entry.state_dir);
    if (!left || *left == 0) continue;
    others += !latest.empty();
    if (!latest.empty()) continue;
    latest = entry.state_dir;
    waiting = *left;
  }
  if (latest.empty()) return;
  call.io.err << fmt::format(
      "holon start: {} in an earlier instance of this folder; `holon start --state-dir {}` goes on "
      "with {}{}\n",
      waiting == 1 ? "1 job waits" : fmt::format("{} jobs wait", waiting),
      printable(show_path(latest)), waiting == 1 ? "it" : "them",
      others == 0 ? "" : fmt::format("; `holon instances` lists {} more", others));
}

// Checks that all options are text: the broker gets them as JSON, which holds text only.
Status check_words(const instance::StartOptions& options) {
  const auto check = [](const char* option, const std::string& word) -> Status {
    if (resource::is_utf8(word)) return {};
    return fail(Errc::invalid_argument, "not UTF-8; the instance cannot be told it",
                fmt::format("{} {}", option, word));
  };
  for (const std::string& item : options.conf)
    if (auto good = check("--conf", item); !good) return good;
  for (const std::string& item : options.level_conf)
    if (auto good = check("--conf-level", item); !good) return good;
  if (auto good = check("--name", options.name); !good) return good;
  if (auto good = check("--resources", options.resources); !good) return good;
  return check("--state-dir", options.state_dir);
}

// Checks --web. The page of an instance for several users would show all that its account sees to
// whoever has the address.
Status check_page(const instance::StartOptions& options) {
  if (!options.web) return {};
  if (options.system)
    return fail(Errc::invalid_argument,
                "not with --system: each user runs `holon web`, and sees what is theirs", "--web");
  if (!web::has_page())
    return fail(Errc::unsupported,
                "this holon was built without the page: npm or esbuild was missing", "--web");
  return {};
}

// Checks --tree and --conf-level, and has the initial program wait for the leaves.
Status plant(instance::StartOptions& options) {
  if (auto good = take_tree(options); !good) return good;
  if (options.tree.empty()) return {};
  if (options.system)
    return fail(Errc::invalid_argument,
                "not with --system: [per-user] makes an instance for each user",
                "--tree " + options.tree);
  const bool has_program = !options.command.empty() || isatty(STDIN_FILENO) == 1;
  if (options.background || !has_program) return {};
  auto binary = own_binary();
  if (!binary) return tl::unexpected(binary.error());
  options.command.insert(options.command.begin(),
                         {std::move(*binary), "leaves", "--shape", options.tree, "--"});
  return {};
}

// Prints the address of an instance in the background once the tree below it is up.
int await_in_background(Invocation& call, const std::string& uri, const std::string& shape) {
  if (auto up = await_tree(call, uri, shape); !up) return report(call, "start", up.error());
  call.io.out << uri << std::endl;
  return kOk;
}

// Takes the options that mean nothing for an instance of one user.
Status take_system_options(instance::StartOptions& options, const std::string& account,
                           const std::string& runtime_place) {
  const std::string unused = !account.empty()         ? "--account " + account
                             : !runtime_place.empty() ? "--runtime-dir " + runtime_place
                                                      : "";
  if (!options.system && !unused.empty())
    return fail(Errc::invalid_argument, "only with --system: an instance for several users",
                unused);
  if (options.system && !options.command.empty()) {
    const bool is_option = options.command.size() > 1 && options.command[1].starts_with('-');
    return fail(Errc::invalid_argument,
                std::string("an instance of several users runs no script; their jobs come by "
                            "holon submit") +
                    (is_option ? fmt::format(". Options such as {} stand before a script's name",
                                             options.command[1])
                               : ""),
                "SCRIPT " + options.command.front());
  }
  if (!account.empty()) options.account = account;
  if (!runtime_place.empty()) options.runtime_place = runtime_place;
  return {};
}

}  // namespace

int verb_start(Invocation& call) {
  instance::StartOptions options;
  bool no_journal = false, joinable = false;
  std::string account, runtime_place;
  std::int64_t agents = options.agents, quorum = 0;
  Parser parser("start", "make an instance; its end is the end of SCRIPT, or of a shell");
  parser.command("SCRIPT [ARGS...]", options.command,
                 "the initial program; a shell on a terminal without one", false);
  add_instance_options(parser, options);
  add_tree_options(parser, options);
  parser
      .flag("--bg", options.background,
            "no initial program: print the instance's address and return; `holon shutdown` ends it")
      .option("--resources", options.resources, "WHAT",
              "a shape such as node=4/core=8,memory=16,gpu=1, or a file: JGF, Rv1, hwloc XML; or "
              "hwloc: what it finds here, which is so unless an instance that goes on had declared "
              "ones")
      .option("--state-dir", options.state_dir, "DIR",
              "journal and output; an instance that was here before goes on, with its queued jobs "
              "and the resources that were declared for it (`holon instances` finds it)")
      .option("--agents", number_up_to(kMostAgents, agents), "N",
              "with declared nodes: so many agents on this machine, each for an equal part of the "
              "nodes (to try out what needs several)")
      .option("--hosts", hosts_reader(instance::read_hosts_list, options.hosts), "LIST",
              "also on these hosts, by ssh: n[1-4],n7; this one is always the first")
      .option("--hostfile", hosts_reader(instance::read_hosts_file, options.hosts), "FILE",
              "the same, with a host at the beginning of each line")
      .option(
          "--quorum", number_up_to(kMostNodes, quorum), "N",
          "begin as soon as N of its nodes are there, this one among them; the rest joins later "
          "(instance.quorum)")
      .flag("--joinable", joinable,
            "of one node, too, listen for others that `holon invite` lets in (instance.joinable)")
      .option("--name", options.name, "NAME", "how listings call it; the host's name unless given")
      .option(
          "-t,--time-limit",
          [&options](const std::string& word) -> Status {
            const auto limit = parse_limit(word);
            if (!limit) return tl::unexpected(limit.error());
            options.limit_ms = *limit;
            return {};
          },
          "TIME", "end it after 30s, 5m, 2h, 01:30:00; a bare number is minutes")
      .flag("--here", options.here,
            "in one of several tasks (srun -n4): an instance in each of them all the same; in an "
            "allocation of several nodes: of this one, instead of all")
      .flag("--no-journal", no_journal, "keep nothing on disk; a crash of the broker loses all")
      .flag("--system", options.system,
            "serve the users of this machine: as root, which starts their tasks as them by a small "
            "process that does nothing else; all other processes are of --account")
      .option("--account", account, "USER",
              "with --system: the account, without privilege, of the instance (holon)")
      .option("--runtime-dir", runtime_place, "DIR",
              "with --system: where its socket is (/run/holon)")
      .flag("--web", options.web,
            "serve the live page beside it, as `holon web` does, for as long as it runs; `holon "
            "uptime` tells the address, which stays the same with the same --state-dir")
      .flag("-v,--verbose", options.verbose, "log more");
  parser.note("With a shape that is larger than this machine, tasks run here, unbound.")
      .example("holon start", "a shell in an instance of this machine")
      .example("holon start --conf queue.policy=easy ./campaign.sh", "run a script of submissions")
      .example("holon start --tree 4x4 --conf-level 1:queue.policy=easy ./campaign.sh",
               "sixteen schedulers below four below this one")
      .example("holon start --system --conf /etc/holon.toml",
               "an instance for all users, as a service")
      .example("holon start --bg --resources node=4/core=8",
               "four pretended nodes, in the background");
  parser.hidden_flag("--grant", options.grant);
  parser.hidden_flag("--own-policy", options.own_policy);
  if (const auto code = parser.parse(call)) return *code;
  if (options.background && !options.command.empty() && !options.grant)
    return report(
        call, "start",
        {Errc::invalid_argument, "an instance in the background has no initial program", "--bg"});
  if (auto good = take_system_options(options, account, runtime_place); !good)
    return report(call, "start", good.error());
  if (auto good = check_page(options); !good) return report(call, "start", good.error());
  if (auto good = check_words(options); !good) return report(call, "start", good.error());
  if (no_journal && !options.state_dir.empty())
    return report(call, "start",
                  {Errc::invalid_argument,
                   "--no-journal keeps nothing, so there is nothing to go on from; leave one of "
                   "the two out",
                   "--state-dir " + options.state_dir});
  if (!options.grant) {
    if (auto good = check_state_dir(options); !good) return report(call, "start", good.error());
    // Files that the account of an instance for several users has written are not for root to read.
    options.keeps_declared =
        !options.system && options.resources.empty() && instance::keeps_declared(options.state_dir);
    warn_of_others(call, options);
    if (!options.system) tell_of_waiting_jobs(call, options);
  }
  // A child goes by its parent's word alone: its job inherits settings meant for the root.
  if (!options.grant)
    if (auto added = add_configuration_of_environment(options.conf); !added)
      return report(call, "start", added.error());
  if (auto good = plant(options); !good) return report(call, "start", good.error());
  options.journal = !no_journal;
  options.agents = static_cast<std::uint32_t>(agents);
  if (joinable) options.conf.push_back("instance.joinable=true");
  if (quorum > 0) options.conf.push_back("instance.quorum=" + std::to_string(quorum));
  put_own_folder_in_path();
  const std::string tree = options.tree;
  if (tree.empty()) return instance::start_main(std::move(options));
  return instance::start_main(std::move(options), [&](const std::string& uri) {
    return await_in_background(call, uri, tree);
  });
}

}  // namespace holon::cli
