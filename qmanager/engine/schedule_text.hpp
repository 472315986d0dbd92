// schedule_text.hpp - what a pass saw and decided, in the format of Grid Engine's monitoring file
// "schedule" (sge_schedule(5), sched_conf(5): params MONITOR).
//
// A line "::::::::" begins a section; then a line for each thing held or to be held:
// job:task:state:start:duration:level:object:resource:amount, times in seconds, state RUNNING,
// STARTING or RESERVING. Levels: P(E), slots of a parallel environment; G(lobal), a consumable;
// then host by host: H(ost), what else it has of a host; Q(ueue), consumables of the queue there
// and its slots. The duration is the planned one, with the queue's offset.
//
// An advance reservation is no job: 0:0:RESERVING, written once, before the next section, when it
// has been made, and once more, with negative amounts, when it has ended.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "qmanager/scheduler.hpp"

namespace holon::qmanager {

// The use that a span makes of one host.
struct HostUse {
  std::string host;
  std::int64_t slots = 0;                                   // processors
  std::vector<std::pair<std::string, std::int64_t>> other;  // by type: gpu, memory

  bool operator==(const HostUse&) const = default;
};

struct ScheduleFormat {
  Time epoch = 0;  // in seconds, added to every time
  std::int64_t ticks_per_second = 1;
  // The hosts of a span. Empty: not decided yet; the slots are then shown as those of the queue.
  std::function<std::vector<HostUse>(const PlannedSpan&)> hosts;
};

class ScheduleText {
 public:
  explicit ScheduleText(ScheduleFormat format = {}) : format_(std::move(format)) {}

  // The next section. `starting`: jobs that began with this pass. A span without an end ends in the
  // last second that Grid Engine can write, 4294967295. ':' in names becomes '_'. O(plan).
  std::string section(const std::vector<PlannedSpan>& plan,
                      const std::unordered_set<JobId>& starting);

 private:
  std::string advances(const std::vector<PlannedSpan>& plan);

  ScheduleFormat format_;
  std::map<JobId, PlannedSpan> told_;  // advance reservations
};

// The jobs that a pass decided to start.
std::unordered_set<JobId> jobs_started(const StepResult& step);

}  // namespace holon::qmanager
