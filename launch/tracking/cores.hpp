// cores.hpp - which processes may use some cores of a node, and the message that asks for them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/idset.hpp"
#include "base/result.hpp"
#include "launch/node.hpp"
#include "transport/codec/fields.hpp"

namespace holon::launch {
namespace msg {

// "agent.cores" (broker to agent): which processes of a job, wherever their parents are, may use
// these cores.
struct CoresRequest {
  std::uint64_t job = 0;
  std::string cores;  // an idset
  // Not the broker and the agents of the job, which is an instance, nor its script: these may use
  // all that it has.
  bool of_jobs = false;
  HOLON_FIELDS(job, cores, of_jobs)
};
struct CoresReply {
  std::vector<std::int64_t> pids;
  HOLON_FIELDS(pids)
};

}  // namespace msg

bool have_common_cpus(const CpuMask& a, const CpuMask& b);

// The processes that are asked for, which may use some of these cores. One that may use every core
// of the node is not bound, and is left out: it says nothing. `prefix`: of the instance's jobs
// (tracking/lineage.hpp). Errors: invalid_argument (cores that the node lacks).
Result<std::vector<std::int64_t>> processes_on_cores(const Node& node, const std::string& prefix,
                                                     const msg::CoresRequest& ask,
                                                     const Idset& cores);

}  // namespace holon::launch
