// The text is looked at as far as strings, comments and brackets go; what is wrong with it
// otherwise is for the parser to say.
#include "config/toml_bounds.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace holon::config {
namespace {

class TomlLook {
 public:
  TomlLook(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Status run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        skip_string(c);
        continue;
      }
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        continue;
      }
      if (auto good = take(c); !good) return good;
      ++at_;
    }
    return {};
  }

 private:
  // A dot in a number or a date counts as well; these have one at most.
  Status take(char c) {
    switch (c) {
      case '.':
        if (++parts_ > kMostKeyParts)
          return wrong(fmt::format("a key has more than {} parts", kMostKeyParts));
        break;
      case '[':
      case '{':
        if (++depth_ > kMostTomlNesting)
          return wrong(
              fmt::format("lists and tables are nested deeper than {} levels", kMostTomlNesting));
        parts_ = 1;
        break;
      case ']':
      case '}':
        depth_ = std::max(0, depth_ - 1);
        break;
      case '\n':
        ++line_;
        [[fallthrough]];
      case '=':
      case ',':
        parts_ = 1;
        break;
      default:
        break;
    }
    return {};
  }

  // Skips a string, to the character behind it or the end.
  void skip_string(char quote) {
    const bool is_long = text_.substr(at_, 3) == std::string(3, quote);
    at_ += is_long ? 3 : 1;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\n' && !is_long) return;  // it is no string
      line_ += text_[at_] == '\n' ? 1 : 0;
      if (text_[at_] == '\\' && quote == '"') {
        ++at_;
      } else if (text_[at_] == quote && !is_long) {
        ++at_;
        return;
      } else if (is_long && text_.substr(at_, 3) == std::string(3, quote)) {
        at_ += 3;
        return;
      }
    }
  }

  Status wrong(std::string what) const {
    return fail(Errc::invalid_argument, std::move(what), fmt::format("{}:{}", file_, line_));
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  int line_ = 1, parts_ = 1, depth_ = 0;
};

}  // namespace

Status check_toml(std::string_view text, const std::string& file) {
  return TomlLook(text, file).run();
}

}  // namespace holon::config
