#include "base/hostlist.hpp"

#include <algorithm>
#include <charconv>

namespace holon {
namespace {

// Longer numbers are part of the name: they would not fit an integer.
constexpr std::size_t kMaxDigits = 18;

tl::unexpected<Error> wrong_hostlist(std::size_t at, std::string what) {
  return fail(Errc::invalid_argument, std::move(what), "character " + std::to_string(at + 1));
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::size_t digits_at_end(std::string_view text) {
  std::size_t count = 0;
  while (count < text.size() && is_digit(text[text.size() - 1 - count])) ++count;
  return count;
}

// Reads all of `text` as a number.
std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.size() > kMaxDigits)
    return std::nullopt;
  return value;
}

// The width that `digits` must be filled up to; 0 where they are as short as can be.
unsigned padding(std::string_view digits) {
  return digits.size() > 1 && digits[0] == '0' ? static_cast<unsigned>(digits.size()) : 0;
}

// The place of the comma, or the end, behind the name at `at`; commas in brackets do not count.
std::size_t end_of_name(std::string_view text, std::size_t at) {
  bool inside = false;
  for (; at < text.size(); ++at) {
    if (text[at] == '[') inside = true;
    if (text[at] == ']') inside = false;
    if (text[at] == ',' && !inside) break;
  }
  return at;
}

}  // namespace

std::string Hostlist::Part::number(std::uint64_t n) const {
  std::string digits = std::to_string(n);
  if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return digits;
}

std::string Hostlist::Part::host(std::uint64_t n) const {
  return numbered ? prefix + number(n) + suffix : prefix;
}

Result<Hostlist> Hostlist::parse(std::string_view text) {
  Hostlist list;
  if (text.empty()) return list;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = end_of_name(text, at);
    if (end == at) return wrong_hostlist(at, "a host name is expected");
    if (auto status = parse_name(text.substr(at, end - at), at, list); !status)
      return tl::unexpected(status.error());
    at = end + 1;
  }
  return list;
}

Status Hostlist::parse_name(std::string_view text, std::size_t at, Hostlist& list) {
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']');
  if (open == text.npos && close == text.npos) {
    list.append(text);
    return {};
  }
  if (open == text.npos || close == text.npos || close < open)
    return wrong_hostlist(at, "brackets do not match");
  const auto suffix = text.substr(close + 1);
  if (suffix.find_first_of("[]") != suffix.npos)
    return wrong_hostlist(at + close + 1, "a name has one bracket only");
  std::string_view inner = text.substr(open + 1, close - open - 1);
  std::size_t where = at + open + 1;
  std::optional<unsigned> width;
  for (;;) {
    const auto piece = inner.substr(0, inner.find(','));
    const auto dash = piece.find('-');
    const auto low = piece.substr(0, dash);
    const auto first = number(low);
    const auto last = dash == piece.npos ? first : number(piece.substr(dash + 1));
    if (!first || !last) return wrong_hostlist(where, "a number or a range is expected");
    if (*last < *first) return wrong_hostlist(where, "a range must ascend");
    if (!width) width = padding(low);
    list.add(Part{std::string{text.substr(0, open)}, std::string{suffix}, true,
                  std::max(*width, padding(low)), *first, *last});
    if (piece.size() == inner.size()) return {};
    where += piece.size() + 1;
    inner.remove_prefix(piece.size() + 1);
  }
}

void Hostlist::append(std::string_view host) {
  const std::size_t digits = digits_at_end(host);
  if (digits == 0 || digits > kMaxDigits) {
    add(Part{std::string{host}, {}, false, 0, 0, 0});
    return;
  }
  const auto text = host.substr(host.size() - digits);
  const std::uint64_t n = *number(text);
  add(Part{std::string{host.substr(0, host.size() - digits)}, {}, true, padding(text), n, n});
}

void Hostlist::append(const Hostlist& other) {
  const std::vector<Part> parts = other.parts_;  // `other` may be *this
  for (const Part& part : parts) add(part);
}

void Hostlist::add(Part part) {
  if (!parts_.empty() && part.numbered) {
    Part& last = parts_.back();
    // 08, 09 and 10 go together although 10 needs no zero.
    const bool follows = last.numbered && last.prefix == part.prefix &&
                         last.suffix == part.suffix && part.first == last.last + 1;
    if (follows && last.number(part.first) == part.number(part.first) &&
        last.number(part.last) == part.number(part.last)) {
      last.last = part.last;
      return;
    }
  }
  parts_.push_back(std::move(part));
}

std::uint64_t Hostlist::count() const {
  std::uint64_t sum = 0;
  for (const Part& part : parts_) sum += std::min(part.count(), UINT64_MAX - sum);
  return sum;
}

std::string Hostlist::at(std::uint64_t n) const {
  auto part = parts_.begin();
  for (; n >= part->count(); ++part) n -= part->count();
  return part->host(part->first + n);
}

std::optional<std::uint64_t> Hostlist::find(std::string_view host) const {
  std::uint64_t before = 0;
  for (const Part& part : parts_) {
    if (!part.numbered) {
      if (part.prefix == host) return before;
    } else if (host.size() > part.prefix.size() + part.suffix.size() &&
               host.starts_with(part.prefix) && host.ends_with(part.suffix)) {
      const auto digits =
          host.substr(part.prefix.size(), host.size() - part.prefix.size() - part.suffix.size());
      const auto n = number(digits);
      if (n && *n >= part.first && *n <= part.last && part.number(*n) == digits)
        return before + (*n - part.first);
    }
    before += part.count();
  }
  return std::nullopt;
}

std::vector<std::string> Hostlist::hosts() const {
  std::vector<std::string> all;
  all.reserve(count());
  for (const Part& part : parts_)
    for (std::uint64_t n = part.first; n <= part.last; ++n) all.push_back(part.host(n));
  return all;
}

std::string Hostlist::str() const {
  std::string text;
  for (auto part = parts_.begin(); part != parts_.end();) {
    const auto same = [&](const Part& p) {
      return p.numbered && part->numbered && p.prefix == part->prefix && p.suffix == part->suffix &&
             p.number(p.first) == part->number(p.first) && p.number(p.last) == part->number(p.last);
    };
    auto end = std::find_if_not(part + 1, parts_.end(), same);
    if (!text.empty()) text += ',';
    const bool bracket =
        part->numbered && (end - part > 1 || part->first != part->last || !part->suffix.empty());
    if (!bracket) {
      text += part->host(part->first);
      ++part;
      continue;
    }
    text += part->prefix + '[';
    for (auto p = part; p != end; ++p) {
      if (p != part) text += ',';
      text += p->number(p->first);
      if (p->last > p->first) text += '-' + p->number(p->last);
    }
    text += ']' + part->suffix;
    part = end;
  }
  return text;
}

}  // namespace holon
