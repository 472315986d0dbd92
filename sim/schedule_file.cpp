#include "sim/schedule_file.hpp"

namespace holon::sim {

ScheduleFile::ScheduleFile(Time epoch, const std::string& host) {
  format_.epoch = epoch;
  format_.hosts = [host](const qmanager::PlannedSpan& span) {
    return std::vector<qmanager::HostUse>{{host, span.procs, {}}};
  };
}

void ScheduleFile::record(Time now, qmanager::Scheduler& scheduler,
                          const qmanager::StepResult& step) {
  text_ += qmanager::schedule_section(scheduler.plan(now), qmanager::jobs_started(step), format_);
}

}  // namespace holon::sim
