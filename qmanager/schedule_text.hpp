// schedule_text.hpp - what a pass saw and decided, in the format of Grid Engine's monitoring file
// "schedule" (sge_schedule(5), sched_conf(5): params MONITOR).
//
// A line "::::::::" begins a section; then a line for each thing held or to be held:
// job:task:state:start:duration:level:object:resource:amount, times in seconds, state RUNNING,
// STARTING or RESERVING. Levels: G(lobal), a consumable; P(E), slots of a parallel environment;
// H(ost), what else it has of a host; Q(ueue), its slots and consumables of the queue alone. The
// duration is the planned one, with the queue's offset.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "qmanager/scheduler.hpp"

namespace holon::qmanager {

// What a span has of one host.
struct HostUse {
  std::string host;
  std::int64_t slots = 0;                                   // processors
  std::vector<std::pair<std::string, std::int64_t>> other;  // by type: gpu, memory

  bool operator==(const HostUse&) const = default;
};

struct ScheduleFormat {
  Time epoch = 0;  // in seconds, added to every time
  std::int64_t ticks_per_second = 1;
  // None: it is not decided yet which hosts they are; its slots are then those of the queue.
  std::function<std::vector<HostUse>(const PlannedSpan&)> hosts;
};

// One section. `starting`: jobs that began with this pass. An advance reservation is a job that
// RESERVES for as long as it is there. A span without an end ends in the last second that Grid
// Engine can write, 4294967295. ':' in names becomes '_'. O(plan).
std::string schedule_section(const std::vector<PlannedSpan>& plan,
                             const std::unordered_set<JobId>& starting,
                             const ScheduleFormat& format);

// Who starts by what a pass decided.
std::unordered_set<JobId> jobs_started(const StepResult& step);

}  // namespace holon::qmanager
