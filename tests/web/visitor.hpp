// visitor.hpp - one who speaks HTTP to a server by hand, byte for byte.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "transport/unique_fd.hpp"

namespace holon::web::testing {

class Visitor {
 public:
  explicit Visitor(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ =
        ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  bool connected() const { return connected_; }
  bool say(const std::string& bytes) const {
    std::size_t sent = 0;
    while (sent < bytes.size()) {
      const auto n = ::send(fd_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) return false;
      sent += static_cast<std::size_t>(n);
    }
    return true;
  }
  // Reads until `text` has come; false: the server has closed, or 20 s have passed.
  bool hear(const std::string& text) {
    while (heard_.find(text) == std::string::npos)
      if (!more()) return false;
    return true;
  }
  // All that comes until the server closes.
  std::string to_the_end() {
    while (more()) continue;
    return heard_;
  }
  // One whole answer with a Content-Length; taken out of what was heard.
  std::string answer() {
    if (!hear("\r\n\r\n")) return heard_;
    const auto end = heard_.find("\r\n\r\n") + 4;
    const auto length = heard_.find("Content-Length: ");
    std::size_t body = 0;
    if (length < end) body = std::stoul(heard_.substr(length + 16));
    while (heard_.size() < end + body && more()) continue;
    const std::string whole = heard_.substr(0, end + body);
    heard_.erase(0, end + body);
    return whole;
  }
  const std::string& heard() const { return heard_; }
  void forget() { heard_.clear(); }
  int fd() const { return fd_.get(); }

 private:
  bool more() {
    pollfd waits{fd_.get(), POLLIN, 0};
    if (::poll(&waits, 1, 20'000) != 1) return false;
    char bytes[65'536];
    const auto n = ::read(fd_.get(), bytes, sizeof bytes);
    if (n <= 0) return false;
    heard_.append(bytes, static_cast<std::size_t>(n));
    return true;
  }

  transport::UniqueFd fd_;
  bool connected_ = false;
  std::string heard_;
};

inline std::string get(const std::string& target, const std::string& more = "") {
  return "GET " + target + " HTTP/1.1\r\nHost: x\r\n" + more + "\r\n";
}

}  // namespace holon::web::testing
