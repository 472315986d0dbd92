#include "launch/tasks/terminal_relay.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/descriptors/writing.hpp"

namespace holon::launch {
namespace {

constexpr std::size_t kChunk = 16 << 10;  // bytes; a packet must fit into the socket's buffer

bool is_for_later(int error) {
  return error == EAGAIN || error == EINTR;
}

struct Address {
  sockaddr_un name{};
  socklen_t size = 0;
};

Address abstract(const std::string& name) {
  Address address;
  address.name.sun_family = AF_UNIX;
  const std::size_t length = std::min(name.size(), sizeof address.name.sun_path - 1);
  std::memcpy(address.name.sun_path + 1, name.data(), length);
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  return address;
}

UniqueFd new_socket() {
  return UniqueFd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
}

// Checks the user: every user of the machine can connect to an abstract name.
Status check_peer(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return system_error({}, "who is at the other end");
  if (peer.uid != getuid())
    return fail(Errc::denied, "another user is at the other end", "terminal");
  return {};
}

// Writes as much as can be written at once.
Status write_some(int fd, std::string& bytes) {
  const ssize_t n = write(fd, bytes.data(), bytes.size());
  if (n < 0 && !is_for_later(errno)) return system_error({}, "write");
  if (n > 0) bytes.erase(0, static_cast<std::size_t>(n));
  return {};
}

}  // namespace

Result<std::string> new_socket_name() {
  std::array<unsigned char, 16> random{};
  if (getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size()))
    return system_error({}, "getrandom");
  std::string name = "holon-";
  for (const unsigned char byte : random) {
    std::array<char, 3> hex{};
    std::snprintf(hex.data(), hex.size(), "%02x", byte);
    name += hex.data();
  }
  return name;
}

Result<UniqueFd> listen_at(const std::string& name) {
  UniqueFd socket = new_socket();
  const Address address = abstract(name);
  const auto* where = reinterpret_cast<const sockaddr*>(&address.name);
  if (socket.get() < 0 || bind(socket.get(), where, address.size) != 0 ||
      listen(socket.get(), 1) != 0)
    return system_error({}, "socket");
  return socket;
}

Result<UniqueFd> accept_from(int listener) {
  UniqueFd socket(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  if (socket.get() < 0) return system_error({}, "accept");
  if (auto same = check_peer(socket.get()); !same) return tl::unexpected<Error>(same.error());
  return socket;
}

Result<UniqueFd> connect_to(const std::string& name) {
  UniqueFd socket = new_socket();
  const Address address = abstract(name);
  const auto* where = reinterpret_cast<const sockaddr*>(&address.name);
  if (socket.get() < 0 || connect(socket.get(), where, address.size) != 0)
    return system_error({}, "the terminal of `holon run --pty`");
  if (auto same = check_peer(socket.get()); !same) return tl::unexpected<Error>(same.error());
  return socket;
}

Status send_packet(int socket, PacketKind kind, std::string_view bytes) {
  std::string packet(1, static_cast<char>(kind));
  packet += bytes;
  while (send(socket, packet.data(), packet.size(), MSG_NOSIGNAL) < 0) {
    if (errno == EINTR) continue;
    if (errno == EAGAIN) return fail(Errc::busy, "its buffer is full", "terminal");
    return system_error({}, "send");
  }
  return {};
}

Result<Packet> receive_packet(int socket) {
  std::string bytes(kChunk + 1, '\0');
  const ssize_t n = recv(socket, bytes.data(), bytes.size(), 0);
  if (n == 0 || (n < 0 && errno == ECONNRESET))
    return fail(Errc::disconnected, "the other side has gone", "terminal");
  if (n < 0 && is_for_later(errno)) return fail(Errc::busy, "nothing has come", "terminal");
  if (n < 0) return system_error({}, "recv");
  bytes.resize(static_cast<std::size_t>(n));
  const auto kind = static_cast<PacketKind>(bytes[0]);
  if (kind != PacketKind::begin && kind != PacketKind::data && kind != PacketKind::window)
    return fail(Errc::protocol, "a packet of no known kind", "terminal");
  return Packet{kind, bytes.substr(1)};
}

Flow::Flow(transport::Reactor& reactor, int from, int to, Take take, Give give)
    : reactor_(reactor), from_(from), to_(to), take_(std::move(take)), give_(std::move(give)) {}

Status Flow::begin(std::function<void()> on_end) {
  on_end_ = std::move(on_end);
  return listen();
}

std::string Flow::stop() {
  readable_.cancel();
  writable_.cancel();
  return std::exchange(pending_, {});
}

Status Flow::listen() {
  auto watch = reactor_.on_fd(from_, transport::kReadable, [this](unsigned) { move_some(); });
  if (!watch) return tl::unexpected<Error>(watch.error());
  readable_ = std::move(*watch);
  return {};
}

void Flow::move_some() {
  if (pending_.empty()) {
    auto taken = take_();
    if (!taken) return end();
    pending_ = std::move(*taken);
  }
  if (pending_.empty()) return;
  if (!give_(pending_)) return end();
  if (!pending_.empty()) wait_for_room();
}

void Flow::wait_for_room() {
  readable_.cancel();
  to_again_ = UniqueFd(fcntl(to_, F_DUPFD_CLOEXEC, 3));
  auto watch = reactor_.on_fd(to_again_.get(), transport::kWritable, [this](unsigned) {
    if (!give_(pending_)) return end();
    if (!pending_.empty()) return;
    writable_.cancel();
    to_again_ = UniqueFd();
    if (!listen()) end();
  });
  if (!watch) return end();
  writable_ = std::move(*watch);
}

void Flow::end() {
  readable_.cancel();
  writable_.cancel();
  if (const auto told = std::exchange(on_end_, nullptr)) told();
}

TerminalRelay::TerminalRelay(transport::Reactor& reactor, UniqueFd socket, int in, int out,
                             std::function<void(const Packet&)> on_packet)
    : socket_(std::move(socket)),
      in_(in),
      out_(out),
      on_packet_(std::move(on_packet)),
      to_socket_(
          reactor, in_, socket_.get(), [this] { return read_terminal(); },
          [this](std::string& bytes) -> Status {
            auto sent = send_packet(socket_.get(), PacketKind::data, bytes);
            if (sent) bytes.clear();
            return sent || sent.error().code == Errc::busy ? Status() : sent;
          }),
      to_terminal_(
          reactor, socket_.get(), out_, [this] { return read_socket(); },
          [this](std::string& bytes) { return write_some(out_, bytes); }) {}

Status TerminalRelay::begin(std::function<void()> on_end) {
  fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
  if (auto begun = to_socket_.begin([] {}); !begun) return begun;
  return to_terminal_.begin(std::move(on_end));
}

void TerminalRelay::stop() {
  to_socket_.stop();
  to_terminal_.stop();
}

Result<std::string> TerminalRelay::read_terminal() const {
  std::string bytes(kChunk, '\0');
  const ssize_t n = read(in_, bytes.data(), bytes.size());
  if (n < 0 && is_for_later(errno)) return std::string();
  if (n <= 0) return fail(Errc::disconnected, "the terminal is closed", "terminal");
  bytes.resize(static_cast<std::size_t>(n));
  return bytes;
}

Result<std::string> TerminalRelay::read_socket() const {
  auto packet = receive_packet(socket_.get());
  if (!packet && packet.error().code == Errc::busy) return std::string();
  if (!packet) return tl::unexpected<Error>(packet.error());
  if (packet->kind == PacketKind::data) return std::move(packet->bytes);
  on_packet_(*packet);
  return std::string();
}

void TerminalRelay::send_the_rest() {
  std::string bytes = to_socket_.stop();
  to_terminal_.stop();
  fcntl(socket_.get(), F_SETFL, 0);  // so that a slow reader gets all of it, too
  if (!bytes.empty() && !send_packet(socket_.get(), PacketKind::data, bytes)) return;
  for (auto more = read_terminal(); more && !more->empty(); more = read_terminal())
    if (!send_packet(socket_.get(), PacketKind::data, *more)) return;
}

void TerminalRelay::show_the_rest() {
  to_socket_.stop();
  if (!write_all(out_, to_terminal_.stop())) return;
  while (const auto packet = receive_packet(socket_.get()))
    if (packet->kind == PacketKind::data && !write_all(out_, packet->bytes)) return;
}

}  // namespace holon::launch
