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

// All runs, those that were lost before the last one of their job.
std::vector<Rectangle> runs_by_start(const Workload& workload, const SimResult& result) {
  std::vector<Rectangle> runs;
  for (std::size_t i = 0; i < result.jobs.size(); ++i) {
    for (const Interval& lost : result.jobs[i].lost) runs.push_back({i, 0, 0, lost, true});
    if (const auto start = result.jobs[i].start)
      runs.push_back({i, 0, 0, {*start, *start + workload.jobs[i].run}, false});
  }
  std::stable_sort(runs.begin(), runs.end(), [](const Rectangle& a, const Rectangle& b) {
    return a.run.begin < b.run.begin;
  });
  return runs;
}

}  // namespace

std::vector<Rectangle> rectangles(const Workload& workload, const SimResult& result,
                                  std::int64_t procs) {
  FreeRanges free(procs);
  std::vector<Rectangle> all;
  using End = std::pair<Time, std::size_t>;  // index of a rectangle
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  for (Rectangle& run : runs_by_start(workload, result)) {
    for (; !ends.empty() && ends.top().first <= run.run.begin; ends.pop())
      free.give_back(all[ends.top().second].first, all[ends.top().second].count);
    std::int64_t missing = workload.jobs[run.job].procs;
    while (missing > 0) {
      const auto [first, count] = free.take(missing);
      if (count == 0) break;  // an overrun in a replay that trusts limits
      ends.emplace(run.run.end, all.size());
      run.first = first, run.count = count;
      all.push_back(run);
      missing -= count;
    }
  }
  return all;
}

}  // namespace holon::sim
