// lent.hpp - what a running job lets others use for a time, and has back (Scheduler::set_lent).
#pragma once
#include <cstddef>
#include <vector>

#include "base/strong.hpp"
#include "resource/allocation.hpp"

namespace holon::qmanager {

// What the job holds meanwhile, and the parts that it has back: each begins when it does, and ends
// with the job, whatever their intervals say of ends.
struct LentParts {
  resource::Allocation rest;
  std::vector<resource::Allocation> parts;
};

// What a job has back is held under numbers of its own, which no job has.
JobId number_of_part(JobId job, std::size_t part);
// The job whose part is held under this number; the number itself, if it is none of a part.
JobId owner_of(JobId number);

}  // namespace holon::qmanager
