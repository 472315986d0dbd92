// json.hpp - reading and writing JSON text for the formats; private to this folder.
#pragma once
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace holon::resource {

using Json = nlohmann::json;

// The most brackets inside brackets, more than any of our formats has; readers and writers of a
// document may recurse.
inline constexpr int kMaxJsonDepth = 64;
// Bytes of one string; the longest we have are host lists and sets of ranks.
inline constexpr std::size_t kMaxJsonString = std::size_t{16} << 20;

// The document. Errors name "line L, column C" as the place. Refused: anything nested deeper than
// kMaxJsonDepth, strings longer than kMaxJsonString, NaN and infinities, text that is not UTF-8,
// anything after the document. O(bytes).
Result<Json> parse_json(std::string_view bytes);

// One value on the way down a document: where it is (a JSON pointer) for errors, and typed access
// to what it must be. Does not own the value.
class JsonAt {
 public:
  JsonAt(const Json& value, std::string pointer) : value_(&value), pointer_(std::move(pointer)) {}

  const Json& value() const { return *value_; }
  const std::string& pointer() const { return pointer_; }
  bool has(std::string_view key) const;

  // A member of an object, an element of an array. Errors: invalid_argument if it is absent.
  Result<JsonAt> member(std::string_view key) const;
  JsonAt element(std::size_t i) const;  // REQUIRES: an array of more than i elements

  // The value. Errors: invalid_argument if it is of another type or out of bounds (inclusive).
  Status expect_object() const;
  Status expect_array() const;
  Result<std::string> string() const;
  Result<std::int64_t> integer(std::int64_t min, std::int64_t max) const;
  Result<double> number() const;  // finite
  Result<bool> boolean() const;

  tl::unexpected<Error> error(std::string what) const;

 private:
  const Json* value_;
  std::string pointer_;
};

// Appends `text` in quotes, escaped as JSON asks (what is above ASCII stays UTF-8).
void append_quoted(std::string& out, std::string_view text);

}  // namespace holon::resource
