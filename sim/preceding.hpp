// preceding.hpp - jobs that are submitted when another one has ended and their user has thought
// about it (SWF fields 17 and 18).
#pragma once
#include "base/result.hpp"
#include "sim/swf.hpp"

namespace holon::sim {

// A format's names for the two fields.
struct PrecedingFields {
  const char* job;
  const char* think;
};

// Removes references that cannot be followed: to no job of the workload, to the job itself, to one
// that is submitted later (with which no cycle is left), with a think time that makes no sense.
// Each is an issue; the job is then submitted when the trace says. REQUIRES: the jobs are sorted.
// Errors: invalid_argument with line and field if strict. O(jobs).
Status settle_preceding(SwfTrace& trace, const SwfOptions& options, const PrecedingFields& fields);

}  // namespace holon::sim
