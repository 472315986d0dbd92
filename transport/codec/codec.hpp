// codec.hpp - structs to msgpack bytes and back; fields.hpp says which members travel.
//
// What travels: structs with HOLON_FIELDS (a map by name), bool, integers, double, std::string,
// and vector, set (arrays), map, pair (an array of two) of those.
//
// What arrives is checked before anything is allocated for it: nesting, and that every container is
// as long as it claims. A hostile message costs at most a constant times its own length.
//
// msgpack-c's own templates are in codec.cpp alone: they cost every file that includes them
// seconds.
#pragma once
#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/result.hpp"

namespace holon::transport {

// The deepest nesting of a payload; a tree listing uses two levels an instance.
inline constexpr std::size_t kMaxDepth = 256;
// The most elements of all its containers together: parsed, each takes 24 bytes.
inline constexpr std::size_t kMaxElements = 4'000'000;

// Checks that `bytes` are exactly one well-formed msgpack value no deeper than kMaxDepth, and of no
// more than kMaxElements. Errors: protocol. O(length).
Status check_msgpack(std::string_view bytes);

namespace detail {

// How much a Writer writes of a message. brief: not what its reader would put there itself. full:
// all (and a real number stays one, whatever its value is).
enum class Detail { brief, full };

// Appends values to `bytes`.
class Writer {
 public:
  explicit Writer(std::string& bytes, Detail detail = Detail::brief)
      : bytes_(bytes), detail_(detail) {}
  Detail detail() const { return detail_; }
  void map(std::size_t entries);
  void array(std::size_t elements);
  void flag(bool value);
  void unsigned_number(std::uint64_t value);
  void signed_number(std::int64_t value);
  void real(double value);
  void text(std::string_view value);

 private:
  std::string& bytes_;
  Detail detail_;
};

// A view of one value in a parsed message. A question for a type the value does not have, or for a
// number out of the range, throws an exception that names `field`, its place in the message.
class Value {
 public:
  Value(const void* object, std::string_view field) : object_(object), field_(field) {}
  bool flag() const;
  std::uint64_t unsigned_number(std::uint64_t max) const;
  std::int64_t signed_number(std::int64_t min, std::int64_t max) const;
  double real() const;
  std::string_view text() const;
  std::size_t elements() const;  // of an array
  Value element(std::size_t i) const;
  std::size_t entries() const;  // of a map
  Value key(std::size_t i) const;
  Value mapped(std::size_t i) const;
  // The mapped value, as that of the struct's member `field`.
  Value mapped(std::size_t i, std::string_view field) const { return {mapped(i).object_, field}; }
  [[noreturn]] void refuse(const char* expected) const;

 private:
  const void* object_;      // msgpack::object
  std::string_view field_;  // of the struct it is in; empty: in none
};

// Parses `bytes` and calls read(root, out). Errors: protocol, also what `read` throws.
Status read_message(std::string_view bytes, void (*read)(const Value& root, void* out), void* out);

// Splits the names in "a, b, c".
template <std::size_t count>
consteval std::array<std::string_view, count> split_names(std::string_view list) {
  std::array<std::string_view, count> names;
  for (auto& name : names) {
    const std::size_t comma = std::min(list.find(','), list.size());
    name = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 2, list.size()));
  }
  return names;
}
consteval std::size_t count_names(std::string_view list) {
  return list.empty() ? 0 : std::size_t(std::count(list.begin(), list.end(), ',')) + 1;
}

template <class T>
concept Struct = requires {
  T::kFields;
};
template <class T>
concept Map = requires {
  typename T::mapped_type;
};
template <class T>
concept Pair = requires {
  typename T::second_type;
};

}  // namespace detail

// Names of the fields of T on the wire, in their order.
template <detail::Struct T>
inline constexpr auto kFieldNames =
    detail::split_names<detail::count_names(T::kFields)>(T::kFields);

namespace detail {

template <class T>
void write(Writer& to, const T& value);
template <class T>
void read(const Value& from, T& value);

// Functions that write and read a member, by its type alone: structs have far more members than
// those have types, and each function of a template costs every file that needs it. So the loops
// over the members are no templates.
struct Handling {
  void (*write)(Writer& to, const void* member);
  void (*read)(const Value& from, void* member);
};
template <class T>
inline constexpr Handling kHandling = {
    [](Writer& to, const void* member) { write(to, *static_cast<const T*>(member)); },
    [](const Value& from, void* member) { read(from, *static_cast<T*>(member)); }};
template <class... T>
inline constexpr std::array<Handling, sizeof...(T)> kHandlings = {kHandling<T>...};

using Equal = bool (*)(const void* member, const void* other);
template <class T>
bool equal(const void* member, const void* other) {
  return *static_cast<const T*>(member) == *static_cast<const T*>(other);
}
template <class... T>
inline constexpr std::array<Equal, sizeof...(T)> kEquals = {equal<T>...};

struct Fields {
  const std::string_view* names;
  const Handling* handlings;
  std::size_t count;
};

void write_fields(Writer& to, const Fields& fields, const void* const* members);
// Writes only members that are not equal to those of `plain`.
void write_fields(Writer& to, const Fields& fields, const void* const* members,
                  const void* const* plain, const Equal* equals);
void read_fields(const Value& from, const Fields& fields, void* const* members);

template <Struct T>
void write_struct(Writer& to, const T& value) {
  value.with_fields([&to]<class... Field>(const Field&... field) {
    const Fields fields{kFieldNames<T>.data(), kHandlings<Field...>.data(), sizeof...(Field)};
    const void* const members[] = {&field..., nullptr};
    if constexpr (requires { T::kOmitsDefaults; }) {
      if (to.detail() == Detail::full) return write_fields(to, fields, members);
      static const T kPlain;
      kPlain.with_fields([&](const Field&... plain) {
        const void* const plains[] = {&plain..., nullptr};
        write_fields(to, fields, members, plains, kEquals<Field...>.data());
      });
    } else {
      write_fields(to, fields, members);
    }
  });
}

// Reads a struct; one that has no fields takes any value.
template <Struct T>
void read_struct(const Value& from, T& value) {
  value.with_fields([&from]<class... Field>(Field&... field) {
    void* const members[] = {&field..., nullptr};
    read_fields(from, {kFieldNames<T>.data(), kHandlings<Field...>.data(), sizeof...(Field)},
                members);
  });
}

template <class T>
void write(Writer& to, const T& value) {
  if constexpr (Struct<T>) {
    write_struct(to, value);
  } else if constexpr (std::is_same_v<T, bool>) {
    to.flag(value);
  } else if constexpr (std::unsigned_integral<T>) {
    to.unsigned_number(value);
  } else if constexpr (std::signed_integral<T>) {
    to.signed_number(value);
  } else if constexpr (std::is_same_v<T, double>) {
    to.real(value);
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    to.text(value);
  } else if constexpr (Pair<T>) {
    to.array(2);
    write(to, value.first);
    write(to, value.second);
  } else if constexpr (Map<T>) {
    to.map(value.size());
    for (const auto& [key, mapped] : value) {
      write(to, key);
      write(to, mapped);
    }
  } else {
    to.array(value.size());
    for (const auto& element : value) write(to, element);
  }
}

template <class T>
T read_new(const Value& from) {
  T value{};
  read(from, value);
  return value;
}

template <class T>
void read(const Value& from, T& value) {
  if constexpr (Struct<T>) {
    read_struct(from, value);
  } else if constexpr (std::is_same_v<T, bool>) {
    value = from.flag();
  } else if constexpr (std::unsigned_integral<T>) {
    value = static_cast<T>(from.unsigned_number(std::numeric_limits<T>::max()));
  } else if constexpr (std::signed_integral<T>) {
    value = static_cast<T>(
        from.signed_number(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  } else if constexpr (std::is_same_v<T, double>) {
    value = from.real();
  } else if constexpr (std::is_same_v<T, std::string>) {
    value = from.text();
  } else if constexpr (Pair<T>) {
    if (from.elements() != 2) from.refuse("a pair");
    read(from.element(0), value.first);
    read(from.element(1), value.second);
  } else if constexpr (Map<T>) {
    value.clear();
    for (std::size_t i = 0, entries = from.entries(); i < entries; ++i)
      read(from.mapped(i), value[read_new<typename T::key_type>(from.key(i))]);
  } else {
    value.clear();
    const std::size_t elements = from.elements();
    if constexpr (requires { value.reserve(elements); }) value.reserve(elements);
    for (std::size_t i = 0; i < elements; ++i)
      value.insert(value.end(), read_new<typename T::value_type>(from.element(i)));
  }
}

}  // namespace detail

template <class T>
std::string pack(const T& value) {
  std::string bytes;
  detail::Writer writer(bytes);
  detail::write(writer, value);
  return bytes;
}

// Unpacks a message. Absent keys keep T's defaults, unknown ones are skipped. Errors: protocol,
// saying what does not fit.
template <class T>
Result<T> unpack(std::string_view bytes) {
  T value{};
  const auto read = [](const detail::Value& root, void* out) {
    detail::read(root, *static_cast<T*>(out));
  };
  if (auto good = detail::read_message(bytes, read, &value); !good)
    return tl::unexpected<Error>(good.error());
  return value;
}

}  // namespace holon::transport
