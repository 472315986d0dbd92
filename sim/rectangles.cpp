#include "sim/rectangles.hpp"

#include <algorithm>
#include <map>
#include <queue>

namespace holon::sim {

namespace {

// Free processors as disjoint ranges: first -> count.
class FreeRanges {
 public:
  explicit FreeRanges(std::int64_t procs) { free_.emplace(0, procs); }

  // Takes up to `wanted` processors from the lowest range; {0, 0} if there is none.
  std::pair<std::int64_t, std::int64_t> take(std::int64_t wanted) {
    if (free_.empty()) return {0, 0};
    const auto [first, count] = *free_.begin();
    const std::int64_t taken = std::min(wanted, count);
    free_.erase(free_.begin());
    if (taken < count) free_.emplace(first + taken, count - taken);
    return {first, taken};
  }

  void give_back(std::int64_t first, std::int64_t count) {
    const auto next = free_.lower_bound(first);
    auto at = free_.emplace_hint(next, first, count);
    if (next != free_.end() && first + count == next->first) {
      at->second += next->second;
      free_.erase(next);
    }
    if (at != free_.begin()) {
      const auto before = std::prev(at);
      if (before->first + before->second == first) {
        before->second += at->second;
        free_.erase(at);
      }
    }
  }

 private:
  std::map<std::int64_t, std::int64_t> free_;
};

std::vector<std::size_t> by_start(const SimResult& result) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < result.jobs.size(); ++i)
    if (result.jobs[i].start) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return *result.jobs[a].start < *result.jobs[b].start;
  });
  return order;
}

}  // namespace

std::vector<Rectangle> rectangles(const Workload& workload, const SimResult& result,
                                  std::int64_t procs) {
  FreeRanges free(procs);
  std::vector<Rectangle> all;
  using End = std::pair<Time, std::size_t>;  // index of a rectangle
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  for (std::size_t i : by_start(result)) {
    const Time start = *result.jobs[i].start;
    for (; !ends.empty() && ends.top().first <= start; ends.pop())
      free.give_back(all[ends.top().second].first, all[ends.top().second].count);
    std::int64_t missing = workload.jobs[i].procs;
    while (missing > 0) {
      const auto [first, count] = free.take(missing);
      if (count == 0) break;  // an overrun in a replay that trusts limits
      ends.emplace(start + workload.jobs[i].run, all.size());
      all.push_back({i, first, count});
      missing -= count;
    }
  }
  return all;
}

}  // namespace holon::sim
