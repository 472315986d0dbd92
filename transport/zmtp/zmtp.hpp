// zmtp.hpp - what arrives on one connection, cut into messages: either side of ZMTP 3
// (https://rfc.zeromq.org/spec/23) with the mechanism NULL. Private to transport/; no sockets.
//
// A ZeroMQ socket collects a message of many parts whole, however long it gets, and says neither
// how much one peer has sent nor closes one peer's connection. Here a message of several parts,
// which is none of ours, is skipped as it comes, and a frame longer than allowed breaks the
// connection before a byte of it is kept.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace holon::transport {

class Zmtp {
 public:
  enum class What : std::uint8_t {
    more,     // the bytes there are do not make a step yet
    nothing,  // read over
    ready,    // the handshake is complete: a server answers with ready_command()
    message,  // `body` is a message
    foreign,  // a message of several parts has ended; it was read over
    ping,     // answer with pong(body)
    broken,   // this is no ZMTP 3 with NULL, or larger than allowed: close the connection
  };
  struct Step {
    What what = What::more;
    std::size_t consumed = 0;  // bytes at the front that are dealt with
    std::string_view body = {};
  };

  explicit Zmtp(std::size_t max_message) : max_message_(max_message) {}

  // The next step of `bytes`, which begin where the last step ended. O(bytes consumed).
  Step next(std::string_view bytes);
  // Is the handshake complete?
  bool in_traffic() const { return phase_ == Phase::traffic; }
  // The bytes of the whole frame that has begun; 0: not known yet.
  std::size_t wanted() const { return wanted_; }

  // Bytes to send: greeting() first of all; ready_command() then by a client, and at `ready` by a
  // server; pong() at `ping`; frame_header() before a message of `size` bytes.
  static std::string greeting();
  static std::string ready_command(std::string_view socket_type = "ROUTER");
  static std::string pong(std::string_view context);
  static std::string frame_header(std::size_t size);

 private:
  enum class Phase : std::uint8_t { greeting, handshake, traffic };
  Step greet(std::string_view bytes);
  Step command(std::string_view name_and_data, std::size_t consumed);
  Step skip(std::size_t available);

  std::size_t max_message_;
  Phase phase_ = Phase::greeting;
  bool foreign_ = false;         // inside a message of several parts
  bool last_part_ = false;       // ... of which the part being skipped is the last one
  std::uint64_t skip_left_ = 0;  // bytes of that part
  bool skipping_ = false;
  std::size_t wanted_ = 0;
};

}  // namespace holon::transport
