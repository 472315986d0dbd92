#include "instance/journal/records/record_order.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <utility>

namespace holon::instance {
namespace {

// How far the job has come; a job that runs again goes back to DEPEND.
auto progress(const msg::JobRecord& r) {
  constexpr std::array<std::string_view, 7> kStates = {"NEW", "DEPEND",  "PRIORITY", "SCHED",
                                                       "RUN", "CLEANUP", "INACTIVE"};
  const auto state = std::find(kStates.begin(), kStates.end(), r.state) - kStates.begin();
  return std::tuple(r.state == "INACTIVE", r.retries, state, r.t_alloc != 0, r.t_start != 0,
                    r.t_finish != 0);
}

}  // namespace

bool supersedes(const msg::JobRecord& next, const msg::JobRecord& known) {
  return known.state != "INACTIVE" && progress(next) >= progress(known);
}

bool is_further(const msg::JobRecord& next, const msg::JobRecord& known) {
  return known.state != "INACTIVE" && progress(next) > progress(known);
}

void close_record(msg::JobRecord& record, const std::string& reason, Time now, Time ended) {
  if (record.state == "INACTIVE") return;
  // An array has no allocation: it began with its first task.
  const bool began = record.t_alloc != 0 || (record.tasks > 0 && record.t_start != 0);
  record.tasks_cancelled += std::exchange(record.tasks_pending, 0);
  record.tasks_failed += std::exchange(record.tasks_running, 0);
  if (record.result.empty()) {
    record.result = began ? "FAILED" : "CANCELED";
    record.reason = reason;
  }
  record.state = "INACTIVE";
  if (began && record.t_finish == 0)
    record.t_finish = std::max({std::min(ended, now), record.t_alloc, record.t_start});
  record.t_inactive =
      std::max({now, record.t_submit, record.t_alloc, record.t_start, record.t_finish});
  record.t_estimate = 0;
  record.t_suspended = 0;
  record.pids.clear();
}

}  // namespace holon::instance
