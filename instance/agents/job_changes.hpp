// job_changes.hpp - the requests that change existing jobs: `job.update`, `job.suspend`.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "instance/agents/agents.hpp"
#include "instance/journal/after_commit.hpp"
#include "instance/manager/manager.hpp"
#include "transport/dispatcher.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {

class JobChanges {
 public:
  JobChanges(transport::Reactor& reactor, JobManager& jobs, Agents& agents,
             AfterCommit& after_commit)
      : reactor_(reactor), jobs_(jobs), agents_(agents), after_commit_(after_commit) {}
  void add_to(transport::Dispatcher& dispatcher);

 private:
  void update(const transport::Request& request);
  void suspend(const transport::Request& request);
  using ByRank = std::map<std::uint32_t, std::vector<std::uint64_t>>;
  ByRank agents_of(const std::vector<std::uint64_t>& ids) const;

  transport::Reactor& reactor_;
  JobManager& jobs_;
  Agents& agents_;
  AfterCommit& after_commit_;
};

}  // namespace holon::instance
