#include "transport/munge/proof.hpp"

#include <zmq.h>

#include <array>
#include <cstdint>

namespace holon::transport {
namespace {

constexpr std::string_view kBeforeKey = "?key=";
constexpr std::size_t kProofKeyBytes = 32, kProofKeyText = 40;
constexpr std::string_view kHexDigits = "0123456789abcdef";

}  // namespace

std::string text_to_prove(const std::string& server_key, const std::string& client_key) {
  return "holon connection " + server_key + " " + client_key;
}

// Z85 has characters that mean something to a shell.
std::string keyed_uri(const KeyedAddress& address) {
  std::array<std::uint8_t, kProofKeyBytes> bytes{};
  if (address.server_key.size() != kProofKeyText ||
      zmq_z85_decode(bytes.data(), address.server_key.c_str()) == nullptr)
    return address.uri;
  std::string text = address.uri + std::string(kBeforeKey);
  for (const std::uint8_t byte : bytes) {
    text += kHexDigits[byte >> 4U];
    text += kHexDigits[byte & 0xfU];
  }
  return text;
}

Result<std::optional<KeyedAddress>> parse_keyed_uri(const std::string& uri) {
  const auto at = uri.find(kBeforeKey);
  if (!uri.starts_with("tcp://") || at == std::string::npos) return std::nullopt;
  const std::string hex = uri.substr(at + kBeforeKey.size());
  if (hex.size() != 2 * kProofKeyBytes || hex.find_first_not_of(kHexDigits) != std::string::npos)
    return fail(Errc::invalid_argument, "the key behind ?key= has 64 digits, 0-9 and a-f", uri);
  std::array<std::uint8_t, kProofKeyBytes> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::uint8_t>(kHexDigits.find(hex[2 * i]) << 4U |
                                         kHexDigits.find(hex[2 * i + 1]));
  std::array<char, kProofKeyText + 1> text{};
  zmq_z85_encode(text.data(), bytes.data(), bytes.size());
  return KeyedAddress{uri.substr(0, at), text.data()};
}

}  // namespace holon::transport
