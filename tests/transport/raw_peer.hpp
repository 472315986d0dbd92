// raw_peer.hpp - a client made of bytes, which does what no ZeroMQ socket would: stops in the
// middle, does not read, sends what it likes.
#pragma once
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

#include "transport/codec/envelope.hpp"
#include "transport/unique_fd.hpp"
#include "transport/zmtp/zmtp.hpp"

namespace holon::transport {

class RawPeer {
 public:
  explicit RawPeer(const std::string& uri)
      : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    uri.substr(6).copy(address.sun_path, sizeof address.sun_path - 1);
    connected_ =
        connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }

  bool connected() const { return connected_; }
  void close() {
    fd_.reset();
    out_ = {};
  }
  // Writes what the kernel takes now and keeps the rest; call again.
  void write(std::string_view bytes = {}) {
    out_ += bytes;
    const ssize_t n = ::send(fd_.get(), out_.data(), out_.size(), MSG_NOSIGNAL);
    if (n > 0) out_.erase(0, static_cast<std::size_t>(n));
    if (out_.empty()) out_.shrink_to_fit();  // tests measure memory
  }
  std::size_t unwritten() const { return out_.size(); }
  void handshake() { write(Zmtp::greeting() + Zmtp::ready_command()); }
  void send(const Envelope& envelope) { write(frame(encode(envelope))); }
  void hello() { send({Kind::hello, 1, "", "", encode_greeting({"x", 1, 1, 0})}); }
  static std::string frame(const std::string& bytes) {
    return Zmtp::frame_header(bytes.size()) + bytes;
  }

  // Bytes the kernel has for us, taken; false: the other side has closed.
  bool read() {
    std::array<char, 65536> buffer;
    for (;;) {
      const ssize_t n = recv(fd_.get(), buffer.data(), buffer.size(), 0);
      if (n == 0) return false;
      if (n < 0) return errno == EAGAIN;
      in_.append(buffer.data(), static_cast<std::size_t>(n));
    }
  }
  const std::string& received() const { return in_; }
  // Takes at most `most` bytes and keeps none of the messages in them. How many bytes the whole
  // messages so far had, which is what a heartbeat may confirm.
  std::size_t skip_some(std::size_t most) {
    std::string buffer(most, '\0');
    const ssize_t n = recv(fd_.get(), buffer.data(), buffer.size(), 0);
    if (n > 0) in_.append(buffer.data(), static_cast<std::size_t>(n));
    std::size_t done = 0;
    for (;;) {
      const Zmtp::Step step = cutter_.next(std::string_view(in_).substr(done));
      if (step.what == Zmtp::What::more || step.what == Zmtp::What::broken) break;
      if (step.what == Zmtp::What::message) skipped_ += step.body.size();
      done += step.consumed;
    }
    in_.erase(0, done);
    return skipped_;
  }

 private:
  UniqueFd fd_;
  bool connected_ = false;
  std::string in_, out_;
  Zmtp cutter_{64 << 20};
  std::size_t skipped_ = 0;
};

}  // namespace holon::transport
