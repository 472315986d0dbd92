// What a socket may bring: envelopes, and payloads of the messages with the most in them. What is
// understood can be packed and understood again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "launch/messages.hpp"
#include "msg/instance.hpp"
#include "transport/codec/codec.hpp"
#include "transport/codec/envelope.hpp"

namespace {

using namespace holon;

template <class Message>
void check(std::string_view payload) {
  const auto message = transport::unpack<Message>(payload);
  if (!message) return;
  const std::string packed = transport::pack(*message);
  const auto again = transport::unpack<Message>(packed);
  if (!again || transport::pack(*again) != packed) std::abort();
}

void check_payload(std::string_view payload) {
  check<msg::SubmitRequest>(payload);
  check<msg::Records>(payload);
  check<msg::Hello>(payload);
  check<msg::Grant>(payload);
  check<launch::msg::StartRequest>(payload);
  check<launch::msg::Report>(payload);
  static_cast<void>(transport::decode_error(payload));
  static_cast<void>(transport::decode_greeting(payload));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_payload(bytes);
  const auto envelope = transport::decode(bytes);
  if (!envelope) return 0;
  const auto again = transport::decode(transport::encode(*envelope));
  if (!again || again->payload != envelope->payload || again->topic != envelope->topic)
    std::abort();
  check_payload(envelope->payload);
  return 0;
}
