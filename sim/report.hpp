// report.hpp - a study as one self-contained HTML page: policies side by side, queue length and
// utilization over time, waits by size, and a Gantt of the machine for each policy. Nothing is
// loaded from elsewhere: the library that draws, uPlot, is in the page (page/). What a live
// instance has done is drawn by the same page, as one policy.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/study.hpp"

namespace holon::sim {

struct ReportInput {
  std::string title;
  // The facts at the head of the page: {"trace", "kth.swf"}, {"machine", "100 processors"}.
  std::vector<std::pair<std::string, std::string>> facts;
  const Workload& workload;
  const std::vector<PolicyRun>& runs;
  std::int64_t procs = 0;
  // Ends of the workload's jobs; empty: they completed.
  enum class Ended : std::uint8_t { completed, failed, cancelled, timeout, runs };
  std::vector<Ended> ends = {};
  std::string note = {};  // a paragraph behind the table
};

// The page. The same input gives the same bytes. O(jobs log jobs) a policy.
std::string html_report(const ReportInput& input);

}  // namespace holon::sim
