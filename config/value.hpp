// value.hpp - one setting as it was written, and its readings. Private to the configuration.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"

namespace holon::config {

struct Value {
  std::variant<std::int64_t, double, bool, std::string> scalar;

  std::string text() const;  // as in TOML
};

struct Setting {
  std::string key;
  Value value;
  std::string where;
};

inline constexpr std::string_view kDuration =
    "a duration: \"250ms\", \"30s\", \"5m\", \"2h\", or seconds";

// Readings of the value; nullopt if it does not fit.
std::optional<std::int64_t> whole(const Value& v, std::int64_t low, std::int64_t high);
std::optional<Duration> duration(const Value& v);  // in ms
std::optional<std::string> text(const Value& v);   // not an empty one
std::optional<std::string> one_of(const Value& v, std::initializer_list<std::string_view> accepted);
std::optional<bool> yes_or_no(const Value& v);       // true, false, 1, 0
std::optional<std::uint64_t> bytes(const Value& v);  // a number, or "512K", "10M", "2G", "1T"
std::optional<double> share(const Value& v);         // 0 to 1

// Splits at commas or blanks.
std::vector<std::string> words(std::string_view text);

template <class T, class Found>
bool store(T& target, const Found& found) {
  if (found) target = static_cast<T>(*found);
  return found.has_value();
}

tl::unexpected<Error> misfit(const Setting& s, std::string_view accepts);
// Names the nearest key that there is, and those of its table.
tl::unexpected<Error> unknown_key(const Setting& s);

}  // namespace holon::config
