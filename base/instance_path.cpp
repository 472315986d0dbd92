#include "base/instance_path.hpp"

#include <fmt/format.h>

#include <charconv>
#include <sstream>
#include <vector>

namespace holon {
namespace {

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  std::istringstream in(path);
  for (std::string part; std::getline(in, part, '/');)
    if (!part.empty() && part != ".") parts.push_back(part);
  return parts;
}

}  // namespace

std::optional<std::uint64_t> job_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number == 0) return std::nullopt;
  return number;
}

Result<std::string> join_path(const std::string& base, const std::string& path) {
  std::vector<std::string> levels =
      path.starts_with('/') ? std::vector<std::string>{} : parts_of(base);
  for (auto& part : parts_of(path)) {
    if (part == "..") {
      if (levels.empty()) return fail(Errc::invalid_argument, "the root has no parent", path);
      levels.pop_back();
    } else if (job_number(part)) {
      levels.push_back(std::move(part));
    } else {
      return fail(Errc::invalid_argument,
                  fmt::format("'{}' is not a job id; a path is written /, /3, /3/7, .. or 7", part),
                  path);
    }
  }
  return "/" + fmt::format("{}", fmt::join(levels, "/"));
}

bool path_before(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    a.remove_prefix(1);  // the '/'
    b.remove_prefix(1);
    const auto left = a.substr(0, a.find('/')), right = b.substr(0, b.find('/'));
    // Without leading zeros the longer number is the larger one.
    if (left != right)
      return left.size() != right.size() ? left.size() < right.size() : left < right;
    a.remove_prefix(left.size());
    b.remove_prefix(right.size());
  }
  return a.empty() && !b.empty();
}

}  // namespace holon
