#include "transport/munge/handover.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "transport/curve/admission.hpp"
#include "transport/secret.hpp"
#include "transport/session.hpp"
#include "transport/tcp_connection.hpp"

namespace holon::transport {
namespace {

constexpr std::size_t kLongestLine = 16 << 10;  // bytes of a credential
constexpr std::size_t kMostAskers = 16;         // the oldest one makes room
constexpr Duration kAskerPatience = 5'000;
constexpr Duration kRest = 100;  // ms in which nobody is let in, where the last one could not be

std::string words(const char* what, const std::string& name, const std::string& number) {
  return std::string(what) + "\n" + name + "\n" + number + "\n";
}
constexpr const char* kAsks = "holon asks for";
constexpr const char* kGives = "holon gives";
constexpr const char* kCredential = "MUNGE:";  // the beginning of each

Status send_line(int fd, const std::string& text) {
  const std::string line = text + "\n";
  // The line fits into what the kernel keeps for a connection.
  if (send(fd, line.data(), line.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(line.size()))
    return {};
  return fail(Errc::system, std::strerror(errno), "tcp");
}

// Appends the bytes that have come. False at the end of them, or if a line is too long.
bool read_some(int fd, std::string& line) {
  std::array<char, 4096> piece{};
  const ssize_t n = recv(fd, piece.data(), piece.size(), MSG_DONTWAIT);
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  line.append(piece.data(), static_cast<std::size_t>(n));
  return n > 0 && line.size() <= kLongestLine;
}

Result<std::string> read_line(int fd, Duration patience, const std::string& where) {
  std::string line;
  const std::int64_t until = monotonic_ms() + patience;
  for (Duration left = patience; left > 0; left = until - monotonic_ms()) {
    pollfd ready{fd, POLLIN, 0};
    if (poll(&ready, 1, static_cast<int>(left)) == 0) break;
    const bool goes_on = read_some(fd, line);
    if (const auto end = line.find('\n'); end != std::string::npos) return line.substr(0, end);
    if (!goes_on) return fail(Errc::denied, "who is there gives no answer", where);
  }
  return fail(Errc::timed_out, "no answer comes", where);
}

// Has the other side closed the connection? It sends no more than its line.
bool is_gone(int fd) {
  char byte = 0;
  return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

// The text after `begin` in a credential of this user. libmunge is not asked about other text: the
// daemon takes its time, and libmunge takes an empty text for the caller's mistake.
Result<std::string> text_behind(const Munge& munge, const std::string& credential,
                                const std::string& begin, const std::string& where) {
  if (!credential.starts_with(kCredential))
    return fail(Errc::denied, "what is there gives no credential of MUNGE", where);
  auto proof = munge.decode(credential);
  if (!proof) return tl::unexpected(proof.error());
  if (proof->uid != geteuid()) return fail(Errc::denied, "it is another user's", where);
  if (!proof->text.starts_with(begin)) return fail(Errc::denied, "it is for another one", where);
  return proof->text.substr(begin.size());
}

}  // namespace

// The hash is FNV-1a: both ends have to come to the same ports.
std::vector<std::uint16_t> handover_ports(const std::string& name) {
  constexpr std::uint64_t kFirst = 20'000, kCount = 12'000, kPorts = 4;
  std::uint64_t hash = 14'695'981'039'346'656'037U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211U;
  std::vector<std::uint16_t> ports;
  for (std::uint64_t i = 0; i < kPorts; ++i)
    ports.push_back(static_cast<std::uint16_t>(kFirst + (hash + i * 2'999) % kCount));
  return ports;
}

Result<std::unique_ptr<Handover>> Handover::open(Reactor& reactor, Munge munge, std::string name,
                                                 std::string text) {
  // Without a daemon no asker could be answered.
  if (const auto works = munge.seal(""); !works) return tl::unexpected(works.error());
  std::unique_ptr<Handover> made(
      new Handover(reactor, std::move(munge), std::move(name), std::move(text)));
  if (auto listens = made->listen(); !listens) return tl::unexpected(listens.error());
  return made;
}

Status Handover::listen() {
  Error last{Errc::system, "no port", {}};
  for (const std::uint16_t port : handover_ports(name_)) {
    auto socket = listening_socket("0.0.0.0", port);
    if (!socket) {
      last = socket.error();
      continue;
    }
    socket_ = std::move(socket->fd);
    return watch();
  }
  return tl::unexpected(last);
}

Status Handover::watch() {
  auto incoming = reactor_.on_fd(socket_.get(), kReadable, [this](unsigned) { let_in(); });
  if (!incoming) return tl::unexpected(incoming.error());
  incoming_ = std::move(*incoming);
  return {};
}

void Handover::let_in() {
  UniqueFd fd(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd) {
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) rest();
    return;
  }
  if (askers_.size() >= kMostAskers) askers_.pop_front();
  const auto asker = askers_.emplace(askers_.end());
  asker->fd = std::move(fd);
  auto readable =
      reactor_.on_fd(asker->fd.get(), kReadable, [this, asker](unsigned) { read(asker); });
  if (!readable) return void(askers_.erase(asker));
  asker->readable = std::move(*readable);
  asker->patience = reactor_.after(kAskerPatience, [this, asker] { askers_.erase(asker); });
}

// Rests: without a free descriptor, waiting askers would wake this process in each turn.
void Handover::rest() {
  incoming_.cancel();
  rested_ = reactor_.after(kRest, [this] {
    if (!watch()) rest();
  });
}

// A refused asker is told nothing. The daemon is not asked for askers that have given up while it
// took its time for others.
void Handover::read(Askers::iterator asker) {
  const bool goes_on = read_some(asker->fd.get(), asker->line);
  const auto end = asker->line.find('\n');
  if (end == std::string::npos && goes_on) return;
  if (end != std::string::npos && !is_gone(asker->fd.get()))
    if (const auto given = answer(asker->line.substr(0, end))) {
      const auto gone_already = send_line(asker->fd.get(), *given);
      static_cast<void>(gone_already);
    }
  askers_.erase(asker);
}

Result<std::string> Handover::answer(const std::string& credential) const {
  const std::string begin = std::string(kAsks) + "\n" + name_ + "\n";
  auto number = text_behind(munge_, credential, begin, "MUNGE");
  if (!number) return number;
  if (number->empty() || number->back() != '\n') return fail(Errc::denied, "it has no number");
  number->pop_back();
  return munge_.seal(words(kGives, name_, *number) + text_);
}

Result<std::string> ask_for_handover(const Munge& munge, const std::string& host,
                                     std::uint16_t port, const std::string& name,
                                     Duration patience) {
  const auto connection = connect_tcp(host, port, patience);
  if (!connection) return tl::unexpected(connection.error());
  const std::string where = host + ":" + std::to_string(port), number = new_secret();
  const auto question = munge.seal(words(kAsks, name, number));
  if (!question) return tl::unexpected(question.error());
  if (auto sent = send_line(connection->get(), *question); !sent)
    return tl::unexpected(sent.error());
  const auto answer = read_line(connection->get(), patience, where);
  if (!answer) return answer;
  return text_behind(munge, *answer, words(kGives, name, number), where);
}

}  // namespace holon::transport
