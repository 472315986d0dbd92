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

// Where in a file something stands, and what the file calls it.
struct FieldPlace {
  std::size_t line = 0, column = 0;  // column 0: all of the line
  std::string field;
};

class TraceBuilder {
 public:
  explicit TraceBuilder(const SwfOptions& options) : options_(options) {}

  // What was wrong with a line, whose job is left out or was mended. Errors: as of
  // SwfTrace::add_issue().
  Status issue(const FieldPlace& at, std::string what, bool skipped = true);

  // `job`: as of the log; its id is the one that it is to have unless another job has it already,
  // which is so for jobs of several instances. Checks what every format has in common: processors,
  // run time, the size of the machine, the limit. Errors: as of issue().
  Status add(TraceJob job, const FieldPlace& at);

  // Of a submission that is in the log, also of a job that is left out: the trace may begin with
  // it.
  void submitted(Time ms);
  void set_procs(std::int64_t procs) { trace_.workload.max_procs = procs; }

  // Sorted, with the times of a trace.
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
