// checksum.hpp - FNV-1a: against torn and damaged text, and to tell one text from another; not
// against intent.
#pragma once
#include <cstdint>
#include <string_view>

namespace holon {

constexpr std::uint64_t checksum(std::string_view text) {
  std::uint64_t sum = 0xcbf29ce484222325;
  for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return sum;
}

}  // namespace holon
