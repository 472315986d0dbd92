// varint.hpp - numbers of seven bits a byte, the low ones first (LEB128), as journals keep them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holon {

// Appends a number: one byte below 128, ten at most.
inline void append_varint(std::string& to, std::uint64_t n) {
  for (; n >= 0x80; n >>= 7) to += static_cast<char>((n & 0x7f) | 0x80);
  to += static_cast<char>(n);
}

// Takes the number off the front of `from`. nullopt: it is cut off, or has more than ten bytes.
inline std::optional<std::uint64_t> take_varint(std::string_view& from) {
  std::uint64_t n = 0;
  for (unsigned shift = 0; shift < 64 && !from.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(from.front());
    from.remove_prefix(1);
    n |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return n;
  }
  return std::nullopt;
}

}  // namespace holon
