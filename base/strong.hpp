// strong.hpp - integers that cannot be mixed up: Strong<struct JobIdTag, std::uint64_t>.
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace holon {

template <class Tag, class Rep = std::uint64_t>
class Strong {
 public:
  using rep = Rep;
  constexpr Strong() = default;
  constexpr explicit Strong(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  constexpr auto operator<=>(const Strong&) const = default;

 private:
  Rep value_{};
};

// The number of a job within its instance: 1, 2, 3, ... A path such as /3/7 is made of these. 0 is
// no job.
using JobId = Strong<struct JobIdTag, std::uint64_t>;

}  // namespace holon

template <class Tag, class Rep>
struct std::hash<holon::Strong<Tag, Rep>> {
  std::size_t operator()(const holon::Strong<Tag, Rep>& id) const noexcept {
    return std::hash<Rep>{}(id.value());
  }
};
