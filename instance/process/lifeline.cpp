#include "instance/process/lifeline.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <system_error>

namespace holon::instance {

using std::chrono::milliseconds;

Result<std::unique_ptr<Lifeline>> Lifeline::hold(int fd, Duration to_notice, Duration to_end) {
  transport::UniqueFd let_go(eventfd(0, EFD_CLOEXEC));
  if (!let_go) return fail(Errc::system, std::strerror(errno), "eventfd");
  std::unique_ptr<Lifeline> line(new Lifeline(fd, to_notice, to_end, std::move(let_go)));
  // Signals are handled by the loop's thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Status begun;
  try {
    line->thread_ = std::thread([self = line.get()] { self->guard(); });
  } catch (const std::system_error& e) {
    begun = fail(Errc::system, e.what(), "thread");
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!begun) return tl::unexpected(begun.error());
  return line;
}

Lifeline::Lifeline(int fd, Duration to_notice, Duration to_end, transport::UniqueFd let_go)
    : fd_(fd), to_notice_(to_notice), to_end_(to_end), let_go_(std::move(let_go)) {}

Lifeline::~Lifeline() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  eventfd_write(let_go_.get(), 1);
  if (thread_.joinable()) thread_.join();
}

void Lifeline::noticed() {
  const std::lock_guard lock(mutex_);
  noticed_ = true;
  changed_.notify_all();
}

bool Lifeline::supervisor_is_gone() const {
  pollfd fds[2] = {{fd_, POLLIN, 0}, {let_go_.get(), POLLIN, 0}};
  while (poll(fds, 2, -1) < 0 && errno == EINTR) continue;
  return fds[1].revents == 0;
}

void Lifeline::guard() {
  if (!supervisor_is_gone()) return;
  std::unique_lock lock(mutex_);
  const auto knows = [this] { return noticed_ || over_; };
  if (changed_.wait_for(lock, milliseconds(to_notice_), knows) &&
      changed_.wait_for(lock, milliseconds(to_end_), [this] { return over_; }))
    return;
  kill(getpid(), SIGKILL);
}

}  // namespace holon::instance
