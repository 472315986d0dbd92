#include "cli/show/swf_jobs.hpp"

#include <algorithm>

namespace holon::cli {
namespace {

// The status in the format's numbers: 0 failed, 1 completed, 5 cancelled.
int swf_status(const msg::JobRecord& job) {
  if (job.result == "COMPLETED") return 1;
  return job.result == "CANCELED" ? 5 : 0;
}

}  // namespace

sim::SwfJob swf_job(const msg::JobRecord& job) {
  sim::SwfJob line;
  line.id = static_cast<std::int64_t>(job.id);
  line.submit = job.t_submit;
  line.procs = job.ncores;
  line.limit = job.limit;
  line.status = swf_status(job);
  line.user = job.user;
  line.group = job.group;
  line.queue = job.queue;
  if (job.t_start <= 0) return line;
  line.wait = job.t_start - job.t_submit;
  line.run = (job.t_finish > 0 ? job.t_finish : job.t_inactive) - job.t_start;
  // A job ended by its limit ran a moment longer than that.
  if (job.result == "TIMEOUT" && job.limit > 0) line.run = std::min(line.run, job.limit);
  const std::int64_t procs = std::max<std::int64_t>(1, job.ncores);
  line.cpu = job.cpu_ms / procs;
  if (job.max_rss_kb > 0) line.memory_kb = job.max_rss_kb / procs;
  return line;
}

}  // namespace holon::cli
