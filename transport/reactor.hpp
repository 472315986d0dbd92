// reactor.hpp - the event loop of every long-lived process: broker, agent, supervisor, and the
// waiting command line.
//
// One thread, no locks: all calls and all callbacks happen on the thread that runs the reactor. A
// *turn* is: read the clock once, handle everything that is ready, run the turn-end hooks, wait.
// `now()` therefore does not change within a turn, and what a turn's callbacks queued (a journal
// commit, answers) can be done once in a turn-end hook.
//
// Lifetime: every watch lives as long as its Subscription. Cancelling from inside any callback, its
// own included, is allowed and takes effect at once. A Subscription may outlive its reactor.
#pragma once
#include <sys/resource.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <utility>

#include "base/result.hpp"
#include "base/time.hpp"

namespace zmq {
class context_t;
}

namespace holon::transport {

class Network;

// Ownership of one watch; destroying it ends the watch. An empty one does nothing.
class Subscription {
 public:
  Subscription() = default;
  explicit Subscription(std::function<void()> on_cancel) : on_cancel_(std::move(on_cancel)) {}
  Subscription(Subscription&& other) noexcept
      : on_cancel_(std::exchange(other.on_cancel_, nullptr)) {}
  Subscription& operator=(Subscription&& other) noexcept {
    if (this != &other) {
      cancel();
      on_cancel_ = std::exchange(other.on_cancel_, nullptr);
    }
    return *this;
  }
  ~Subscription() { cancel(); }

  void cancel() {
    if (auto on_cancel = std::exchange(on_cancel_, nullptr)) on_cancel();
  }
  explicit operator bool() const { return static_cast<bool>(on_cancel_); }

 private:
  std::function<void()> on_cancel_;
};

// Events of a descriptor, to wait for or that came; hang-ups and errors come with every choice.
enum FdEvents : unsigned { kReadable = 1, kWritable = 2, kHangUp = 4 };

// The end of a child process. `status` is as in waitpid(2); `usage` includes the descendants it
// waited for.
struct ChildExit {
  pid_t pid = 0;
  int status = 0;
  rusage usage{};
};

class Reactor {
 public:
  using Callback = std::function<void()>;

  // `network`: connects its servers and clients, for as long as it lives; nullptr: the machine's
  // own sockets. Errors: system (too few file descriptors are left).
  static Result<std::unique_ptr<Reactor>> create(Network* network = nullptr);
  ~Reactor();
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  // Milliseconds at the begin of this turn, on a clock that never goes back: since the machine was
  // started, its sleep included, or what set_clock() has it say.
  Time now() const;
  // `clock` must never go back. It is read now, and then once a turn.
  void set_clock(std::function<Time()> clock);

  // Handles turns until stop(). A stop() before run() ends it after one turn without waiting.
  void run();
  // Ends run() at the end of the current turn, turn-end hooks included.
  void stop();
  // One turn: waits at most `max_wait` ms (0: only what is ready, negative: as long as it takes)
  // for something to do.
  void turn(Duration max_wait);
  // Turns until `done()` or, unless `timeout` is negative, `timeout` ms have passed. Returns
  // done().
  bool run_until(const std::function<bool()>& done, Duration timeout);

  // How long the next turn would wait for its timers, in ms: 0: something is to be done now,
  // negative: there are none. For callers that step several reactors by turn(0).
  Duration idle_for() const;

  // Runs `callback` later in the same turn, before the turn-end hooks. Not cancellable: capture
  // what stays alive.
  void defer(Callback callback);

  // Calls back once, `delay` ms from now / each `period` ms (> 0), by the monotonic clock: a step
  // of the wall clock moves neither. Late periods are skipped, not made up for. O(log timers).
  [[nodiscard]] Subscription after(Duration delay, Callback callback);
  [[nodiscard]] Subscription every(Duration period, Callback callback);
  // Calls back once now() is `when`, by the clock as it is at this call; at once if that is past.
  [[nodiscard]] Subscription at(Time when, Callback callback);

  // Level-triggered; `callback` gets FdEvents bits. The descriptor stays the caller's and must
  // outlive the watch. Errors: system (e.g. a regular file, which cannot be waited for; exists if
  // it is watched already).
  Result<Subscription> on_fd(int fd, unsigned events, std::function<void(unsigned)> callback);

  // `socket` is a ZeroMQ socket's C handle. `callback` is called in each turn in which the socket
  // can be read; it should read a bounded number of messages without blocking: what it leaves is
  // offered again in the next turn. ZMQ_FD's edge semantics are dealt with here: ZMQ_EVENTS is
  // asked in every turn before waiting.
  Result<Subscription> on_socket(void* socket, Callback callback);

  // Blocks the signal's default action for this process' calling thread while subscribed; several
  // subscribers of one signal all get it. Threads started earlier must have it blocked too. Errors:
  // invalid_argument.
  Result<Subscription> on_signal(int signal, Callback callback);

  // Reaps child `pid` when it ends; status is -1 if it was not this process's to reap.
  // `before_reap` is called when it has ended and its number cannot have been given away yet: the
  // moment to signal its process group. Errors: not_found (no such process), exists (it is watched
  // already).
  Result<Subscription> on_child(pid_t pid, std::function<void(const ChildExit&)> callback,
                                Callback before_reap = {});
  // Reaps every child that no on_child() waits for, orphans adopted by a subreaper included
  // (SIGCHLD).
  Result<Subscription> on_other_children(std::function<void(const ChildExit&)> callback);

  // Called at the end of every turn, in the order of subscription: the place for a group commit.
  [[nodiscard]] Subscription at_turn_end(Callback callback);
  // Called after all turn-end hooks, and before each wait: the place to send what has been said.
  [[nodiscard]] Subscription before_waiting(Callback callback);

  // The context from which all ZeroMQ sockets of this reactor's thread are made. They must be
  // closed before the reactor ends: its end waits for them.
  zmq::context_t& zmq_context() const;
  Network* network() const;  // nullptr: the machine's own sockets

 private:
  class Impl;
  explicit Reactor(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

// Was this process told to ignore the signal before it began? nohup(1) starts a program with SIGHUP
// ignored, a shell without job control one in the background with SIGINT and SIGQUIT ignored: a
// program that finds a signal ignored leaves it so. on_signal() would deliver it all the same.
bool is_ignored(int signal);

}  // namespace holon::transport
