#include "launch/tasks/starter_processes.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <span>
#include <utility>

#include "base/descriptors/passing.hpp"
#include "launch/tasks/ask_starter.hpp"

namespace holon::launch {
namespace {

using transport::UniqueFd;

// ms that a user's files and folders may delay this process, which waits for all users: at first,
// and for the rest of its life once that time was used up.
constexpr Duration kPatience = 2'000;
constexpr Duration kLessPatience = 20;
// ms for the starter itself, which waits for nobody's files.
constexpr Duration kStarterPatience = 10'000;

// Reads one message, and a file that may come with it. nullopt: the other end is closed, or the
// message is of no known form.
std::optional<starter::Told> receive(int line, UniqueFd& file, bool& would_wait) {
  starter::Told told;
  const Passed passed =
      receive_with_descriptors(line, std::as_writable_bytes(std::span(&told, 1)), 1, MSG_DONTWAIT);
  would_wait = passed.size < 0 && passed.error == EAGAIN;
  UniqueFd came(passed.descriptors.empty() ? -1 : passed.descriptors.front());
  if (passed.size != static_cast<ssize_t>(sizeof told) || !passed.has_all_bytes ||
      told.magic != starter::kMagic)
    return std::nullopt;
  if (passed.has_all_descriptors) file = std::move(came);
  told.text[sizeof told.text - 1] = '\0';
  return told;
}

std::string in_words(int error) {
  return std::strerror(error);
}

SpawnError in_words_of(const starter::Told& told, const SpawnRequest& request) {
  const std::string program = "\"" + request.argv.front() + "\"";
  switch (told.step) {
    case starter::Step::find:
      if (told.error == ENOENT) return {127, "command " + program + " not found in PATH"};
      return {126, "command " + program + ": " + in_words(told.error)};
    case starter::Step::enter:
      return {126, "cannot enter the working directory \"" + request.cwd +
                       "\": " + in_words(told.error)};
    case starter::Step::bind:
      return {126, "cannot bind to CPUs: " + in_words(told.error)};
    case starter::Step::limit:
      return {126, "cannot set its limit " + std::string(name_of_limit(told.status)) + ": " +
                       in_words(told.error)};
    case starter::Step::run:
      return {told.error == ENOENT ? 127 : 126,
              "cannot start " + program + ": " + in_words(told.error)};
    case starter::Step::request:
    case starter::Step::account:
      return {126, std::string("the starter refuses: ") + told.text};
    case starter::Step::start:
    case starter::Step::become:
    case starter::Step::file:
      break;
  }
  return {126, "cannot become user \"" + request.user + "\": " + in_words(told.error)};
}

// Was it the task's user who lacks permission for what the job asked for? Else it was the starter,
// for what it needs to start anything.
bool is_denied_to_user(const starter::Told& told) {
  switch (told.step) {
    case starter::Step::request:
    case starter::Step::account:
      return true;  // by the starter's own rules
    case starter::Step::enter:
    case starter::Step::limit:
    case starter::Step::find:
    case starter::Step::run:
    case starter::Step::file:
      return is_denial(told.error);
    case starter::Step::start:
    case starter::Step::bind:
    case starter::Step::become:
      break;
  }
  return false;
}

SpawnError explain(const starter::Told& told, const SpawnRequest& request) {
  SpawnError error = in_words_of(told, request);
  error.denied = is_denied_to_user(told);
  return error;
}

transport::ChildExit exit_of(const starter::Told& told) {
  transport::ChildExit exit;
  exit.pid = told.pid;
  exit.status = told.status;
  exit.usage.ru_utime = {told.user_us / 1'000'000, told.user_us % 1'000'000};
  exit.usage.ru_stime = {told.system_us / 1'000'000, told.system_us % 1'000'000};
  exit.usage.ru_maxrss = told.max_rss_kb;
  return exit;
}

void order(int line, starter::Do what, int signal = 0) {
  starter::Order order;
  order.what = what;
  order.signal = signal;
  // The order is lost if the keeper has gone.
  while (send(line, &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno == EINTR)
    continue;
}

// Has the keeper ended? One that leaves orders unread resets the connection.
bool task_guard_has_ended(int line) {
  char byte = 0;
  ssize_t n = 0;
  while ((n = recv(line, &byte, 1, MSG_DONTWAIT)) > 0 || (n < 0 && errno == EINTR)) continue;
  return n == 0 || errno != EAGAIN;
}

// Sent once. The end of file tells it, too, if a flood of signals has left no room for an order.
void tell_to_end(int line, bool& was_told) {
  if (std::exchange(was_told, true)) return;
  order(line, starter::Do::end);
  shutdown(line, SHUT_WR);
}

}  // namespace

StarterProcesses::StarterProcesses(transport::Reactor& reactor, UniqueFd starter,
                                   std::unique_ptr<Processes> own, std::uint64_t task_descriptors)
    : reactor_(reactor),
      starter_(std::move(starter)),
      own_(std::move(own)),
      task_descriptors_(task_descriptors) {}

// The ends of file of their connections end what is left.
StarterProcesses::~StarterProcesses() = default;

Duration StarterProcesses::patience_with(const std::string& user) const {
  return slow_.contains(user) ? kLessPatience : kPatience;
}

// nullopt: no message comes, or not in time; a `user` who is named is then noted as slow.
std::optional<StarterProcesses::Answer> StarterProcesses::hear(int line, Duration patience,
                                                               const std::string& user) {
  Answer answer;
  while (true) {
    bool would_wait = false;
    if (const auto told = receive(line, answer.file, would_wait)) {
      answer.told = *told;
      return answer;
    }
    if (!would_wait) return std::nullopt;
    pollfd look{line, POLLIN, 0};
    const int ready = poll(&look, 1, static_cast<int>(patience));
    if (ready > 0 || (ready < 0 && errno == EINTR)) continue;
    if (!user.empty()) slow_.insert(user);
    return std::nullopt;
  }
}

tl::expected<pid_t, SpawnError> StarterProcesses::spawn(const SpawnRequest& request) {
  if (request.user.empty()) return own_->spawn(request);
  starter::Request what;
  what.user = request.user;
  what.argv = request.argv;
  what.env = request.env;
  what.cwd = request.cwd;
  if (request.cpus != nullptr)
    what.cpus.assign(request.cpus->words().begin(), request.cpus->words().end());
  what.descriptors = task_descriptors_;
  if (request.file_mask >= 0) what.file_mask = static_cast<std::uint32_t>(request.file_mask);
  for (const ProcessLimit& limit : request.limits)
    what.limits.push_back({static_cast<std::uint32_t>(limit.resource), limit.value});
  // Opened for this task alone: a lock of one user must not be in the way of another.
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  const auto or_null = [&null](int fd) { return fd < 0 ? null.get() : fd; };
  std::vector<int> streams = {or_null(request.in), or_null(request.out), or_null(request.err)};
  std::uint32_t extras = 0;
  if (request.secrets >= 0) {
    streams.push_back(request.secrets);
    extras |= starter::kSecrets;
  }
  if (request.wire_up >= 0) {
    streams.push_back(request.wire_up);
    extras |= starter::kWireUp;
  }
  auto line = ask_starter(starter_.get(), starter::Kind::run, what, streams, extras);
  if (!line) return tl::unexpected(SpawnError{126, to_string(line.error())});
  return await(std::move(*line), request);
}

// A task whose working directory or program delays us for long counts as started: its end is
// reported like any other.
tl::expected<pid_t, SpawnError> StarterProcesses::await(UniqueFd line,
                                                        const SpawnRequest& request) {
  const auto first = hear(line.get(), kStarterPatience, "");
  if (!first) return tl::unexpected(SpawnError{126, "the starter does not start it"});
  if (first->told.what != starter::What::started)
    return tl::unexpected(explain(first->told, request));
  const pid_t pid = first->told.pid;
  const auto then = hear(line.get(), patience_with(request.user), request.user);
  if (then && then->told.what == starter::What::failed)
    return tl::unexpected(explain(then->told, request));
  TaskGuard& keeper = task_guards_[pid];
  keeper = {};
  keeper.number = ++last_;
  keeper.line = std::move(line);
  keeper.start = own_->start_of(pid);
  return pid;
}

int StarterProcesses::open_file(const std::string& user, const std::string& path, int flags,
                                int mask) {
  if (user.empty()) return own_->open_file(user, path, flags, mask);
  starter::Request what;
  what.user = user;
  what.path = path;
  what.flags = static_cast<std::uint32_t>(flags);
  if (mask >= 0) what.file_mask = static_cast<std::uint32_t>(mask);
  const auto line = ask_starter(starter_.get(), starter::Kind::open, what);
  if (!line) return -EIO;
  auto answer = hear(line->get(), patience_with(user), user);
  if (!answer) return -ETIMEDOUT;
  // Without a file: this process may open no more, and the kernel has closed it.
  if (answer->told.what == starter::What::opened)
    return answer->file ? answer->file.release() : -EMFILE;
  return answer->told.error > 0 ? -answer->told.error : -EPERM;
}

Result<transport::Subscription> StarterProcesses::on_end(
    pid_t process, std::function<void(const transport::ChildExit&)> ended,
    std::function<void()> before_reap) {
  const auto found = task_guards_.find(process);
  if (found == task_guards_.end())
    return own_->on_end(process, std::move(ended), std::move(before_reap));
  TaskGuard& keeper = found->second;
  keeper.ended = std::move(ended);  // the keeper ends the task's group itself
  auto readable = reactor_.on_fd(keeper.line.get(), transport::kReadable,
                                 [this, process](unsigned) { read(process); });
  if (!readable) return tl::unexpected<Error>(readable.error());
  keeper.readable = std::move(*readable);
  return transport::Subscription([this, process, number = keeper.number] {
    const auto known = task_guards_.find(process);
    if (known != task_guards_.end() && known->second.number == number)
      known->second.ended = nullptr;
  });
}

void StarterProcesses::read(pid_t task) {
  while (true) {
    const auto found = task_guards_.find(task);
    if (found == task_guards_.end()) return;
    UniqueFd none;
    bool would_wait = false;
    const auto told = receive(found->second.line.get(), none, would_wait);
    if (!told) return would_wait ? void() : lose(task);
    if (told->what == starter::What::ended) return ended(task, *told);
  }
}

// From now on the task's number may be another process's: what the task has left behind is known by
// the task's start, too.
void StarterProcesses::ended(pid_t task, const starter::Told& told) {
  auto keeper = std::move(task_guards_.extract(task).mapped());
  keeper.readable.cancel();
  if (told.nothing_left == 0) left_[{task, keeper.start}] = {std::move(keeper.line), false};
  if (keeper.ended) keeper.ended(exit_of(told));
}

void StarterProcesses::lose(pid_t task) {
  auto keeper = std::move(task_guards_.extract(task).mapped());
  keeper.readable.cancel();
  transport::ChildExit killed;  // with its keeper, whose report is missing
  killed.pid = task;
  killed.status = SIGKILL;
  if (keeper.ended) keeper.ended(killed);
}

void StarterProcesses::signal_group(pid_t leader, int signal) {
  const auto found = task_guards_.find(leader);
  if (found == task_guards_.end()) return own_->signal_group(leader, signal);
  order(found->second.line.get(), starter::Do::signal, signal);
}

// A keeper ends when nothing is left below it, which shows that all is cleared.
bool StarterProcesses::clear(const msg::ProcessId& leader) {
  const auto pid = static_cast<pid_t>(leader.pid);
  if (const auto found = task_guards_.find(pid);
      found != task_guards_.end() && found->second.start == leader.start) {
    tell_to_end(found->second.line.get(), found->second.was_told);
    return false;
  }
  const auto found = left_.find({pid, leader.start});
  if (found == left_.end()) return own_->clear(leader);
  tell_to_end(found->second.line.get(), found->second.was_told);
  if (!task_guard_has_ended(found->second.line.get())) return false;
  left_.erase(found);
  return true;
}

Result<std::unique_ptr<Processes>> starter_processes(transport::Reactor& reactor, int starter) {
  const std::uint64_t usual = transport::raise_descriptor_limit();
  auto own = own_processes(reactor);
  if (!own) return own;
  if (fcntl(starter, F_SETFD, FD_CLOEXEC) != 0) return system_error({}, "the starter's connection");
  return std::unique_ptr<Processes>(
      std::make_unique<StarterProcesses>(reactor, UniqueFd(starter), std::move(*own), usual));
}

}  // namespace holon::launch
