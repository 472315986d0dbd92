#include "base/duration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace holon {
namespace {

struct Unit {
  std::string_view name;
  double seconds;
};
constexpr std::array kUnits{Unit{"d", 86400}, Unit{"h", 3600}, Unit{"m", 60}, Unit{"s", 1},
                            Unit{"ms", 0.001}};

tl::unexpected<Error> bad(std::string_view text, std::string_view why) {
  return fail(Errc::invalid_argument,
              fmt::format("'{}' {}; accepted: 30s, 5m, 2h, 1.5d, 500ms, inf", text, why));
}

bool is_infinity(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower == "inf" || lower == "infinity";
}

Result<double> parse(std::string_view text, double bare) {
  if (is_infinity(text)) return std::numeric_limits<double>::infinity();
  const bool begins = !text.empty() && ((text[0] >= '0' && text[0] <= '9') || text[0] == '.');
  if (!begins) return bad(text, "is no duration");
  double number = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, number);
  if (code != std::errc{} || !std::isfinite(number)) return bad(text, "is no duration");
  const std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  const auto it = std::ranges::find(kUnits, unit, &Unit::name);
  if (!unit.empty() && it == kUnits.end())
    return bad(text, fmt::format("has the unknown unit '{}'", unit));
  const double seconds = unit.empty()   ? number * bare
                         : unit == "ms" ? number / 1000
                                        : number * it->seconds;
  if (!std::isfinite(seconds)) return bad(text, "is too long");
  return seconds;
}

}  // namespace

Result<double> parse_duration(std::string_view text) {
  return parse(text, 1);
}
Result<double> parse_minutes(std::string_view text) {
  return parse(text, 60);
}

std::string format_duration(double seconds) {
  if (std::isinf(seconds)) return "infinity";
  if (seconds == 0) return "0s";
  if (seconds < 0.1) return fmt::format("{:.6g}ms", seconds * 1000);
  if (seconds < 60) return fmt::format("{:.6g}s", seconds);
  const auto unit =
      std::ranges::find_if(kUnits, [&](const Unit& u) { return seconds >= u.seconds; });
  return fmt::format("{:.6g}{}", seconds / unit->seconds, unit->name);
}

}  // namespace holon
