#include "instance/shape/tree_shape.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <optional>

namespace holon::instance {
namespace {

// A whole number of `text`, all of it; nullopt: it is none, or too large.
std::optional<std::uint32_t> number_in(std::string_view text) {
  std::uint32_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return n;
}

}  // namespace

Result<TreeShape> parse_tree_shape(std::string_view word) {
  const auto wrong = [word](const std::string& what) {
    return fail(Errc::invalid_argument,
                fmt::format("{}; accepted are the children of an instance of each level, such as "
                            "8, 4x4 and 2x3x4",
                            what),
                fmt::format("--tree {}", word));
  };
  TreeShape shape;
  std::uint64_t leaves = 1;
  for (std::string_view rest = word;;) {
    const auto cross = rest.find('x');
    const std::string_view level = rest.substr(0, cross);
    const auto children = number_in(level);
    if (!children || *children == 0)
      return wrong(fmt::format("'{}' is no number of children from 1 on", level));
    shape.push_back(*children);
    leaves *= *children;
    if (leaves > kMostLeaves) return wrong(fmt::format("more than {} leaves", kMostLeaves));
    if (cross == std::string_view::npos) break;
    rest = rest.substr(cross + 1);
  }
  if (shape.size() > kMostLevels)
    return wrong(fmt::format("{} levels of at most {}", shape.size(), kMostLevels));
  return shape;
}

std::string to_text(const TreeShape& shape) {
  return fmt::format("{}", fmt::join(shape, "x"));
}

TreeShape below(const TreeShape& shape) {
  return {shape.begin() + 1, shape.end()};
}

std::uint64_t leaves_of(const TreeShape& shape) {
  std::uint64_t leaves = 1;
  for (const auto children : shape) leaves *= children;
  return leaves;
}

Result<LevelConf> parse_level_conf(const std::string& word, const TreeShape& shape) {
  const auto wrong = [&word](std::string what) {
    return fail(Errc::invalid_argument, std::move(what), "--conf-level " + word);
  };
  if (shape.empty())
    return wrong("there are levels with --tree only; --conf is for the instance itself");
  const auto colon = word.find(':');
  const auto level = number_in(std::string_view(word).substr(0, colon));
  if (colon == std::string::npos || !level || colon + 1 == word.size())
    return wrong("accepted is LEVEL:KEY=VALUE, or LEVEL:FILE, such as 1:queue.policy=easy");
  if (*level > shape.size())
    return wrong(
        fmt::format("--tree {} has no level {}; accepted are 0, the instance itself, to "
                    "{}, the leaves",
                    to_text(shape), *level, shape.size()));
  return LevelConf{*level, word.substr(colon + 1)};
}

}  // namespace holon::instance
