// trace_builder.hpp - jobs that a reader has found become a trace.
//
// Readers of logs hand over what they have in any order: times in ms since whenever, as they stand
// in the log. The trace begins with the second of the first submission.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/result.hpp"
#include "sim/swf.hpp"

namespace holon::sim {

// The place of a field in a file, and the file's name for it.
struct FieldPlace {
  std::size_t line = 0, column = 0;  // column 0: all of the line
  std::string field;
};

class TraceBuilder {
 public:
  explicit TraceBuilder(const SwfOptions& options) : options_(options) {}

  // Notes a fault in a line, whose job is left out or was mended. Errors: those of
  // SwfTrace::add_issue().
  Status issue(const FieldPlace& at, std::string what, bool skipped = true);

  // Adds a job of the log, under its id unless another job has that already, as with jobs of
  // several instances. Checks what every format has in common: processors, run time, the size of
  // the machine, the limit. Errors: those of issue().
  Status add(TraceJob job, const FieldPlace& at);

  // Notes the time of a submission in the log, even of a job that is left out: the trace may begin
  // with it.
  void submitted(Time ms);
  void set_procs(std::int64_t procs) { trace_.workload.max_procs = procs; }

  // The trace, sorted, with the times of a trace.
  SwfTrace finish();

 private:
  const SwfOptions& options_;
  SwfTrace trace_;
  std::unordered_map<std::int64_t, std::size_t> ids_;
  std::int64_t highest_ = 0;
  std::vector<std::size_t> renamed_;  // places of jobs whose ids were taken
  Time first_ = kTimeMax;
};

}  // namespace holon::sim
