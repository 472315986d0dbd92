// `holon broker`: options from the runtime directory, signals, the tie to the supervisor, and the
// exit code.
#include <fmt/core.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "instance/basics/exit_codes.hpp"
#include "instance/basics/pulse.hpp"
#include "instance/broker/broker.hpp"
#include "instance/process/crash_report.hpp"
#include "instance/process/lifeline.hpp"
#include "instance/process/own_log.hpp"
#include "instance/process/starter_line.hpp"
#include "launch/tracking/leftovers.hpp"
#include "launch/tracking/lineage.hpp"
#include "transport/secret.hpp"
#include "transport/unique_fd.hpp"

namespace holon::instance {
namespace {

Result<BrokerOptions> read_options(const std::string& runtime_dir) {
  std::ifstream in(runtime_dir + "/instance.json");
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) return fail(Errc::not_found, "there are no instance options here", runtime_dir);
  return parse_options(text.str());
}

Result<BrokerOptions::Secrets> read_secrets(int descriptor) {
  if (descriptor < 0) return BrokerOptions::Secrets{};
  const auto text = transport::take_secret(descriptor);
  return text ? parse_secrets(*text) : tl::unexpected(text.error());
}

int refuse(const Error& error, bool goes_on = false) {
  std::fputs(("holon start: " + to_string(error) + "\n").c_str(), stderr);
  return exit_of_refused(error, goes_on);
}

// Three lines in one write: the uri, the resources, and the hosts that are missing.
void say_ready(int fd, const Broker& broker) {
  const std::string without = broker.without();
  if (!without.empty()) spdlog::warn(without);
  const std::string line = broker.uri() + "\n" + broker.resources() + "\n" + without + "\n";
  if (fd >= 0 && write(fd, line.data(), line.size()) < 0)
    spdlog::warn("nobody waits for this broker");
  if (fd >= 0) close(fd);
}

// A broker that hangs ends a while after its supervisor; one that ends in order has as long as that
// may take.
Result<std::unique_ptr<Lifeline>> hold_lifeline(int fd, const config::Config& config) {
  constexpr Duration kUnwatched = 30'000, kMargin = 20'000;
  return Lifeline::hold(fd, config.watchdog > 0 ? config.watchdog : kUnwatched,
                        config.shutdown_timeout + kMargin);
}

// A broker that is still starting reads the signal later, and does not die of it.
void keep_pending(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

// Ends the initial program of a root and what that has started, in the place of the supervisor. The
// agent may still be clearing up, and what is below it is its own. (Of a child the agents of the
// instance above end what is left.)
void end_the_rest(pid_t agent) {
  constexpr int kLooks = 500;
  constexpr useconds_t kBetween = 10'000;
  const char* const lineage = std::getenv(kLineage);
  if (lineage == nullptr) return;
  launch::Leftovers rest({.prefix = launch::jobs_prefix(lineage),
                          .of_instance = true,
                          .spare = [agent] { return std::vector<pid_t>{agent}; }});
  for (int look = 0; look < kLooks; ++look) {
    if (rest.end()) return;
    usleep(kBetween);  // nothing else runs any more in this process
  }
  spdlog::error(fmt::format("{} of this instance does not end", rest.example()));
}

int run(const BrokerOptions& options, const BrokerDescriptors& inherited) {
  if (options.start.system) keep_pending(kStarterEnded);
  const auto config = config::load_config(options.start.conf);
  if (!config) return refuse(config.error());
  std::unique_ptr<Lifeline> lifeline;  // made before anything that may hang as it begins or ends
  if (inherited.lifeline >= 0) {
    auto held = hold_lifeline(inherited.lifeline, *config);
    if (!held) return refuse(held.error());
    lifeline = std::move(*held);
  }
  auto reactor = transport::Reactor::create();
  if (!reactor) return refuse(reactor.error());
  auto& loop = **reactor;
  std::optional<Pulse> pulse;
  if (inherited.pulse >= 0) {
    auto opened = Pulse::open(transport::UniqueFd(inherited.pulse));
    if (!opened) return refuse(opened.error());
    pulse = std::move(*opened);
  }
  auto broker = Broker::create(loop, options, pulse ? &*pulse : nullptr);
  if (!broker) return refuse(broker.error(), options.goes_on);
  (*broker)->follow_walltime(
      batch::find_allocation(batch::current_environment(), batch::system_of(config->batch_system)));
  constexpr Duration kLookAtLog = 1'000;
  const OwnLog log(options.start.state_dir + "/instance.log");
  const auto keeps_log = loop.every(kLookAtLog, [&log] { log.keep(); });
  int code = 0;
  (*broker)->on_ready([&] { say_ready(inherited.ready, **broker); });
  (*broker)->on_end([&](int how) {
    code = how;
    loop.stop();
  });
  bool is_told = false;  // a signal told it to end; another one hurries it
  const auto on_term = loop.on_signal(SIGTERM, [&] {
    std::exchange(is_told, true) ? (*broker)->hurry() : (*broker)->end_by_signal();
  });
  transport::Subscription starter_ended;
  if (options.start.system) {
    auto watch = loop.on_signal(kStarterEnded, [&] {
      is_told = true;
      (*broker)->end_without_starter();
    });
    if (!watch) return refuse(watch.error());
    starter_ended = std::move(*watch);
  }
  const auto on_int =
      loop.on_signal(SIGINT, [] {});  // Ctrl-C at the terminal is meant for the initial program
  if (!on_term || !on_int) return refuse(on_term ? on_int.error() : on_term.error());
  transport::Subscription gone;
  bool alone = false;
  if (lifeline) {
    auto watch = loop.on_fd(inherited.lifeline, transport::kReadable, [&](unsigned) {
      gone.cancel();
      lifeline->noticed();
      alone = true;
      (*broker)->end_alone("its supervisor is gone");
      // A parent that ended this child's supervisor has taken the resources back already.
      if (options.start.grant) (*broker)->hurry();
    });
    if (!watch) return refuse(watch.error());
    gone = std::move(*watch);
  }
  loop.run();
  if (alone && !options.start.grant) end_the_rest((*broker)->agent_beside());
  std::error_code ignored;
  if (alone) std::filesystem::remove_all(options.runtime_dir, ignored);  // else the supervisor does
  return code;
}

}  // namespace

int broker_main(const std::string& runtime_dir, const BrokerDescriptors& inherited) {
  report_crashes();
  auto options = read_options(runtime_dir);
  if (!options) return refuse(options.error());
  options->socket = inherited.socket;
  if (auto told = read_secrets(inherited.secrets); told)
    options->secrets = std::move(*told);
  else
    return refuse(told.error());
  transport::raise_descriptor_limit();  // each client takes one or two
  umask(077);  // journal and outputs are for the owner only, wherever they are
  // Messages without a reader are lost, and a limit on file sizes is like a full disk: neither ends
  // us.
  for (const int ignored : {SIGPIPE, SIGXFSZ}) std::signal(ignored, SIG_IGN);
  spdlog::set_default_logger(spdlog::stderr_logger_st("broker"));
  spdlog::set_level(options->start.verbose ? spdlog::level::debug : spdlog::level::warn);
  return run(*options, inherited);
}

}  // namespace holon::instance
