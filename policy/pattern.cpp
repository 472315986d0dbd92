#include "policy/pattern.hpp"

#include <cctype>
#include <cstring>

namespace holon::policy {

namespace {

constexpr int kMostNested = 200;
constexpr std::size_t kNone = std::string_view::npos;

bool in_class(unsigned char c, char name) {
  const auto is = [&](int (*test)(int)) { return test(c) != 0; };
  bool in = false;
  switch (std::tolower(static_cast<unsigned char>(name))) {
    case 'a':
      in = is(std::isalpha);
      break;
    case 'c':
      in = is(std::iscntrl);
      break;
    case 'd':
      in = is(std::isdigit);
      break;
    case 'g':
      in = is(std::isgraph);
      break;
    case 'l':
      in = is(std::islower);
      break;
    case 'p':
      in = is(std::ispunct);
      break;
    case 's':
      in = is(std::isspace);
      break;
    case 'u':
      in = is(std::isupper);
      break;
    case 'w':
      in = is(std::isalnum);
      break;
    case 'x':
      in = is(std::isxdigit);
      break;
    default:
      return static_cast<unsigned char>(name) == c;
  }
  return std::isupper(static_cast<unsigned char>(name)) != 0 ? !in : in;
}

// A backtracking matcher: `match` tries the pattern from p on at text[s], and says where it ends.
class Matcher {
 public:
  Matcher(std::string_view text, std::string_view pattern, std::int64_t& steps)
      : text_(text), pattern_(pattern), steps_(steps) {}

  std::size_t match(std::size_t s, std::size_t p) {
    const Nesting nesting(*this);
    while (p < pattern_.size()) {
      step();
      const char c = pattern_[p];
      if (c == '(') return open(s, p);
      if (c == ')') return close(s, p + 1);
      if (c == '$' && p + 1 == pattern_.size()) return s == text_.size() ? s : kNone;
      if (c == '%' && p + 1 < pattern_.size()) {
        const char next = pattern_[p + 1];
        if (next == 'b' || next == 'f' || std::isdigit(static_cast<unsigned char>(next)) != 0) {
          s = next == 'b' ? balanced(s, p + 2) : next == 'f' ? frontier(s, p) : again(s, next);
          if (s == kNone) return kNone;
          p = next == 'b' ? p + 4 : next == 'f' ? single_end(p + 2) : p + 2;
          continue;
        }
      }
      const std::size_t after = single_end(p);
      const char repeat = after < pattern_.size() ? pattern_[after] : '\0';
      if (repeat == '*') return greedy(s, p, after, 0);
      if (repeat == '+') return greedy(s, p, after, 1);
      if (repeat == '-') return lazy(s, p, after);
      const bool fits = single(s, p, after);
      if (repeat == '?') {
        if (fits)
          if (const std::size_t end = match(s + 1, after + 1); end != kNone) return end;
        p = after + 1;
        continue;
      }
      if (!fits) return kNone;
      ++s;
      p = after;
    }
    return s;
  }

  void begin() { count_ = 0; }
  PatternMatch found(std::size_t from, std::size_t end) const {
    PatternMatch match{from, end, {}, count_};
    for (std::size_t i = 0; i < count_; ++i) {
      if (open_[i]) throw PatternError("unfinished capture in a pattern");
      match.captures[i] = captures_[i];
    }
    return match;
  }

 private:
  struct Nesting {
    explicit Nesting(Matcher& m) : matcher(m) {
      if (++matcher.nested_ > kMostNested) throw PatternError("a pattern is too complex");
    }
    ~Nesting() { --matcher.nested_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    Matcher& matcher;
  };

  void step() {
    if (--steps_ < 0) throw PatternError("too many steps in a pattern");
  }

  // The end of the single character or class that begins at p.
  std::size_t single_end(std::size_t p) const {
    if (p >= pattern_.size()) throw PatternError("a pattern ends too early");
    if (pattern_[p] == '%') {
      if (p + 1 >= pattern_.size()) throw PatternError("a pattern ends with '%'");
      return p + 2;
    }
    if (pattern_[p] != '[') return p + 1;
    ++p;
    if (p < pattern_.size() && pattern_[p] == '^') ++p;
    do {  // a ']' that comes first is one of the set
      if (p >= pattern_.size()) throw PatternError("a '[' of a pattern has no ']'");
      p += pattern_[p] == '%' ? 2 : 1;
    } while (p >= pattern_.size() || pattern_[p] != ']');
    return p + 1;
  }

  bool single(std::size_t s, std::size_t p, std::size_t after) {
    step();
    if (s >= text_.size()) return false;
    const auto c = static_cast<unsigned char>(text_[s]);
    if (pattern_[p] == '.') return true;
    if (pattern_[p] == '%') return in_class(c, pattern_[p + 1]);
    if (pattern_[p] == '[') return in_set(c, p, after - 1);
    return static_cast<unsigned char>(pattern_[p]) == c;
  }

  // Is c in the set? `p` is at '[', `end` at its ']'.
  bool in_set(unsigned char c, std::size_t p, std::size_t end) {
    const bool negated = pattern_[p + 1] == '^';
    for (p += negated ? 2 : 1; p < end; ++p) {
      step();
      if (pattern_[p] == '%') {
        if (in_class(c, pattern_[++p])) return !negated;
      } else if (p + 2 < end && pattern_[p + 1] == '-') {
        if (static_cast<unsigned char>(pattern_[p]) <= c &&
            c <= static_cast<unsigned char>(pattern_[p + 2]))
          return !negated;
        p += 2;
      } else if (static_cast<unsigned char>(pattern_[p]) == c) {
        return !negated;
      }
    }
    return negated;
  }

  std::size_t greedy(std::size_t s, std::size_t p, std::size_t after, std::size_t least) {
    std::size_t n = 0;
    while (single(s + n, p, after)) ++n;
    for (; n + 1 > least; --n) {
      if (const std::size_t end = match(s + n, after + 1); end != kNone) return end;
      if (n == 0) break;
    }
    return kNone;
  }

  std::size_t lazy(std::size_t s, std::size_t p, std::size_t after) {
    for (;; ++s) {
      if (const std::size_t end = match(s, after + 1); end != kNone) return end;
      if (!single(s, p, after)) return kNone;
    }
  }

  std::size_t open(std::size_t s, std::size_t p) {
    if (count_ == PatternMatch::kMostCaptures)
      throw PatternError("a pattern has too many captures");
    const bool position = p + 1 < pattern_.size() && pattern_[p + 1] == ')';
    const std::size_t mine = count_++;
    captures_[mine] = {s, 0, position};
    open_[mine] = !position;
    const std::size_t end = match(s, position ? p + 2 : p + 1);
    if (end == kNone) count_ = mine;
    return end;
  }

  std::size_t close(std::size_t s, std::size_t p) {
    std::size_t last = count_;
    while (last > 0 && !open_[last - 1]) --last;
    if (last == 0) throw PatternError("a ')' of a pattern has no '('");
    open_[last - 1] = false;
    captures_[last - 1].length = s - captures_[last - 1].begin;
    const std::size_t end = match(s, p);
    if (end == kNone) open_[last - 1] = true;
    return end;
  }

  std::size_t balanced(std::size_t s, std::size_t p) {
    if (p + 1 >= pattern_.size()) throw PatternError("%b of a pattern needs two characters");
    if (s >= text_.size() || text_[s] != pattern_[p]) return kNone;
    std::size_t depth = 1;
    for (std::size_t at = s + 1; at < text_.size(); ++at) {
      step();
      if (text_[at] == pattern_[p + 1]) {
        if (--depth == 0) return at + 1;
      } else if (text_[at] == pattern_[p]) {
        ++depth;
      }
    }
    return kNone;
  }

  std::size_t frontier(std::size_t s, std::size_t p) {
    p += 2;
    if (p >= pattern_.size() || pattern_[p] != '[')
      throw PatternError("%f of a pattern needs a set");
    const std::size_t end = single_end(p) - 1;
    const auto at = [&](std::size_t i) {
      return i < text_.size() ? static_cast<unsigned char>(text_[i])
                              : static_cast<unsigned char>(0);
    };
    const unsigned char before = s == 0 ? static_cast<unsigned char>(0) : at(s - 1);
    return !in_set(before, p, end) && in_set(at(s), p, end) ? s : kNone;
  }

  // Matches the text of an earlier capture once more.
  std::size_t again(std::size_t s, char digit) {
    const auto index = static_cast<std::size_t>(digit - '1');
    if (digit == '0' || index >= count_ || open_[index])
      throw PatternError("a pattern names a capture that is not there");
    const std::string_view held = text_.substr(captures_[index].begin, captures_[index].length);
    steps_ -= static_cast<std::int64_t>(held.size());
    return text_.substr(s, held.size()) == held ? s + held.size() : kNone;
  }

  std::string_view text_;
  std::string_view pattern_;
  std::int64_t& steps_;
  int nested_ = 0;
  std::array<Capture, PatternMatch::kMostCaptures> captures_{};
  std::array<bool, PatternMatch::kMostCaptures> open_{};
  std::size_t count_ = 0;
};

}  // namespace

std::optional<PatternMatch> find_pattern(std::string_view text, std::string_view pattern,
                                         std::size_t from, std::int64_t& steps) {
  const bool anchored = pattern.starts_with('^');
  Matcher matcher(text, anchored ? pattern.substr(1) : pattern, steps);
  for (std::size_t at = from; at <= text.size(); ++at) {
    matcher.begin();
    const std::size_t end = matcher.match(at, 0);
    if (end != kNone) return matcher.found(at, end);
    if (anchored) break;
  }
  return std::nullopt;
}

}  // namespace holon::policy
