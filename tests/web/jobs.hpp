// jobs.hpp - records of jobs as a broker would send them, for tests.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "msg/events.hpp"

namespace holon::web::testing {

inline msg::JobRecord waiting_job(std::uint64_t id, Time submit,
                                  const std::string& instance = "/") {
  msg::JobRecord job;
  job.id = id;
  job.path = (instance == "/" ? "" : instance) + "/" + std::to_string(id);
  job.name = "job" + std::to_string(id);
  job.user = "ann";
  job.queue = "default";
  job.state = "SCHED";
  job.ncores = 1;
  job.t_submit = submit;
  return job;
}

inline msg::JobRecord running_job(std::uint64_t id, Time start, const std::string& nodes,
                                  const std::string& instance = "/") {
  msg::JobRecord job = waiting_job(id, start, instance);
  job.state = "RUN";
  job.t_alloc = job.t_start = start;
  job.nodelist = nodes;
  return job;
}

inline msg::JobRecord ended_job(std::uint64_t id, Interval ran, const std::string& nodes,
                                const std::string& result = "COMPLETED",
                                const std::string& instance = "/") {
  msg::JobRecord job = running_job(id, ran.begin, nodes, instance);
  job.state = "INACTIVE";
  job.result = result;
  job.exit_code = result == "COMPLETED" ? 0 : 1;
  job.t_finish = job.t_inactive = ran.end;
  return job;
}

inline msg::EventsPart part_with(std::vector<msg::JobRecord> jobs, bool anew = false) {
  msg::EventsPart part;
  part.anew = anew;
  part.jobs = std::move(jobs);
  part.cursor = "c";
  msg::TreeNode node;
  node.health = "up";
  node.cores = 8;
  node.cores_free = 3;
  node.nodes = 2;
  part.node = {node};
  return part;
}

}  // namespace holon::web::testing
