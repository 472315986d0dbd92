// As much of Lua's lexer as it takes to find operators and words outside of texts and comments.
#include "policy/line_costs.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string>
#include <utility>

#include "policy/library.hpp"

namespace holon::policy {
namespace {

constexpr std::int64_t kStepsPerLoop = 20;  // limits of a loop that are short texts

// Words that are not within an expression, except in the body of a function, which costs more than
// the operators around it.
constexpr std::array<std::string_view, 12> kBetweenChains = {
    "do", "else",  "elseif", "end",    "for",  "function",
    "if", "local", "repeat", "return", "then", "while"};

bool starts_word(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// The token read last, as far as it tells what the next one is.
enum class Token : std::uint8_t {
  opening,  // an expression begins behind it: "=", "(", ",", "{", return
  literal,  // a text in quotes that is an operand by itself
  joining,  // ".."
  length,   // "#"
  other,
};

// The head of a loop whose `do` is still to come.
enum class Head : std::uint8_t { other, numbers, dear };

class LineReader {
  static constexpr std::size_t kMany = 1'000'000;

 public:
  explicit LineReader(std::string_view text) : text_(text) {}

  std::vector<LineCost> counted() {
    while (at_ < text_.size()) read_one();
    end_chain();
    return std::move(costs_);
  }

 private:
  char ahead(std::size_t n) const { return at_ + n < text_.size() ? text_[at_ + n] : '\0'; }
  bool stands(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  void skip(std::size_t n) { at_ = std::min(at_ + n, text_.size()); }
  void skip(std::size_t n, Token token) {
    skip(n);
    last_ = token;
  }

  LineCost& cost_of(std::size_t line) {
    if (costs_.size() <= line) costs_.resize(line + 1);
    return costs_[line];
  }

  void end_chain() {
    chain_.erase(std::unique(chain_.begin(), chain_.end()), chain_.end());
    for (const std::size_t line : chain_) cost_of(line).joins += operands_ * kStepsPerNumberText;
    chain_.clear();
    operands_ = 0;
  }

  void read_one() {
    const char c = text_[at_];
    if (c == '\n' || c == '\r') return end_line();
    if (std::isspace(static_cast<unsigned char>(c)) != 0) return skip(1);
    if (stands("--")) return skip_comment();
    if (c == '"' || c == '\'') return skip_quoted(c);
    if (const std::size_t letters = bracket(); letters > 0) {
      note_text();
      return skip_bracketed(letters);
    }
    if (starts_word(c)) return read_word();
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) return skip_number();
    if (stands("...")) return skip(3, Token::other);
    if (stands("..")) return read_join();
    if (c == '=') return read_equals();
    // Two letters at once, so that their '=' is not taken for an assignment's.
    if (stands("~=") || stands("<=") || stands(">=")) return skip(2, Token::other);
    const bool opens = c == '(' || c == ',' || c == '{';
    skip(1, opens ? Token::opening : c == '#' ? Token::length : Token::other);
  }

  // Each operator has two operands that may be numbers; a text in quotes is none.
  void read_join() {
    operands_ += last_ == Token::literal ? 1 : 2;
    chain_.push_back(line_);
    skip(2, Token::joining);
  }

  // Notes a text, the next token. f"..." is a call, and may give a number.
  void note_text() {
    if (last_ == Token::joining) --operands_;
    last_ = last_ == Token::joining || last_ == Token::opening ? Token::literal : Token::other;
    limit_is_no_number();
  }

  void limit_is_no_number() {
    if (!heads_.empty() && heads_.back() == Head::numbers) heads_.back() = Head::dear;
  }

  // Ends a line; "\r\n" and "\n\r" are one end, as Lua counts lines.
  void end_line() {
    const char other = text_[at_] == '\n' ? '\r' : '\n';
    skip(ahead(1) == other ? 2 : 1);
    ++line_;
  }

  void skip_or_end_line() {
    if (text_[at_] == '\n' || text_[at_] == '\r')
      end_line();
    else
      skip(1);
  }

  void skip_comment() {
    skip(2);
    if (const std::size_t letters = bracket(); letters > 0) return skip_bracketed(letters);
    while (at_ < text_.size() && text_[at_] != '\n' && text_[at_] != '\r') ++at_;
  }

  void skip_quoted(char quote) {
    note_text();
    skip(1);
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] == '\\') skip(1);
      if (at_ < text_.size()) skip_or_end_line();
    }
    skip(1);
  }

  // Letters of the "[[" or "[==[" at this place, or 0.
  std::size_t bracket() const {
    if (ahead(0) != '[') return 0;
    std::size_t n = 1;
    while (ahead(n) == '=') ++n;
    return ahead(n) == '[' ? n + 1 : 0;
  }

  void skip_bracketed(std::size_t letters) {
    const std::string close = "]" + std::string(letters - 2, '=') + "]";
    skip(letters);
    while (at_ < text_.size() && !stands(close)) skip_or_end_line();
    skip(close.size());
  }

  // Skips a number; Lua takes the points behind it for a part of it.
  void skip_number() {
    while (is_in_word(ahead(0)) || ahead(0) == '.') skip(1);
    last_ = Token::other;
  }

  void read_word() {
    const std::size_t begin = at_;
    while (is_in_word(ahead(0))) skip(1);
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (std::find(kBetweenChains.begin(), kBetweenChains.end(), word) != kBetweenChains.end())
      end_chain();
    const bool is_length = std::exchange(last_, Token::other) == Token::length;
    if (word == "return") last_ = Token::opening;
    words_since_for_ = word == "for" ? 0 : words_since_for_ + 1;
    if (word == "for" || word == "while") {
      heads_.push_back(Head::other);
    } else if (word != "do") {
      if (!is_length) limit_is_no_number();
    } else if (!heads_.empty()) {
      if (heads_.back() == Head::dear) cost_of(line_).loops += kStepsPerLoop;
      heads_.pop_back();
    }
  }

  // An '=' within an expression stands in a table, which costs more than the operators around it.
  void read_equals() {
    if (ahead(1) == '=') return skip(2, Token::other);
    end_chain();
    if (words_since_for_ == 1 && !heads_.empty()) heads_.back() = Head::numbers;
    words_since_for_ = kMany;
    skip(1, Token::opening);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 0;
  Token last_ = Token::other;
  std::vector<std::size_t> chain_;  // lines of the operators of the chain being read
  std::int64_t operands_ = 0;       // of the chain
  std::vector<Head> heads_;
  std::size_t words_since_for_ = kMany;
  std::vector<LineCost> costs_;
};

}  // namespace

std::vector<LineCost> line_costs(std::string_view text) {
  return LineReader(text).counted();
}

}  // namespace holon::policy
