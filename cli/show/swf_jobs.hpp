// swf_jobs.hpp - records of jobs as lines of a trace in the Standard Workload Format.
#pragma once
#include "msg/instance.hpp"
#include "sim/formats/swf_text.hpp"

namespace holon::cli {

// The record as a line. REQUIRES: the job is over, and no array.
sim::SwfJob swf_job(const msg::JobRecord& job);

}  // namespace holon::cli
