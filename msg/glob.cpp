#include "msg/glob.hpp"

#include <fmt/format.h>

#include "base/text/printable.hpp"

namespace holon::msg {
namespace {

constexpr auto kNone = std::string_view::npos;

// Place behind "[:alpha:]", "[.a.]" or "[=a=]", whose first letters are at `at`; kNone: no end.
std::size_t behind_class(std::string_view pattern, std::size_t at) {
  const char end[] = {pattern[at + 1], ']'};
  const auto found = pattern.find(std::string_view(end, 2), at + 2);
  return found == kNone ? kNone : found + 2;
}

// The place behind the "]" of the "[" at `open`; kNone: there is none.
std::size_t behind_bracket(std::string_view pattern, std::size_t open) {
  std::size_t at = open + 1;
  if (at < pattern.size() && (pattern[at] == '!' || pattern[at] == '^')) ++at;
  if (at < pattern.size() && pattern[at] == ']') ++at;  // the first one is a letter
  while (at < pattern.size() && pattern[at] != ']') {
    const bool in_pair = at + 1 < pattern.size();
    if (pattern[at] == '[' && in_pair && std::string_view(":.=").find(pattern[at + 1]) != kNone) {
      at = behind_class(pattern, at);
      if (at == kNone) return kNone;
    } else {
      at += pattern[at] == '\\' && in_pair ? 2 : 1;
    }
  }
  return at < pattern.size() ? at + 1 : kNone;
}

}  // namespace

Status check_glob(std::string_view pattern) {
  const auto wrong = [pattern](const char* what) {
    return fail(Errc::invalid_argument,
                fmt::format("'{}' is no pattern: {}; accepted are *, ?, [abc], [a-z], [!a], and \\ "
                            "before a character that stands for itself",
                            printable(pattern), what));
  };
  for (std::size_t at = 0; at < pattern.size();) {
    if (pattern[at] == '[') {
      at = behind_bracket(pattern, at);
      if (at == kNone) return wrong("a [ has no ]");
    } else if (pattern[at] == '\\') {
      if (at + 1 == pattern.size()) return wrong("nothing stands behind the \\ at its end");
      at += 2;
    } else {
      ++at;
    }
  }
  return {};
}

}  // namespace holon::msg
