// envelope.cpp - an envelope is the msgpack array [version, kind, id, topic, path, payload].
//
// The first three places keep their meaning in every version, so that a message of an unknown
// version can be answered. Later versions may append: what follows the sixth place is skipped.
#include "transport/codec/envelope.hpp"

#include <array>
#include <exception>
#include <msgpack.hpp>

#include "transport/codec/codec.hpp"
#include "transport/codec/fields.hpp"

namespace holon::transport {
namespace {

constexpr std::size_t kPlaces = 6;
constexpr std::size_t kMaxPlaces = 32;
constexpr std::size_t kMaxName = 4096;  // bytes of a topic or a path

struct EnvelopeSink {
  std::string& text;
  void write(const char* data, std::size_t size) { text.append(data, size); }
};

struct WireError {
  std::string code, what, where;
  HOLON_FIELDS(code, what, where)
};

struct WireGreeting {
  std::string name;
  std::int64_t pid = 0;
  std::uint64_t incarnation = 0;
  std::uint64_t max_message = 0;
  HOLON_FIELDS(name, pid, incarnation, max_message)
};

constexpr std::array kCodes = {Errc::invalid_argument,
                               Errc::not_found,
                               Errc::exists,
                               Errc::out_of_range,
                               Errc::overcommitted,
                               Errc::unsatisfiable,
                               Errc::busy,
                               Errc::timed_out,
                               Errc::disconnected,
                               Errc::protocol,
                               Errc::denied,
                               Errc::unsupported,
                               Errc::system};

bool is_uint(const msgpack::object& object) {
  return object.type == msgpack::type::POSITIVE_INTEGER;
}
bool is_text(const msgpack::object& object) {
  return object.type == msgpack::type::STR && object.via.str.size <= kMaxName;
}

tl::unexpected<DecodeError> bad(Errc code, std::string what, std::optional<std::uint64_t> id = {}) {
  return tl::unexpected<DecodeError>(DecodeError{{code, std::move(what), ""}, id});
}

tl::expected<Envelope, DecodeError> read_places(const msgpack::object& root) {
  if (root.type != msgpack::type::ARRAY || root.via.array.size < 3)
    return bad(Errc::protocol, "a message is an array of at least three places");
  const msgpack::object* place = root.via.array.ptr;
  if (!is_uint(place[0]) || !is_uint(place[1]) || !is_uint(place[2]))
    return bad(Errc::protocol, "version, kind and id of a message are unsigned integers");
  const bool asks =
      place[1].via.u64 == static_cast<std::uint64_t>(Kind::request) && place[2].via.u64 != 0;
  const auto id = asks ? std::optional(place[2].via.u64) : std::nullopt;
  if (place[0].via.u64 != kProtocolVersion)
    return bad(Errc::unsupported,
               "protocol version " + std::to_string(place[0].via.u64) + " is not spoken here, " +
                   std::to_string(kProtocolVersion) + " is",
               id);
  if (place[1].via.u64 < 1 || place[1].via.u64 > static_cast<std::uint64_t>(Kind::bye))
    return bad(Errc::protocol, "unknown kind of message");
  if (root.via.array.size < kPlaces || !is_text(place[3]) || !is_text(place[4]) ||
      place[5].type != msgpack::type::BIN)
    return bad(Errc::protocol, "topic and path of a message are short strings, its payload is bin",
               id);
  return Envelope{static_cast<Kind>(place[1].via.u64), place[2].via.u64,
                  std::string(place[3].via.str.ptr, place[3].via.str.size),
                  std::string(place[4].via.str.ptr, place[4].via.str.size),
                  std::string(place[5].via.bin.ptr, place[5].via.bin.size)};
}

bool keep_in_place(msgpack::type::object_type, std::size_t, void*) {
  return true;
}

}  // namespace

std::string encode(const Envelope& envelope) {
  std::string bytes;
  bytes.reserve(envelope.topic.size() + envelope.path.size() + envelope.payload.size() + 40);
  EnvelopeSink sink{bytes};
  msgpack::packer<EnvelopeSink> packer(sink);
  packer.pack_array(kPlaces);
  packer.pack(kProtocolVersion);
  packer.pack(static_cast<std::uint64_t>(envelope.kind));
  packer.pack(envelope.id);
  packer.pack(envelope.topic);
  packer.pack(envelope.path);
  packer.pack_bin(static_cast<std::uint32_t>(envelope.payload.size()));
  packer.pack_bin_body(envelope.payload.data(),
                       static_cast<std::uint32_t>(envelope.payload.size()));
  return bytes;
}

// Decodes flat arrays only (depth 1, few places), so that the claimed sizes cannot make msgpack
// allocate much.
tl::expected<Envelope, DecodeError> decode(std::string_view bytes) {
  try {
    const msgpack::unpack_limit limit(kMaxPlaces, 0, bytes.size(), bytes.size(), bytes.size(), 1);
    std::size_t offset = 0;
    msgpack::zone zone(kMaxPlaces * sizeof(msgpack::object));
    const msgpack::object places =
        msgpack::unpack(zone, bytes.data(), bytes.size(), offset, keep_in_place, nullptr, limit);
    if (offset != bytes.size()) return bad(Errc::protocol, "bytes after the end of a message");
    return read_places(places);
  } catch (const std::exception& e) {
    return bad(Errc::protocol, std::string("not a msgpack message: ") + e.what());
  }
}

std::string encode_error(const Error& error) {
  return pack(WireError{name_of(error.code), error.what, error.where});
}

Error decode_error(std::string_view payload) {
  const auto wire = unpack<WireError>(payload);
  if (!wire) return {Errc::protocol, "an error without readable reason", ""};
  for (const Errc code : kCodes)
    if (wire->code == name_of(code)) return {code, wire->what, wire->where};
  return {Errc::protocol, wire->what + " (" + wire->code + ")", wire->where};
}

std::string encode_greeting(const Greeting& greeting) {
  return pack(
      WireGreeting{greeting.name, greeting.pid, greeting.incarnation, greeting.max_message});
}

Result<Greeting> decode_greeting(std::string_view payload) {
  const auto wire = unpack<WireGreeting>(payload);
  if (!wire) return tl::unexpected<Error>(wire.error());
  return Greeting{wire->name, wire->pid, wire->incarnation, wire->max_message};
}

}  // namespace holon::transport
