// fences.hpp - "agent.fence": data put by the tasks of one part of a job goes to those of all
// others, once the tasks of all parts have come.
//
// Kept in memory only: after a restart of the broker the agents send their fences again. The newest
// fence of each job is kept, and the one before it, which an agent may have to ask for once more.
// The data of a job is bounded, and gone with it.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "instance/manager/manager.hpp"
#include "transport/rpc.hpp"

namespace holon::instance {

class Fences {
 public:
  explicit Fences(const JobManager& jobs) : jobs_(jobs) {}

  // Takes the fence of the agent of this rank. Errors, answered to the request: not_found (it has
  // no part of such a job, or another part is over), out_of_range (the job's tasks have put too
  // much), invalid_argument (a round of long ago).
  void take(const transport::Request& request, std::uint32_t rank);
  // A part of the job is over: fences that it has not come to will not end.
  void part_ended(JobId job);
  void forget(JobId job);

 private:
  struct Come {
    std::string data;
    transport::Request request;
  };
  // By the number of the round: the fences that have come, by rank of the agent.
  using Rounds = std::map<std::uint64_t, std::map<std::uint32_t, Come>>;

  static std::size_t bytes_of(const Rounds& rounds);
  void end_where_all_came(const ActiveJob& job, std::uint64_t round);

  const JobManager& jobs_;
  std::map<JobId, Rounds> fences_;
};

}  // namespace holon::instance
