// ended_instance_jobs.hpp - what is kept about jobs of instances that have ended, beside their
// records: events, jobspec and R are in the journal of that instance for as long as its folder is
// there, and are read from it when somebody asks (dead_child.hpp). Without it there is the record.
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

  // "job.info" and "job.watch" for jobs whose records these are.
  // "job.attach": what of it is in the log of outputs, else `files` is called.
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
  // Where nothing can be read `take` gets an empty value.
  void read(const msg::JobRecord& record, std::function<void(msg::DeadChildJob)> take);

  const Uses uses_;
};

}  // namespace holon::instance
