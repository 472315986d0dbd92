#include "sim/formats/trace_builder.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

namespace holon::sim {

Status TraceBuilder::issue(const FieldPlace& at, std::string what, bool skipped) {
  return trace_.add_issue({at.line, at.field, std::move(what), skipped, at.column}, options_);
}

void TraceBuilder::submitted(Time ms) {
  first_ = std::min(first_, ms);
}

Status TraceBuilder::add(TraceJob job, const FieldPlace& at) {
  if (job.procs < 1) return issue(at, "its processors are not known");
  if (job.run < 0) return issue(at, "it ended before it started");
  if (options_.procs > 0 && job.procs > options_.procs)
    return issue(
        at, fmt::format("it had {} processors, the machine has {}", job.procs, options_.procs));
  job.line = at.line;
  if (Status ok = trace_.cut_overrun(job, at.field.c_str(), options_); !ok) return ok;
  submitted(job.submit);
  const std::size_t place = trace_.workload.jobs.size();
  const bool is_new = job.id > 0 && ids_.emplace(job.id, place).second;
  if (is_new)
    highest_ = std::max(highest_, job.id);
  else
    renamed_.push_back(place);
  trace_.workload.jobs.push_back(std::move(job));
  return {};
}

SwfTrace TraceBuilder::finish() {
  auto& jobs = trace_.workload.jobs;
  for (const std::size_t place : renamed_) jobs[place].id = ++highest_;
  const Time begin = first_ == kTimeMax ? 0 : first_ - first_ % kMsPerSecond;
  for (TraceJob& job : jobs) job.submit -= begin;
  sort_by_submission(jobs);
  settle_ticks(trace_.workload);
  return std::move(trace_);
}

}  // namespace holon::sim
