// slots.hpp - jobs that take a range of slots: how many they get.
#pragma once
#include <cstdint>

#include "base/result.hpp"
#include "qmanager/request.hpp"

namespace holon::qmanager {

// The smallest number of slots that suits the job: of its range, else of its jobspec, else `procs`.
std::int64_t least_slots(const JobRequest& job);
// The largest number of slots that suits the job and is at most `at_most`; 0: none.
std::int64_t most_slots(const JobRequest& job, std::int64_t at_most);
// Slots that the job has with so many processors.
std::int64_t slots_with(const JobRequest& job, std::int64_t procs);
// The same job with exactly `count` slots. REQUIRES: it has a range.
JobRequest with_slots(const JobRequest& job, std::int64_t count);
// The same job with at most `slots` slots. REQUIRES: it has a range.
JobRequest with_at_most(const JobRequest& job, std::int64_t slots);

// Sets `procs` and the count in `spec` to the smallest of the range, and drops a range of one
// number. Errors: invalid_argument for a range without sense, or a jobspec without one slot at the
// top.
Status settle_slots(JobRequest& job);

}  // namespace holon::qmanager
