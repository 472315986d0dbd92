#include "sim/series.hpp"

#include <algorithm>
#include <map>
#include <queue>

namespace holon::sim {

namespace {

// Adds `height` over [begin, end) to the means of the slices.
class Accumulator {
 public:
  Accumulator(Time begin, Time end, std::size_t slices)
      : begin_(static_cast<double>(begin)),
        width_(std::max(1.0, static_cast<double>(end - begin)) / static_cast<double>(slices)),
        slope_(slices + 1),
        partial_(slices) {}

  // Adds whole slices in between as a step up and a step down; only the two at the ends are counted
  // one by one.
  void add(Time from, Time to, double height) {
    if (to <= from) return;
    const double left = (static_cast<double>(from) - begin_) / width_;
    const double right = (static_cast<double>(to) - begin_) / width_;
    const std::size_t last = partial_.size() - 1;
    const auto first_slice = std::min(last, static_cast<std::size_t>(left));
    const auto last_slice = std::min(last, static_cast<std::size_t>(right));
    if (first_slice == last_slice) {
      partial_[first_slice] += height * (right - left);
      return;
    }
    partial_[first_slice] += height * (static_cast<double>(first_slice + 1) - left);
    partial_[last_slice] += height * (right - static_cast<double>(last_slice));
    slope_[first_slice + 1] += height;
    slope_[last_slice] -= height;
  }

  std::vector<double> means() const {
    std::vector<double> means = partial_;
    double level = 0;
    for (std::size_t i = 0; i < means.size(); ++i) means[i] += level += slope_[i];
    return means;
  }

 private:
  double begin_;
  double width_;
  std::vector<double> slope_;
  std::vector<double> partial_;
};

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

Series series(const Workload& workload, const SimResult& result, std::size_t slices) {
  Accumulator busy(result.first_submit, result.end, slices);
  Accumulator queued(result.first_submit, result.end, slices);
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const TraceJob& job = workload.jobs[i];
    const std::optional<Time> start = result.jobs[i].start;
    for (const Interval& run : result.jobs[i].lost)
      busy.add(run.begin, run.end, static_cast<double>(job.procs));
    if (!start && result.jobs[i].refused.empty())
      queued.add(result.jobs[i].submitted, result.end, 1);  // it waits still
    if (!start) continue;
    busy.add(*start, *start + job.run, static_cast<double>(job.procs));
    queued.add(result.jobs[i].submitted, *start, 1);
  }
  return {result.first_submit, result.end, busy.means(), queued.means()};
}

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
