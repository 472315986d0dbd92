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
  HOLON_FIELDS(job, cores)
};
struct CoresReply {
  std::vector<std::int64_t> pids;
  HOLON_FIELDS(pids)
};

}  // namespace msg

bool have_common_cpus(const CpuMask& a, const CpuMask& b);

// Processes of a job that may use some of these cores. One that may use every core of the node is
// not bound, and is left out: it says nothing. `prefix`: of the instance's jobs
// (tracking/lineage.hpp). Errors: invalid_argument (cores that the node lacks).
Result<std::vector<std::int64_t>> processes_on_cores(const Node& node, const std::string& prefix,
                                                     std::uint64_t job, const Idset& cores);

}  // namespace holon::launch
