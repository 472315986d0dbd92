#include "transport/codec/parted.hpp"

#include <msgpack.hpp>
#include <optional>
#include <utility>

#include "transport/codec/codec.hpp"

namespace holon::transport {
namespace {

constexpr std::uint8_t kFixMap = 0x80, kMap16 = 0xde, kMap32 = 0xdf;
constexpr std::uint8_t kFixArray = 0x90, kArray16 = 0xdc, kArray32 = 0xdd;

// The head of a map or an array.
struct Head {
  std::uint32_t size = 0;
  std::size_t bytes = 0;
};

// REQUIRES: `value` is one well-formed msgpack value. nullopt: of another type.
std::optional<Head> head_of(std::string_view value, std::uint8_t fixed, std::uint8_t two_bytes,
                            std::uint8_t four_bytes) {
  const auto byte = [value](std::size_t i) { return static_cast<std::uint8_t>(value[i]); };
  if ((byte(0) & 0xf0) == fixed) return Head{std::uint32_t{byte(0)} & 0x0fU, 1};
  const std::size_t width = byte(0) == two_bytes ? 2 : byte(0) == four_bytes ? 4 : 0;
  if (width == 0) return std::nullopt;
  Head head{0, 1 + width};
  for (std::size_t i = 1; i <= width; ++i) head.size = head.size << 8 | byte(i);
  return head;
}

void put_head(std::string& bytes, std::uint8_t four_bytes, std::uint32_t size) {
  bytes += static_cast<char>(four_bytes);
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift & 0xff);
}

// The bytes of a text, which may be packed as binary; nullopt: the value is none. REQUIRES: it is
// one well-formed msgpack value.
std::optional<std::string_view> text_in(std::string_view value) {
  constexpr std::uint8_t kFixStr = 0xa0, kStr8 = 0xd9, kStr32 = 0xdb, kBin8 = 0xc4, kBin32 = 0xc6;
  const auto type = static_cast<std::uint8_t>(value[0]);
  if ((type & 0xe0) == kFixStr) return value.substr(1);
  if (type >= kStr8 && type <= kStr32) return value.substr(1 + (std::size_t{1} << (type - kStr8)));
  if (type >= kBin8 && type <= kBin32) return value.substr(1 + (std::size_t{1} << (type - kBin8)));
  return std::nullopt;
}

tl::unexpected<Error> misformed(const std::string& why) {
  return fail(Errc::protocol, "payload does not have the expected form: " + why);
}

// The length of the value that begins at `at`. REQUIRES: one does.
std::size_t length_at(std::string_view bytes, std::size_t at) {
  msgpack::null_visitor visitor;
  std::size_t end = at;
  msgpack::parse(bytes.data(), bytes.size(), end, visitor);
  return end - at;
}

}  // namespace

std::string_view first_element(std::string_view elements) {
  return elements.substr(0, length_at(elements, 0));
}

Result<Parted> take_out(std::string_view message, std::string_view field) {
  if (auto good = check_msgpack(message); !good) return tl::unexpected(good.error());
  const auto map = head_of(message, kFixMap, kMap16, kMap32);
  if (!map) return misformed("a map is expected here");
  Parted parted;
  std::string others;
  std::uint32_t left = map->size;
  for (std::size_t at = map->bytes; at < message.size();) {
    const std::size_t key = length_at(message, at), value = length_at(message, at + key);
    const std::string_view its = message.substr(at + key, value);
    const auto name = text_in(message.substr(at, key));
    if (!name) return misformed("a string is expected here");
    if (*name == field) {
      const auto array = head_of(its, kFixArray, kArray16, kArray32);
      if (!array) return misformed("\"" + std::string(field) + "\": an array is expected here");
      parted.elements = its.substr(array->bytes);
      parted.count = array->size;
      --left;
    } else {
      others += message.substr(at, key + value);
    }
    at += key + value;
  }
  put_head(parted.rest, kMap32, left);
  parted.rest += others;
  return parted;
}

std::string put_back(const Parted& parted, std::string_view field) {
  const auto map = head_of(parted.rest, kFixMap, kMap16, kMap32);
  std::string message;
  message.reserve(parted.rest.size() + parted.elements.size() + field.size() + 16);
  put_head(message, kMap32, map->size + 1);
  message += std::string_view(parted.rest).substr(map->bytes);
  message += pack(std::string(field));
  put_head(message, kArray32, parted.count);
  message += parted.elements;
  return message;
}

}  // namespace holon::transport
