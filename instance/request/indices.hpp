// indices.hpp - the indices of an array's tasks, where they are listed: which one stands at a
// place.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/idset.hpp"

namespace holon::instance {

// Ascending, with as much beside them as lets each be found by its place.
class Indices {
 public:
  Indices() = default;
  Indices(Idset set);  // NOLINT(google-explicit-constructor): it is that set

  const Idset& set() const { return set_; }
  bool empty() const { return set_.empty(); }
  std::uint64_t count() const;
  std::span<const Idset::Range> ranges() const { return set_.ranges(); }
  std::string str() const { return set_.str(); }

  // nullopt: there are not so many. O(log ranges).
  std::optional<std::uint64_t> at(std::uint64_t place) const;
  // So many from this place on are consecutive; 0: there are not so many. O(log ranges).
  std::uint64_t run_at(std::uint64_t place) const;
  // nullopt: it is none of them. O(log ranges).
  std::optional<std::uint64_t> place_of(std::uint64_t index) const;

 private:
  std::size_t range_at(std::uint64_t place) const;

  Idset set_;
  std::vector<std::uint64_t> before_;  // so many stand before each range
};

}  // namespace holon::instance
