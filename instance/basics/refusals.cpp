#include "instance/basics/refusals.hpp"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <string_view>
#include <utility>

#include "base/text/printable.hpp"

namespace holon::instance {
namespace {

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

std::string Refusals::note(std::string source, const std::string& what, Time now) {
  const auto untold = counts_.tell(source, now);
  if (!untold) return {};
  // The text may hold names that a client has chosen.
  std::string line =
      fmt::format("refused {}: {}", source, printable(std::string_view(what).substr(0, kLongest)));
  if (*untold > 0) line += fmt::format(" (and {} requests before)", *untold);
  return line;
}

void Refusals::refuse(const transport::Request& request, const Error& error, Time now) {
  keep(source_of(request), request, error, now);
  request.fail(error);
}

void Refusals::keep(std::string source, const transport::Request& request, const Error& error,
                    Time now) {
  const auto line = note(std::move(source), error.what, now);
  if (line.empty()) return;
  spdlog::warn(line);
  on_logged(request, error);
}

}  // namespace holon::instance
