// beginning.hpp - small things that a JobManager is told, and tells.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/strong.hpp"
#include "base/time.hpp"
#include "instance/basics/pulse.hpp"
#include "resource/graph/graph.hpp"

namespace holon::instance {

// How long passes of the scheduler took, in microseconds.
struct PassTimes {
  std::int64_t passes = 0, last = 0, longest = 0, sum = 0;

  void add(std::int64_t took) {
    ++passes;
    last = took;
    longest = std::max(longest, took);
    sum += took;
  }
};

// What moves the end of an instance: `holon update` of the instance at this path, whose own limit
// that end is. Empty: no limit does.
struct EndMover {
  std::string path;
  bool by_operator = false;  // only operators may make it later
  friend bool operator==(const EndMover&, const EndMover&) = default;
};

// How a broker begins after an earlier broker of its instance.
struct Beginning {
  // The whole instance was stopped: no agent can say what became of tasks, and none of them runs.
  bool fresh = false;
  Time last_lived = 0;  // when the broker before this one last wrote its clock down
  // A job at which two brokers in a row hung or crashed.
  std::optional<Suspect> suspect;
  // Called at each job as it is restored, and with JobId() after the last of them.
  std::function<void(JobId)> at = [](JobId) {};
};

// Some of what a child instance holds, which others may use until then.
struct Lent {
  std::vector<resource::VertexId> vertices;
  Time until = 0;
};

}  // namespace holon::instance
