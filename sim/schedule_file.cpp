#include "sim/schedule_file.hpp"

namespace holon::sim {

ScheduleFile::ScheduleFile(Time epoch, const std::string& host, std::int64_t ticks_per_second) {
  qmanager::ScheduleFormat format;
  format.epoch = epoch;
  format.ticks_per_second = ticks_per_second;
  format.hosts = [host](const qmanager::PlannedSpan& span) {
    return std::vector<qmanager::HostUse>{{host, span.procs, {}}};
  };
  sections_ = qmanager::ScheduleText(std::move(format));
}

void ScheduleFile::record(Time now, qmanager::Scheduler& scheduler,
                          const qmanager::StepResult& step) {
  text_ += sections_.section(scheduler.plan(now), qmanager::jobs_started(step));
}

}  // namespace holon::sim
