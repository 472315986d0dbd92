#include "instance/assembly/agent_guard.hpp"

#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>
#include <vector>

#include "base/text/printable.hpp"
#include "instance/process/crash_guard.hpp"
#include "instance/process/runtime_files.hpp"
#include "instance/process/spawn.hpp"
#include "instance/process/starter_line.hpp"
#include "launch/remote/handed.hpp"
#include "launch/remote/output_note.hpp"
#include "launch/tracking/lineage.hpp"
#include "launch/tracking/process.hpp"
#include "transport/endpoint.hpp"
#include "transport/reactor.hpp"
#include "transport/secret.hpp"

namespace holon::instance {
namespace {

constexpr Duration kFolderTouch = 3'600'000;  // old files are removed from /tmp
constexpr Duration kFoldersLook = 1'000;      // until folders of killed agents are looked for

void complain(const std::string& host, const std::string& text) {
  std::fputs(("holon agent on " + host + ": " + printable_lines(text) + "\n").c_str(), stderr);
}

class AgentGuard {
 public:
  AgentGuard(transport::Reactor& reactor, launch::AgentOptions options, std::string binary,
             int starter)
      : reactor_(reactor),
        options_(std::move(options)),
        binary_(std::move(binary)),
        files_(options_.runtime_dir, starter >= 0),
        starter_(reactor, starter, options_.starter) {
    if (options_.lasts > 0) ends_ = saturating_add(reactor.now(), options_.lasts);
  }

  int run() {
    if (auto begun = begin(); !begun) give_up(to_string(begun.error()));
    reactor_.run();
    launch::end_own_children();
    return code_;
  }

 private:
  Status begin() {
    std::vector<int> signals = {SIGTERM};
    if (options_.at_hand) signals.push_back(SIGINT);
    for (const int signal : signals) {
      auto watch = reactor_.on_signal(signal, [this] { end(); });
      if (!watch) return tl::unexpected(watch.error());
      watches_.push_back(std::move(*watch));
    }
    auto others = reactor_.on_other_children([](const transport::ChildExit&) {});
    if (!others) return tl::unexpected(others.error());
    watches_.push_back(std::move(*others));
    watches_.push_back(reactor_.every(kFolderTouch, [this] { files_.touch(); }));
    watches_.push_back(reactor_.after(kFoldersLook, [] {
      for (const auto& base : transport::runtime_bases()) remove_abandoned_runtime_dirs(base);
    }));
    if (auto watched = starter_.watch([this] { give_up("the starter of users' tasks has ended"); });
        !watched)
      return watched;
    end_earlier_tasks();
    return {};
  }

  // Ends users' tasks of an earlier agent that was killed with its starter. Another agent of the
  // instance, with a starter of its own, may be on this machine.
  void end_earlier_tasks() {
    const char* const lineage = std::getenv(kLineage);
    const auto begin = [this] {
      if (auto started = start(); !started) give_up(to_string(started.error()));
    };
    if (lineage == nullptr) return begin();
    starter_.when_none_left(
        {launch::jobs_prefix(lineage), "", true},
        [this](const std::string& text) { complain(options_.hostname, text); }, begin);
  }

  Status start() {
    if (ends_) options_.lasts = std::max<Duration>(1, *ends_ - reactor_.now());
    const auto handed = transport::secret_in_descriptor(launch::write_handed(options_));
    if (!handed) return tl::unexpected(handed.error());
    Program program;
    program.argv = {binary_,    "agent",
                    "--rank",   std::to_string(options_.rank),
                    "--handed", std::to_string(handed->get())};
    program.keep = starter_.hand_over(program.argv, {handed->get()});
    auto child = spawn(program);
    if (!child) return tl::unexpected(child.error());
    agent_ = *child;
    auto watch = reactor_.on_child(
        agent_, [this](const transport::ChildExit& exit) { agent_ended(exit.status); });
    if (!watch) return tl::unexpected(watch.error());
    agent_watch_ = std::move(*watch);
    return {};
  }

  // The first agent's exit tells the launcher. A later agent that is refused may have come before
  // the broker noticed that the one before it is gone.
  bool has_died(int status) const {
    if (!WIFEXITED(status)) return true;
    const int code = WEXITSTATUS(status);
    if (code == launch::kAgentDone || code == launch::kAgentOrphaned) return false;
    return !is_first_ || (code != launch::kAgentCouldNotBegin && code != launch::kAgentRefused);
  }

  void agent_ended(int status) {
    agent_ = 0;
    launch::end_own_children();  // what it ran became our child when it died
    if (is_ending_ || !has_died(status)) {
      code_ = WIFEXITED(status) ? WEXITSTATUS(status) : static_cast<int>(launch::kAgentDone);
      return reactor_.stop();
    }
    is_first_ = false;
    const std::string what =
        WIFSIGNALED(status) ? fmt::format("the agent was killed by signal {}", WTERMSIG(status))
                            : fmt::format("the agent ended with code {}", WEXITSTATUS(status));
    const auto wait = guard_.crashed(reactor_.now());
    if (!wait)
      return give_up(
          fmt::format("{}, {} times within {} s; giving up. With a key of `holon "
                      "invite`, `holon join` makes another one here",
                      what, kCrashes + 1, kCrashWindow / 1000));
    complain(options_.hostname, what + "; starting it again");
    again_ = reactor_.after(*wait, [this] {
      starter_.when_idle([this] {
        if (auto started = start(); !started) give_up(to_string(started.error()));
      });
    });
  }

  void give_up(const std::string& why) {
    complain(options_.hostname, why);
    code_ = launch::kAgentCouldNotBegin;
    reactor_.stop();
  }

  void end() {
    is_ending_ = true;
    if (agent_ > 0) {
      kill(agent_, SIGTERM);
    } else {
      reactor_.stop();
    }
  }

  transport::Reactor& reactor_;
  launch::AgentOptions options_;
  std::string binary_;
  RuntimeFiles files_;
  StarterLine starter_;
  CrashGuard guard_;
  std::optional<Time> ends_;  // when its node does
  pid_t agent_ = 0;           // 0: the next agent is not started yet
  bool is_first_ = true, is_ending_ = false;
  int code_ = launch::kAgentDone;
  std::vector<transport::Subscription> watches_;
  transport::Subscription agent_watch_, again_;
};

int fail_to_begin(const std::string& host, const Error& error) {
  complain(host, to_string(error));
  return launch::kAgentCouldNotBegin;
}

}  // namespace

int keep_agent(launch::AgentOptions options, int starter) {
  setpgid(0,
          0);  // signals meant for the launching group are not for it, as they are not for agents
  for (const int ignored : {SIGPIPE, SIGHUP, SIGQUIT}) std::signal(ignored, SIG_IGN);
  if (!options.at_hand) std::signal(SIGINT, SIG_IGN);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const std::string host = options.hostname;
  std::error_code error;
  const auto binary = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return fail_to_begin(host, {Errc::system, error.message(), "/proc/self/exe"});
  auto dir = transport::make_runtime_dir();
  if (!dir) return fail_to_begin(host, dir.error());
  options.runtime_dir = *dir;
  std::ofstream(*dir + "/" + kAgentFile) << getpid() << '\n';
  int code = launch::kAgentCouldNotBegin;
  if (auto reactor = transport::Reactor::create())
    code = AgentGuard(**reactor, std::move(options), binary.string(), starter).run();
  else
    complain(host, to_string(reactor.error()));
  launch::remove_noted_output(*dir);
  std::error_code ignored;  // an agent that ended in order has removed it
  std::filesystem::remove_all(*dir, ignored);
  return code;
}

}  // namespace holon::instance
