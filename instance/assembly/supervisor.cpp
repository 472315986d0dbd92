#include "instance/assembly/supervisor.hpp"

#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>

#include "instance/assembly/launcher.hpp"
#include "instance/assembly/page_process.hpp"
#include "instance/basics/clock.hpp"
#include "instance/basics/ending_signals.hpp"
#include "instance/basics/exit_codes.hpp"
#include "instance/basics/pulse.hpp"
#include "instance/process/complaint.hpp"
#include "instance/process/crash_guard.hpp"
#include "instance/process/instance_cgroup.hpp"
#include "instance/process/lost_tasks.hpp"
#include "instance/process/own_log.hpp"
#include "instance/process/runtime_files.hpp"
#include "instance/process/spawn.hpp"
#include "instance/process/starter_line.hpp"
#include "instance/process/state_claim.hpp"
#include "instance/process/watchdog.hpp"
#include "instance/registry/registry.hpp"
#include "launch/exit_code.hpp"
#include "launch/tracking/lineage.hpp"
#include "transport/endpoint.hpp"
#include "transport/reactor.hpp"
#include "transport/secret.hpp"

namespace holon::instance {
namespace {

constexpr Duration kDiskPatience = 1'000;    // until a broker that could not write is tried again
constexpr Duration kAgentPatience = 3'000;   // after the broker's end
constexpr Duration kAskLook = 50;            // does the broker ask for another agent?
constexpr Duration kFilesLook = 1'000;       // how long the runtime directory may be gone
constexpr Duration kFilesTouch = 3'600'000;  // old files are removed from /tmp
constexpr Duration kProgramGrace = 5'000;    // from SIGTERM to SIGKILL
constexpr Duration kStackPatience = 3'000;   // for a broker that hangs to write its stack

struct ChildProcess {
  pid_t pid = 0;
  transport::Subscription watch;
};

struct AgentProcess {
  AgentProcess(transport::Reactor& reactor, std::uint32_t its_rank)
      : rank(its_rank), lost_tasks(reactor, say) {}

  std::uint32_t rank;
  ChildProcess process;
  CrashGuard guard;
  LostTasks lost_tasks;  // of the agent before
  transport::Subscription start;
};

class Supervisor {
 public:
  Supervisor(transport::Reactor& reactor, BrokerOptions options, config::Config config, Nodes nodes,
             std::string cpuset, std::function<void(const std::string&)> on_ready)
      : reactor_(reactor),
        options_(std::move(options)),
        config_(std::move(config)),
        nodes_(std::move(nodes)),
        cpuset_(std::move(cpuset)),
        tell_ready_(std::move(on_ready)),
        files_(options_.runtime_dir, options_.start.system),
        sweep_(reactor, options_.runtime_dir),
        starter_(reactor, options_.starter, options_.starter_of_agent),
        log_(options_.start.state_dir + "/instance.log"),
        earlier_runs_(reactor, say),
        launcher_(reactor, say, [this](const Launcher::Ended& how) { launcher_ended(how); }),
        page_(reactor, say, [this] { finish_if_all_gone(); }) {
    for (std::uint32_t rank = 0; rank < options_.start.agents; ++rank)
      agents_.push_back(std::make_unique<AgentProcess>(reactor_, rank));
  }

  int run(const std::function<void(const Error&)>& on_refused) {
    if (auto begun = begin(); !begun) {
      on_refused(begun.error());
      code_ = kExitFailed;
      stop();
      is_cut_short_ = begun.error().code == Errc::busy || begun.error().code == Errc::system;
    }
    reactor_.run();
    registration_.end(wall_clock_ms());
    if (!starter_.end())
      say("the starter has not ended within 10 s: the system has not ended a task of a user yet; "
          "both go when it has");
    launch::end_own_children();  // what tasks and programs have left behind
    return options_.goes_on && (is_cut_short_ || code_ == kExitGaveUp) ? kExitAgainLater : code_;
  }

 private:
  Status begin() {
    auto lifeline = make_pipe();
    if (!lifeline) return tl::unexpected(lifeline.error());
    lifeline_ = std::move(*lifeline);
    auto pulse = Pulse::create();
    if (!pulse) return tl::unexpected(pulse.error());
    pulse_ = std::move(*pulse);
    watchdog_.emplace(reactor_, *pulse_, config_.watchdog);
    const std::size_t expected = std::max(agents_.size(), nodes_.hosts.size());
    for (std::size_t rank = 0; rank < expected; ++rank)
      options_.secrets.agents.push_back(transport::new_secret());
    if (!nodes_.hosts.empty() || nodes_.endpoint) {
      auto keys = launcher_.prepare(nodes_, nodes_.address.value_or(config_.address));
      if (!keys) return tl::unexpected(keys.error());
      options_.secrets.keys = std::move(*keys);
      options_.secrets.invitation = launcher_.invitation();
    }
    for (const int signal : heeded_ending_signals()) {
      auto watch = reactor_.on_signal(signal, [this, signal] { on_signal(signal); });
      if (!watch) return tl::unexpected(watch.error());
      watches_.push_back(std::move(*watch));
    }
    auto others = reactor_.on_other_children([](const transport::ChildExit&) {});
    if (!others) return tl::unexpected(others.error());
    watches_.push_back(std::move(*others));
    watches_.push_back(reactor_.every(kFilesLook, [this] {
      keep_files();
      keep_state_dir();
    }));
    watches_.push_back(reactor_.every(kFilesTouch, [this] { files_.touch(); }));
    if (auto watched = starter_.watch([this] { lose(kNoStarter, kStarterEnded); }); !watched)
      return watched;
    auto claim = StateClaim::take(options_.start.state_dir, options_.runtime_dir);
    if (!claim) return tl::unexpected(claim.error());
    claim_ = std::move(*claim);
    lineage_ = take_lineage(claim_, options_.start.grant);
    registration_ = Registration::of(options_.start, claim_.mark);
    end_earlier_runs();
    earlier_runs_.when_gone([this] {
      // Users' tasks of earlier runs: this account cannot look into their processes.
      starter_.when_none_left({launch::jobs_prefix(lineage_), options_.start.state_dir}, say,
                              [this] { begin_or_give_up([this] { return start_all(); }); });
    });
    return {};
  }

  // Ends all of earlier runs before cores are given away: also the broker and agent of a supervisor
  // that was killed. Those of a child are part of its job and ended with it.
  void end_earlier_runs() {
    if (claim_.is_new) return;
    earlier_runs_.end({.prefix = launch::jobs_prefix(lineage_),
                       .of_instance = !options_.start.grant,
                       .cgroup = InstanceCgroup::of_earlier_run(options_.start.state_dir, claim_),
                       .state_dir = options_.start.state_dir});
  }

  Status start_all() {
    sweep_.expect_more();
    if (auto made = make_cgroup(); !made) return made;
    if (auto started = start_broker(); !started) return started;
    for (const auto& agent : agents_)
      if (auto started = start_agent(*agent); !started) return started;
    return nodes_.hosts.empty() ? Status() : launcher_.start();
  }

  Status make_cgroup() {
    if (config_.tracking == config::TrackingKind::process) return {};
    InstanceCgroup::remove_earlier(options_.start.state_dir, claim_);
    auto made = InstanceCgroup::make(options_.start.state_dir, claim_);
    if (made) {
      cgroup_.emplace(std::move(*made));
    } else if (config_.tracking == config::TrackingKind::cgroup) {
      return fail(made.error().code, to_string(made.error()), "job.tracking=cgroup");
    }
    if (options_.start.verbose)
      say(made ? "jobs are kept in cgroups below " + cgroup_->dir()
               : "jobs are told apart by their processes, not by cgroups: " +
                     to_string(made.error()));
    return {};
  }

  void on_signal(int signal) {
    // Ctrl-C at a terminal is for the initial program in the foreground, which gets it as well.
    if (signal == SIGINT && program_.pid > 0 && isatty(STDIN_FILENO)) return;
    if (signal == SIGUSR1 || signal == SIGUSR2 || signal == SIGXCPU)
      say(fmt::format("got SIG{}, a batch system's warning; the instance ends",
                      sigabbrev_np(signal)));
    if (!ending_) is_cut_short_ = broker_.pid == 0;
    if (code_ == 0 && program_.pid <= 0) code_ = options_.start.background ? 0 : 128 + signal;
    stop();
  }

  // ---- broker ----

  // If the broker's socket was removed with the other files, the broker ends and its successor
  // makes a new one.
  void keep_files() {
    if (ending_ || files_.whole()) return files_trouble_.is_over();
    if (const auto made = files_.restore(); !made) {
      const std::string what = fmt::format(
          "{} was removed by somebody, and cannot be made again: {}; nobody finds the instance",
          options_.runtime_dir, to_string(made.error()));
      if (files_trouble_.is_due(what, reactor_.now())) say(what);
      return;
    }
    say(options_.runtime_dir + " was removed by somebody; it was made again");
    files_trouble_.is_over();
  }

  // The journal, and all that is in it, is the broker's to make again.
  void keep_state_dir() {
    const std::string& dir = options_.start.state_dir;
    if (ending_ || !claim_.lock) return;
    const bool was_lost = claim_.is_lost(dir);
    Status kept = was_lost ? claim_.take_again(dir) : Status();
    if (kept && cgroup_) kept = cgroup_->keep_note(dir);
    log_.keep();
    if (!kept) {
      const std::string what = fmt::format(
          "{} was removed by somebody, and cannot be made again: {}", dir, to_string(kept.error()));
      if (state_trouble_.is_due(what, reactor_.now())) say(what);
      return;
    }
    if (was_lost) registration_.write();
    if (was_lost) say(dir + " was removed by somebody; it was made again");
    state_trouble_.is_over();
  }

  Status start_broker() {
    keep_files();
    auto ready = make_pipe();
    if (!ready) return tl::unexpected(ready.error());
    const auto secrets = transport::secret_in_descriptor(write_secrets(options_.secrets));
    if (!secrets) return tl::unexpected(secrets.error());
    const std::vector<std::pair<const char*, int>> inherited = {
        {"--ready", ready->write.get()},
        {"--lifeline", lifeline_.read.get()},
        {"--pulse", pulse_->fd()},
        {"--secrets", secrets->get()},
        {"--socket", launcher_.socket()}};
    Program program{{options_.binary, "broker", options_.runtime_dir}, {}, true};
    for (const auto& [option, fd] : inherited) {
      if (fd < 0) continue;
      program.argv.insert(program.argv.end(), {option, std::to_string(fd)});
      program.keep.push_back(fd);
    }
    pulse_->begin();
    auto child = spawn(program);
    if (!child) return tl::unexpected(child.error());
    broker_.pid = *child;
    watchdog_->watch(broker_.pid, [this] { end_hanging_broker(); });
    broker_started_ = reactor_.now();
    ready_ = std::move(ready->read);
    auto line =
        reactor_.on_fd(ready_.get(), transport::kReadable, [this](unsigned) { read_ready(); });
    if (!line) return tl::unexpected(line.error());
    ready_watch_ = std::move(*line);
    return watch(broker_, [this](int status) { broker_ended(status); });
  }

  void read_ready() {
    std::array<char, 4096> text{};
    const auto n = read(ready_.get(), text.data(), text.size());
    ready_watch_.cancel();
    if (n <= 0 || ending_ || std::exchange(up_, true)) return;
    std::istringstream lines(std::string(text.data(), static_cast<std::size_t>(n)));
    std::string uri, resources, without;
    std::getline(std::getline(lines, uri), resources);
    if (std::getline(lines, without) && !without.empty()) say(without);
    tell_person(resources);
    setenv("HOLON_URI", uri.c_str(), 1);
    unsetenv("HOLON_JOB_ID");  // in this instance, which its commands address, another job's
    tell_ready_(uri);
    if (options_.start.web) page_.start(options_.binary, options_.start.state_dir);
    if (auto started = start_program(); !started) {
      say(to_string(started.error()));
      code_ = started.error().code == Errc::not_found ? 127 : 126;
      stop();
    }
  }

  // Dying of SIGABRT, the broker writes its stack.
  void end_hanging_broker() {
    const char* how =
        pulse_->turns() == 0 ? " as it begins: it has got no further" : ": it has made no turn";
    say(fmt::format("the broker hangs{} for {} ms (instance.watchdog)", how, config_.watchdog));
    hangs_ = true;
    kill(broker_.pid, SIGABRT);
    kill_broker_ = reactor_.after(kStackPatience, [this] { kill(broker_.pid, SIGKILL); });
  }

  // A person who leaves a shell may not think of what else ends with it.
  void tell_person(const std::string& resources) const {
    const bool shell = options_.start.command.empty() && !options_.start.background;
    if (shell && !options_.start.grant)
      say(fmt::format("instance / with {}; leaving this shell ends it and its jobs", resources));
  }

  void broker_ended(int status) {
    broker_.pid = 0;
    watchdog_->stop();
    kill_broker_.cancel();
    // Counted once, even if writing the stack took so long that the broker was killed.
    if (std::exchange(hangs_, false) || is_crash(status)) pulse_->failed();
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    is_cut_short_ = code == kAgainLater || code == kTryAgain || (ending_ && code < 0);
    if (ending_) return finish_agents();
    if (code == kTimeIsOver || code == kEndedInOrder) {
      // The broker ended before its agent was there. A child that only gives room to work has ended
      // as it was told to; a program that never ran has not.
      timed_out_ = code == kTimeIsOver && (program_.pid > 0 || !up_);
      if (timed_out_) say("its time limit was reached; the instance ends");
      if (!up_ && !only_a_place()) code_ = timed_out_ ? kExitTimeLimit : kExitFailed;
      return stop();
    }
    if (code == kCannotStart || code == kAgainLater || (code == kTryAgain && !up_)) {
      code_ = kExitFailed;
      return stop();
    }
    // Jobs run on meanwhile: a full disk is no crash, however long it lasts. A successor that was
    // asked for begins at once.
    if (code == kTryAgain || code == kBeginAgain) {
      const bool at_once = code == kBeginAgain || reactor_.now() - broker_started_ > kDiskPatience;
      return start_later(restart_broker_, at_once ? 0 : kDiskPatience,
                         [this] { return start_broker(); });
    }
    restart(broker_guard_, "broker", status, restart_broker_, [this] { return start_broker(); });
  }

  // ---- agents ----

  Status start_agent(AgentProcess& agent) {
    const auto uri = transport::ipc_uri(options_.runtime_dir, "broker");
    if (!uri) return tl::unexpected(uri.error());
    const auto secret = transport::secret_in_descriptor(options_.secrets.agents[agent.rank]);
    if (!secret) return tl::unexpected(secret.error());
    std::vector<std::string> command = {options_.binary,    "agent",
                                        "--broker-uri",     *uri,
                                        "--rank",           std::to_string(agent.rank),
                                        "--secret",         std::to_string(secret->get()),
                                        "--orphan-timeout", std::to_string(config_.orphan_timeout),
                                        "--supervisor",     std::to_string(getpid())};
    if (const auto dir = cgroup_of(agent); !dir.empty())
      command.insert(command.end(), {"--cgroup", dir});
    if (!cpuset_.empty()) command.insert(command.end(), {"--cpuset", cpuset_});
    const auto kept = starter_.hand_over(command, {secret->get()});
    auto child = spawn({command, kept, true});
    if (!child) return tl::unexpected(child.error());
    agent.process.pid = *child;
    return watch(agent.process, [this, &agent](int status) { agent_ended(agent, status); });
  }

  // The broker finds out which agents are missing.
  void launcher_ended(const Launcher::Ended& how) {
    if (ending_) return finish_if_all_gone();
    if (how.failure.empty()) return;
    pulse_->lose_agents(how.nodes);
    say(how.failure + (up_ ? "; it had started agents on other nodes"
                           : "; it was to start agents on other nodes, which are not waited for"));
  }

  // The directory of the cgroups of the agent's jobs; "": they have none.
  std::string cgroup_of(const AgentProcess& agent) const {
    return cgroup_ ? cgroup_->dir_of_agent(agent.rank) : "";
  }

  void agent_ended(AgentProcess& agent, int status) {
    agent.process.pid = 0;
    if (ending_) finish_if_all_gone();
    auto next = [this, &agent, status] {
      if_needed(agent, [this, &agent, status] { agent_crashed(agent, status); });
    };
    // The broker sent the agent home because it is ending itself, of which we are about to hear; if
    // it is not, the next agent starts.
    const bool was_sent_home = WIFEXITED(status) && WEXITSTATUS(status) == launch::kAgentDone;
    if (ending_ || !was_sent_home) return next();
    agent.start = reactor_.after(kAgentPatience, std::move(next));
  }

  // At the end another agent starts only if the broker asks for it, a moment after the one before
  // has ended.
  void if_needed(AgentProcess& agent, std::function<void()> start) {
    if (!ending_) return start();
    if (agent.rank != 0 || broker_.pid <= 0) return;
    if (pulse_->asks_for_agent()) return start();
    agent.start = reactor_.after(
        kAskLook, [this, &agent, start = std::move(start)] { if_needed(agent, start); });
  }

  // When an agent dies its processes become the supervisor's children. The broker gives their cores
  // away when the next agent of its rank says hello.
  void agent_crashed(AgentProcess& agent, int status) {
    agent.lost_tasks.end_adopted(launch::jobs_prefix(lineage_), cgroup_of(agent),
                                 [this] { return own_processes(); });
    const std::string name = fmt::format("agent of rank {}", agent.rank);
    auto start = [this, &agent]() -> Status {
      agent.lost_tasks.when_gone([this, &agent] {
        starter_.when_idle([this, &agent] {
          if_needed(agent, [this, &agent] {
            begin_or_give_up([this, &agent] { return start_agent(agent); });
          });
        });
      });
      return {};
    };
    // Without the agent beside it a broker can do little; without another one its nodes go down.
    restart(agent.guard, name, status, agent.start, std::move(start), agent.rank == 0);
  }

  std::vector<pid_t> own_processes() const {
    std::vector<pid_t> pids = launcher_.pids();
    pids.insert(pids.end(), {broker_.pid, program_.pid, page_.pid()});
    for (const auto& agent : agents_) pids.push_back(agent->process.pid);
    std::erase_if(pids, [](pid_t pid) { return pid <= 0; });
    return pids;
  }

  void signal_agents(int signal) const {
    for (const auto& agent : agents_)
      if (agent->process.pid > 0) kill(agent->process.pid, signal);
  }

  // Agents were sent home by the broker; a broker that crashed could not do that.
  void finish_agents() {
    page_.end();
    signal_agents(SIGTERM);
    agents_timer_ = reactor_.after(kAgentPatience, [this] { signal_agents(SIGKILL); });
    launcher_.see_out(config_.orphan_timeout);
    finish_if_all_gone();
  }

  // Gives up a process that has crashed too often: an agent that can be spared is left alone.
  void give_up(const std::string& what, bool needed) {
    const auto said =
        fmt::format("{}, {} times within {} s; giving up", what, kCrashes + 1, kCrashWindow / 1000);
    if (!needed) return say(said);
    pulse_->give_up_agent();  // a broker that is given up reads it no more
    ending_ ? say(said) : lose(said);
  }

  void lose(const std::string& what, int broker_signal = SIGTERM) {
    say(what);
    code_ = kExitGaveUp;
    stop(broker_signal);
  }

  void restart(CrashGuard& guard, const std::string& name, int status,
               transport::Subscription& timer, std::function<Status()> start, bool needed = true) {
    const auto wait = guard.crashed(reactor_.now());
    const std::string what = fmt::format("the {} {}", name, end_text(status));
    if (!wait) return give_up(what, needed);
    say(fmt::format("{}; starting it again", what));
    start_later(timer, *wait, std::move(start));
  }

  void start_later(transport::Subscription& timer, Duration wait, std::function<Status()> start) {
    timer = reactor_.after(wait, [this, start = std::move(start)] { begin_or_give_up(start); });
  }

  void begin_or_give_up(const std::function<Status()>& start) {
    if (ending_ && broker_.pid <= 0) return;
    if (auto started = start(); !started) {
      say(to_string(started.error()));
      pulse_->give_up_agent();  // so that no broker waits for an agent at its end
      if (ending_) return;
      code_ = up_ ? kExitGaveUp : kExitFailed;
      stop();
    }
  }

  // ---- initial program ----

  bool only_a_place() const {
    return options_.start.grant && options_.start.background && options_.start.command.empty();
  }

  Status start_program() {
    auto command = options_.start.command;
    if (command.empty()) {
      if (options_.start.background) return {};
      const char* shell = std::getenv("SHELL");
      command = {shell != nullptr && *shell != '\0' ? shell : "/bin/sh"};
    }
    // On a terminal the program must share our process group, or it could not read from it.
    own_group_ = isatty(STDIN_FILENO) == 0;
    auto child = spawn({.argv = command, .own_group = own_group_, .keeps_ignored = true});
    if (!child) return tl::unexpected(child.error());
    program_.pid = *child;
    return watch(program_, [this](int status) { program_ended(status); });
  }

  void program_ended(int status) {
    program_.pid = 0;
    code_ = timed_out_ ? kExitTimeLimit : launch::exit_code_of(status);
    ending_ ? finish_if_all_gone() : stop();
  }

  void signal_program(int signal) const {
    if (program_.pid > 0) kill(own_group_ ? -program_.pid : program_.pid, signal);
  }

  // ---- the end ----

  // Ends everything in order; a second call hurries the broker. `broker_signal` tells the reason,
  // and is sent alone: of two pending signals the broker may read either first.
  void stop(int broker_signal = SIGTERM) {
    const bool again = std::exchange(ending_, true);
    if (!again) signal_program(SIGTERM);  // before anybody can see the broker end
    if (broker_.pid > 0) kill(broker_.pid, again ? SIGTERM : broker_signal);
    if (again) return;
    // A stopped process (SIGSTOP) would take no part, and each instance above would wait for it.
    // Others get no SIGCONT: srun tells its user of it.
    for (const pid_t pid : own_processes())
      if (const auto stat = launch::stat_of(pid); stat && stat->state == 'T')
        kill(own_group_ && pid == program_.pid ? -pid : pid, SIGCONT);
    program_timer_ = reactor_.after(kProgramGrace, [this] { signal_program(SIGKILL); });
    last_timer_ = reactor_.after(config_.shutdown_timeout + 20'000, [this] {
      if (broker_.pid > 0) kill(broker_.pid, SIGKILL);
      pulse_->ask_for_agent(false);
      signal_agents(SIGKILL);
      signal_program(SIGKILL);
    });
    if (broker_.pid <= 0) finish_agents();
  }

  void finish_if_all_gone() {
    if (own_processes().empty()) reactor_.stop();
  }

  Status watch(ChildProcess& child, std::function<void(int)> ended) {
    auto subscription = reactor_.on_child(
        child.pid,
        [ended = std::move(ended)](const transport::ChildExit& exit) { ended(exit.status); });
    if (!subscription) return tl::unexpected(subscription.error());
    child.watch = std::move(*subscription);
    return {};
  }

  transport::Reactor& reactor_;
  BrokerOptions options_;
  config::Config config_;
  Nodes nodes_;
  std::string cpuset_;
  std::function<void(const std::string&)> tell_ready_;
  RuntimeFiles files_;
  RuntimeDirSweep sweep_;
  StarterLine starter_;
  Complaint files_trouble_, state_trouble_;
  OwnLog log_;
  StateClaim claim_;
  Registration registration_;
  std::string lineage_;  // of this instance's processes
  std::optional<InstanceCgroup> cgroup_;
  LostTasks earlier_runs_;
  Launcher launcher_;
  PageProcess page_;
  Pipe lifeline_;  // its end of file tells the broker that the supervisor is gone
  std::optional<Pulse> pulse_;
  std::optional<Watchdog> watchdog_;
  transport::UniqueFd ready_;
  ChildProcess broker_, program_;
  std::vector<std::unique_ptr<AgentProcess>> agents_;  // by rank
  CrashGuard broker_guard_;
  bool up_ = false, ending_ = false, own_group_ = false, timed_out_ = false;
  bool hangs_ = false;         // this broker hangs, and was told to end
  bool is_cut_short_ = false;  // the broker has not ended in order, or the instance goes on
  int code_ = 0;
  Time broker_started_ = 0;
  std::vector<transport::Subscription> watches_;
  transport::Subscription ready_watch_, kill_broker_, restart_broker_, agents_timer_,
      program_timer_, last_timer_;
};

}  // namespace

int supervise(const BrokerOptions& options, const config::Config& config, const Nodes& nodes,
              const std::string& cpuset, std::function<void(const std::string&)> on_ready,
              const std::function<void(const Error&)>& on_refused) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  // Blocked for good: a signal that comes when the supervisor has stopped listening finds an end
  // that is under way, and must not cut it off.
  block_signals(kEndingSignals);
  // The reader of our messages may be gone, or a disk full; what we start has both signals back.
  for (const int ignored : {SIGPIPE, SIGXFSZ}) std::signal(ignored, SIG_IGN);
  int code = kExitFailed;
  auto reactor = transport::Reactor::create();
  if (!reactor) {
    say(to_string(reactor.error()));
  } else {
    Supervisor supervisor(**reactor, options, config, nodes, cpuset, std::move(on_ready));
    code = supervisor.run(on_refused);
  }
  remove_runtime_dir(options.runtime_dir, !options.start.grant);
  return code;
}

}  // namespace holon::instance
