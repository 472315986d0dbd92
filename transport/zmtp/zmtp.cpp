#include "transport/zmtp/zmtp.hpp"

#include <algorithm>
#include <utility>

namespace holon::transport {
namespace {

constexpr std::size_t kGreeting = 64;
constexpr std::size_t kMechanismAt = 12, kMechanismSize = 20;
constexpr std::size_t kMaxCommand = 8192;  // bytes; READY carries a few short properties
constexpr unsigned kMore = 1, kLong = 2, kCommand = 4;
constexpr std::size_t kPingTtl = 2;

std::string big_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

std::string property(std::string_view name, std::string_view value) {
  return static_cast<char>(name.size()) + std::string(name) + big_endian(value.size(), 4) +
         std::string(value);
}

std::string command_frame(std::string_view name, std::string_view data) {
  const std::string body = static_cast<char>(name.size()) + std::string(name) + std::string(data);
  return std::string{static_cast<char>(kCommand), static_cast<char>(body.size())} + body;
}

struct Header {
  std::size_t bytes = 0;  // 0: not there yet
  unsigned flags = 0;
  std::uint64_t body = 0;
};

Header header_of(std::string_view bytes) {
  if (bytes.empty()) return {};
  Header h;
  h.flags = static_cast<unsigned char>(bytes[0]);
  const std::size_t size_bytes = h.flags & kLong ? 8 : 1;
  if (bytes.size() < 1 + size_bytes) return {};
  for (std::size_t i = 0; i < size_bytes; ++i)
    h.body = h.body << 8 | static_cast<unsigned char>(bytes[1 + i]);
  h.bytes = 1 + size_bytes;
  return h;
}

}  // namespace

Zmtp::Step Zmtp::next(std::string_view bytes) {
  if (phase_ == Phase::greeting) return greet(bytes);
  if (skipping_) return skip(bytes.size());
  const Header header = header_of(bytes);
  if (header.bytes == 0) {
    wanted_ = 0;
    return {};
  }
  const bool is_command = (header.flags & kCommand) != 0;
  if (header.flags > (kMore | kLong | kCommand)) return {What::broken};
  if (header.body > (is_command ? kMaxCommand : max_message_)) return {What::broken};
  if (!is_command && phase_ == Phase::handshake) return {What::broken};
  if (!is_command && (foreign_ || (header.flags & kMore) != 0)) {
    foreign_ = skipping_ = true;
    last_part_ = (header.flags & kMore) == 0;
    skip_left_ = header.body;
    wanted_ = 0;
    Step step = skip(bytes.size() - header.bytes);
    step.consumed += header.bytes;
    if (step.what == What::more) step.what = What::nothing;
    return step;
  }
  const auto body = static_cast<std::size_t>(header.body);
  wanted_ = header.bytes + body;
  if (bytes.size() < wanted_) return {};
  const std::size_t consumed = std::exchange(wanted_, 0);
  if (is_command) return command(bytes.substr(header.bytes, body), consumed);
  return {What::message, consumed, bytes.substr(header.bytes, body)};
}

// A fault in the first bytes is refused before the others have come.
Zmtp::Step Zmtp::greet(std::string_view bytes) {
  if (!bytes.empty() && bytes[0] != '\xff') return {What::broken};
  if (bytes.size() > 9 && bytes[9] != '\x7f') return {What::broken};
  if (bytes.size() > 10 && static_cast<unsigned char>(bytes[10]) < 3) return {What::broken};
  if (bytes.size() < kGreeting) return {};
  std::string mechanism = "NULL";
  mechanism.resize(kMechanismSize);
  if (bytes.substr(kMechanismAt, kMechanismSize) != mechanism) return {What::broken};
  phase_ = Phase::handshake;
  return {What::nothing, kGreeting};
}

Zmtp::Step Zmtp::command(std::string_view text, std::size_t consumed) {
  const std::size_t length = text.empty() ? 0 : static_cast<unsigned char>(text[0]);
  if (length + 1 > text.size()) return {What::broken};
  const std::string_view name = text.substr(1, length), data = text.substr(1 + length);
  if (phase_ == Phase::handshake) {
    if (name != "READY") return {What::broken};
    phase_ = Phase::traffic;
    return {What::ready, consumed};
  }
  if (name == "PING" && data.size() >= kPingTtl)
    return {What::ping, consumed, data.substr(kPingTtl)};
  return {What::nothing, consumed};
}

Zmtp::Step Zmtp::skip(std::size_t available) {
  const auto now = static_cast<std::size_t>(std::min<std::uint64_t>(skip_left_, available));
  skip_left_ -= now;
  if (skip_left_ > 0) return {now > 0 ? What::nothing : What::more, now};
  skipping_ = false;
  if (!last_part_) return {What::nothing, now};
  foreign_ = last_part_ = false;
  return {What::foreign, now};
}

std::string Zmtp::greeting() {
  std::string bytes("\xff\0\0\0\0\0\0\0\0\x7f\x03\0NULL", 16);
  bytes.resize(kGreeting);
  return bytes;
}

std::string Zmtp::ready_command(std::string_view socket_type) {
  return command_frame("READY", property("Socket-Type", socket_type) + property("Identity", ""));
}

std::string Zmtp::pong(std::string_view context) {
  constexpr std::size_t kMaxContext = 16;
  return command_frame("PONG", context.substr(0, kMaxContext));
}

std::string Zmtp::frame_header(std::size_t size) {
  if (size > 255) return static_cast<char>(kLong) + big_endian(size, 8);
  return {'\0', static_cast<char>(size)};
}

}  // namespace holon::transport
