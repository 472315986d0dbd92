#include "launch/offer.hpp"

#include <unistd.h>

#include <limits>

#include "launch/node.hpp"

namespace holon::launch {

Result<std::optional<Offer>> keep_first_cores(std::optional<std::uint64_t> most_cores,
                                              std::optional<std::uint64_t> most_cpus) {
  const auto mine = CpuMask::current();
  if (!mine) return tl::unexpected(mine.error());
  const auto online = static_cast<std::uint64_t>(sysconf(_SC_NPROCESSORS_ONLN));
  constexpr auto kAll = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t cpus = mine->count() < online ? kAll : most_cpus.value_or(kAll);
  const std::uint64_t cores = most_cores.value_or(kAll);
  if (cpus >= mine->count() && cores >= mine->count()) return std::nullopt;
  const auto node = Node::discover("");
  if (!node) return tl::unexpected(node.error());
  Idset kept;
  CpuMask mask;
  for (std::uint64_t core = 0; core < node->cores() && core < cores; ++core) {
    Idset one;
    one.insert(core);
    CpuMask more = mask;
    more.add(*node->cpus_of(one));
    if (core > 0 && more.count() > cpus) break;
    mask = more;
    kept.insert(core);
  }
  if (kept.count() == node->cores()) return std::nullopt;
  if (auto bound = mask.apply(); !bound) return tl::unexpected(bound.error());
  return Offer{static_cast<std::size_t>(kept.count()), node->cores()};
}

}  // namespace holon::launch
