#include "instance/service/refusals.hpp"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <string_view>

#include "base/printable.hpp"

namespace holon::instance {
namespace {

constexpr Duration kQuiet = 60'000;
constexpr std::size_t kMostSources = 1000;
constexpr std::size_t kLongest = 500;  // bytes of what is said

std::string source_of(const transport::Request& request) {
  const auto who = request.principal();
  if (who.kind == transport::Principal::Kind::unknown)
    return fmt::format("connection {}", request.peer().value());
  if (who.kind == transport::Principal::Kind::key)
    return fmt::format("the holder of the key of '{}'", who.name);
  if (who.kind == transport::Principal::Kind::munge)
    return fmt::format("user {} at {}", who.uid, who.name);
  return fmt::format("process {} of user {}", who.pid, who.uid);
}

}  // namespace

std::string Refusals::note(const std::string& source, const std::string& what, Time now) {
  if (!sources_.contains(source) && sources_.size() >= kMostSources) {
    std::erase_if(sources_, [now](const auto& known) {
      return distance(known.second.logged, now) >= kQuiet;
    });
    // More sources in a minute than that: the rest goes into one line.
    if (sources_.size() >= kMostSources && source != "others") return note("others", what, now);
  }
  const auto [at, fresh] = sources_.try_emplace(source);
  Source& known = at->second;
  if (!fresh && distance(known.logged, now) < kQuiet) {
    ++known.unlogged;
    return {};
  }
  // Names that a client has chosen may be in it.
  std::string line =
      fmt::format("refused {}: {}", source, printable(std::string_view(what).substr(0, kLongest)));
  if (known.unlogged > 0) line += fmt::format(" (and {} requests before)", known.unlogged);
  known = {now, 0};
  return line;
}

void Refusals::refuse(const transport::Request& request, const Error& error, Time now) {
  if (const auto line = note(source_of(request), error.what, now); !line.empty()) {
    spdlog::warn(line);
    on_logged(request, error);
  }
  request.fail(error);
}

}  // namespace holon::instance
