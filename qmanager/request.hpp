// request.hpp - what the scheduler is told about a job, as a plain value.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/strong.hpp"
#include "base/time.hpp"
#include "resource/allocation.hpp"
#include "resource/jobspec/jobspec.hpp"

namespace holon::qmanager {

inline constexpr std::uint32_t kUrgencyHold = 0;  // never considered
inline constexpr std::uint32_t kUrgencyDefault = 16;
inline constexpr std::uint32_t kUrgencyExpedite = 31;  // before every job that is not expedited

// Units of a consumable that is not in the resource tree (a licence), held as long as the job.
struct Consumes {
  std::string pool;
  resource::Amount amount = 1;

  bool operator==(const Consumes&) const = default;
};

struct JobRequest {
  JobId id;
  std::string queue;  // empty: the default queue
  std::string user;
  std::string group;
  std::string account;
  std::string qos;
  std::uint32_t urgency = kUrgencyDefault;  // the user's wish, 0 to 31
  Time submitted = 0;
  Duration limit = 0;  // ticks; 0: until the horizon (or the queue's default_duration)
  std::int64_t procs =
      0;  // processors, for limits, priorities and flat machines; 0: counted from `spec`
  std::shared_ptr<const resource::Jobspec>
      spec;  // shared by the jobs of an array; null on a flat machine
  std::vector<Consumes> consumes;
  bool reserve = true;     // asks for a reservation when it cannot start (Grid Engine's -R)
  bool immediate = false;  // starts in the first pass that looks at it, or is rejected (-now y)
};

}  // namespace holon::qmanager
