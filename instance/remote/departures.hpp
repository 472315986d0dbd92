// departures.hpp - nodes that leave the instance in order: they take no new work, what runs there
// ends, and then their agent does.
//
// Kept in memory: of a node that leaves, a broker that is started again knows that it is drained.
#pragma once
#include <cstdint>
#include <list>
#include <set>
#include <string>
#include <vector>

#include "instance/agents/agents.hpp"
#include "instance/job/manager.hpp"
#include "instance/journal/after_commit.hpp"
#include "instance/resources/drains.hpp"
#include "resource/store.hpp"

namespace holon::instance {

class Departures {
 public:
  // All must outlive it.
  Departures(resource::ResourceStore& store, JobManager& jobs, Agents& agents, Drains& drains,
             AfterCommit& after_commit)
      : store_(store), jobs_(jobs), agents_(agents), drains_(drains), after_commit_(after_commit) {}

  // "node.leave" (msg::LeaveRequest), answered once the agent is told to end. `wall`: now.
  void ask(const transport::Request& request, Time wall, Time now);
  // Before the commit: nodes on which nothing is left are sent home.
  void turn();
  // A node was let in: if it had left, it takes work again.
  void came_back(std::uint32_t rank, const std::string& host);
  // Was its agent told to end? It may still be on its way out.
  bool has_left(std::uint32_t rank) const { return left_.contains(rank); }
  // The instance ends: who waits is told so.
  void close(const Error& why);

 private:
  struct Node {
    std::uint32_t rank = 0;
    std::string host;
  };
  struct Leaving {
    Node node;
    transport::Request request;
  };
  Result<Node> node_named(const std::string& host) const;
  std::vector<JobId> jobs_on(std::uint32_t rank) const;

  resource::ResourceStore& store_;
  JobManager& jobs_;
  Agents& agents_;
  Drains& drains_;
  AfterCommit& after_commit_;
  std::list<Leaving> leaving_;
  std::set<std::uint32_t> left_;
};

}  // namespace holon::instance
