// rectangles.hpp - a schedule as rectangles, for reports.
#pragma once
#include <cstdint>
#include <vector>

#include "sim/simulate.hpp"

namespace holon::sim {

// A run of a job on `count` processors from `first` on. A run whose processors are not contiguous
// has several.
struct Rectangle {
  std::size_t job = 0;  // index in the workload
  std::int64_t first = 0;
  std::int64_t count = 0;
  Interval run{};
  bool lost = false;  // it ended as another job took its place
};

// Places every run on the lowest processors that are free when it starts: those of one run stand
// together.
std::vector<Rectangle> rectangles(const Workload& workload, const SimResult& result,
                                  std::int64_t procs);

}  // namespace holon::sim
