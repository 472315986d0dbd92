#include "launch/lifeline.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <limits>
#include <string>

extern "C" {            // glibc 2.36 forgot to say so in this header
#include <sys/pidfd.h>  // NOLINT: after the others because of that
}

namespace holon::launch {
namespace {

// Waits at most `ms` (-1: for ever). True: `fd` is readable.
bool wait_for(int fd, int ms) {
  pollfd one{fd, POLLIN, 0};
  int n = 0;
  while ((n = poll(&one, 1, ms)) < 0 && errno == EINTR) continue;
  return n > 0;
}

}  // namespace

Result<std::unique_ptr<Lifeline>> Lifeline::to_parent(pid_t parent, Duration patience) {
  transport::UniqueFd process(pidfd_open(parent, 0));
  // It is the parent now, so it was when the handle was made: a number in use is not given away.
  if (getppid() != parent)
    return fail(Errc::disconnected, "it is not the parent of this process (any more)",
                "process " + std::to_string(parent));
  transport::UniqueFd stop(eventfd(0, EFD_CLOEXEC));
  if (!process || !stop) return fail(Errc::system, std::strerror(errno), "lifeline");
  prctl(PR_SET_PDEATHSIG, SIGCONT);
  std::unique_ptr<Lifeline> line(new Lifeline(std::move(process), std::move(stop)));
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the loop's thread gets the signals
  line->thread_ = std::thread([raw = line.get(), patience] { raw->watch(patience); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return line;
}

Lifeline::~Lifeline() {
  const std::uint64_t one = 1;
  static_cast<void>(!write(stop_.get(), &one, sizeof one));
  thread_.join();
}

void Lifeline::watch(Duration patience) const {
  std::array<pollfd, 2> either = {pollfd{parent_.get(), POLLIN, 0}, pollfd{stop_.get(), POLLIN, 0}};
  while (poll(either.data(), either.size(), -1) < 0 && errno == EINTR) continue;
  if ((either[1].revents & POLLIN) != 0) return;
  const Duration longest = std::numeric_limits<int>::max();
  if (!wait_for(stop_.get(), static_cast<int>(std::min(patience, longest))))
    kill(getpid(), SIGKILL);
}

}  // namespace holon::launch
