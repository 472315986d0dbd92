// advance.hpp - advance reservations (Grid Engine's qrsub): resources held over an interval for the
// jobs that name the reservation.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "qmanager/request.hpp"

namespace holon::qmanager {

struct AdvanceRequest {
  // The resources asked for: id, user (the owner), procs or spec, slots, consumes, environment. Its
  // limit and queue play no part: `when` is the interval, and jobs name their own queue.
  JobRequest resources;
  Interval when;
  std::string name;
  std::vector<std::string> users;  // the users beside the owner; "*": all users
};

struct AdvanceStatus {
  enum class Phase : std::uint8_t { waiting, active, ending };  // before, in, past its interval

  AdvanceRequest request;
  Phase phase = Phase::waiting;
  std::size_t pending = 0;  // its jobs
  std::size_t running = 0;
  std::int64_t procs = 0;
  resource::Allocation allocation;
};

}  // namespace holon::qmanager
