#include "sim/workload.hpp"

#include <algorithm>
#include <tuple>

namespace holon::sim {

void sort_by_submission(std::vector<TraceJob>& jobs) {
  const auto earlier = [](const TraceJob& a, const TraceJob& b) {
    return std::tie(a.submit, a.id) < std::tie(b.submit, b.id);
  };
  if (!std::is_sorted(jobs.begin(), jobs.end(), earlier))
    std::stable_sort(jobs.begin(), jobs.end(), earlier);
}

}  // namespace holon::sim
