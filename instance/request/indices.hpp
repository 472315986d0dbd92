// indices.hpp - the indices of an array's tasks, if they are a list: which index is at which place.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/idset.hpp"

namespace holon::instance {

// A set of indices with what it takes to find each by its place, in ascending order.
class Indices {
 public:
  Indices() = default;
  Indices(Idset set);  // NOLINT(google-explicit-constructor): it is that set

  const Idset& set() const { return set_; }
  bool empty() const { return set_.empty(); }
  std::uint64_t count() const;
  std::span<const Idset::Range> ranges() const { return set_.ranges(); }
  std::string str() const { return set_.str(); }

  // The index at this place; nullopt: there are fewer. O(log ranges).
  std::optional<std::uint64_t> at(std::uint64_t place) const;
  // How many indices from this place on are consecutive; 0: there are fewer. O(log ranges).
  std::uint64_t run_at(std::uint64_t place) const;
  // The place of this index; nullopt: it is not in the list. O(log ranges).
  std::optional<std::uint64_t> place_of(std::uint64_t index) const;

 private:
  std::size_t range_at(std::uint64_t place) const;

  Idset set_;
  std::vector<std::uint64_t> before_;  // how many indices are before each range
};

}  // namespace holon::instance
