// `holon start` before there are processes: options are checked, directories are made, and an
// instance in the background gets a session of its own.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/text/printable.hpp"
#include "batch/place.hpp"
#include "config/config.hpp"
#include "instance/assembly/child_agent.hpp"
#include "instance/assembly/in_background.hpp"
#include "instance/assembly/nodes.hpp"
#include "instance/assembly/remote_agent.hpp"
#include "instance/assembly/rendezvous.hpp"
#include "instance/assembly/supervisor.hpp"
#include "instance/assembly/system_start.hpp"
#include "instance/basics/ending_signals.hpp"
#include "instance/basics/options.hpp"
#include "instance/basics/surroundings.hpp"
#include "instance/config/kept_files.hpp"
#include "instance/process/runtime_files.hpp"
#include "instance/process/spawn.hpp"
#include "instance/registry/registry.hpp"
#include "instance/resources/declared.hpp"
#include "instance/resources/resources.hpp"
#include "launch/tasks/environment.hpp"
#include "transport/endpoint.hpp"
#include "transport/unique_fd.hpp"

namespace holon::instance {
namespace {

namespace fs = std::filesystem;

// What each process of an instance needs: its own, and some clients.
constexpr std::uint64_t kLeastDescriptors = 128;

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// The default directory; state_dir_source() recognises it by its name.
Result<std::string> default_state_dir(const std::string& runtime_dir) {
  const auto home = state_home();
  if (!home) return home;
  return default_state_dirs(*home) + "/" + fs::path(runtime_dir).filename().string();
}

// A directory that exists keeps its mode: it may be somebody's home. Files in it are readable by
// their owner only (the broker's umask).
Status make_state_dir(const std::string& dir, const std::string& where) {
  std::error_code error;
  fs::create_directories(fs::path(dir).parent_path(), error);
  if (!error && (mkdir(dir.c_str(), 0700) == 0 || errno == EEXIST)) {
    if (fs::is_directory(dir, error)) return {};
    return fail(Errc::system, "a file is there; accepted is a folder, made where there is none",
                where);
  }
  return fail(
      Errc::system,
      fmt::format("the folder cannot be made: {}", error ? error.message() : std::strerror(errno)),
      where);
}

// What the agent has handed over to a child; empty for a root.
Result<launch::Environment> take_handed(const StartOptions& options) {
  if (!options.grant) return launch::Environment();
  auto handed = launch::take_secrets();
  if (handed && !(*handed)["HOLON_TOKEN"].empty() &&
      !environment_variable("HOLON_JOB_PATH").empty())
    return handed;
  return fail(Errc::invalid_argument,
              "this is no job that was submitted to become a child instance: only `holon "
              "batch` and `holon alloc` make them, and each job is one instance only",
              "--grant");
}

Result<BrokerOptions> prepare(StartOptions options, launch::Environment handed) {
  BrokerOptions prepared;
  std::error_code error;
  prepared.binary = fs::read_symlink("/proc/self/exe", error).string();
  if (error) return fail(Errc::system, error.message(), "/proc/self/exe");
  if (options.name.empty() && !options.grant) options.name = own_host_name();
  if (!options.resources.empty() && fs::exists(options.resources, error))
    options.resources = fs::absolute(options.resources, error).string();
  if (options.grant) {
    prepared.job_path = environment_variable("HOLON_JOB_PATH");
    prepared.parent_uri = handed["HOLON_PARENT_URI"];
    prepared.secrets.token = handed["HOLON_TOKEN"];
    prepared.goes_on = handed["HOLON_GOES_ON"] == "1";
    if (options.state_dir.empty()) options.state_dir = handed["HOLON_STATE_DIR"];
  }
  prepared.start = std::move(options);
  return prepared;
}

Status write_file(const std::string& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (!out) return fail(Errc::system, "cannot be written", file);
  return {};
}

// Makes the state directory, and writes what the broker is told to the runtime directory.
Status furnish(BrokerOptions& options, const std::vector<config::ConfItem>& conf) {
  std::string& state = options.start.state_dir;
  const bool is_typed = !state.empty() && !options.start.grant;
  const std::string typed = "--state-dir " + state;
  if (state.empty()) {
    auto found = default_state_dir(options.runtime_dir);
    if (!found) return tl::unexpected(found.error());
    state = std::move(*found);
  }
  std::error_code error;
  state = fs::absolute(state + "/.", error).lexically_normal().parent_path().string();
  if (auto made = make_state_dir(state, is_typed ? typed : state); !made) return made;
  BrokerOptions told = options;
  told.start.command.clear();  // the supervisor runs it; its words may be any bytes
  auto kept = keep_files(told.runtime_dir, conf);
  if (!kept) return tl::unexpected(kept.error());
  told.start.conf = std::move(*kept);
  const auto text = write_options(told);
  if (!text) return tl::unexpected(text.error());
  return write_file(options.runtime_dir + "/instance.json", *text);
}

Result<BrokerOptions> with_directories(StartOptions options,
                                       const std::vector<config::ConfItem>& conf,
                                       const std::vector<std::string>& hosts,
                                       std::uint64_t most_memory, launch::Environment handed,
                                       const StarterEnds& starter) {
  auto prepared = prepare(std::move(options), std::move(handed));
  if (!prepared) return prepared;
  prepared->most_memory = most_memory;
  prepared->hosts = hosts;
  auto runtime_dir = transport::make_runtime_dir();
  if (!runtime_dir) return tl::unexpected(runtime_dir.error());
  prepared->runtime_dir = std::move(*runtime_dir);
  prepared->starter = starter.supervisor;
  prepared->starter_of_agent = starter.agent;
  if (prepared->start.system) open_to_everybody(prepared->runtime_dir);
  const mode_t usual = umask(077);
  const auto furnished = furnish(*prepared, conf);
  umask(usual);  // for what runs in the instance
  if (!furnished) {
    std::error_code ignored;
    fs::remove_all(prepared->runtime_dir, ignored);
    return tl::unexpected(furnished.error());
  }
  return prepared;
}

bool is_this_machine(const StartOptions& options) {
  return (options.resources.empty() && !options.keeps_declared) ||
         options.resources == kThisMachine;
}

// The option by which resources are declared, and how the user gets this machine's.
struct Declared {
  std::string option, otherwise;
};

Declared declared_by(const StartOptions& options) {
  if (!options.keeps_declared) return {"--resources " + options.resources, "leave them out"};
  return {"--state-dir " + options.state_dir,
          fmt::format("it keeps those that it was made with, --resources {} gives it this "
                      "machine's",
                      kThisMachine)};
}

// Declared resources are simulated on this machine. Of an allocation in which nothing can be
// started only this node is used.
Result<Nodes> nodes_for(const StartOptions& options, const config::Config& config,
                        const Surroundings& around) {
  if (!is_this_machine(options)) {
    const auto [option, otherwise] = declared_by(options);
    if (options.hosts.empty() && config.joinable)
      return fail(Errc::invalid_argument,
                  fmt::format("no node can join an instance whose resources are declared; {}, or "
                              "say instance.joinable=false",
                              otherwise),
                  option);
    if (options.hosts.empty()) return Nodes();
    return fail(Errc::invalid_argument,
                fmt::format("resources are declared, or those of hosts, not both; {}", otherwise),
                option);
  }
  std::error_code error;
  const auto binary = fs::read_symlink("/proc/self/exe", error);
  if (error) return fail(Errc::system, error.message(), "/proc/self/exe");
  auto nodes = find_nodes(options, config, around, binary.string());
  if (nodes || !options.hosts.empty()) return nodes;
  say(to_string(nodes.error()));
  return Nodes();
}

Result<std::optional<Rendezvous>> meet_others(const StartOptions& options,
                                              const config::Config& config,
                                              const Surroundings& around) {
  if (!is_this_machine(options)) return std::nullopt;
  return meet(batch::current_environment(), around, config);
}

// Adds the user's policy file to the user's own instance: this process is the user's, and can read
// only what the user can.
void add_own_policy(std::vector<std::string>& conf) {
  const std::string home = environment_variable("XDG_CONFIG_HOME");
  const std::string file =
      (home.empty() ? environment_variable("HOME") + "/.config" : home) + "/holon/policy.lua";
  std::error_code error;
  // A folder on the way that cannot be entered is reported as the file would be.
  if (fs::exists(file, error) || error) conf.push_back("queue.policy=" + file);
}

// Of several tasks that a launcher has started together, the first has the initial program and the
// terminal.
bool is_later_task() {
  const batch::LaunchPlace place = batch::find_place(batch::current_environment());
  return place.is_one_of_several() && place.rank.value_or(0) > 0;
}

// Runs one of several tasks that does not become the broker.
int serve(const Rendezvous& met) {
  if (!met.invitation) return 0;
  RemoteAgentOptions agent;
  agent.rank = met.rank;
  return remote_agent_with(*met.invitation, agent);
}

// Runs the process of a child that its parent has started on another node than the first.
int serve(const StartOptions& options, launch::Environment& handed, const ChildPlace& place) {
  ChildAgentOptions agent;
  agent.parent_uri = handed["HOLON_PARENT_URI"];
  agent.token = handed["HOLON_TOKEN"];
  agent.job = std::strtoull(environment_variable("HOLON_JOB_ID").c_str(), nullptr, 10);
  agent.cpuset = environment_variable("HOLON_CPUSET");
  agent.place = place;
  if (options.verbose) agent.log_level = "debug";
  return child_agent_main(agent);
}

// The nodes of a child: it has an agent where its parent has started one.
Nodes nodes_of_child(const ChildPlace& place) {
  Nodes nodes;
  nodes.hosts = place.hosts;
  nodes.may_grow = place.hosts.size() == 1;
  if (place.is_one_machine) nodes.address = "127.0.0.1";
  return nodes;
}

// Fits a root into its surroundings: a child has what its parent grants.
Status fit_in(const Surroundings& around, const StartOptions& options, Nodes& nodes) {
  for (const auto& name : around.of_place) unsetenv(name.c_str());
  if (const auto unused = unused_nodes(around.allocation);
      !unused.empty() && !options.here && nodes.hosts.size() < 2)
    say(unused);
  if (!is_this_machine(options)) return {};
  const auto cut = keep_granted_cores(around);
  if (!cut) return tl::unexpected(cut.error());
  for (auto& name : show_granted_gpus(around)) nodes.step.unset.push_back(std::move(name));
  if (!cut->empty() && options.verbose) say(*cut);
  return {};
}

// Two agents on one machine would give out its cores twice. An instance that continues has its
// resources in the journal.
Status check_agents(const StartOptions& options, bool goes_on) {
  const bool is_machine = options.resources.empty() || options.resources == kThisMachine;
  if (options.agents > 0 && (options.agents == 1 || !is_machine || goes_on)) return {};
  return fail(Errc::invalid_argument,
              options.agents == 0
                  ? "there is one at least"
                  : "this machine has one; for nodes that are declared, as by --resources "
                    "node=2/core=4, there may be more",
              fmt::format("--agents {}", options.agents));
}

}  // namespace

// fmt::print throws where nobody reads any more; then there is nobody to tell.
void say(const std::string& text) {
  std::fputs(("holon start: " + printable_lines(text) + "\n").c_str(), stderr);
}

int start_main(StartOptions options, const std::function<int(const std::string&)>& when_up) {
  transport::take_standard_descriptors();
  const auto refuse = [](const Error& error) {
    say(to_string(error));
    const bool is_typed = error.code == Errc::invalid_argument || error.code == Errc::not_found ||
                          error.code == Errc::out_of_range;
    return is_typed ? kExitUsage : kExitFailed;
  };
  const bool has_terminal = isatty(STDIN_FILENO) == 1;
  if (options.command.empty() && !options.background && !options.system && !has_terminal &&
      !is_later_task())
    return refuse(
        {Errc::invalid_argument,
         "nothing to run: give a script, or --bg, or a terminal on standard input for a shell",
         {}});
  auto handed = take_handed(options);
  if (!handed) return refuse(handed.error());
  const auto place = parse_child_place(*handed);
  if (!place) return refuse(place.error());
  if (place->index > 0) return serve(options, *handed, *place);
  if (options.own_policy) add_own_policy(options.conf);
  const auto conf = config::read_conf(options.conf);
  if (!conf) return refuse(conf.error());
  auto config = config::config_of(*conf);
  if (!config) return refuse(config.error());
  // libzmq ends a process that runs out of descriptors: report it before anything is made.
  if (auto enough = transport::check_descriptor_limit(kLeastDescriptors); !enough)
    return refuse(enough.error());
  if (const auto usable = check_resources(options.resources); !usable)
    return refuse(usable.error());
  StarterEnds starter;
  const bool detaches = options.background && !options.grant;
  if (options.system) {
    options.background = true;  // an instance for users has no initial program
    auto begun = begin_for_users(options, *config, *conf, detaches);
    if (!begun) return refuse(begun.error());
    starter = *begun;
    // Read with the rights of the account, which owns the file.
    options.keeps_declared = options.resources.empty() && keeps_declared(options.state_dir);
    config->tracking = config::TrackingKind::process;  // its keepers know
  }
  std::uint64_t most = 0;
  bool is_task = options.grant;
  Nodes nodes = options.grant ? nodes_of_child(*place) : Nodes();
  const bool is_joinable = options.system && config->joinable && is_this_machine(options);
  if (is_joinable) nodes.hosts = {own_host_name()};
  if (is_joinable || (options.system && config->access.munge)) {
    auto endpoint = endpoint_for_users(options.state_dir, *config, nodes.hosts.size());
    if (!endpoint) return refuse(endpoint.error());
    nodes.endpoint = std::make_shared<const Endpoint>(std::move(*endpoint));
  }
  if (!options.grant && !options.system) {
    const Surroundings around = look_around(*config);
    if (const auto trap = one_of_several(around); trap && !options.here) {
      auto met = meet_others(options, *config, around);
      if (!met || !*met) {
        say(to_string(met ? *trap : met.error()));
        return kExitOneOfSeveral;
      }
      if (!(*met)->is_first) return serve(**met);
      nodes = std::move((*met)->nodes);
      is_task = true;
    } else if (is_this_machine(options) && is_login_host(options, around)) {
      return refuse(start_on_nodes(around.allocation, options.command.empty() && has_terminal));
    } else {
      auto found = nodes_for(options, *config, around);
      if (!found) return refuse(found.error());
      nodes = std::move(*found);
    }
    if (auto fits = fit_in(around, options, nodes); !fits) return refuse(fits.error());
    if (is_this_machine(options)) most = most_memory(around);
  }
  const bool goes_on = options.resources.empty() && !options.state_dir.empty();
  if (auto possible = check_agents(options, goes_on || options.grant); !possible)
    return refuse(possible.error());
  if (!options.grant && !goes_on)
    if (const auto known = check_required(options.resources, config->scheduler); !known)
      return refuse(known.error());
  // Only a child counts core numbers as its parent does. A root numbers the cores it may use
  // itself, even if it runs as a job of another tree.
  const std::string cpuset = options.grant ? environment_variable("HOLON_CPUSET") : "";
  // A background instance that is a parent's or a launcher's task stays until the instance ends:
  // all that it has started ends with it.
  const bool stays = !options.background || is_task || (options.system && !detaches);
  // From now on a signal waits for the supervisor, or for the process that waits for that one and
  // removes what is made here.
  block_signals(kEndingSignals);
  auto prepared =
      with_directories(std::move(options), *conf, nodes.hosts, most, std::move(*handed), starter);
  if (!prepared) return refuse(prepared.error());
  if (!stays) {
    const auto print = [](const std::string& uri) { return std::puts(uri.c_str()) < 0 ? 1 : 0; };
    return supervise_in_background(*prepared, *config, nodes, cpuset, when_up ? when_up : print);
  }
  const bool tells_uri = prepared->start.background && !prepared->start.grant;
  return supervise(
      *prepared, *config, nodes, cpuset,
      [&](const std::string& uri) {
        if (tells_uri) std::puts(uri.c_str());
        std::fflush(stdout);
      },
      [](const Error& why) { say(to_string(why)); });
}

}  // namespace holon::instance
