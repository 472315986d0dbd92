#include "cli/program_here.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ostream>

#include "cli/outcome.hpp"
#include "cli/show/table.hpp"
#include "launch/exit_code.hpp"

namespace holon::cli {
namespace {

// Interactive shells ignore SIGTERM, whose sender wants this process to end all the same.
constexpr Duration kProgramGrace = 5'000;

// On a terminal the program has to share our process group, or it could not read from it; elsewhere
// what it leaves behind in a group of its own ends with it.
Result<pid_t> start(const std::vector<std::string>& command, const std::string& uri, bool own_group,
                    const sigset_t& mask) {
  std::vector<std::string> words = command;
  if (words.empty()) {
    const char* shell = std::getenv("SHELL");
    words.emplace_back(shell != nullptr && *shell != '\0' ? shell : "/bin/sh");
  }
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string name = printable(words.front());  // nothing is allocated in the new process
  const bool is_path = name.find('/') != std::string::npos;
  const pid_t pid = fork();
  if (pid < 0) return fail(Errc::system, std::strerror(errno), words.front());
  if (own_group) setpgid(pid, pid);  // both sides: whichever comes first
  if (pid > 0) return pid;
  std::signal(SIGQUIT, SIG_DFL);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  setenv("HOLON_URI", uri.c_str(), 1);
  unsetenv("HOLON_JOB_ID");  // commands address that instance, where it is another job's
  execvp(argv[0], argv.data());
  const int why = errno;
  dprintf(STDERR_FILENO, "holon alloc: %s: %s\n", name.c_str(),
          why == ENOENT && !is_path ? "command not found in PATH" : strerrordesc_np(why));
  _exit(why == ENOENT ? 127 : 126);
}

class Attendance {
 public:
  Attendance(Invocation& call, Client& client, std::uint64_t job)
      : call_(call), client_(client), job_(job) {}

  Result<ProgramEnd> run(const std::vector<std::string>& command, const std::string& uri) {
    sigset_t mask;
    sigprocmask(SIG_SETMASK, nullptr, &mask);
    for (const int caught : {SIGINT, SIGTERM, SIGHUP}) sigdelset(&mask, caught);  // by the caller
    guard_ = client_.catch_signals([this](int signal) {
      if (signal != SIGINT) asked(signal);  // the terminal sends SIGINT to the program, too
    });
    own_group_ = isatty(STDIN_FILENO) == 0;
    const auto pid = start(command, uri, own_group_, mask);
    if (!pid) return tl::unexpected(pid.error());
    pid_ = *pid;
    bool over = false;
    const auto exit = client_.reactor().on_child(
        pid_,
        [this, &over](const transport::ChildExit& how) {
          end_.code = launch::exit_code_of(how.status);
          pid_ = 0;
          over = true;
        },
        [this] { signal(SIGKILL, own_group_); });
    if (!exit) return tl::unexpected(exit.error());
    watch_ = client_.over_later(job_, [this](const Result<msg::JobRecord>& job) { outlived(job); });
    client_.reactor().run_until([&over] { return over; }, -1);
    client_.reactor().turn(0);  // a signal that came with the program's end
    return end_;
  }

 private:
  void signal(int number, bool group) const {
    if (pid_ > 0) kill(group ? -pid_ : pid_, number);
  }

  void asked(int by) {
    end_.asked_by = by;
    end_with(by);
  }

  void outlived(const Result<msg::JobRecord>& job) {
    end_.outlived = true;
    end_.timed_out = job && job->result == "TIMEOUT";
    const std::string why = !job             ? job.error().what
                            : end_.timed_out ? "its time limit was reached"
                                             : failure_of(*job);
    call_.io.err << fmt::format("holon alloc: job {}: {}; alloc ends\n", job_,
                                why.empty() ? "it is over" : printable(why))
                 << std::flush;
    end_with(SIGHUP);
  }

  void end_with(int number) {
    signal(number, own_group_);
    signal(SIGCONT, own_group_);  // a stopped program cannot end
    if (!kill_)
      kill_ = client_.reactor().after(kProgramGrace, [this] { signal(SIGKILL, own_group_); });
  }

  Invocation& call_;
  Client& client_;
  std::uint64_t job_;
  pid_t pid_ = 0;
  bool own_group_ = false;
  ProgramEnd end_;
  Client::SignalGuard guard_;
  transport::Subscription watch_, kill_;
};

}  // namespace

Result<ProgramEnd> run_here(Invocation& call, Client& client, std::uint64_t job,
                            const std::vector<std::string>& command, const std::string& uri) {
  const auto before_quit = std::signal(SIGQUIT, SIG_IGN);
  auto end = Attendance(call, client, job).run(command, uri);
  std::signal(SIGQUIT, before_quit);
  return end;
}

}  // namespace holon::cli
