// swf.hpp - reads the Standard Workload Format (Chapin et al., JSSPP 1999; version 2.2 of the
// Parallel Workloads Archive): 18 numbers a line, -1 for unknown, ';' before comments and header
// fields.
//
// How a line becomes a job: processors are those requested (field 8), else those allocated (5). The
// limit is the requested time (9), else the run time (an exact estimate). A job without processors,
// run time or submit time is left out; one that ran longer than its limit is cut at it unless
// `keep_overruns`.
#pragma once
#include <string_view>

#include "base/result.hpp"
#include "sim/workload.hpp"

namespace holon::sim {

struct SwfOptions {
  bool strict = false;         // the first issue is an error
  bool keep_overruns = false;  // a run time above the limit stays
  std::int64_t procs =
      0;  // of the machine; jobs larger than it are left out; 0: as the header says
};

struct SwfTrace {
  Workload workload;
  std::vector<TraceIssue> issues;  // the first 100
  std::size_t issue_count = 0;
  std::size_t skipped = 0;  // jobs left out
};

// Errors: invalid_argument with line and field for text that is no SWF, and for any issue if
// strict. O(bytes).
Result<SwfTrace> read_swf(std::string_view bytes, const SwfOptions& options);

}  // namespace holon::sim
