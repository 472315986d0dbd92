#include "base/idset.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace holon {
namespace {

tl::unexpected<Error> wrong_idset(std::size_t at, std::string what) {
  return fail(Errc::invalid_argument, std::move(what), "character " + std::to_string(at + 1));
}

// Reads numbers and separators from the front of a text.
class IdsetReader {
 public:
  IdsetReader(std::string_view text, std::size_t begin) : text_(text), at_(begin) {}

  std::size_t at() const { return at_; }
  bool done() const { return at_ == text_.size(); }

  bool take(char c) {
    if (done() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::optional<std::uint64_t> number() {
    std::uint64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    const bool leading_zero = end - begin > 1 && *begin == '0';
    if (error != std::errc{} || leading_zero || value > Idset::kMax) return std::nullopt;
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

 private:
  std::string_view text_;
  std::size_t at_;
};

}  // namespace

Result<Idset> Idset::parse(std::string_view text) {
  Idset set;
  std::size_t begin = 0;
  if (text.starts_with('[')) {
    if (!text.ends_with(']')) return wrong_idset(text.size(), "']' is missing");
    text.remove_suffix(1);
    begin = 1;
  }
  if (begin == text.size()) return set;
  IdsetReader reader(text, begin);
  do {
    const std::size_t at = reader.at();
    const auto first = reader.number();
    if (!first) return wrong_idset(at, "an id is expected: a whole number without leading zeros");
    auto last = first;
    if (reader.take('-') && !(last = reader.number()))
      return wrong_idset(reader.at(), "the last id of a range is expected");
    if (*last < *first) return wrong_idset(at, "a range must ascend");
    if (!set.empty() && *first <= set.last()) return wrong_idset(at, "ids must ascend, none twice");
    set.insert(*first, *last);
  } while (reader.take(','));
  if (!reader.done()) return wrong_idset(reader.at(), "',' or the end is expected");
  return set;
}

void Idset::insert(std::uint64_t first, std::uint64_t last) {
  // Ranges that overlap or touch [first, last] become one.
  auto begin = std::partition_point(ranges_.begin(), ranges_.end(),
                                    [&](const Range& r) { return r.last + 1 < first; });
  auto end = begin;
  for (; end != ranges_.end() && end->first <= last + 1; ++end) {
    first = std::min(first, end->first);
    last = std::max(last, end->last);
  }
  if (begin == end) {
    ranges_.insert(begin, Range{first, last});
  } else {
    *begin = Range{first, last};
    ranges_.erase(begin + 1, end);
  }
}

bool Idset::erase(std::uint64_t id) {
  auto range = std::partition_point(ranges_.begin(), ranges_.end(),
                                    [&](const Range& r) { return r.last < id; });
  if (range == ranges_.end() || id < range->first) return false;
  const Range old = *range;
  if (old.first == old.last) {
    ranges_.erase(range);
  } else if (id == old.first) {
    range->first = id + 1;
  } else if (id == old.last) {
    range->last = id - 1;
  } else {
    range->last = id - 1;
    ranges_.insert(range + 1, Range{id + 1, old.last});
  }
  return true;
}

std::uint64_t Idset::count() const {
  std::uint64_t sum = 0;
  for (const Range& range : ranges_) sum += range.last - range.first + 1;
  return sum;
}

bool Idset::contains(std::uint64_t id) const {
  const auto range = std::partition_point(ranges_.begin(), ranges_.end(),
                                          [&](const Range& r) { return r.last < id; });
  return range != ranges_.end() && range->first <= id;
}

std::vector<std::uint64_t> Idset::ids() const {
  std::vector<std::uint64_t> all;
  all.reserve(count());
  for (const Range& range : ranges_)
    for (std::uint64_t id = range.first; id <= range.last; ++id) all.push_back(id);
  return all;
}

std::string Idset::str() const {
  std::string text;
  for (const Range& range : ranges_) {
    if (!text.empty()) text += ',';
    text += std::to_string(range.first);
    if (range.last > range.first) text += '-' + std::to_string(range.last);
  }
  return text;
}

namespace {

// The first range that ends at `id` or behind it.
auto first_from(std::span<const Idset::Range> ranges, std::uint64_t id) {
  return std::partition_point(ranges.begin(), ranges.end(),
                              [id](const Idset::Range& range) { return range.last < id; });
}

}  // namespace

Idset common(const Idset& a, const Idset& b) {
  Idset both;
  if (a.empty() || b.empty()) return both;
  auto x = first_from(a.ranges(), b.first());
  for (const auto& range : b.ranges()) {
    while (x != a.ranges().end() && x->last < range.first) ++x;
    for (auto y = x; y != a.ranges().end() && y->first <= range.last; ++y)
      both.insert(std::max(y->first, range.first), std::min(y->last, range.last));
  }
  return both;
}

Idset without(const Idset& a, const Idset& b) {
  Idset rest;
  if (a.empty()) return rest;
  auto cut = first_from(b.ranges(), a.first());
  for (const auto& range : a.ranges()) {
    std::uint64_t from = range.first;
    while (cut != b.ranges().end() && cut->last < range.first) ++cut;
    auto next = cut;
    for (; next != b.ranges().end() && next->first <= range.last && from <= range.last; ++next) {
      if (next->first > from) rest.insert(from, next->first - 1);
      from = next->last + 1;
    }
    if (from <= range.last) rest.insert(from, range.last);
  }
  return rest;
}

}  // namespace holon
