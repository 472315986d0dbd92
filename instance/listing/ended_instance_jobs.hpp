// ended_instance_jobs.hpp - events, jobspec and R of jobs of ended instances, beside their records:
// they are in the journal of such an instance for as long as its folder exists, and are read from
// it when somebody asks (dead_child.hpp). Without it there is only the record.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "instance/agents/agents.hpp"
#include "instance/tree/dead_child.hpp"
#include "instance/tree/identity.hpp"
#include "transport/rpc.hpp"

namespace holon::instance {

class EndedInstanceJobs {
 public:
  struct Uses {
    const Identity& identity;
    Agents& agents;
  };
  explicit EndedInstanceJobs(Uses uses) : uses_(uses) {}

  // Answers "job.info" and "job.watch" for jobs with these records.
  // Answers "job.attach" from the log of outputs; if that has nothing, calls `files`.
  void output(const transport::Request& request, const msg::JobRecord& record,
              std::function<void()> files);
  void info(const transport::Request& request, const msg::JobRecord& record);
  void watch(const transport::Request& request, std::vector<msg::JobRecord> records);

 private:
  struct Watching {
    transport::Request request;
    std::vector<msg::JobRecord> records;
    std::size_t next = 0;
  };
  void watch_next(const std::shared_ptr<Watching>& watching);
  // `take` gets an empty value if nothing can be read.
  void read(const msg::JobRecord& record, std::function<void(msg::DeadChildJob)> take);

  const Uses uses_;
};

}  // namespace holon::instance
