// idset.hpp - a set of small whole numbers as people write it: "0-3,7" (RFC 22).
//
// Kept as ranges, so that "0-1000000" costs as much as "5". A value: copy, compare.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace holon {

class Idset {
 public:
  struct Range {
    std::uint64_t first = 0;
    std::uint64_t last = 0;  // part of the range
    bool operator==(const Range&) const = default;
  };
  static constexpr std::uint64_t kMax = UINT64_MAX / 4;  // the largest id

  // Reads "0-3,7", "[0-3,7]" or "" (empty set). Ids ascend, none twice, no leading zeros. Errors:
  // invalid_argument; where = "character N", from 1.
  static Result<Idset> parse(std::string_view text);

  // REQUIRES: first <= last <= kMax. O(ranges).
  void insert(std::uint64_t first, std::uint64_t last);
  void insert(std::uint64_t id) { insert(id, id); }
  // Removes an id; false: it was not in the set. O(ranges).
  bool erase(std::uint64_t id);

  bool empty() const { return ranges_.empty(); }
  std::uint64_t count() const;
  bool contains(std::uint64_t id) const;  // O(log ranges)
  // REQUIRES: not empty.
  std::uint64_t first() const { return ranges_.front().first; }
  std::uint64_t last() const { return ranges_.back().last; }
  // The ranges, ascending; neither touching nor overlapping.
  std::span<const Range> ranges() const { return ranges_; }
  // All ids, ascending. O(count()): bound it first where the text is not your own.
  std::vector<std::uint64_t> ids() const;

  // The shortest text, without brackets: parse(str()) == *this.
  std::string str() const;

  bool operator==(const Idset&) const = default;

 private:
  std::vector<Range> ranges_;
};

// The ids in both, and the ids in `a` only. O(ranges of both).
Idset common(const Idset& a, const Idset& b);
Idset without(const Idset& a, const Idset& b);

}  // namespace holon
