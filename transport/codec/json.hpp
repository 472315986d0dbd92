// json.hpp - a message as JSON and back, by the same list of fields that it travels with.
//
// The JSON of a struct is an object with all of its fields under their names, in their order, those
// that have their default included. What is read may lack fields and have others, as a message may.
// The bytes of a string that are not UTF-8 are replaced (U+FFFD): JSON has no way to carry them.
#pragma once
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "transport/codec/codec.hpp"

namespace holon::transport {

namespace detail {

// `bytes`: msgpack. `indent`: blanks a level; negative: all on one line.
std::string json_of(std::string_view bytes, int indent);
Result<std::string> msgpack_of(std::string_view json);

}  // namespace detail

template <class T>
std::string to_json(const T& value, int indent = -1) {
  std::string bytes;
  detail::Writer writer(bytes, detail::Detail::full);
  detail::write(writer, value);
  return detail::json_of(bytes, indent);
}

// Reads a struct. Errors: invalid_argument (this is no JSON), protocol (a field does not fit).
template <class T>
Result<T> from_json(std::string_view json) {
  const auto bytes = detail::msgpack_of(json);
  if (!bytes) return tl::unexpected<Error>(bytes.error());
  return unpack<T>(*bytes);
}

}  // namespace holon::transport
