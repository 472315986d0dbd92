// envelope.hpp - one message on the wire (docs/protocol.md, "Envelope"). Private to transport/.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace holon::transport {

inline constexpr std::uint64_t kProtocolVersion = 1;

// The numbers are on the wire: do not change them.
enum class Kind : std::uint8_t {
  request = 1,    // either side; id is the sender's, 0: no answer wanted
  response = 2,   // the answer to request id
  error = 3,      // the answer that it failed; payload: WireError
  chunk = 4,      // one of many parts of the answer
  end = 5,        // there are no more parts
  cancel = 6,     // the sender of request id does not want the answer any more
  heartbeat = 7,  // id: bytes received on this connection so far
  hello = 8,      // client to server, first on a connection; payload: Greeting
  welcome = 9,    // its answer, id as in hello; payload: Greeting
  bye = 10,       // this side knows the connection no more: say hello again, or go
};

struct Envelope {
  Kind kind = Kind::heartbeat;
  std::uint64_t id = 0;
  std::string topic;
  std::string path;
  std::string payload;
};

std::string encode(const Envelope& envelope);

struct DecodeError {
  Error error;                              // protocol, or unsupported for an unknown version
  std::optional<std::uint64_t> request_id;  // if the sender waits for an answer
};

// Never throws and allocates no more than a constant times the length of `bytes`.
tl::expected<Envelope, DecodeError> decode(std::string_view bytes);

// Payload of Kind::error.
std::string encode_error(const Error& error);
// Errors that cannot be understood become Errc::protocol.
Error decode_error(std::string_view payload);

// Payload of Kind::hello and Kind::welcome.
struct Greeting {
  std::string name;
  std::int64_t pid = 0;
  std::uint64_t incarnation = 0;
  std::uint64_t max_message = 0;
};
std::string encode_greeting(const Greeting& greeting);
Result<Greeting> decode_greeting(std::string_view payload);

}  // namespace holon::transport
