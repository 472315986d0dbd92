// request_text.hpp - a job's request as a person would say it.
#pragma once
#include <string>

#include "instance/request/scheduling_options.hpp"
#include "resource/jobspec/jobspec.hpp"

namespace holon::instance {

// "2 nodes, 8 cores", "4 whole nodes", "4-16 slots of 2 cores", each with memory, other resources
// and consumables: "1 core, 16 GiB of memory, 2 matlab". At the smallest counts, but for a range of
// slots.
std::string request_text(const resource::Jobspec& spec, const SchedulingOptions& wishes);

}  // namespace holon::instance
