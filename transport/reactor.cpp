// reactor.cpp - epoll over everything: descriptors as they are, ZeroMQ sockets through ZMQ_FD,
// signals through signalfd, children through pidfd, timers through epoll's timeout.
//
// ZMQ_FD is no ordinary readiness: it says "something changed, ask ZMQ_EVENTS", and any call on the
// socket may swallow that hint. So the descriptor only wakes the loop up, and every socket's
// ZMQ_EVENTS is asked twice a turn: when events are handled, and before waiting (sends of the
// turn-end hooks may have swallowed a hint).
#include "transport/reactor.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>
#include <zmq.hpp>

#include "transport/unique_fd.hpp"

extern "C" {            // glibc 2.36 forgot to say so in this header
#include <sys/pidfd.h>  // NOLINT: after the others because of that
}

namespace holon::transport {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;

std::int64_t clock_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

struct FdWatch {
  int fd = -1;
  bool live = true;
  std::function<void(unsigned)> callback;
};

struct SocketWatch {
  void* socket = nullptr;
  std::uint64_t wake_up = 0;  // the FdWatch of its ZMQ_FD
  bool live = true;
  std::function<void()> callback;
};

struct Timer {
  std::int64_t deadline = 0;  // monotonic ns
  std::int64_t period = 0;    // ns; 0: once
  std::uint64_t id = 0;
  bool live = true;
  std::function<void()> callback;
};

struct SignalWatch {
  UniqueFd fd;
  std::uint64_t wake_up = 0;
  bool was_blocked = false;
  std::map<std::uint64_t, std::shared_ptr<std::function<void()>>> callbacks;
};

struct ChildWatch {
  UniqueFd pidfd;  // none where SIGCHLD tells of its end
  std::uint64_t wake_up = 0;
  std::function<void(const ChildExit&)> callback;
  std::function<void()> before_reap;
};

sigset_t only(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  return set;
}

bool can_be_read(void* socket) {
  int events = 0;
  std::size_t size = sizeof events;
  return zmq_getsockopt(socket, ZMQ_EVENTS, &events, &size) == 0 && (events & ZMQ_POLLIN) != 0;
}

// ZeroMQ's threads begin with the first socket, and block signals only once they run: a signal that
// comes before that would end the process through them, though it is watched for here.
void start_threads(zmq::context_t& context) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  zmq_close(zmq_socket(context.handle(), ZMQ_PAIR));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

class Reactor::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(UniqueFd epoll, Network* network) : epoll_(std::move(epoll)), network_(network) {
    now_ = read_clock();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    while (!signals_.empty()) drop_signal(signals_.begin()->first);
  }

  Time now() const { return now_; }
  Time read_clock() const { return clock_(); }
  void set_clock(std::function<Time()> clock) {
    clock_ = std::move(clock);
    now_ = clock_();
  }
  zmq::context_t& context() {
    if (context_) return *context_;
    context_.emplace();
    context_->set(zmq::ctxopt::max_sockets, 65535);
    if (network_ == nullptr) start_threads(*context_);
    return *context_;
  }
  Network* network() const { return network_; }
  Duration idle_for() const { return wait_ms(-1); }
  void stop() { stopped_ = true; }
  bool take_stop() { return std::exchange(stopped_, false); }
  bool stopped() const { return stopped_; }
  void defer(Callback callback) { deferred_.push_back(std::move(callback)); }

  void turn(Duration max_wait) {
    run_hooks(last_hooks_);  // messages said between two turns wait for no answer
    std::array<epoll_event, 64> events;
    const int n = epoll_wait(epoll_.get(), events.data(), events.size(), wait_ms(max_wait));
    now_ = read_clock();
    for (int i = 0; i < n; ++i) dispatch_fd(events[static_cast<std::size_t>(i)]);
    dispatch_sockets();
    dispatch_timers();
    run_deferred();
    run_hooks(hooks_);
    run_hooks(last_hooks_);
  }

  Subscription add_timer(std::int64_t delay_ms, std::int64_t period_ms, Callback callback) {
    auto timer = std::make_shared<Timer>();
    const std::int64_t longest =
        std::numeric_limits<std::int64_t>::max() / 4 / kNsPerMs;  // some 70 years
    timer->deadline =
        clock_ns(CLOCK_MONOTONIC) + std::clamp<std::int64_t>(delay_ms, 0, longest) * kNsPerMs;
    timer->period = std::clamp<std::int64_t>(period_ms, 0, longest) * kNsPerMs;
    timer->id = ++last_id_;
    timer->callback = std::move(callback);
    timers_[{timer->deadline, timer->id}] = timer;
    return subscription([timer](Impl& impl) {
      timer->live = false;
      impl.timers_.erase({timer->deadline, timer->id});
    });
  }

  Result<Subscription> add_fd(int fd, unsigned wanted, std::function<void(unsigned)> callback) {
    const auto id = watch_fd(fd, wanted, std::move(callback));
    if (!id) return tl::unexpected<Error>(id.error());
    return subscription([id = *id](Impl& impl) { impl.drop_fd(id); });
  }

  Result<Subscription> add_socket(void* socket, Callback callback) {
    int fd = -1;
    std::size_t size = sizeof fd;
    if (zmq_getsockopt(socket, ZMQ_FD, &fd, &size) != 0)
      return fail(Errc::system, zmq_strerror(zmq_errno()));
    const auto wake_up = watch_fd(fd, kReadable, [](unsigned) {});
    if (!wake_up) return tl::unexpected<Error>(wake_up.error());
    auto watch = std::make_shared<SocketWatch>();
    watch->socket = socket;
    watch->wake_up = *wake_up;
    watch->callback = std::move(callback);
    sockets_.push_back(watch);
    return subscription([watch](Impl& impl) {
      watch->live = false;
      impl.drop_fd(watch->wake_up);
      std::erase(impl.sockets_, watch);
    });
  }

  Result<Subscription> add_signal(int signal, Callback callback) {
    if (auto there = watch_signal(signal); !there) return tl::unexpected<Error>(there.error());
    const std::uint64_t id = ++last_id_;
    signals_[signal].callbacks[id] = std::make_shared<Callback>(std::move(callback));
    return subscription([signal, id](Impl& impl) {
      const auto found = impl.signals_.find(signal);
      if (found == impl.signals_.end()) return;
      found->second.callbacks.erase(id);
      if (found->second.callbacks.empty()) impl.drop_signal(signal);
    });
  }

  Result<Subscription> add_child(pid_t pid, std::function<void(const ChildExit&)> callback,
                                 Callback before_reap) {
    if (children_.contains(pid))
      return fail(Errc::exists, "process " + std::to_string(pid) + " is watched already");
    auto watch = std::make_shared<ChildWatch>();
    watch->callback = std::move(callback);
    watch->before_reap = std::move(before_reap);
    siginfo_t info{};
    const bool is_own =
        waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
    // A watch that reaps all children reaps this one: no descriptor is needed.
    if (!others_ || !is_own)
      if (auto watched = watch_pidfd(pid, *watch); !watched)
        return tl::unexpected<Error>(watched.error());
    children_[pid] = watch;
    return subscription([pid, watch](Impl& impl) {
      const auto found = impl.children_.find(pid);
      if (found != impl.children_.end() && found->second == watch) impl.drop_child(pid);
    });
  }

  Result<Subscription> add_other_children(std::function<void(const ChildExit&)> callback) {
    others_ = std::make_shared<std::function<void(const ChildExit&)>>(std::move(callback));
    auto chld = add_signal(SIGCHLD, [this] { reap_all(); });
    if (!chld) return chld;
    defer([weak = weak_from_this()] {  // those that ended before SIGCHLD was watched
      if (const auto impl = weak.lock()) impl->reap_all();
    });
    auto held = std::make_shared<Subscription>(std::move(*chld));
    return subscription([held](Impl& impl) {
      impl.others_.reset();
      held->cancel();
      for (const auto& [pid, watch] : impl.children_)
        if (!watch->pidfd) static_cast<void>(impl.watch_pidfd(pid, *watch));
    });
  }

  Subscription add_hook(Callback callback, bool last) {
    auto hook = std::make_shared<Hook>(Hook{true, std::move(callback)});
    (last ? last_hooks_ : hooks_).push_back(hook);
    return subscription([hook, last](Impl& impl) {
      hook->live = false;
      std::erase(last ? impl.last_hooks_ : impl.hooks_, hook);
    });
  }

 private:
  struct Hook {
    bool live;
    Callback callback;
  };

  static void run_hooks(std::vector<std::shared_ptr<Hook>> hooks) {
    for (const auto& hook : hooks)
      if (hook->live) hook->callback();
  }

  template <class Cancel>
  Subscription subscription(Cancel cancel) {
    return Subscription([weak = weak_from_this(), cancel] {
      if (const auto impl = weak.lock()) cancel(*impl);
    });
  }

  int wait_ms(Duration max_wait) const {
    if (max_wait == 0 || !deferred_.empty()) return 0;
    for (const auto& watch : sockets_)
      if (can_be_read(watch->socket)) return 0;
    std::int64_t wait = max_wait < 0 ? std::numeric_limits<int>::max() : max_wait;
    if (!timers_.empty()) {
      const std::int64_t left = timers_.begin()->first.first - clock_ns(CLOCK_MONOTONIC);
      wait = std::min(wait, left <= 0 ? 0 : (left + kNsPerMs - 1) / kNsPerMs);
    } else if (max_wait < 0) {
      return -1;
    }
    return static_cast<int>(std::min<std::int64_t>(wait, std::numeric_limits<int>::max()));
  }

  Result<std::uint64_t> watch_fd(int fd, unsigned wanted, std::function<void(unsigned)> callback) {
    auto watch = std::make_shared<FdWatch>();
    watch->fd = fd;
    watch->callback = std::move(callback);
    const std::uint64_t id = ++last_id_;
    epoll_event event{};
    event.events = (wanted & kReadable ? EPOLLIN : 0U) | (wanted & kWritable ? EPOLLOUT : 0U);
    event.data.u64 = id;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
      if (errno == EEXIST)
        return fail(Errc::exists, "file descriptor " + std::to_string(fd) + " is watched already");
      return system_error("cannot wait for file descriptor " + std::to_string(fd));
    }
    fds_[id] = std::move(watch);
    return id;
  }

  void drop_fd(std::uint64_t id) {
    const auto found = fds_.find(id);
    if (found == fds_.end()) return;
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, found->second->fd, nullptr);
    found->second->live = false;
    fds_.erase(found);
  }

  void dispatch_fd(const epoll_event& event) {
    const auto found = fds_.find(event.data.u64);
    if (found == fds_.end()) return;  // cancelled by an earlier callback of this turn
    const auto watch = found->second;
    unsigned came = 0;
    if (event.events & EPOLLIN) came |= kReadable;
    if (event.events & EPOLLOUT) came |= kWritable;
    if (event.events & (EPOLLHUP | EPOLLERR)) came |= kHangUp;
    watch->callback(came);
  }

  void dispatch_sockets() {
    for (const auto& watch : std::vector<std::shared_ptr<SocketWatch>>(sockets_))
      if (watch->live && can_be_read(watch->socket)) watch->callback();
  }

  // Timers due at the begin only: one that re-arms itself with 0 ms waits for the next turn.
  void dispatch_timers() {
    const std::int64_t now = clock_ns(CLOCK_MONOTONIC);
    std::vector<std::shared_ptr<Timer>> due;
    for (const auto& [key, timer] : timers_) {
      if (key.first > now) break;
      due.push_back(timer);
    }
    for (const auto& timer : due) {
      if (!timer->live) continue;
      timers_.erase({timer->deadline, timer->id});
      if (timer->period > 0) {
        timer->deadline = std::max(timer->deadline + timer->period, now + 1);
        timers_[{timer->deadline, timer->id}] = timer;
      }
      timer->callback();
    }
  }

  void run_deferred() {
    while (!deferred_.empty()) {
      const auto batch = std::exchange(deferred_, {});
      for (const auto& callback : batch) callback();
    }
  }

  Status watch_pidfd(pid_t pid, ChildWatch& watch) {
    UniqueFd pidfd(pidfd_open(pid, 0));
    if (pidfd.get() < 0)
      return fail(errno == ESRCH ? Errc::not_found : Errc::system,
                  "process " + std::to_string(pid) + ": " + std::strerror(errno));
    const auto wake_up = watch_fd(pidfd.get(), kReadable, [this, pid](unsigned) { reap(pid); });
    if (!wake_up) return tl::unexpected<Error>(wake_up.error());
    watch.pidfd = std::move(pidfd);
    watch.wake_up = *wake_up;
    return {};
  }

  Status watch_signal(int signal) {
    if (signals_.contains(signal)) return {};
    if (signal <= 0 || signal > SIGRTMAX || signal == SIGKILL || signal == SIGSTOP)
      return fail(Errc::invalid_argument,
                  "signal " + std::to_string(signal) + " cannot be waited for");
    const sigset_t set = only(signal);
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &set, &before);
    SignalWatch watch;
    watch.was_blocked = sigismember(&before, signal) == 1;
    watch.fd = UniqueFd(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
    const auto wake_up =
        watch_fd(watch.fd.get(), kReadable, [this, signal](unsigned) { dispatch_signal(signal); });
    if (!wake_up) {
      if (!watch.was_blocked) pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
      return tl::unexpected<Error>(wake_up.error());
    }
    watch.wake_up = *wake_up;
    signals_[signal] = std::move(watch);
    return {};
  }

  // A pending signal is read first: it would be delivered with its default action otherwise.
  void drop_signal(int signal) {
    auto watch = std::move(signals_[signal]);
    signals_.erase(signal);
    drop_fd(watch.wake_up);
    signalfd_siginfo info;
    while (read(watch.fd.get(), &info, sizeof info) > 0) {
    }
    const sigset_t set = only(signal);
    if (!watch.was_blocked) pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  }

  void dispatch_signal(int signal) {
    std::array<signalfd_siginfo, 8> info;
    while (read(signals_[signal].fd.get(), info.data(), sizeof info) == sizeof info) {
    }
    const auto callbacks = signals_[signal].callbacks;
    for (const auto& [id, callback] : callbacks) {
      const auto found = signals_.find(signal);
      if (found != signals_.end() && found->second.callbacks.contains(id)) (*callback)();
    }
  }

  void drop_child(pid_t pid) {
    const auto found = children_.find(pid);
    if (found == children_.end()) return;
    drop_fd(found->second->wake_up);
    children_.erase(found);
  }

  void deliver(const ChildExit& exit) {
    const auto found = children_.find(exit.pid);
    if (found == children_.end()) {
      if (const auto others = others_) (*others)(exit);
      return;
    }
    const auto watch = found->second;
    drop_child(exit.pid);
    watch->callback(exit);
  }

  void reap(pid_t pid) {
    const auto found = children_.find(pid);
    const auto watch = found == children_.end() ? nullptr : found->second;
    if (watch && watch->before_reap) watch->before_reap();
    ChildExit exit;
    exit.pid = pid;
    const pid_t got = wait4(pid, &exit.status, WNOHANG, &exit.usage);
    if (got == 0) return;
    if (got < 0) exit.status = -1;  // not ours to reap
    deliver(exit);
  }

  void reap_all() {
    siginfo_t info{};
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
      reap(info.si_pid);
      info = {};
    }
  }

  UniqueFd epoll_;
  Network* network_;
  std::optional<zmq::context_t> context_;  // its threads cost who talks over ipc:// nothing
  std::function<Time()> clock_ = [] { return clock_ns(CLOCK_BOOTTIME) / kNsPerMs; };
  Time now_ = 0;
  bool stopped_ = false;
  std::uint64_t last_id_ = 0;
  std::unordered_map<std::uint64_t, std::shared_ptr<FdWatch>> fds_;
  std::vector<std::shared_ptr<SocketWatch>> sockets_;
  std::map<std::pair<std::int64_t, std::uint64_t>, std::shared_ptr<Timer>> timers_;
  std::map<int, SignalWatch> signals_;
  std::unordered_map<pid_t, std::shared_ptr<ChildWatch>> children_;
  std::shared_ptr<std::function<void(const ChildExit&)>> others_;
  std::vector<std::shared_ptr<Hook>> hooks_, last_hooks_;
  std::vector<Callback> deferred_;
};

namespace {

// libzmq aborts the process when it finds no descriptor for its own threads. A context, a socket
// with its monitor and connection, and this loop need some 16.
constexpr std::size_t kDescriptors = 24;

Status find_descriptors() {
  std::array<UniqueFd, kDescriptors> taken;
  for (auto& fd : taken) {
    fd.reset(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!fd && errno == EBADF) fd.reset(open("/", O_PATH | O_CLOEXEC));
    if (fd) continue;
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    return fail(Errc::system, "the limit of open files (ulimit -n) is " +
                                  std::to_string(limit.rlim_cur) +
                                  ", too few: " + std::to_string(kDescriptors) +
                                  " more than are open are needed here");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Reactor>> Reactor::create(Network* network) {
  if (auto enough = find_descriptors(); !enough) return tl::unexpected<Error>(enough.error());
  UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (epoll.get() < 0) return system_error("cannot make an epoll instance");
  try {
    return std::unique_ptr<Reactor>(new Reactor(std::make_shared<Impl>(std::move(epoll), network)));
  } catch (const zmq::error_t& e) {
    return fail(Errc::system, std::string("cannot make a ZeroMQ context: ") + e.what());
  }
}

Reactor::Reactor(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Reactor::~Reactor() = default;

Time Reactor::now() const {
  return impl_->now();
}
void Reactor::set_clock(std::function<Time()> clock) {
  impl_->set_clock(std::move(clock));
}
zmq::context_t& Reactor::zmq_context() const {
  return impl_->context();
}
Network* Reactor::network() const {
  return impl_->network();
}
Duration Reactor::idle_for() const {
  return impl_->idle_for();
}
void Reactor::stop() {
  impl_->stop();
}
void Reactor::turn(Duration max_wait) {
  impl_->turn(max_wait);
}
void Reactor::defer(Callback callback) {
  impl_->defer(std::move(callback));
}

void Reactor::run() {
  do {
    impl_->turn(impl_->stopped() ? 0 : -1);
  } while (!impl_->take_stop());
}

bool Reactor::run_until(const std::function<bool()>& done, Duration timeout) {
  const std::int64_t deadline = clock_ns(CLOCK_MONOTONIC) + (timeout < 0 ? 0 : timeout) * kNsPerMs;
  while (!done()) {
    Duration left = -1;
    if (timeout >= 0) {
      left = (deadline - clock_ns(CLOCK_MONOTONIC) + kNsPerMs - 1) / kNsPerMs;
      if (left <= 0) return false;
    }
    impl_->turn(left);
  }
  return true;
}

Subscription Reactor::after(Duration delay, Callback callback) {
  return impl_->add_timer(delay, 0, std::move(callback));
}
Subscription Reactor::every(Duration period, Callback callback) {
  const Duration at_least = std::max<Duration>(period, 1);
  return impl_->add_timer(at_least, at_least, std::move(callback));
}
Subscription Reactor::at(Time when, Callback callback) {
  return after(distance(impl_->read_clock(), when), std::move(callback));
}
Result<Subscription> Reactor::on_fd(int fd, unsigned events,
                                    std::function<void(unsigned)> callback) {
  return impl_->add_fd(fd, events, std::move(callback));
}
Result<Subscription> Reactor::on_socket(void* socket, Callback callback) {
  return impl_->add_socket(socket, std::move(callback));
}
Result<Subscription> Reactor::on_signal(int signal, Callback callback) {
  return impl_->add_signal(signal, std::move(callback));
}
Result<Subscription> Reactor::on_child(pid_t pid, std::function<void(const ChildExit&)> callback,
                                       Callback before_reap) {
  return impl_->add_child(pid, std::move(callback), std::move(before_reap));
}
Result<Subscription> Reactor::on_other_children(std::function<void(const ChildExit&)> callback) {
  return impl_->add_other_children(std::move(callback));
}
Subscription Reactor::at_turn_end(Callback callback) {
  return impl_->add_hook(std::move(callback), false);
}
Subscription Reactor::before_waiting(Callback callback) {
  return impl_->add_hook(std::move(callback), true);
}

bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace holon::transport
