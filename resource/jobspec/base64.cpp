#include "resource/jobspec/base64.hpp"

#include <array>
#include <cstdint>

namespace holon::resource {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr char kPad = '=';

constexpr std::array<int, 256> values_of_digits() {
  std::array<int, 256> values{};
  for (int& value : values) value = -1;
  for (std::size_t i = 0; i < kDigits.size(); ++i)
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<int>(i);
  return values;
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view piece = bytes.substr(at, 3);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8U | (i < piece.size() ? static_cast<unsigned char>(piece[i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i)
      text += i <= piece.size() ? kDigits[group >> (18 - 6 * i) & 0x3fU] : kPad;
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  static constexpr auto kValues = values_of_digits();
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t pads = 0;
  while (pads < 2 && !text.empty() && text.back() == kPad) {
    text.remove_suffix(1);
    ++pads;
  }
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t group = 0;
  unsigned bits = 0;
  for (const char digit : text) {
    const int value = kValues[static_cast<unsigned char>(digit)];
    if (value < 0) return std::nullopt;
    group = group << 6U | static_cast<std::uint32_t>(value);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(group >> bits & 0xffU);
  }
  const bool is_whole = (group & ((1U << bits) - 1)) == 0;  // nothing stands in what is left over
  return is_whole ? std::optional(bytes) : std::nullopt;
}

}  // namespace holon::resource
