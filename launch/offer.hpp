// offer.hpp - offers fewer cores than a process may run on, if a number of cores was granted and
// not a set of CPUs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/result.hpp"

namespace holon::launch {

struct Offer {
  std::size_t cores = 0;  // cores that stay
  std::size_t of = 0;     // cores that this process could use

  bool operator==(const Offer&) const = default;
};

// Binds this process, and with it what it starts, to the first of the cores it may use:
// `most_cores` cores, of `most_cpus` hardware threads together; at least one core. CPUs granted by
// number count only if nothing has bound this process yet: a binding is more exact. nullopt:
// nothing was to be cut. Errors: as Node::discover, and those of binding.
Result<std::optional<Offer>> keep_first_cores(std::optional<std::uint64_t> most_cores,
                                              std::optional<std::uint64_t> most_cpus);

}  // namespace holon::launch
