#include "cli/units.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <ctime>
#include <optional>

#include "base/duration.hpp"
#include "instance/text.hpp"

namespace holon::cli {
namespace {

constexpr double kMaxSeconds = 1e12;  // some 30,000 years
constexpr Duration kSecond = 1000, kMinute = 60 * kSecond, kHour = 60 * kMinute, kDay = 24 * kHour;

// Takes a number without a sign off the front of `text`.
std::optional<double> take_number(std::string_view& text) {
  if (text.empty() || text[0] == '-' || text[0] == '+') return std::nullopt;
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc{} || !std::isfinite(number)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// `text` read by one of `formats`, as a whole, on top of `parts`.
bool read_clock(const std::string& text, std::initializer_list<const char*> formats,
                std::tm& parts) {
  for (const char* format : formats) {
    std::tm read = parts;
    read.tm_sec = 0;
    const char* end = strptime(text.c_str(), format, &read);
    if (end == nullptr || *end != '\0') continue;
    parts = read;
    return true;
  }
  return false;
}

}  // namespace

Result<Time> parse_time(const std::string& text, Time now) {
  if (text.starts_with('+')) {
    const auto after = parse_limit(text.substr(1));
    if (after && *after > 0) return now + *after;
  }
  const std::time_t seconds = now / 1000;
  std::tm parts{};
  localtime_r(&seconds, &parts);
  parts.tm_isdst = -1;
  if (read_clock(text, {"%H:%M:%S", "%H:%M"}, parts)) {
    std::time_t at = std::mktime(&parts);
    if (at * 1000 <= now) {
      ++parts.tm_mday;
      parts.tm_isdst = -1;
      at = std::mktime(&parts);
    }
    return at * 1000;
  }
  if (read_clock(text,
                 {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M"},
                 parts))
    return std::mktime(&parts) * 1000;
  return fail(
      Errc::invalid_argument,
      fmt::format("'{}' is not a time; accepted are +30m, 18:30 and 2026-12-24T18:30", text));
}

Result<Duration> parse_limit(const std::string& text) {
  const auto seconds = parse_minutes(text);
  if (!seconds) return tl::unexpected(seconds.error());
  if (std::isinf(*seconds)) return 0;
  if (*seconds > kMaxSeconds)
    return fail(Errc::invalid_argument, fmt::format("'{}' is too long", text));
  const auto ms = static_cast<Duration>(std::llround(*seconds * 1000));
  if (ms == 0 && *seconds > 0)
    return fail(Errc::invalid_argument, fmt::format("'{}' is shorter than a millisecond", text));
  return ms;
}

Result<std::int64_t> parse_memory(const std::string& text) {
  std::string_view rest = text;
  const auto number = take_number(rest);
  double factor = 0;
  if (rest.empty() || rest == "G" || rest == "GiB") factor = 1;
  if (rest == "M" || rest == "MiB") factor = 1.0 / 1024;
  if (rest == "T" || rest == "TiB") factor = 1024;
  if (!number || factor == 0 || *number <= 0 || *number * factor > 1e9)
    return fail(
        Errc::invalid_argument,
        fmt::format("'{}' is not a size of memory; accepted are 512M, 4G, 1T; a bare number "
                    "is GiB",
                    text));
  return static_cast<std::int64_t>(std::ceil(*number * factor));
}

std::string show_duration(Duration ms) {
  if (ms < 0) return "-";
  if (ms < 10 * kSecond) return fmt::format("{}.{:02}s", ms / kSecond, ms % kSecond / 10);
  if (ms < kMinute) return fmt::format("{}.{}s", ms / kSecond, ms % kSecond / 100);
  if (ms < kHour) return fmt::format("{}m{:02}s", ms / kMinute, ms % kMinute / kSecond);
  if (ms < kDay) return fmt::format("{}h{:02}m", ms / kHour, ms % kHour / kMinute);
  return fmt::format("{}d{:02}h", ms / kDay, ms % kDay / kHour);
}

std::string show_time(Time when, Time now) {
  if (when <= 0) return "-";
  return instance::time_text(when, now);
}

std::string show_kib(std::int64_t kib) {
  if (kib < 1024) return fmt::format("{} KiB", kib);
  const double mib = static_cast<double>(kib) / 1024;
  return mib < 1024 ? fmt::format("{:.0f} MiB", mib) : fmt::format("{:.1f} GiB", mib / 1024);
}

}  // namespace holon::cli
