// swf.hpp - reads the Standard Workload Format (Chapin et al., JSSPP 1999; version 2.2 of the
// Parallel Workloads Archive): 18 numbers a line, -1 for unknown, ';' before comments and header
// fields.
//
// How a line becomes a job: processors are those requested (field 8), else those allocated (5). The
// limit is the requested time (9), else the run time (an exact estimate). A job without processors,
// run time or submit time is left out; one that ran longer than its limit and `overrun` is cut
// there unless `keep_overruns`. Times may have fractions, of which milliseconds count; a run time
// of 0 is less than half a second, and takes none. Users, groups and queues have the names that
// notes in the header say (formats/swf_text.hpp), else their numbers.
#pragma once
#include <string_view>

#include "base/result.hpp"
#include "sim/workload.hpp"

namespace holon::sim {

struct SwfOptions {
  bool strict = false;         // the first issue is an error
  bool keep_overruns = false;  // a run time above the limit stays
  Duration overrun = 0;        // ms; so far above the limit a run time may be; the rest is cut
  bool think_times = false;    // jobs wait for their preceding ones (fields 17 and 18)
  std::int64_t procs =
      0;  // of the machine; jobs larger than it are left out; 0: as the header says
};

struct SwfTrace {
  Workload workload;
  std::vector<TraceIssue> issues;  // the first 100
  std::size_t issue_count = 0;
  std::size_t skipped = 0;  // jobs left out

  // Notes an issue. Errors: invalid_argument with the issue if strict.
  Status add_issue(TraceIssue issue, const SwfOptions& options);
  // Cuts the run time of a job that ran for too long; times in ms. Errors: those of add_issue.
  Status cut_overrun(TraceJob& job, const char* field, const SwfOptions& options);
};

// Reads a log. Errors: invalid_argument with line and field for text that is no SWF, and for any
// issue if strict. O(bytes).
Result<SwfTrace> read_swf(std::string_view bytes, const SwfOptions& options);

}  // namespace holon::sim
