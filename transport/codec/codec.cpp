// codec.cpp - msgpack-c behind codec.hpp; and a walk over msgpack bytes that allocates nothing,
// before msgpack-c may believe them.
//
// msgpack-c reserves room for as many elements as a container claims to have, before it has seen
// one: five bytes can ask for gigabytes. Here every claim is compared with the bytes that are left
// (an element has at least one).
#include "transport/codec/codec.hpp"

#include <algorithm>
#include <bit>
#include <exception>
#include <msgpack.hpp>
#include <stdexcept>

#include "base/text/utf8.hpp"

namespace holon::transport {
namespace {

// Bytes of memory that an unpacked message takes at a time. msgpack-c's own 8 KiB are no small
// block to malloc(3), which joins all that was freed before it gives one: most messages need less
// than these, and blocks of that size are kept at hand for each thread.
constexpr std::size_t kUnpackedAtOnce = 1000;

class Walk : public msgpack::null_visitor {
 public:
  explicit Walk(std::size_t budget) : budget_(std::min(budget, kMaxElements)) {}

  bool start_array(std::uint32_t size) { return enter(size); }
  bool end_array() { return leave(); }
  bool start_map(std::uint32_t size) { return enter(std::uint64_t{size} * 2); }
  bool end_map() { return leave(); }
  void parse_error(std::size_t, std::size_t) {}
  void insufficient_bytes(std::size_t, std::size_t) { truncated_ = true; }
  bool referenced() const { return true; }

  const char* complaint() const {
    if (depth_ > kMaxDepth) return "nested too deeply";
    if (claimed_ > kMaxElements) return "it has more elements than are accepted";
    if (claimed_ > budget_) return "a container claims more elements than the message has bytes";
    return truncated_ ? "truncated" : "malformed msgpack";
  }

 private:
  // All containers together cannot have more elements than there are bytes, nor than a message may
  // have.
  bool enter(std::uint64_t elements) {
    claimed_ += elements;
    return ++depth_ <= kMaxDepth && claimed_ <= budget_;
  }
  bool leave() {
    --depth_;
    return true;
  }

  std::size_t budget_;
  std::uint64_t claimed_ = 0;
  std::size_t depth_ = 0;
  bool truncated_ = false;
};

struct StringSink {
  std::string& text;
  void write(const char* data, std::size_t size) { text.append(data, size); }
};

// Lengths on the wire have 32 bits; what is longer cannot be sent in one message (Options).
std::uint32_t length(std::size_t size) {
  return static_cast<std::uint32_t>(size);
}

msgpack::packer<StringSink> packer(StringSink& sink) {
  return msgpack::packer<StringSink>(sink);
}

const msgpack::object& object(const void* value) {
  return *static_cast<const msgpack::object*>(value);
}

// The place of `name` in `fields`, looked for from `hint` on and then from the front; the number of
// fields if it is not there. O(1) where the names come in their own order.
std::size_t place_of(std::string_view name, const detail::Fields& fields, std::size_t hint) {
  for (std::size_t i = hint; i < fields.count; ++i)
    if (fields.names[i] == name) return i;
  for (std::size_t i = 0; i < hint; ++i)
    if (fields.names[i] == name) return i;
  return fields.count;
}

void write_field(detail::Writer& to, const detail::Fields& fields, const void* const* members,
                 std::size_t i) {
  to.text(fields.names[i]);
  fields.handlings[i].write(to, members[i]);
}

}  // namespace

Status check_msgpack(std::string_view bytes) {
  Walk walk(bytes.size());
  std::size_t offset = 0;
  try {
    if (!msgpack::parse(bytes.data(), bytes.size(), offset, walk))
      return fail(Errc::protocol, std::string("payload: ") + walk.complaint());
  } catch (const std::exception& e) {
    return fail(Errc::protocol, std::string("payload: ") + e.what());
  }
  if (offset != bytes.size())
    return fail(Errc::protocol, "payload: bytes after the end of the value");
  return {};
}

namespace detail {

void Writer::map(std::size_t entries) {
  StringSink sink{bytes_};
  packer(sink).pack_map(length(entries));
}
void Writer::array(std::size_t elements) {
  StringSink sink{bytes_};
  packer(sink).pack_array(length(elements));
}
void Writer::flag(bool value) {
  StringSink sink{bytes_};
  packer(sink).pack(value);
}
void Writer::unsigned_number(std::uint64_t value) {
  StringSink sink{bytes_};
  packer(sink).pack(value);
}
void Writer::signed_number(std::int64_t value) {
  StringSink sink{bytes_};
  packer(sink).pack(value);
}
// msgpack-c writes a number without a fraction as an integer.
void Writer::real(double value) {
  StringSink sink{bytes_};
  if (detail_ == Detail::brief) {
    packer(sink).pack(value);
    return;
  }
  const auto bits = std::bit_cast<std::uint64_t>(value);
  bytes_ += '\xcb';
  for (int shift = 56; shift >= 0; shift -= 8) bytes_ += static_cast<char>(bits >> shift & 0xff);
}
void Writer::text(std::string_view value) {
  StringSink sink{bytes_};
  // A msgpack str is UTF-8, and readers in other languages fail at another one. JSON knows text
  // only.
  if (detail_ == Detail::full || is_utf8(value))
    packer(sink).pack_str(length(value.size()));
  else
    packer(sink).pack_bin(length(value.size()));
  bytes_.append(value);
}

bool Value::flag() const {
  const auto& o = object(object_);
  if (o.type != msgpack::type::BOOLEAN) refuse("true or false");
  return o.via.boolean;
}
std::uint64_t Value::unsigned_number(std::uint64_t max) const {
  const auto& o = object(object_);
  if (o.type != msgpack::type::POSITIVE_INTEGER || o.via.u64 > max) refuse("an unsigned integer");
  return o.via.u64;
}
std::int64_t Value::signed_number(std::int64_t min, std::int64_t max) const {
  const auto& o = object(object_);
  const bool fits = o.type == msgpack::type::POSITIVE_INTEGER
                        ? o.via.u64 <= static_cast<std::uint64_t>(max)
                        : o.type == msgpack::type::NEGATIVE_INTEGER && o.via.i64 >= min;
  if (!fits) refuse("an integer");
  return o.via.i64;
}
double Value::real() const {
  const auto& o = object(object_);
  if (o.type == msgpack::type::POSITIVE_INTEGER) return static_cast<double>(o.via.u64);
  if (o.type == msgpack::type::NEGATIVE_INTEGER) return static_cast<double>(o.via.i64);
  if (o.type != msgpack::type::FLOAT32 && o.type != msgpack::type::FLOAT64) refuse("a number");
  return o.via.f64;
}
std::string_view Value::text() const {
  const auto& o = object(object_);
  if (o.type == msgpack::type::BIN) return {o.via.bin.ptr, o.via.bin.size};
  if (o.type != msgpack::type::STR) refuse("a string");
  return {o.via.str.ptr, o.via.str.size};
}
std::size_t Value::elements() const {
  const auto& o = object(object_);
  if (o.type != msgpack::type::ARRAY) refuse("an array");
  return o.via.array.size;
}
Value Value::element(std::size_t i) const {
  return {object(object_).via.array.ptr + i, field_};
}
std::size_t Value::entries() const {
  const auto& o = object(object_);
  if (o.type != msgpack::type::MAP) refuse("a map");
  return o.via.map.size;
}
Value Value::key(std::size_t i) const {
  return {&object(object_).via.map.ptr[i].key, field_};
}
Value Value::mapped(std::size_t i) const {
  return {&object(object_).via.map.ptr[i].val, field_};
}
void Value::refuse(const char* expected) const {
  const std::string where = field_.empty() ? "" : "\"" + std::string(field_) + "\": ";
  throw std::runtime_error(where + expected + " is expected here");
}

void write_fields(Writer& to, const Fields& fields, const void* const* members) {
  to.map(fields.count);
  for (std::size_t i = 0; i < fields.count; ++i) write_field(to, fields, members, i);
}
void write_fields(Writer& to, const Fields& fields, const void* const* members,
                  const void* const* plain, const Equal* equals) {
  const auto is_sent = [&](std::size_t i) { return !equals[i](members[i], plain[i]); };
  std::size_t sent = 0;
  for (std::size_t i = 0; i < fields.count; ++i) sent += is_sent(i);
  to.map(sent);
  for (std::size_t i = 0; i < fields.count; ++i)
    if (is_sent(i)) write_field(to, fields, members, i);
}
void read_fields(const Value& from, const Fields& fields, void* const* members) {
  if (fields.count == 0) return;
  std::size_t next = 0;
  for (std::size_t i = 0, entries = from.entries(); i < entries; ++i) {
    const std::size_t place = place_of(from.key(i).text(), fields, next);
    if (place == fields.count) continue;
    fields.handlings[place].read(from.mapped(i, fields.names[place]), members[place]);
    next = place + 1;
  }
}

Status read_message(std::string_view bytes, void (*read)(const Value& root, void* out), void* out) {
  if (auto good = check_msgpack(bytes); !good) return good;
  try {
    msgpack::zone zone(kUnpackedAtOnce);
    const msgpack::object root = msgpack::unpack(zone, bytes.data(), bytes.size());
    read(Value(&root, ""), out);
    return {};
  } catch (const std::exception& e) {
    return fail(Errc::protocol,
                std::string("payload does not have the expected form: ") + e.what());
  }
}

}  // namespace detail
}  // namespace holon::transport
