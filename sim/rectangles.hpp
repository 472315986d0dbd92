// rectangles.hpp - a schedule as rectangles, for reports.
#pragma once
#include <cstdint>
#include <vector>

#include "sim/simulate.hpp"

namespace holon::sim {

// A job on `count` processors from `first` on, for as long as it runs. A job whose processors are
// not contiguous has several.
struct Rectangle {
  std::size_t job = 0;  // index in the workload
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// Places every job on the lowest processors that are free when it starts.
std::vector<Rectangle> rectangles(const Workload& workload, const SimResult& result,
                                  std::int64_t procs);

}  // namespace holon::sim
