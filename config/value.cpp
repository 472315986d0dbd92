#include "config/value.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/core.h>

#include "config/config.hpp"

namespace holon::config {

std::string Value::text() const {
  if (const auto* s = std::get_if<std::string>(&scalar)) return fmt::format("\"{}\"", *s);
  if (const auto* i = std::get_if<std::int64_t>(&scalar)) return std::to_string(*i);
  if (const auto* d = std::get_if<double>(&scalar)) return fmt::format("{}", *d);
  return std::get<bool>(scalar) ? "true" : "false";
}

std::optional<std::int64_t> whole(const Value& v, std::int64_t low, std::int64_t high) {
  const auto* i = std::get_if<std::int64_t>(&v.scalar);
  const auto* d = std::get_if<double>(&v.scalar);  // 1e3 is as whole as 1000
  constexpr double kExact = 9007199254740992.0;    // 2^53: below it no whole number is missed
  const bool is_whole = d != nullptr && std::abs(*d) < kExact && *d == std::floor(*d);
  if (i == nullptr && !is_whole) return std::nullopt;
  const std::int64_t number = i != nullptr ? *i : static_cast<std::int64_t>(*d);
  if (number < low || number > high) return std::nullopt;
  return number;
}

std::optional<Duration> duration(const Value& v) {
  if (const auto* s = std::get_if<std::string>(&v.scalar)) {
    const auto parsed = parse_duration_ms(*s);
    return parsed ? std::optional(*parsed) : std::nullopt;
  }
  double seconds = -1;
  if (const auto* i = std::get_if<std::int64_t>(&v.scalar)) seconds = static_cast<double>(*i);
  if (const auto* d = std::get_if<double>(&v.scalar)) seconds = *d;
  if (!(seconds >= 0 && seconds < 1e12)) return std::nullopt;
  return std::llround(seconds * 1000);
}

std::optional<std::string> text(const Value& v) {
  const auto* s = std::get_if<std::string>(&v.scalar);
  return s != nullptr && !s->empty() ? std::optional(*s) : std::nullopt;
}

std::optional<std::string> one_of(const Value& v,
                                  std::initializer_list<std::string_view> accepted) {
  auto s = text(v);
  if (s && std::find(accepted.begin(), accepted.end(), *s) != accepted.end()) return s;
  return std::nullopt;
}

std::optional<bool> yes_or_no(const Value& v) {
  if (const auto* b = std::get_if<bool>(&v.scalar)) return *b;
  const auto number = whole(v, 0, 1);
  return number ? std::optional(*number == 1) : std::nullopt;
}

std::optional<std::uint64_t> bytes(const Value& v) {
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  constexpr std::string_view kUnits = "KMGT";
  if (const auto number = whole(v, 0, kMost)) return static_cast<std::uint64_t>(*number);
  const auto word = text(v);
  const auto unit = word ? kUnits.find(word->back()) : kUnits.npos;
  if (unit == kUnits.npos) return std::nullopt;
  const std::string digits = word->substr(0, word->size() - 1);
  const std::int64_t factor = std::int64_t{1} << (10 * (unit + 1));
  std::int64_t count = 0;
  const char* const end = digits.data() + digits.size();
  const auto [last, error] = std::from_chars(digits.data(), end, count);
  if (error != std::errc{} || last != end || count < 0 || count > kMost / factor)
    return std::nullopt;
  return static_cast<std::uint64_t>(count * factor);
}

std::optional<double> share(const Value& v) {
  double number = -1;
  if (const auto* i = std::get_if<std::int64_t>(&v.scalar)) number = static_cast<double>(*i);
  if (const auto* d = std::get_if<double>(&v.scalar)) number = *d;
  return number >= 0 && number <= 1 ? std::optional(number) : std::nullopt;
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> all;
  for (std::size_t at = text.find_first_not_of(", "); at < text.size();
       at = text.find_first_not_of(", ", at)) {
    const std::size_t end = std::min(text.find_first_of(", ", at), text.size());
    all.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return all;
}

tl::unexpected<Error> misfit(const Setting& s, std::string_view accepts) {
  return fail(Errc::invalid_argument,
              fmt::format("{} = {} does not fit: accepted is {}", s.key, s.value.text(), accepts),
              s.where);
}

}  // namespace holon::config
