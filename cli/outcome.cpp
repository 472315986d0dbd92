#include "cli/outcome.hpp"

#include <fmt/format.h>

#include <cstring>

#include "cli/show/units.hpp"
#include "cli/verb.hpp"
#include "msg/job_filter.hpp"

namespace holon::cli {
namespace {

using msg::JobRecord;

bool inactive(const JobRecord& job) {
  return job.state == "INACTIVE";
}

// A task that signal N has ended and one that exits with 128 + N, as a shell does whose command a
// signal has ended, have the same code in a record.
std::string exit_text(int code) {
  const char* const signal = code > 128 ? sigabbrev_np(code - 128) : nullptr;
  if (signal == nullptr) return fmt::format("exit code {}", code);
  return fmt::format("exit code {} (128 + SIG{})", code, signal);
}

}  // namespace

int exit_code_of(const JobRecord& job, int signal) {
  if (signal != 0 && job.result == "CANCELED") return 128 + signal;
  if (job.result == "TIMEOUT") return kTimeLimit;
  if (job.result == "REJECTED" || job.exit_code < 0) return kNotRun;
  if (job.result == "FAILED" && job.exit_code == 0) return kNotRun;  // lost, not ended
  return job.exit_code;
}

std::string failure_of(const JobRecord& job) {
  if (job.result == "COMPLETED") return "";
  if (!job.reason.empty()) return job.reason;
  if (job.result == "TIMEOUT") return "its time limit ended it";
  if (job.result == "CANCELED") return "cancelled";
  return job.exit_code > 0 ? "" : "failed";
}

Colour colour_of(const JobRecord& job) {
  if (job.t_suspended > 0) return Colour::yellow;
  if (!inactive(job)) return job.state == "RUN" ? Colour::green : Colour::yellow;
  return job.result == "COMPLETED" ? Colour::dim : Colour::red;
}

std::string why_it_waits(const JobRecord& job, std::int64_t now) {
  if (job.t_estimate <= 0) return job.reason;
  const std::string planned = "planned for " + show_time(job.t_estimate, now);
  return job.reason.empty() || job.reason == "planned" ? planned : job.reason + "; " + planned;
}

std::string details_of(const JobRecord& job, std::int64_t now) {
  if (job.tasks > 0 && job.as_of == 0) {
    const std::string tasks = msg::tasks_text(job);
    const std::string why = inactive(job) ? job.reason : why_it_waits(job, now);
    return why.empty() ? tasks : tasks + "; " + why;
  }
  if (job.as_of > 0)
    return fmt::format("as of {}: its instance does not answer", show_time(job.as_of, now));
  if (job.t_suspended > 0)
    return fmt::format("{}; suspended since {}", job.nodelist, show_time(job.t_suspended, now));
  if (job.state == "RUN" && !job.reason.empty())
    return (job.nodelist.empty() ? "" : job.nodelist + "; ") + job.reason;
  if (!inactive(job)) return job.t_alloc > 0 ? job.nodelist : why_it_waits(job, now);
  if (job.result == "COMPLETED") return job.nodelist;
  if (!job.reason.empty()) return job.reason;
  return job.exit_code >= 0 ? exit_text(job.exit_code) : "";
}

}  // namespace holon::cli
