#include "instance/request/indices.hpp"

#include <algorithm>
#include <utility>

namespace holon::instance {

Indices::Indices(Idset set) : set_(std::move(set)) {
  before_.reserve(set_.ranges().size());
  std::uint64_t before = 0;
  for (const auto& range : set_.ranges()) {
    before_.push_back(before);
    before += range.last - range.first + 1;
  }
}

std::uint64_t Indices::count() const {
  if (set_.empty()) return 0;
  const auto& last = set_.ranges().back();
  return before_.back() + last.last - last.first + 1;
}

// REQUIRES: there are more than `place` indices.
std::size_t Indices::range_at(std::uint64_t place) const {
  const auto behind = std::upper_bound(before_.begin(), before_.end(), place);
  return static_cast<std::size_t>(behind - before_.begin()) - 1;
}

std::optional<std::uint64_t> Indices::at(std::uint64_t place) const {
  if (place >= count()) return std::nullopt;
  const std::size_t n = range_at(place);
  return set_.ranges()[n].first + (place - before_[n]);
}

std::uint64_t Indices::run_at(std::uint64_t place) const {
  const auto index = at(place);
  return index ? set_.ranges()[range_at(place)].last - *index + 1 : 0;
}

std::optional<std::uint64_t> Indices::place_of(std::uint64_t index) const {
  const auto all = set_.ranges();
  const auto range =
      std::partition_point(all.begin(), all.end(), [&](const auto& r) { return r.last < index; });
  if (range == all.end() || index < range->first) return std::nullopt;
  return before_[static_cast<std::size_t>(range - all.begin())] + (index - range->first);
}

}  // namespace holon::instance
