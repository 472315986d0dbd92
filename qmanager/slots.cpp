#include "qmanager/slots.hpp"

#include <algorithm>

#include "qmanager/machine/store_machine.hpp"

namespace holon::qmanager {

namespace {

std::shared_ptr<const resource::Jobspec> with_count(const resource::Jobspec& spec,
                                                    std::int64_t count) {
  auto fixed = std::make_shared<resource::Jobspec>(spec);
  resource::Count& slots = fixed->resources.front().count;
  slots = {};
  slots.min = slots.max = count;
  return fixed;
}

}  // namespace

std::int64_t least_slots(const JobRequest& job) {
  if (job.slots) return job.slots->least();
  return job.spec ? std::max<std::int64_t>(1, least_units(*job.spec, "slot")) : job.procs;
}

std::int64_t most_slots(const JobRequest& job, std::int64_t at_most) {
  if (job.slots) return resource::largest_count(*job.slots, at_most);
  const std::int64_t all = least_slots(job);
  return all <= at_most ? all : 0;
}

std::int64_t slots_with(const JobRequest& job, std::int64_t procs) {
  const std::int64_t least = least_slots(job);
  if (!job.slots) return least;
  const std::int64_t of_least = job.spec ? least_units(*job.spec, "core") : least;
  return least * procs / std::max<std::int64_t>(1, of_least);
}

JobRequest with_slots(const JobRequest& job, std::int64_t count) {
  JobRequest fixed = job;
  fixed.slots.reset();
  fixed.procs = job.procs / least_slots(job) * count;
  if (job.spec) fixed.spec = with_count(*job.spec, count);
  return fixed;
}

JobRequest with_at_most(const JobRequest& job, std::int64_t slots) {
  JobRequest less = job;
  less.slots->max = std::min(less.slots->max, slots);
  std::erase_if(less.slots->values, [&](std::int64_t value) { return value > slots; });
  return less;
}

Status settle_slots(JobRequest& job) {
  if (!job.slots) return {};
  if (Status sound = resource::check_count(*job.slots); !sound) return sound;
  const std::int64_t least = least_slots(job);
  if (least < 1) return fail(Errc::invalid_argument, "a job needs at least 1 slot", "slots");
  if (job.spec) {
    const auto& top = job.spec->resources;
    if (top.size() != 1 || top.front().type != "slot")
      return fail(
          Errc::invalid_argument,
          "a range of slots needs a jobspec with one slot at the top, and nothing beside it",
          "slots");
    job.spec = with_count(*job.spec, least);
    job.procs = 0;  // counted anew
  } else {
    job.procs = least;
  }
  if (most_slots(job, resource::kMaxCount) == least) job.slots.reset();
  return {};
}

}  // namespace holon::qmanager
