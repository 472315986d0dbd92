// signals.hpp - signals that clients send to the tasks of running jobs.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "instance/agents/agents.hpp"
#include "instance/journal/after_commit.hpp"
#include "instance/manager/manager.hpp"
#include "transport/rpc.hpp"

namespace holon::instance {

class Signals {
 public:
  Signals(JobManager& jobs, Agents& agents, AfterCommit& after_commit)
      : jobs_(jobs), agents_(agents), after_commit_(after_commit) {}

  // Signals all jobs or none; answered once all their agents have passed it on. A signal is sent
  // once and kept nowhere: if an agent is lost meanwhile, nobody knows whether its tasks got it.
  void take(const transport::Request& request);

 private:
  using ByRank = std::map<std::uint32_t, std::vector<std::uint64_t>>;
  Status add_agents_of_array(const ActiveJob& array, ByRank& to) const;
  Status add_agents_of(JobId id, ByRank& to) const;

  JobManager& jobs_;
  Agents& agents_;
  AfterCommit& after_commit_;
};

}  // namespace holon::instance
