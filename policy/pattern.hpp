// pattern.hpp - Lua's patterns (Lua 5.4 reference manual, 6.4.1), matched in a bounded number of
// steps: Lua's own matcher takes exponential time for some patterns, and nothing can stop it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace holon::policy {

// A fault in a pattern, or that it took too many steps.
struct PatternError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Capture {
  std::size_t begin = 0;
  std::size_t length = 0;
  bool position = false;  // "()": the place, no text
};

struct PatternMatch {
  static constexpr std::size_t kMostCaptures = 32;

  std::size_t begin = 0;
  std::size_t end = 0;
  std::array<Capture, kMostCaptures> captures{};
  std::size_t count = 0;  // of the captures
};

// The first match at or behind `from`; nullopt: none. A '^' binds it to `from`. Each step is taken
// from `steps`. Throws PatternError.
std::optional<PatternMatch> find_pattern(std::string_view text, std::string_view pattern,
                                         std::size_t from, std::int64_t& steps);

}  // namespace holon::policy
