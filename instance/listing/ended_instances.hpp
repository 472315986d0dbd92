// ended_instances.hpp - answers for ended instances below, from the records they have left here, as
// the table of topics says (msg/topic.hpp).
#pragma once
#include <string>
#include <vector>

#include "instance/agents/agents.hpp"
#include "instance/basics/sliced_work.hpp"
#include "instance/journal/after_commit.hpp"
#include "instance/journal/journal.hpp"
#include "instance/listing/ended_instance_jobs.hpp"
#include "instance/listing/job_pages.hpp"
#include "instance/streams/output_streams.hpp"
#include "instance/tree/identity.hpp"
#include "instance/tree/records.hpp"
#include "transport/rpc.hpp"

namespace holon::instance {

class EndedInstances {
 public:
  struct Uses {
    const Identity& identity;
    Agents& agents;
    const Journal& journal;
    const Records& records;
    JobPages& pages;
    OutputStreams& outputs;
    SlicedWork& portions;
    AfterCommit& after_commit;
  };
  explicit EndedInstances(Uses uses) : uses_(uses), jobs_({uses.identity, uses.agents}) {}

  // Answers for the instance at `path`, which does not run, if it ever existed.
  void answer(const transport::Request& request, const std::string& path);

 private:
  using Ids = std::vector<std::uint64_t>;
  void count(const transport::Request& request, const msg::JobRecord& instance);
  Result<std::vector<msg::JobRecord>> records_of(const std::string& path, const Ids& ids) const;
  void answer_one(const transport::Request& request, const std::string& path);
  void answer_many(const transport::Request& request, const std::string& path);

  const Uses uses_;
  EndedInstanceJobs jobs_;
};

}  // namespace holon::instance
