// Recursive descent over words, one function per rule. The depth of parentheses is limited, so
// that a hostile expression is an error and not a stack overflow.
#include "resource/find/find_expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "base/hostlist.hpp"

namespace holon::resource {
namespace terms {  // with a name, as Node has one, which is made of these

constexpr std::string_view kBlank = " \t";
constexpr int kMostParentheses = 500;

enum class Key {
  status,
  drained,  // written status=drained
  sched_now,
  sched_future,
  agfilter,
  names,
  job_alloc,
  job_span,
  job_tag,
  job_reserved,
  property,
  type,
  id,
  uniq_id,
  rank,
  size,
  property_value,
};

struct KeyName {
  std::string_view text;
  Key key;
};

constexpr std::array kKeys{
    KeyName{"status", Key::status},
    KeyName{"sched-now", Key::sched_now},
    KeyName{"sched-future", Key::sched_future},
    KeyName{"agfilter", Key::agfilter},
    KeyName{"names", Key::names},
    KeyName{"jobid-alloc", Key::job_alloc},
    KeyName{"jobid-span", Key::job_span},
    KeyName{"jobid-tag", Key::job_tag},
    KeyName{"jobid-reserved", Key::job_reserved},
    KeyName{"property", Key::property},
    KeyName{"type", Key::type},
    KeyName{"id", Key::id},
    KeyName{"uniq_id", Key::uniq_id},
    KeyName{"rank", Key::rank},
    KeyName{"size", Key::size},
};

enum class Compare { equal, unequal, less, at_most, more, at_least };

bool compares(std::int64_t a, Compare how, std::int64_t b) {
  switch (how) {
    case Compare::equal:
      return a == b;
    case Compare::unequal:
      return a != b;
    case Compare::less:
      return a < b;
    case Compare::at_most:
      return a <= b;
    case Compare::more:
      return a > b;
    case Compare::at_least:
      return a >= b;
  }
  return false;
}

bool is_numeric(Key key) {
  return key == Key::id || key == Key::uniq_id || key == Key::rank || key == Key::size;
}

std::string lower(std::string_view text) {
  std::string result{text};
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Test {
  Key key = Key::status;
  Compare how = Compare::equal;
  bool wanted = true;  // of a two-valued key: down, allocated, reserved, true
  std::string text;    // a property, a type
  std::int64_t number = 0;
  JobId job;
  Hostlist names;
};

}  // namespace terms

using namespace terms;

// Operands from left to right; each is joined to what stands before it. A chain is flat however
// long it is: only parentheses and nots make depth.
struct FindExpression::Node {
  struct Step {
    bool either = false;  // joined by `or`; the first step's is false and does not count
    bool negated = false;
    Test test;
    std::unique_ptr<const Node> inner;  // a parenthesis instead of the test
  };
  std::vector<Step> steps;

  bool matches(const FindSubject& subject) const;
};

namespace {

using Node = FindExpression::Node;
using Step = FindExpression::Node::Step;

std::int64_t field(Key key, const FindSubject& subject) {
  switch (key) {
    case Key::id:
      return subject.id();
    case Key::uniq_id:
      return subject.uniq_id();
    case Key::rank:
      return subject.rank();
    default:
      return subject.size();
  }
}

bool property_value_matches(const Test& test, const FindSubject& subject) {
  const auto value = subject.property(test.text);
  if (!value) return test.how == Compare::unequal;
  const auto is = number(*value);
  return is ? compares(*is, test.how, test.number) : test.how == Compare::unequal;
}

// Does the test hold, read as if it were written with '='?
bool holds(const Test& test, const FindSubject& subject) {
  switch (test.key) {
    case Key::status:
      return subject.down() == test.wanted;
    case Key::drained:
      return subject.drained();
    case Key::sched_now:
      return subject.allocated() == test.wanted;
    case Key::sched_future:
      return subject.reserved() == test.wanted;
    case Key::agfilter:
      return test.wanted;
    case Key::names:
      return test.names.contains(subject.name());
    case Key::job_alloc:
      return subject.mark(test.job).allocated;
    case Key::job_reserved:
      return subject.mark(test.job).reserved;
    case Key::job_span:
      return subject.mark(test.job).counted;
    case Key::job_tag:
      return subject.mark(test.job).tagged;
    case Key::property:
      return subject.property(test.text).has_value();
    case Key::type:
      return subject.type() == test.text;
    default:
      return false;  // numeric keys and property.NAME are compared, see matches()
  }
}

bool test_matches(const Test& test, const FindSubject& subject) {
  if (test.key == Key::property_value) return property_value_matches(test, subject);
  if (is_numeric(test.key)) return compares(field(test.key, subject), test.how, test.number);
  return holds(test, subject) == (test.how == Compare::equal);
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  // Parses an expression that fills [begin, end).
  Result<std::unique_ptr<const Node>> expression(std::size_t begin, std::size_t end, int depth) {
    if (depth > kMostParentheses) return wrong(begin, "parentheses are nested too deeply");
    auto node = std::make_unique<Node>();
    bool either = false;
    for (std::size_t at = begin;;) {
      auto step = operand(at, end, depth);
      if (!step) return tl::unexpected(step.error());
      step->either = either;
      node->steps.push_back(std::move(*step));
      if (rest(at_, end) == end) return node;
      if (kBlank.find(text_[at_]) == kBlank.npos)
        return wrong(at_, "a blank must follow a closing parenthesis");
      const auto [word, after] = word_at(rest(at_, end), end);
      either = word == "or";
      at = either || word == "and" ? after : at_;
    }
  }

  bool wants_aggregates() const { return wants_aggregates_; }
  std::optional<JobId> job() const { return job_; }

 private:
  struct Word {
    std::string_view text;
    std::size_t after;
  };

  std::size_t rest(std::size_t begin, std::size_t end) const {
    return std::min(text_.find_first_not_of(kBlank, begin), end);
  }

  Word word_at(std::size_t begin, std::size_t end) const {
    const auto after = std::min(text_.find_first_of(kBlank, begin), end);
    return {text_.substr(begin, after - begin), after};
  }

  tl::unexpected<Error> wrong(std::size_t at, std::string what) const {
    return fail(Errc::invalid_argument, std::move(what), fmt::format("character {}", at + 1));
  }

  std::optional<std::size_t> closing(std::size_t open, std::size_t end) const {
    int balance = 0;
    for (std::size_t i = open; i < end; ++i) {
      if (text_[i] == '(') ++balance;
      if (text_[i] == ')' && --balance == 0) return i;
    }
    return std::nullopt;
  }

  // Parses an operand and leaves at_ behind it.
  Result<Step> operand(std::size_t begin, std::size_t end, int depth) {
    Step step;
    std::size_t start = rest(begin, end);
    for (; start < end && word_at(start, end).text == "not"; start = rest(start + 3, end))
      step.negated = !step.negated;
    if (start == end) return wrong(begin, "a test such as status=down is expected here");
    if (text_[start] == '(') {
      const auto close = closing(start, end);
      if (!close) return wrong(start, "this parenthesis is not closed");
      auto inner = expression(start + 1, *close, depth + 1);
      if (!inner) return tl::unexpected(inner.error());
      step.inner = std::move(*inner);
      at_ = *close + 1;
      return step;
    }
    const auto [word, after] = word_at(start, end);
    auto test = leaf(word, start);
    if (!test) return tl::unexpected(test.error());
    step.test = std::move(*test);
    at_ = after;
    return step;
  }

  Result<Test> leaf(std::string_view word, std::size_t at) {
    const auto op = word.find_first_of("=<>!");
    if (op == word.npos) return wrong(at, fmt::format("'{}' is no test: KEY=VALUE", word));
    Test test;
    const std::size_t length = read_operator(word, op, test.how);
    if (length == 0) return wrong(at + op, "'!' must be followed by '='");
    const auto key = word.substr(0, op);
    const auto value = word.substr(op + length);
    if (auto status = read_key(key, at, test); !status) return tl::unexpected(status.error());
    if (auto status = read_value(test, value, at + op + length); !status)
      return tl::unexpected(status.error());
    return test;
  }

  static std::size_t read_operator(std::string_view word, std::size_t at, Compare& how) {
    const bool equals = at + 1 < word.size() && word[at + 1] == '=';
    switch (word[at]) {
      case '=':
        how = Compare::equal;
        return 1;
      case '<':
        how = equals ? Compare::at_most : Compare::less;
        return equals ? 2 : 1;
      case '>':
        how = equals ? Compare::at_least : Compare::more;
        return equals ? 2 : 1;
      default:
        how = Compare::unequal;
        return equals ? 2 : 0;
    }
  }

  Status read_key(std::string_view text, std::size_t at, Test& test) const {
    constexpr std::string_view kProperty = "property.";
    if (text.starts_with(kProperty) && text.size() > kProperty.size()) {
      test.key = Key::property_value;
      test.text = text.substr(kProperty.size());
      return {};
    }
    const auto known =
        std::find_if(kKeys.begin(), kKeys.end(), [&](const KeyName& k) { return k.text == text; });
    if (known == kKeys.end()) {
      std::vector<std::string_view> names;
      for (const auto& k : kKeys) names.push_back(k.text);
      return wrong(at, fmt::format("'{}' is unknown; there are {}, property.NAME", text,
                                   fmt::join(names, ", ")));
    }
    test.key = known->key;
    const bool ordered = test.how != Compare::equal && test.how != Compare::unequal;
    if (ordered && !is_numeric(test.key))
      return wrong(at, fmt::format("'{}' has no order: use = or !=", text));
    return {};
  }

  Status read_value(Test& test, std::string_view value, std::size_t at) {
    switch (test.key) {
      case Key::status:
        if (lower(value) == "drained") test.key = Key::drained;
        return test.key == Key::drained ? Status{} : two_valued(test, value, at, "down", "up");
      case Key::sched_now:
        return two_valued(test, value, at, "allocated", "free");
      case Key::sched_future:
        return two_valued(test, value, at, "reserved", "free");
      case Key::agfilter:
        return aggregates(test, value, at);
      case Key::names:
        return names(test, value, at);
      case Key::job_alloc:
      case Key::job_span:
      case Key::job_tag:
      case Key::job_reserved:
        return job(test, value, at);
      case Key::property:
        if (value.empty()) return wrong(at, "a property's name is expected");
        test.text = lower(value);
        return {};
      case Key::type:
        test.text = value;
        return {};
      default:
        break;
    }
    const auto parsed = number(value);
    if (!parsed) return wrong(at, fmt::format("'{}' is not a whole number", value));
    test.number = *parsed;
    return {};
  }

  Status two_valued(Test& test, std::string_view value, std::size_t at, std::string_view yes,
                    std::string_view no) const {
    const std::string word = lower(value);
    if (word != yes && word != no)
      return wrong(at, fmt::format("'{}': {} or {} is expected", value, yes, no));
    test.wanted = word == yes;
    return {};
  }

  Status aggregates(Test& test, std::string_view value, std::size_t at) {
    std::string word = lower(value);
    if (word == "t") word = "true";
    if (word == "f") word = "false";
    if (auto status = two_valued(test, word, at, "true", "false"); !status) return status;
    wants_aggregates_ = test.wanted;
    return {};
  }

  Status names(Test& test, std::string_view value, std::size_t at) const {
    auto list = Hostlist::parse(lower(value));
    if (!list) return wrong(at, list.error().what);
    test.names = std::move(*list);
    return {};
  }

  Status job(Test& test, std::string_view value, std::size_t at) {
    const auto id = parse_job_id(value);
    if (!id) return wrong(at, id.error().what);
    test.job = *id;
    job_ = *id;
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool wants_aggregates_ = false;
  std::optional<JobId> job_;
};

std::optional<std::uint64_t> in_base58(std::string_view text) {
  constexpr std::string_view kDigits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
  if (text.empty()) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    const auto digit = kDigits.find(c);
    if (digit == kDigits.npos) return std::nullopt;
    if (value > (UINT64_MAX - digit) / kDigits.size()) return std::nullopt;
    value = value * kDigits.size() + digit;
  }
  return value;
}

std::optional<std::uint64_t> in_base(std::string_view text, int base) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> in_dotted_hex(std::string_view text) {
  constexpr std::size_t kLength = 19;  // four groups of four digits, three dots
  if (text.size() != kLength) return std::nullopt;
  std::string digits;
  for (std::size_t i = 0; i < kLength; ++i) {
    if ((i % 5 == 4) != (text[i] == '.')) return std::nullopt;
    if (text[i] != '.') digits += text[i];
  }
  return in_base(digits, 16);
}

}  // namespace

bool FindExpression::Node::matches(const FindSubject& subject) const {
  bool result = true;
  for (const auto& step : steps) {
    if (result == step.either) continue;  // nothing can change it: true or x, false and x
    const bool is = step.inner ? step.inner->matches(subject) : test_matches(step.test, subject);
    result = is != step.negated;
  }
  return result;
}

FindExpression::FindExpression() = default;
FindExpression::FindExpression(FindExpression&&) noexcept = default;
FindExpression& FindExpression::operator=(FindExpression&&) noexcept = default;
FindExpression::~FindExpression() = default;

Result<FindExpression> FindExpression::parse(std::string_view text) {
  Parser parser(text);
  auto root = parser.expression(0, text.size(), 0);
  if (!root) return tl::unexpected(root.error());
  FindExpression expression;
  expression.root_ = std::move(*root);
  expression.wants_aggregates_ = parser.wants_aggregates();
  expression.job_ = parser.job();
  return expression;
}

bool FindExpression::matches(const FindSubject& subject) const {
  return root_->matches(subject);
}

Result<JobId> parse_job_id(std::string_view text) {
  std::optional<std::uint64_t> value;
  if (text.starts_with("0x"))
    value = in_base(text.substr(2), 16);
  else if (text.starts_with("\xc6\x92"))  // U+0192, as flux prints them
    value = in_base58(text.substr(2));
  else if (text.starts_with("f") && !(value = in_dotted_hex(text)))
    value = in_base58(text.substr(1));
  else if (!(value = in_base(text, 10)))
    value = in_dotted_hex(text);
  if (!value) return fail(Errc::invalid_argument, fmt::format("'{}' is no job id", text));
  return JobId{*value};
}

}  // namespace holon::resource
