#include "tests/system/nodes/network.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <random>

namespace holon::system_test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongestFrame = 2048;
constexpr std::size_t kMacLength = 6;

// The interface of a TAP device lies in the namespace of the thread that opens it.
int open_tap(pid_t pid) {
  int tap = -1;
  std::thread([&] {
    const int space = open(fmt::format("/proc/{}/ns/net", pid).c_str(), O_RDONLY | O_CLOEXEC);
    if (space >= 0 && setns(space, CLONE_NEWNET) == 0)
      tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (space >= 0) close(space);
    ifreq ask{};
    ask.ifr_flags = IFF_TAP | IFF_NO_PI;
    std::strcpy(ask.ifr_name, "eth0");
    if (tap >= 0 && ioctl(tap, TUNSETIFF, &ask) != 0) close(std::exchange(tap, -1));
  }).join();
  return tap;
}

// Port k has the hardware address 02:00:00:00:00:k. Who is meant by a frame; -1: all others.
int port_of(const std::string& frame, std::size_t ports) {
  const bool is_for_one = frame.size() >= kMacLength && frame[0] == 2 &&
                          static_cast<unsigned char>(frame[kMacLength - 1]) < ports;
  return is_for_one ? frame[kMacLength - 1] : -1;
}

struct Frame {
  Clock::time_point due;
  std::size_t from = 0;
  std::string bytes;
};

}  // namespace

std::string Network::address_of(std::size_t port) {
  return fmt::format("10.77.0.{}", 10 + port);
}

Result<std::unique_ptr<Network>> Network::between(const std::vector<pid_t>& pids) {
  std::unique_ptr<Network> network(new Network);
  for (const pid_t pid : pids) {
    network->ports_.push_back(std::make_unique<Port>());
    network->ports_.back()->fd = open_tap(pid);
    if (network->ports_.back()->fd < 0)
      return fail(Errc::system, std::strerror(errno), "/dev/net/tun");
  }
  network->stop_ = eventfd(0, EFD_CLOEXEC);
  network->thread_ = std::thread([raw = network.get()] { raw->run(); });
  return network;
}

Network::~Network() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    if (write(stop_, &one, sizeof one) == sizeof one) thread_.join();
  }
  for (const auto& port : ports_)
    if (port->fd >= 0) close(port->fd);
  if (stop_ >= 0) close(stop_);
}

void Network::run() {
  std::vector<pollfd> fds;
  for (const auto& port : ports_) fds.push_back({port->fd, POLLIN, 0});
  fds.push_back({stop_, POLLIN, 0});
  std::deque<Frame> on_their_way;
  std::mt19937 random(4711);
  const auto deliver = [&](const Frame& frame) {
    const int to = port_of(frame.bytes, ports_.size());
    for (std::size_t port = 0; port < ports_.size(); ++port) {
      const bool is_meant = to < 0 ? port != frame.from : port == static_cast<std::size_t>(to);
      if (!is_meant || ports_[port]->is_cut || ports_[frame.from]->is_cut) continue;
      // An interface that is not up yet refuses it: as lost as on a wire.
      [[maybe_unused]] const auto sent =
          write(ports_[port]->fd, frame.bytes.data(), frame.bytes.size());
    }
  };
  std::array<char, kLongestFrame> buffer{};
  while (fds.back().revents == 0) {
    while (!on_their_way.empty() && on_their_way.front().due <= Clock::now()) {
      deliver(on_their_way.front());
      on_their_way.pop_front();
    }
    poll(fds.data(), fds.size(), on_their_way.empty() ? -1 : 1);
    for (std::size_t port = 0; port < ports_.size(); ++port) {
      if ((fds[port].revents & POLLIN) == 0) continue;
      const ssize_t n = read(fds[port].fd, buffer.data(), buffer.size());
      if (n <= 0 || static_cast<int>(random() % 100) < loss_) continue;
      on_their_way.push_back({Clock::now() + std::chrono::milliseconds(delay_), port,
                              std::string(buffer.data(), static_cast<std::size_t>(n))});
    }
  }
}

}  // namespace holon::system_test
