#include "batch/hosts.hpp"

#include <fmt/core.h>

#include <charconv>
#include <unordered_map>

namespace holon::batch {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

// A recursive descent over
//   list    = name *("," name)
//   name    = 1*(text / bracket)
//   bracket = "[" item *("," item) "]"
//   item    = number / number "-" number / name
class HostExpression {
 public:
  explicit HostExpression(std::string_view text) : text_(text) {}

  Result<std::vector<std::string>> read() {
    auto hosts = list(false);
    if (hosts && at_ < text_.size()) return wrong("a ',' or the end is expected");
    return hosts;
  }

 private:
  using Names = std::vector<std::string>;

  tl::unexpected<Error> wrong(std::string what) const {
    return fail(Errc::invalid_argument, std::move(what), fmt::format("character {}", at_ + 1));
  }
  bool is_at(char c) const { return at_ < text_.size() && text_[at_] == c; }

  Result<Names> list(bool in_bracket) {
    Names all;
    for (;;) {
      auto some = in_bracket ? item() : name();
      if (!some) return some;
      for (auto& one : *some) all.push_back(std::move(one));
      if (all.size() > kMaxNodes)
        return fail(Errc::out_of_range, fmt::format("more than {} nodes", kMaxNodes));
      if (!is_at(',')) return all;
      ++at_;
    }
  }

  Result<Names> name() {
    constexpr int kMaxDepth = 16;
    if (++depth_ > kMaxDepth) return wrong("brackets stand too deep in brackets");
    Names names = {""};
    const std::size_t begin = at_;
    while (at_ < text_.size() && !is_at(',') && !is_at(']')) {
      Result<Names> piece = Names{std::string(1, text_[at_])};
      if (is_at('[')) {
        ++at_;
        piece = list(true);
        if (piece && !is_at(']')) return wrong("a ']' is expected");
      }
      if (!piece) return piece;
      ++at_;
      names = product(names, *piece);
      if (names.size() > kMaxNodes)
        return fail(Errc::out_of_range, fmt::format("more than {} nodes", kMaxNodes));
    }
    --depth_;
    if (at_ == begin) return wrong("a host name is expected");
    return names;
  }

  static Names product(const Names& left, const Names& right) {
    if (right.size() == 1) {
      Names longer = left;
      for (auto& name : longer) name += right[0];
      return longer;
    }
    Names all;
    if (left.size() * right.size() > kMaxNodes) return Names(kMaxNodes + 1);
    all.reserve(left.size() * right.size());
    for (const auto& a : left)
      for (const auto& b : right) all.push_back(a + b);
    return all;
  }

  // Within a bracket: a number, a range, or a name with brackets of its own.
  Result<Names> item() {
    const std::size_t end = text_.find_first_of(",[]", at_);
    if (end == text_.npos || text_[end] == '[') return name();
    const auto word = text_.substr(at_, end - at_);
    const auto dash = word.find('-');
    const auto low = word.substr(0, dash);
    const auto first = whole_number(low);
    const auto last = dash == word.npos ? first : whole_number(word.substr(dash + 1));
    if (!first || !last) return wrong("a number or a range is expected");
    if (*last < *first) return wrong("a range must ascend");
    if (*last - *first >= kMaxNodes)
      return fail(Errc::out_of_range, fmt::format("more than {} nodes", kMaxNodes));
    at_ = end;
    Names names;
    for (std::uint64_t n = *first; n <= *last; ++n)
      names.push_back(fmt::format("{:0{}}", n, low.size()));
    return names;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

void add_cpus(std::vector<Node>& nodes, std::unordered_map<std::string, std::size_t>& places,
              std::string_view name, std::uint64_t cpus) {
  const auto [place, is_new] = places.emplace(std::string(name), nodes.size());
  if (is_new) nodes.push_back({std::string(name), 0});
  nodes[place->second].cpus += cpus;
}

}  // namespace

Result<std::vector<std::string>> expand_hosts(std::string_view text) {
  if (text.empty()) return std::vector<std::string>();
  return HostExpression(text).read();
}

Result<std::vector<std::uint64_t>> expand_counts(std::string_view text) {
  std::vector<std::uint64_t> counts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const auto word = text.substr(at, end - at);
    const auto open = word.find("(x");
    const auto count = whole_number(word.substr(0, open));
    Result<std::uint64_t> times = 1;
    if (open != word.npos) {
      const bool closed = word.ends_with(')');
      times = closed ? whole_number(word.substr(open + 2, word.size() - open - 3))
                     : fail(Errc::invalid_argument, "");
    }
    if (!count || !times)
      return fail(Errc::invalid_argument, fmt::format("'{}' is no count like 4 or 4(x2)", word),
                  fmt::format("character {}", at + 1));
    if (*times > kMaxNodes || counts.size() + *times > kMaxNodes)
      return fail(Errc::out_of_range, fmt::format("more than {} nodes", kMaxNodes));
    counts.insert(counts.end(), *times, *count);
    at = end + 1;
  }
  return counts;
}

std::vector<Node> count_lines(std::string_view file) {
  std::vector<Node> nodes;
  std::unordered_map<std::string, std::size_t> places;
  for (const auto line : lines_of(file)) add_cpus(nodes, places, words_of(line)[0], 1);
  return nodes;
}

Result<std::vector<Node>> read_pairs(std::string_view text, std::size_t columns) {
  std::vector<Node> nodes;
  std::unordered_map<std::string, std::size_t> places;
  const auto words = words_of(text);
  for (std::size_t i = 0; i < words.size(); i += columns) {
    const auto cpus = i + 1 < words.size() ? whole_number(words[i + 1])
                                           : fail(Errc::invalid_argument, "no number");
    if (!cpus)
      return fail(Errc::invalid_argument,
                  fmt::format("a number of slots is expected behind the node '{}'", words[i]));
    add_cpus(nodes, places, words[i], *cpus);
  }
  return nodes;
}

bool is_same_host(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const bool is_short_a = a.find('.') == a.npos, is_short_b = b.find('.') == b.npos;
  if (is_short_a == is_short_b || a.empty() || b.empty()) return false;
  return a.substr(0, a.find('.')) == b.substr(0, b.find('.'));
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = text.find_first_not_of(kBlanks); at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(kBlanks, end);
  }
  return words;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    auto line = text.substr(at, end - at);
    at = end + 1;
    const auto first = line.find_first_not_of(kBlanks);
    if (first == line.npos) continue;
    lines.push_back(line.substr(first, line.find_last_not_of(kBlanks) - first + 1));
  }
  return lines;
}

Result<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size() || text.empty())
    return fail(Errc::invalid_argument, fmt::format("'{}' is no whole number", text));
  return value;
}

}  // namespace holon::batch
