#include "launch/tracking/cores.hpp"

#include <algorithm>

#include "launch/tracking/lineage.hpp"
#include "launch/tracking/process.hpp"

namespace holon::launch {

bool have_common_cpus(const CpuMask& a, const CpuMask& b) {
  const std::size_t words = std::min(a.words().size(), b.words().size());
  for (std::size_t i = 0; i < words; ++i)
    if ((a.words()[i] & b.words()[i]) != 0) return true;
  return false;
}

Result<std::vector<std::int64_t>> processes_on_cores(const Node& node, const std::string& prefix,
                                                     const msg::CoresRequest& ask,
                                                     const Idset& cores) {
  const auto asked = node.cpus_of(cores);
  if (!asked) return tl::unexpected(asked.error());
  Idset every;
  if (node.cores() > 0) every.insert(0, node.cores() - 1);
  const auto all = node.cpus_of(every);
  if (!all) return tl::unexpected(all.error());
  std::vector<std::int64_t> found;
  for (const ProcessStat& process : all_processes()) {
    if (process.of_kernel || process.is_over()) continue;
    const auto mask = CpuMask::of(process.pid);
    if (!mask || mask->covers(*all) || !have_common_cpus(*mask, *asked)) continue;
    // One that is just becoming another program, and has no environment, may be the job's.
    const auto lineage = variable_of(process, kLineage);
    if (lineage && ask.of_jobs && is_of_job_itself(*lineage, prefix, ask.job)) continue;
    if (!lineage || job_within(*lineage, prefix) == ask.job) found.push_back(process.pid);
  }
  return found;
}

}  // namespace holon::launch
