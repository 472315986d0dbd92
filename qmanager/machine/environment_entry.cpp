#include "qmanager/machine/environment_entry.hpp"

#include <fmt/core.h>

#include "qmanager/slots.hpp"

namespace holon::qmanager {

std::string pool_of_environment(const std::string& name) {
  return name + "/slots";
}

std::optional<std::string> enter_environment(JobRequest& job, const std::string& name,
                                             const ParallelEnvironment& environment) {
  job.environment = name;
  job.rule = environment.rule;
  if (environment.slots) job.consumes.push_back({pool_of_environment(name), 1, true});
  // A machine without nodes is one host.
  const std::int64_t each = job.rule.slots;
  if (job.spec || job.rule.kind != AllocationRule::Kind::per_host) return std::nullopt;
  const std::int64_t asked = job.slots ? most_slots(job, each) : job.procs;
  if (asked != each)
    return fmt::format("is to have {} slots on each host, and this machine is one host", each);
  job.slots.reset();
  job.procs = each;
  return std::nullopt;
}

}  // namespace holon::qmanager
