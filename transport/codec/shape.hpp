// shape.hpp - what a message looks like: its fields and their types, as data, from the same list of
// fields that it travels with; and as a JSON schema.
#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "transport/codec/codec.hpp"
#include "transport/codec/json.hpp"

namespace holon::transport {

struct Shape;
using ShapeOf = Shape (*)();  // a struct may hold itself

struct Shape {
  enum class Kind { flag, integer, real, text, list, set, pair, map, object };
  Kind kind = Kind::text;
  // integer: the range.
  std::int64_t min = 0;
  std::uint64_t max = 0;
  // object: the struct's name, its fields' names, the JSON of an untouched one.
  std::string_view name = {};
  std::span<const std::string_view> fields = {};
  std::string (*defaults)() = nullptr;
  // Reads one from JSON, and writes it again. Errors: those of from_json().
  Result<std::string> (*reread)(std::string_view json) = nullptr;
  // Shapes of the parts. object: its fields; list, set, map: an element; pair: both.
  std::span<const ShapeOf> parts = {};
};

namespace detail {

// "JobRecord" of holon::msg::JobRecord; the compilers spell it "[with T = ...]" and "[T = ...]".
template <class T>
constexpr std::string_view name_of_type() {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("T = ") + 4);
  text = text.substr(0, text.find_first_of(";]"));
  return text.substr(text.rfind(':') + 1);
}

template <class... T>
struct ShapesOf;

}  // namespace detail

// REQUIRES: T is one of the types that codec.hpp names, and keys of maps are strings.
template <class T>
Shape shape_of();

namespace detail {

template <class... T>
struct ShapesOf {
  static constexpr std::array<ShapeOf, sizeof...(T)> parts = {&shape_of<T>...};
};

template <Struct T>
Shape shape_of_struct() {
  Shape shape{.kind = Shape::Kind::object};
  shape.name = name_of_type<T>();
  shape.fields = kFieldNames<T>;
  shape.defaults = [] { return to_json(T{}); };
  shape.reread = [](std::string_view json) -> Result<std::string> {
    const auto value = from_json<T>(json);
    if (!value) return tl::unexpected<Error>(value.error());
    return to_json(*value);
  };
  T example{};
  example.with_fields(
      [&shape]<class... Field>(const Field&...) { shape.parts = ShapesOf<Field...>::parts; });
  return shape;
}

}  // namespace detail

template <class T>
Shape shape_of() {
  if constexpr (detail::Struct<T>) {
    return detail::shape_of_struct<T>();
  } else if constexpr (std::is_same_v<T, bool>) {
    return {.kind = Shape::Kind::flag};
  } else if constexpr (std::integral<T>) {
    return {.kind = Shape::Kind::integer,
            .min = static_cast<std::int64_t>(std::numeric_limits<T>::min()),
            .max = static_cast<std::uint64_t>(std::numeric_limits<T>::max())};
  } else if constexpr (std::is_same_v<T, double>) {
    return {.kind = Shape::Kind::real};
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return {.kind = Shape::Kind::text};
  } else if constexpr (detail::Pair<T>) {
    return {.kind = Shape::Kind::pair,
            .parts = detail::ShapesOf<typename T::first_type, typename T::second_type>::parts};
  } else if constexpr (detail::Map<T>) {
    static_assert(std::is_same_v<typename T::key_type, std::string>);
    return {.kind = Shape::Kind::map, .parts = detail::ShapesOf<typename T::mapped_type>::parts};
  } else {
    return {.kind = requires {typename T::key_type;
  }
  ? Shape::Kind::set : Shape::Kind::list, .parts = detail::ShapesOf<typename T::value_type>::parts
};
}  // namespace holon::transport
}

// A request and its answer. An `answer` that is a stream comes in any number of parts.
struct Topic {
  std::string_view name;
  ShapeOf request = nullptr;
  ShapeOf answer = nullptr;
  bool is_stream = false;
};

template <class Request, class Answer>
constexpr Topic topic(std::string_view name) {
  return {name, &shape_of<Request>, &shape_of<Answer>, false};
}
template <class Request, class Part>
constexpr Topic stream(std::string_view name) {
  return {name, &shape_of<Request>, &shape_of<Part>, true};
}

// Topics of one pair of speakers; structs of the same name in two groups are told apart by
// `prefix`, which stands before the names of this group's structs.
struct TopicGroup {
  std::string_view prefix;
  std::vector<Topic> topics;
};

// The JSON schema (draft 2020-12) of all messages: a definition in "$defs" for each struct, and in
// "x-topics" which of them each topic's request and answer are.
std::string json_schema(std::span<const TopicGroup> groups);

}  // namespace holon::transport
