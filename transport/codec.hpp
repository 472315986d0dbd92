// codec.hpp - structs to msgpack bytes and back. Heavy (msgpack.hpp): include it in .cpp files.
//
// What arrives is checked before anything is allocated for it: nesting, and that every container is
// as long as it claims. A hostile message costs at most a constant times its own length.
#pragma once
#include <exception>
#include <msgpack.hpp>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace holon::transport {

// Nesting a payload may have; a tree listing uses two levels an instance.
inline constexpr std::size_t kMaxDepth = 256;

// Errc::protocol unless `bytes` are exactly one well-formed msgpack value no deeper than kMaxDepth.
// O(length).
Status check_msgpack(std::string_view bytes);

template <class T>
std::string pack(const T& value) {
  msgpack::sbuffer buffer;
  msgpack::pack(buffer, value);
  return std::string(buffer.data(), buffer.size());
}

// Absent keys keep T's defaults, unknown ones are skipped. Errors: protocol, saying what does not
// fit.
template <class T>
Result<T> unpack(std::string_view bytes) {
  if (auto good = check_msgpack(bytes); !good) return tl::unexpected<Error>(good.error());
  try {
    const msgpack::object_handle handle = msgpack::unpack(bytes.data(), bytes.size());
    T value{};
    handle.get().convert(value);
    return value;
  } catch (const std::exception& e) {
    return fail(Errc::protocol,
                std::string("payload does not have the expected form: ") + e.what());
  }
}

}  // namespace holon::transport
