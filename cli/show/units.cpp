#include "cli/show/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <vector>

#include "base/duration.hpp"
#include "instance/basics/text.hpp"

namespace holon::cli {
namespace {

constexpr double kMaxSeconds = 1e12;  // some 30,000 years
constexpr double kMostGib = 1e9;
constexpr double kGib = 1 << 30;  // bytes
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

// Reads numbers with colons between them, as in Slurm and Grid Engine; nullopt: something else.
std::optional<std::vector<std::int64_t>> clock_parts(std::string_view text) {
  constexpr std::size_t kMostDigits = 9;
  std::vector<std::int64_t> parts;
  for (bool more = true; more;) {
    const auto colon = std::min(text.find(':'), text.size());
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + colon, number);
    const bool digits = colon > 0 && colon <= kMostDigits && text.front() != '-' &&
                        error == std::errc{} && end == text.data() + colon;
    if (!digits) return std::nullopt;
    // Only the first number may exceed its unit: 120:00:00 is five days.
    if (!parts.empty() && number > 59) return std::nullopt;
    parts.push_back(number);
    more = colon < text.size();
    text.remove_prefix(std::min(colon + 1, text.size()));
  }
  return parts;
}

// Reads MM:SS, HH:MM:SS, D-HH, D-HH:MM, D-HH:MM:SS; nullopt: none of them.
std::optional<Duration> clock_limit(std::string_view text) {
  const auto dash = text.find('-');
  std::int64_t days = 0;
  if (dash != std::string_view::npos) {
    const auto first = clock_parts(text.substr(0, dash));
    if (!first || first->size() != 1) return std::nullopt;
    days = first->front();
    text.remove_prefix(dash + 1);
  }
  auto parts = clock_parts(text);
  if (!parts || parts->size() > 3) return std::nullopt;
  const bool with_days = dash != std::string_view::npos;
  if (with_days) {
    if (parts->front() > 23) return std::nullopt;
    parts->resize(3);  // hours first
  } else if (parts->size() == 1) {
    return std::nullopt;  // a bare number has its own meaning
  } else if (parts->size() == 2) {
    parts->insert(parts->begin(), 0);
  }
  return days * kDay + (*parts)[0] * kHour + (*parts)[1] * kMinute + (*parts)[2] * kSecond;
}

// The reason why `text`, which looks like a clock's notation, is none; empty: it does not look like
// one.
std::string clock_misfit(std::string_view text) {
  const auto dash = text.find('-');
  const bool is_clock = text.find_first_not_of("0123456789:-") == std::string_view::npos &&
                        text.find_first_of(":-") != std::string_view::npos && dash != 0;
  if (!is_clock) return {};
  const std::string_view time = dash == std::string_view::npos ? text : text.substr(dash + 1);
  if (time.find('-') != std::string_view::npos) return "is no time";
  if (std::ranges::count(time, ':') > 2) return "has more parts than hours, minutes and seconds";
  bool is_first = true;
  for (std::size_t at = 0; at <= time.size();) {
    const std::size_t end = std::min(time.find(':', at), time.size());
    const std::string part(time.substr(at, end - at));
    const bool is_hours = is_first && dash != std::string_view::npos;
    const bool is_large = part.size() > 2 || (!part.empty() && std::atoi(part.c_str()) > 59);
    if (is_hours && (is_large || (!part.empty() && std::atoi(part.c_str()) > 23)))
      return "has too many hours: behind days they are below 24";
    if (!is_first && is_large)
      return "has too many minutes or seconds: behind the first number they are below 60";
    is_first = false;
    at = end + 1;
  }
  return "is no time";
}

// Reads all of `text` by one of `formats`, on top of `parts`.
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

bool is_too_long(const std::string& limit) {
  const auto seconds = parse_minutes(limit);
  return seconds && !std::isinf(*seconds) && *seconds > kMaxSeconds;
}

}  // namespace

Result<Time> parse_time(const std::string& text, Time now) {
  if (text.starts_with('+')) {
    const auto after = parse_limit(text.substr(1));
    if (after && *after > 0) return now + *after;
    if (is_too_long(text.substr(1)))
      return fail(Errc::invalid_argument,
                  fmt::format("'{}' is too far ahead; at most {:.0f} days are accepted", text,
                              kMaxSeconds / 86'400));
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
  std::tm midnight = parts;
  midnight.tm_hour = midnight.tm_min = 0;
  const bool is_day = read_clock(text, {"%Y-%m-%d"}, midnight);
  if (is_day ||
      read_clock(text,
                 {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M"},
                 parts)) {
    if (is_day) parts = midnight;
    const std::tm typed = parts;
    const std::time_t at = std::mktime(&parts);
    // 30 February would become 2 March.
    if (parts.tm_mon != typed.tm_mon || parts.tm_mday != typed.tm_mday)
      return fail(Errc::invalid_argument, fmt::format("'{}': there is no such day", text));
    return at * 1000;
  }
  return fail(
      Errc::invalid_argument,
      fmt::format("'{}' is not a time; accepted are +30m, 18:30, 2026-12-24 and 2026-12-24T18:30",
                  text));
}

Result<Time> parse_since(const std::string& text, Time now) {
  constexpr Duration kDay = 24 * 3600 * 1000;
  if (text.starts_with('-'))
    if (const auto ago = parse_limit(text.substr(1)); ago && *ago > 0) return now - *ago;
  const auto when = parse_time(text, now - kDay);
  if (text.starts_with('+') || !when)
    return fail(
        Errc::invalid_argument,
        fmt::format(
            "'{}' is no time past; accepted are -2h, 18:30, 2026-12-24 and 2026-12-24T18:30",
            text));
  if (*when > now) return fail(Errc::invalid_argument, fmt::format("'{}' is still to come", text));
  return std::max<Time>(1, *when);  // 0 is no time
}

Result<Duration> parse_limit(const std::string& text) {
  if (const auto clock = clock_limit(text)) return *clock;
  constexpr const char* kAccepted =
      "; accepted are 30s, 5m, 2h, 1.5d, MM:SS, HH:MM:SS, D-HH:MM, inf, and a bare number for "
      "minutes";
  if (const std::string misfit = clock_misfit(text); !misfit.empty())
    return fail(Errc::invalid_argument, fmt::format("'{}' {}{}", text, misfit, kAccepted));
  const auto seconds = parse_minutes(text);
  if (!seconds)
    return fail(Errc::invalid_argument,
                seconds.error().what.substr(0, seconds.error().what.find(';')) + kAccepted);
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
  if (number && factor != 0 && *number * factor > kMostGib)
    return fail(Errc::invalid_argument,
                fmt::format("'{}' is too large; at most {:.0f}G is accepted", text, kMostGib));
  if (!number || factor == 0 || *number <= 0)
    return fail(
        Errc::invalid_argument,
        fmt::format("'{}' is not a size of memory; accepted are 512M, 4G, 1T; a bare number "
                    "is GiB",
                    text));
  return std::max<std::int64_t>(1, std::llround(*number * factor * kGib));
}

std::int64_t whole_gib(std::int64_t bytes) {
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(bytes) / kGib));
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

std::string show_path(const std::string& path) {
  const char* const home = std::getenv("HOME");
  const std::string above = home != nullptr ? home : "";
  if (above.size() < 2 || !path.starts_with(above)) return path;
  const std::string rest = path.substr(above.size());
  return rest.empty() || rest.front() == '/' ? "~" + rest : path;
}

}  // namespace holon::cli
