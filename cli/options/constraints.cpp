#include "cli/options/constraints.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "base/hostlist.hpp"
#include "base/idset.hpp"

namespace holon::cli {
namespace {

using resource::Constraint;

constexpr int kDeepest = 100;  // parentheses and "not"; nobody types more

Result<Constraint> hosts_constraint(const std::string& text) {
  const auto hosts = Hostlist::parse(text);
  if (!hosts)
    return fail(Errc::invalid_argument,
                fmt::format("'{}', {}: {}", text, hosts.error().where, hosts.error().what));
  if (hosts->empty()) return fail(Errc::invalid_argument, "names no host");
  return Constraint{"hostlist", {text}, {}};
}

Constraint negated(Constraint constraint) {
  return Constraint{"not", {}, {std::move(constraint)}};
}

enum class TermKind : std::uint8_t { property, host, rank };

TermKind kind_of(std::string_view name) {
  const auto is = [&](std::string_view word) { return name.starts_with(word); };
  return is("host:") || is("hosts:")   ? TermKind::host
         : is("rank:") || is("ranks:") ? TermKind::rank
                                       : TermKind::property;
}

// The word, split at commas behind which another kind of term, or an excluded one, begins. Lists of
// hosts, of ranks and of properties stay together, even if each element is prefixed:
// "host:a,host:b" is "host:a,b".
std::vector<std::string> parts_of(const std::string& word) {
  std::vector<std::string> parts;
  int brackets = 0;
  for (std::size_t begin = 0, end = 0; begin <= word.size(); begin = end + 1) {
    for (end = begin; end < word.size() && (word[end] != ',' || brackets > 0); ++end)
      brackets += word[end] == '[' ? 1 : word[end] == ']' ? -1 : 0;
    const std::string part = word.substr(begin, end - begin);
    const bool said = part.starts_with('-') || kind_of(part) != TermKind::property;
    if (parts.empty() || part.starts_with('-') || (said && kind_of(parts.back()) != kind_of(part)))
      parts.push_back(part);
    else
      parts.back() += "," + (said ? part.substr(part.find(':') + 1) : part);
  }
  return parts;
}

class ConstraintReader {
 public:
  explicit ConstraintReader(const std::string& text) : text_(text) { next(); }

  Result<Constraint> all() {
    auto made = either();
    if (made && !word_.empty()) return wrong(word_ == ")" ? "no '(' before" : "not expected here");
    return made;
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }
  static bool is_single(char c) { return c == '(' || c == ')' || c == '!'; }
  static bool is_double(char c) { return c == '&' || c == '|'; }

  // Takes the word at at_ and moves behind it; "" at the end.
  void next() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    begin_ = at_;
    if (at_ < text_.size() && is_single(text_[at_])) {
      ++at_;
    } else if (at_ < text_.size() && is_double(text_[at_])) {
      at_ += at_ + 1 < text_.size() && text_[at_ + 1] == text_[at_] ? 2 : 1;
    } else {
      while (at_ < text_.size() && !is_blank(text_[at_]) && !is_single(text_[at_]) &&
             !is_double(text_[at_]))
        ++at_;
    }
    word_ = text_.substr(begin_, at_ - begin_);
  }

  bool is_or() const { return word_ == "or" || word_ == "|" || word_ == "||"; }
  bool is_and() const { return word_ == "and" || word_ == "&" || word_ == "&&"; }

  tl::unexpected<Error> wrong(const std::string& what) const {
    return fail(Errc::invalid_argument,
                word_.empty()
                    ? fmt::format("'{}' ends where {}", text_, what)
                    : fmt::format("'{}', character {}: '{}': {}", text_, begin_ + 1, word_, what));
  }

  Result<Constraint> either() {
    return joined("or", &ConstraintReader::both, [this] { return is_or(); });
  }

  // Terms side by side must all hold, as with "and" between them.
  Result<Constraint> both() {
    Constraint made{"and", {}, {}};
    for (bool more = true; more; more = !word_.empty() && word_ != ")" && !is_or()) {
      if (!made.operands.empty() && is_and()) next();
      auto one = term();
      if (!one) return one;
      made.operands.push_back(std::move(*one));
    }
    return made.operands.size() == 1 ? Constraint(made.operands.front()) : made;
  }

  Result<Constraint> joined(const char* op, Result<Constraint> (ConstraintReader::*part)(),
                            const std::function<bool()>& goes_on) {
    auto first = (this->*part)();
    if (!first || !goes_on()) return first;
    Constraint made{op, {}, {std::move(*first)}};
    while (goes_on()) {
      next();
      auto one = (this->*part)();
      if (!one) return one;
      made.operands.push_back(std::move(*one));
    }
    return made;
  }

  Result<Constraint> term() {
    if (word_.empty() || word_ == ")" || is_or() || is_and())
      return wrong("a property, host:HOSTS, rank:RANKS, 'not' or '(' is expected");
    if (++depth_ > kDeepest) return wrong("nested too deeply");
    auto made = word_ == "not" || word_ == "!" ? negation() : word_ == "(" ? group() : plain();
    --depth_;
    return made;
  }

  Result<Constraint> negation() {
    next();
    auto made = term();
    return made ? Result<Constraint>(negated(std::move(*made))) : made;
  }

  Result<Constraint> group() {
    next();
    auto made = either();
    if (made && word_ != ")") return wrong("')' is missing");
    if (made) next();
    return made;
  }

  // "host:a,b", "-host:a,-host:b", "fast,-gpu": each part with its own prefix or minus is a term of
  // its own, and all of them must hold.
  Result<Constraint> plain() {
    Constraint all{"and", {}, {}};
    for (const std::string& name : parts_of(word_)) {
      auto made = one_of(name);
      if (!made) return made;
      all.operands.push_back(std::move(*made));
    }
    next();
    return all.operands.size() == 1 ? Constraint(all.operands.front()) : all;
  }

  Result<Constraint> one_of(std::string name) const {
    const bool minus = name.starts_with('-');
    if (minus) name.erase(0, 1);
    const TermKind kind = kind_of(name);
    const std::string value = kind == TermKind::property ? name : name.substr(name.find(':') + 1);
    Result<Constraint> made = kind == TermKind::host   ? hosts_constraint(value)
                              : kind == TermKind::rank ? ranks(value)
                                                       : properties(value);
    if (!made) return made;
    return minus ? negated(std::move(*made)) : std::move(*made);
  }

  Result<Constraint> ranks(const std::string& value) const {
    if (const auto set = Idset::parse(value); !set || set->empty())
      return wrong("no ranks; 0-3,7 are");
    return Constraint{"ranks", {value}, {}};
  }

  Result<Constraint> properties(const std::string& names) const {
    Constraint made{"properties", {}, {}};
    for (std::size_t begin = 0; begin <= names.size();) {
      const std::size_t end = std::min(names.find(',', begin), names.size());
      made.values.push_back(names.substr(begin, end - begin));
      begin = end + 1;
      const std::string& name = made.values.back();
      if (name.empty() || name == "^") return wrong("an empty property");
      if (name.find_first_of("'\"`") != std::string::npos || name.find('^', 1) < name.size())
        return wrong("a property must not contain ' \" ^ `");
    }
    return made;
  }

  const std::string& text_;
  std::size_t at_ = 0, begin_ = 0;
  std::string word_;
  int depth_ = 0;
};

void narrow(Constraint& into, Constraint further) {
  if (into.op.empty())
    into = std::move(further);
  else if (into.op == "and")
    into.operands.push_back(std::move(further));
  else
    into = Constraint{"and", {}, {std::move(into), std::move(further)}};
}

using Read = Result<Constraint> (*)(const std::string&);

std::function<Status(const std::string&)> narrowing(Constraint& into, Read read) {
  return [&into, read](const std::string& word) -> Status {
    auto made = read(word);
    if (!made) return tl::unexpected(made.error());
    narrow(into, std::move(*made));
    return {};
  };
}

Result<Constraint> other_hosts(const std::string& word) {
  auto hosts = hosts_constraint(word);
  return hosts ? Result<Constraint>(negated(std::move(*hosts))) : hosts;
}

}  // namespace

Result<Constraint> parse_constraint_words(const std::string& text) {
  return ConstraintReader(text).all();
}

void add_constraint_options(Parser& parser, Constraint& into) {
  parser
      .option("--requires|-C,--constraint", narrowing(into, parse_constraint_words), "EXPR",
              "only on nodes with these properties: 'fast', 'fast and not gpu', 'a|b', "
              "'host:n[1-4]', 'rank:0-3'")
      .option("-w,--nodelist", narrowing(into, hosts_constraint), "HOSTS",
              "only on these nodes: n1,n[4-7]")
      .option("--exclude", narrowing(into, other_hosts), "HOSTS", "not on these nodes");
}

}  // namespace holon::cli
