#include "cli/options/indices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/idset.hpp"
#include "instance/request/scheduling_options.hpp"

namespace holon::cli {
namespace {

std::optional<std::int64_t> index_of(std::string_view digits) {
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
  const bool whole = error == std::errc{} && end == digits.data() + digits.size();
  return whole && n >= 0 && n <= instance::kMostIndex ? std::optional(n) : std::nullopt;
}

// Reads "1,3,5-7": ascending, each once; nullopt: not such a list.
std::optional<IndexRange> list_of_indices(const std::string& text, std::int64_t most) {
  const auto list = Idset::parse(text);
  if (!list || list->empty() || list->last() > static_cast<std::uint64_t>(instance::kMostIndex))
    return std::nullopt;
  IndexRange indices;
  indices.count = static_cast<std::int64_t>(list->count());
  indices.max_running = most;
  indices.list = text;
  return indices;
}

// The reason why `word`, which looks like a range, is none; empty: it does not look like one.
// `indices`: the part before '%'.
std::string misfit_of(const std::string& word, const std::string& indices) {
  if (indices.size() < word.size() && index_of(word.substr(indices.size() + 1)) == 0)
    return ": at least one task runs at a time";
  Idset seen;
  for (std::size_t begin = 0; begin <= indices.size();) {
    const std::size_t end = std::min(indices.find(',', begin), indices.size());
    const std::string element = indices.substr(begin, end - begin);
    const auto dash = element.find('-');
    const auto first = index_of(element.substr(0, dash));
    const auto last = dash == std::string::npos ? first : index_of(element.substr(dash + 1));
    if (!first || !last) return {};
    if (*last < *first || (!seen.empty() && seen.last() >= static_cast<std::uint64_t>(*first)))
      return ": indices ascend, each is there once";
    seen.insert(static_cast<std::uint64_t>(*first), static_cast<std::uint64_t>(*last));
    begin = end + 1;
  }
  return {};
}

}  // namespace

Result<IndexRange> parse_indices(const std::string& word) {
  const auto percent = word.find('%');
  const auto most = percent == std::string::npos ? std::optional<std::int64_t>(0)
                                                 : index_of(word.substr(percent + 1));
  const std::string indices = word.substr(0, percent);
  const bool bounded = percent == std::string::npos || (most && *most >= 1);
  if (indices.find(',') != std::string::npos && bounded)
    if (auto list = list_of_indices(indices, *most)) return *list;
  const auto colon = indices.find(':');
  const std::string range = indices.substr(0, colon);
  const auto dash = range.find('-');
  const auto first = index_of(range.substr(0, dash));
  const auto last = dash == std::string::npos ? first : index_of(range.substr(dash + 1));
  const auto step = colon == std::string::npos ? 1 : index_of(indices.substr(colon + 1));
  const bool good = first && last && step && bounded && *first <= *last && *step >= 1 &&
                    (colon == std::string::npos || dash != std::string::npos);
  if (good) return IndexRange{*first, *step, (*last - *first) / *step + 1, *most};
  return fail(Errc::invalid_argument,
              fmt::format("'{}' is no range of indices{}; 7, 1-10, 0-100:2, 1,3,5-7 and 1-10%4 "
                          "(four at a time) are, from 0 to {}",
                          word, misfit_of(word, indices), instance::kMostIndex));
}

}  // namespace holon::cli
