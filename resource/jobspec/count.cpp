// count.cpp - how many: idsets (RFC 22) and ranges (RFC 45) as text, and which count fits what
// there is.
#include <algorithm>
#include <charconv>
#include <optional>

#include "resource/jobspec/jobspec.hpp"

namespace holon::resource {
namespace {

constexpr std::size_t kMaxListed = 65'536;  // counts an idset may list

struct Cursor {
  std::string_view left;

  bool skip(char c) {
    if (left.empty() || left.front() != c) return false;
    left.remove_prefix(1);
    return true;
  }
  std::optional<std::int64_t> number() {
    std::int64_t value = 0;
    const auto [at, error] = std::from_chars(left.data(), left.data() + left.size(), value);
    if (error != std::errc() || value < 1 || value > kMaxCount) return std::nullopt;
    left.remove_prefix(static_cast<std::size_t>(at - left.data()));
    return value;
  }
};

tl::unexpected<Error> bad(std::string_view text, std::string why) {
  return fail(Errc::invalid_argument,
              "count \"" + std::string(text.substr(0, 80)) + "\": " + why +
                  "; accepted: a number from 1 to 4294967295, a list like 2,4,8 or 1-3,7, a range "
                  "like 2-16, 2-16:2:* or 3+");
}

// Reads "a" or "a-b", both ends included. The caller has looked for ',' and so on.
bool take_part(Cursor& cursor, std::vector<std::int64_t>& values) {
  const auto first = cursor.number();
  if (!first || (!values.empty() && *first <= values.back())) return false;
  auto last = first;
  if (cursor.skip('-')) last = cursor.number();
  if (!last || *last < *first) return false;
  if (static_cast<std::size_t>(*last - *first) >= kMaxListed - values.size()) return false;
  for (std::int64_t value = *first; value <= *last; ++value) values.push_back(value);
  return true;
}

Result<Count> parse_list(std::string_view text, Cursor cursor) {
  Count count;
  do {
    if (!take_part(cursor, count.values))
      return bad(text, "not an ascending list of at most 65536 numbers");
  } while (cursor.skip(','));
  if (!cursor.left.empty()) return bad(text, "unexpected text in a list");
  count.min = count.values.front();
  count.max = count.values.back();
  return count;
}

Result<Count> parse_range(std::string_view text, Cursor cursor) {
  Count count;
  const auto min = cursor.number();
  if (!min) return bad(text, "no number");
  count.min = count.max = *min;
  if (cursor.skip('+')) {
    count.max = Count::kUnbounded;
  } else if (cursor.skip('-')) {
    const auto max = cursor.number();
    if (!max || *max < *min) return bad(text, "the end is below the begin");
    count.max = *max;
  }
  if (cursor.left.empty()) return count;
  if (count.max == count.min || !cursor.skip(':')) return bad(text, "unexpected text");
  const auto operand = cursor.number();
  if (!operand) return bad(text, "the operand is no number");
  count.operand = *operand;
  if (cursor.skip(':')) {
    if (cursor.left.size() != 1) return bad(text, "the operator is one of + * ^");
    count.op = cursor.left.front();
    cursor.left.remove_prefix(1);
  }
  if (!cursor.left.empty()) return bad(text, "unexpected text");
  if (auto valid = check_count(count); !valid) return bad(text, valid.error().what);
  return count;
}

// The next count: current, operator, operand; saturating.
std::int64_t next_count(const Count& count, std::int64_t current) {
  const auto times = [](std::int64_t a, std::int64_t b) {
    return a > Count::kUnbounded / b ? Count::kUnbounded : a * b;
  };
  if (count.op == '*') return times(current, count.operand);
  std::int64_t power = current;
  for (std::int64_t i = 1; i < count.operand && power != Count::kUnbounded; ++i)
    power = times(power, current);
  return power;
}

}  // namespace

Status check_count(const Count& count) {
  const auto wrong = [](const char* what) { return fail(Errc::invalid_argument, what); };
  if (count.min < 1) return wrong("min must be at least 1");
  if (count.max < count.min) return wrong("max must not be below min");
  if (count.op != '+' && count.op != '*' && count.op != '^')
    return wrong("the operator is one of + * ^");
  if (count.operand < (count.op == '+' ? 1 : 2))
    return wrong("the operand must be at least 1 for +, 2 for * and ^");
  if (count.op == '^' && count.min < 2) return wrong("min must be at least 2 for ^");
  return {};
}

Result<Count> parse_count(std::string_view text) {
  std::string_view inner = text;
  if (inner.size() >= 2 && inner.front() == '[' && inner.back() == ']')
    inner = inner.substr(1, inner.size() - 2);
  if (inner.find(',') != std::string_view::npos) return parse_list(text, Cursor{inner});
  return parse_range(text, Cursor{inner});
}

std::int64_t largest_count(const Count& count, std::int64_t available) {
  if (!count.values.empty()) {
    const auto above = std::upper_bound(count.values.begin(), count.values.end(), available);
    return above == count.values.begin() ? 0 : *(above - 1);
  }
  if (count.min > count.max || count.min > available) return 0;
  const std::int64_t limit = std::min(available, count.max);
  if (count.op == '+') return limit - (limit - count.min) % count.operand;
  std::int64_t best = count.min;
  if (count.operand < 2 || best < (count.op == '^' ? 2 : 1)) return best;
  for (auto next = next_count(count, best); next <= limit && next != Count::kUnbounded;
       next = next_count(count, best))
    best = next;
  return best;
}

}  // namespace holon::resource
