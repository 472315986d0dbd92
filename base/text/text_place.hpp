// text_place.hpp - where in a text a fault is, and what a reader of JSON says of it without its own
// idea of the place.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace holon {

// The place of a byte in a text, both from 1.
struct TextPlace {
  std::size_t line = 1, column = 1;
};
// The place of byte `at`; beyond the text, that of its end. O(at).
TextPlace place_in(std::string_view text, std::size_t at);
std::string text_of(const TextPlace& place);  // "line 3, column 7"

// The words of an exception of nlohmann/json, without "[json.exception...] parse error at line 1,
// column 2: " in front: lines are those of the part that it was given. "not JSON: syntax error
// ...".
std::string words_of_json_error(std::string_view what);
// The byte at which such an error is, from its `byte`, which counts from 1; 0, not known, is the
// first.
inline std::size_t place_of_json_error(std::size_t byte) {
  return byte == 0 ? 0 : byte - 1;
}

}  // namespace holon
