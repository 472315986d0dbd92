// cut_proxy.hpp - a socket between a client and a broker that can be cut: the test's hand on a
// connection that breaks at a moment of its choice. Passes bytes in a thread of its own.
#pragma once
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "transport/endpoint.hpp"
#include "transport/unique_fd.hpp"

namespace holon::client::testing {

class CutProxy {
 public:
  // `broker`: "ipc://...".
  explicit CutProxy(std::string broker) : broker_(broker.substr(6)) {
    dir_ = *transport::make_runtime_dir();
    uri_ = *transport::ipc_uri(dir_, "broker");
    listener_ = transport::UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto address = address_of(uri_.substr(6));
    bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    listen(listener_.get(), 16);
    thread_ = std::thread([this] { run(); });
  }
  ~CutProxy() {
    stop_ = true;
    thread_.join();
    std::filesystem::remove_all(dir_);
  }
  CutProxy(const CutProxy&) = delete;
  CutProxy& operator=(const CutProxy&) = delete;

  const std::string& uri() const { return uri_; }
  // What the broker says from now on is lost ...
  void swallow_answers() { swallows_ = true; }
  // ... until all connections are closed: those that are made afterwards are whole. Returns once it
  // is so.
  void cut() {
    cuts_ = true;
    while (cuts_) std::this_thread::yield();
  }

 private:
  static sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    return address;
  }

  void accept_one() {
    transport::UniqueFd client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    transport::UniqueFd server(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto address = address_of(broker_);
    // Without a broker the client is turned away, as by a socket that nobody listens at.
    if (connect(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      return;
    const int a = client.get(), b = server.get();
    ends_[a] = {std::move(client), b, false};
    ends_[b] = {std::move(server), a, true};
  }

  void pass(int from) {
    const auto end = ends_.find(from);
    if (end == ends_.end()) return;
    const int to = end->second.other;
    char bytes[64 << 10];
    const ssize_t n = read(from, bytes, sizeof bytes);
    if (n <= 0) {
      ends_.erase(from);
      ends_.erase(to);
      return;
    }
    if (end->second.is_broker && swallows_) return;
    for (ssize_t done = 0; done < n;) {
      const ssize_t sent = send(to, bytes + done, static_cast<std::size_t>(n - done), MSG_NOSIGNAL);
      if (sent <= 0) return;
      done += sent;
    }
  }

  void run() {
    while (!stop_) {
      if (cuts_) {
        ends_.clear();
        swallows_ = false;
        cuts_ = false;
      }
      std::vector<pollfd> fds = {{listener_.get(), POLLIN, 0}};
      for (const auto& [fd, end] : ends_) fds.push_back({fd, POLLIN, 0});
      poll(fds.data(), fds.size(), 5);
      for (std::size_t i = 1; i < fds.size(); ++i)
        if (fds[i].revents != 0) pass(fds[i].fd);
      if (fds[0].revents != 0) accept_one();
    }
  }

  struct End {
    transport::UniqueFd fd;
    int other = -1;
    bool is_broker = false;
  };
  std::string broker_, dir_, uri_;
  transport::UniqueFd listener_;
  std::map<int, End> ends_;  // of the thread
  std::atomic<bool> stop_{false}, swallows_{false}, cuts_{false};
  std::thread thread_;
};

}  // namespace holon::client::testing
