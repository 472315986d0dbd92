#include "launch/mpi/part_ranks.hpp"

#include <algorithm>
#include <numeric>

#include "launch/tasks/deal.hpp"

namespace holon::launch {
namespace {

using Ranks = std::vector<std::vector<std::uint32_t>>;

std::vector<std::uint32_t> own_ranks(const msg::Start& start) {
  std::vector<std::uint32_t> ranks;
  for (const msg::Task& task : start.tasks) ranks.push_back(task.rank);
  return ranks;
}

// The ranks of all parts, one after the other.
std::vector<std::uint32_t> all_ranks(const msg::Start& start) {
  std::vector<std::uint32_t> all;
  if (start.dealt.empty()) {
    all.resize(start.ntasks);
    std::iota(all.begin(), all.end(), 0U);
  }
  for (const auto& of_node : deal(start.dealt))
    all.insert(all.end(), of_node.begin(), of_node.end());
  return all;
}

}  // namespace

Result<Ranks> ranks_by_part(const msg::Start& start) {
  const auto misfit = fail(Errc::invalid_argument, "the numbers of tasks do not fit", "part_tasks");
  if (start.part_tasks.empty()) {
    if (start.part != 0) return misfit;
    return Ranks{own_ranks(start)};
  }
  const auto sum = [](const auto& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  };
  if (sum(start.part_tasks) != start.ntasks) return misfit;
  if (!start.dealt.empty() && sum(start.dealt) != start.ntasks) return misfit;
  const auto all = all_ranks(start);
  Ranks ranks;
  auto next = all.begin();
  for (const std::uint32_t tasks : start.part_tasks) {
    ranks.emplace_back(next, next + tasks);
    next += tasks;
  }
  if (start.part >= ranks.size() || ranks[start.part] != own_ranks(start)) return misfit;
  return ranks;
}

std::vector<std::uint32_t> parts_by_rank(const Ranks& ranks) {
  std::vector<std::uint32_t> parts;
  for (std::uint32_t part = 0; part < ranks.size(); ++part)
    for (const std::uint32_t rank : ranks[part]) {
      if (rank >= parts.size()) parts.resize(std::size_t{rank} + 1);
      parts[rank] = part;
    }
  return parts;
}

}  // namespace holon::launch
