#include "instance/basics/text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <utility>
#include <vector>

namespace holon::instance {
namespace {

constexpr std::size_t kLongestPath = 4096;  // bytes, as in an envelope

}  // namespace

std::string join(std::string_view path, JobId id) {
  return join(path, std::to_string(id.value()));
}

std::string join(std::string_view path, std::string_view label) {
  return fmt::format("{}/{}", path == "/" ? std::string_view() : path, label);
}

Result<std::string> resolve(const std::string& base, const std::string& path) {
  std::vector<std::string> parts;
  const auto walk = [&parts](std::string_view text) -> Status {
    while (!text.empty()) {
      const auto part = text.substr(0, text.find('/'));
      text.remove_prefix(std::min(text.size(), part.size() + 1));
      const bool number = !part.empty() && part.size() < 20 && part.front() != '0' &&
                          part.find_first_not_of("0123456789") == std::string_view::npos;
      if (number)
        parts.emplace_back(part);
      else if (part == ".." && !parts.empty())
        parts.pop_back();
      else if (!part.empty() && part != ".")
        return fail(Errc::invalid_argument,
                    part == ".."
                        ? std::string("the path leads above the root")
                        : fmt::format("'{}' is no job id; a path is like /3/7, 7 or ..", part));
    }
    return {};
  };
  if (!path.starts_with('/'))
    if (auto walked = walk(base); !walked) return tl::unexpected(walked.error());
  if (auto walked = walk(path); !walked) return tl::unexpected(walked.error());
  std::string resolved;
  for (const auto& part : parts) resolved += "/" + part;
  return resolved.empty() ? "/" : resolved;
}

std::optional<JobId> job_at(const std::string& path) {
  if (path.size() > kLongestPath) return std::nullopt;
  const auto same = resolve("/", path);
  if (!same || *same != path || path == "/") return std::nullopt;
  return JobId(std::strtoull(path.c_str() + path.rfind('/') + 1, nullptr, 10));
}

std::optional<JobId> child_towards(const std::string& base, const std::string& path) {
  const std::string prefix = base == "/" ? "/" : base + "/";
  if (!path.starts_with(prefix) || path.size() == prefix.size()) return std::nullopt;
  return JobId(std::strtoull(path.c_str() + prefix.size(), nullptr, 10));
}

namespace {

std::tm local(Time ms) {
  const std::time_t seconds = ms / 1000;
  std::tm parts{};
  localtime_r(&seconds, &parts);
  return parts;
}

}  // namespace

std::int64_t second_of_day(Time when) {
  const std::tm parts = local(when);
  return (parts.tm_hour * 60 + parts.tm_min) * 60 + parts.tm_sec;
}

std::string time_text(Time when, Time now) {
  const std::tm parts = local(when), today = local(now);
  const bool is_today = parts.tm_yday == today.tm_yday && parts.tm_year == today.tm_year;
  std::array<char, 64> text{};
  const char* const format = is_today ? "%H:%M:%S" : "%Y-%m-%d %H:%M";
  const std::size_t length = std::strftime(text.data(), text.size(), format, &parts);
  return {text.data(), length};
}

std::string duration_text(Duration ms) {
  if (ms < 1000) return fmt::format("{}ms", ms < 0 ? 0 : ms);
  constexpr std::array<std::pair<Duration, const char*>, 4> kUnits = {
      {{86'400, "d"}, {3'600, "h"}, {60, "m"}, {1, "s"}}};
  Duration seconds = ms / 1000;
  std::string text;
  int parts = 0;
  for (const auto& [length, name] : kUnits) {
    if (seconds >= length && parts < 2) {
      text += fmt::format("{}{}", seconds / length, name);
      seconds %= length;
      ++parts;
    } else if (parts > 0) {
      break;
    }
  }
  return text;
}

}  // namespace holon::instance
