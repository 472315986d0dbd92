// network.hpp - a switch between network namespaces, in this process: each has an Ethernet
// interface (TAP) whose frames come here, and are passed on, late, or not at all.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/result.hpp"

namespace holon::system_test {

class Network {
 public:
  // Port k gets the address 10.77.0.(10+k) in the network namespace of process `pids[k]`. Errors:
  // system.
  static Result<std::unique_ptr<Network>> between(const std::vector<pid_t>& pids);
  static std::string address_of(std::size_t port);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // A port that is cut neither sends nor hears; nobody is told.
  void cut(std::size_t port) { ports_[port]->is_cut = true; }
  void heal(std::size_t port) { ports_[port]->is_cut = false; }
  // Of all frames: how many of a hundred are lost, and how long each one takes (ms).
  void set_weather(int loss, int delay) {
    loss_ = loss;
    delay_ = delay;
  }

 private:
  struct Port {
    int fd = -1;
    std::atomic<bool> is_cut{false};
  };
  Network() = default;
  void run();

  std::vector<std::unique_ptr<Port>> ports_;
  std::atomic<int> loss_{0}, delay_{0};
  int stop_ = -1;
  std::thread thread_;
};

}  // namespace holon::system_test
