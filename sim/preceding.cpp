#include "sim/preceding.hpp"

#include <unordered_map>

#include <fmt/core.h>

namespace holon::sim {

namespace {

using Places = std::unordered_map<std::int64_t, std::size_t>;  // by number

// The fault in the reference of the job at `place`; "": none.
std::string fault(const Workload& workload, const Places& places, std::size_t place) {
  const TraceJob& job = workload.jobs[place];
  if (job.preceding == job.id) return "it is the job itself";
  const auto found = places.find(job.preceding);
  if (found == places.end())
    return fmt::format("job {} is not in the trace, or was left out", job.preceding);
  if (found->second > place)
    return fmt::format("job {} is submitted later than this one", job.preceding);
  return {};
}

}  // namespace

Status settle_preceding(SwfTrace& trace, const SwfOptions& options, const PrecedingFields& fields) {
  std::vector<TraceJob>& jobs = trace.workload.jobs;
  const auto issue = [&](const TraceJob& job, const char* field, std::string what) {
    return trace.add_issue({job.line, field, std::move(what), false}, options);
  };
  Places places;
  places.reserve(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) places.emplace(jobs[i].id, i);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    TraceJob& job = jobs[i];
    if (job.preceding == kNoJob) continue;
    if (std::string wrong = fault(trace.workload, places, i); !wrong.empty()) {
      job.preceding = kNoJob;
      if (Status ok = issue(job, fields.job, wrong + "; it is not waited for"); !ok) return ok;
    } else if (job.think < 0 || job.think > kTimeMax / 4) {
      const std::string what = job.think < 0 ? "not known" : "too large";
      if (Status ok =
              issue(job, fields.think,
                    fmt::format("{} is {}, taken as 0",
                                seconds_text(job.think, trace.workload.ticks_per_second), what));
          !ok)
        return ok;
      job.think = 0;
    }
  }
  return {};
}

}  // namespace holon::sim
