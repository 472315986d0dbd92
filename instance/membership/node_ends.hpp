// node_ends.hpp - when nodes that have joined will be gone: with the batch job that they are in, or
// as they said. The plan has no job there that would last longer; when the time has come the node
// leaves in order.
//
// The end of a batch job is asked for again and again, by the agent of one of its nodes, for it may
// be moved. Kept in the journal: a later broker plans with it before any agent has said hello.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "instance/agents/agents.hpp"
#include "instance/basics/walltime.hpp"
#include "instance/journal/journal.hpp"
#include "instance/manager/manager.hpp"
#include "instance/membership/leaving_nodes.hpp"
#include "launch/messages.hpp"
#include "resource/store.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {

class NodeEnds {
 public:
  // `settings`: of the questions, and the margin before the end of a batch job. All other arguments
  // must outlive it.
  NodeEnds(transport::Reactor& reactor, Journal& journal, resource::ResourceStore& store,
           JobManager& jobs, Agents& agents, LeavingNodes& leaving_nodes,
           Walltime::Settings settings);
  NodeEnds(const NodeEnds&) = delete;
  NodeEnds& operator=(const NodeEnds&) = delete;

  // `fresh`: the nodes of an earlier run are gone with it. Errors: system.
  Status restore(bool fresh);
  // Call before the commit: the end that an agent says counts if its process is a new one. After
  // that the batch system is asked.
  void agent_came(const launch::msg::Hello& hello, Time now);
  // Call before the commit: nodes whose end has come leave. Returns when to call it again at the
  // latest. `wall`: now.
  std::optional<Time> turn(Time wall, Time now);

  // "the walltime of Slurm job 5", "" if the node has no end; and the end, kTimeMax: not known.
  std::string cause(std::uint32_t rank) const;
  Time end_of(std::uint32_t rank) const;
  // The nodes in this batch job, which is named as the batch system's commands take it.
  std::vector<std::uint32_t> ranks_in(const std::string& batch_job) const;
  // False while the batch system is asked for the first time: nothing is placed there until then.
  bool is_known(std::uint32_t rank) const;

 private:
  using BatchJob = std::pair<std::string, std::string>;  // the system's name, and the job's
  struct Node {
    std::uint64_t incarnation = 0;  // of the agent
    Time said = kTimeMax;           // as the agent has said
    BatchJob batch;                 // both "": none
    bool is_sent_away = false;
  };
  struct Batch {
    Time end = kTimeMax;
    bool is_known = false;                                  // else nothing is placed on its nodes
    std::unique_ptr<Walltime> walltime;                     // null: no agent of it has come yet
    std::shared_ptr<bool> asks = std::make_shared<bool>();  // gone with the Batch
  };
  void follow(const BatchJob& which);
  void ask(const BatchJob& which, std::vector<std::string> command, const Walltime::Answer& answer);
  bool is_known(const Node& node) const;
  Time end_of(const Node& node) const;
  void plan_with(std::uint32_t rank, Time end);
  void plan_with_all();
  void forget(std::uint32_t rank);
  void keep();

  transport::Reactor& reactor_;
  Journal& journal_;
  resource::ResourceStore& store_;
  JobManager& jobs_;
  Agents& agents_;
  LeavingNodes& leaving_nodes_;
  Walltime::Settings settings_;
  std::map<std::uint32_t, Node> nodes_;  // by rank: nodes that have an end
  std::map<BatchJob, Batch> batches_;    // batch jobs of these nodes
};

}  // namespace holon::instance
