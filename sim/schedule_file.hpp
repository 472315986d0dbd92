// schedule_file.hpp - all passes of a simulation in Grid Engine's monitoring format
// (qmanager/engine/schedule_text.hpp).
#pragma once
#include <string>

#include "qmanager/engine/schedule_text.hpp"

namespace holon::sim {

class ScheduleFile {
 public:
  // `epoch` is added to every time; `host` names the machine in "QUEUE@host".
  explicit ScheduleFile(Time epoch = 0, const std::string& host = "flat",
                        std::int64_t ticks_per_second = 1);

  // Called after each pass.
  void record(Time now, qmanager::Scheduler& scheduler, const qmanager::StepResult& step);

  const std::string& text() const { return text_; }

 private:
  qmanager::ScheduleText sections_;
  std::string text_;
};

}  // namespace holon::sim
