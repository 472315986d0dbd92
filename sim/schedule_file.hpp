// schedule_file.hpp - what each pass saw and decided, in the format of Grid Engine's monitoring
// file "schedule".
//
// A line "::::::::" begins a pass; then a line for each thing held or to be held:
// job:task:state:start:duration:level:object:resource:amount, state RUNNING, STARTING or RESERVING,
// level G(lobal) for consumables and Q(ueue) for processors. The duration is the planned one, with
// the queue's offset.
#pragma once
#include <string>

#include "qmanager/scheduler.hpp"

namespace holon::sim {

class ScheduleFile {
 public:
  // `epoch` is added to every time; `host` names the machine in "QUEUE@host".
  explicit ScheduleFile(Time epoch = 0, std::string host = "flat")
      : epoch_(epoch), host_(std::move(host)) {}

  // After each pass.
  void record(Time now, qmanager::Scheduler& scheduler, const qmanager::StepResult& step);

  const std::string& text() const { return text_; }

 private:
  void line(const qmanager::PlannedSpan& span, const char* state);

  Time epoch_;
  std::string host_;
  std::string text_;
};

}  // namespace holon::sim
