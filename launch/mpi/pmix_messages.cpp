#include "launch/mpi/pmix_messages.hpp"

namespace holon::launch::pmix {
namespace {

constexpr std::size_t kLengthBytes = 4;

}  // namespace

std::string framed(const std::string& message) {
  std::string text;
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    text += static_cast<char>(message.size() >> (8 * i) & 0xff);
  return text + message;
}

Result<std::optional<std::string>> take_framed(std::string& buffer, std::size_t most) {
  if (buffer.size() < kLengthBytes) return std::nullopt;
  std::size_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    length |= std::size_t{static_cast<unsigned char>(buffer[i])} << (8 * i);
  if (length > most)
    return fail(Errc::protocol, "a message of " + std::to_string(length) + " bytes; at most " +
                                    std::to_string(most) + " are accepted");
  if (buffer.size() < kLengthBytes + length) return std::nullopt;
  std::string message = buffer.substr(kLengthBytes, length);
  buffer.erase(0, kLengthBytes + length);
  return message;
}

}  // namespace holon::launch::pmix
