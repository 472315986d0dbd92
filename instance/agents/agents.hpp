// agents.hpp - all agents of an instance, by rank. Calls about a job go to the agents that run a
// part of it; one agent is the business of its AgentLink.
//
// An agent proves its rank with the secret that the supervisor has made for that rank, and from
// another node also with the key of its connection; from then on its connection counts as that
// rank.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "instance/agents/agent_link.hpp"
#include "instance/agents/away_nodes.hpp"
#include "instance/agents/fences.hpp"
#include "instance/basics/refusals.hpp"
#include "instance/resources/resources.hpp"

namespace holon::instance {

class Agents {
 public:
  // `secrets`: by rank, of each expected agent. Those of ground.nodes_of_agents are among them, the
  // others may come later.
  Agents(AgentGround ground, Refusals& refusals, AwayNodes& offline,
         std::vector<std::string> secrets);

  // Called by the broker's Outside.
  void start_tasks(const ActiveJob& job);
  void kill_tasks(const ActiveJob& job);
  // No task of the job runs any more. REQUIRES: it has the parts that it ran with. O(parts).
  void forget(const ActiveJob& job);
  // Jobs first .. stop - 1, which are over, are forgotten with this commit.
  void forgotten(JobId first, JobId stop);
  void set_limit(const ActiveJob& job, Duration limit);
  void checkpoint(const ActiveJob& job);
  // The instance above was heard, and what it has lent is sure for longer.
  void tell_what_is_sure();

  void hello(const transport::Request& request, Time now);
  // Was the agent of this rank told to end, because its node leaves? Then another agent may take
  // its place.
  std::function<bool(std::uint32_t rank)> is_sent_home = [](std::uint32_t) { return false; };
  // Adds the node of an agent that has come and is not among the instance's resources, as the agent
  // describes it. Errors: what is wrong with the description; the agent is sent home.
  std::function<Status(const NodeTopology&)> on_latecomer = [](const NodeTopology&) -> Status {
    return fail(Errc::unsupported, "its resources are what they are");
  };
  // An agent was welcomed.
  std::function<void(const launch::msg::Hello&)> on_welcome = [](const launch::msg::Hello&) {};
  // One more agent may come, with the rank behind the last one.
  void expect(std::string secret) { secrets_.push_back(std::move(secret)); }
  // The agent of this rank may come with this secret, also where another of the rank has retired.
  // REQUIRES: `rank` is one of those expected, or the next one.
  void expect_at(std::uint32_t rank, std::string secret);
  // The node of this agent is none of the instance's any more: after the commit the agent is told
  // to end, and counts as away for good. REQUIRES: has(rank), and no job has a part there.
  void retire(std::uint32_t rank);
  // Ranks of expected agents that have never come.
  std::vector<std::uint32_t> awaited() const;
  // REQUIRES: knows(request.peer()).
  void report(const transport::Request& request, Time now);
  // REQUIRES: knows(request.peer()).
  void fence(const transport::Request& request);
  void part_ended(JobId job) { fences_.part_ended(job); }
  void peer_lost(transport::PeerId peer);

  // Before the commit, and after it: see AgentLink.
  void settle(Time now);
  void flush();

  // The link of the agent at this connection; nullptr: it is no agent's.
  const AgentLink* link_of(transport::PeerId peer) const {
    const auto known = by_peer_.find(peer);
    return known == by_peer_.end() ? nullptr : known->second;
  }
  // Is it the connection of the agent that said hello last as one of this instance?
  bool knows(transport::PeerId peer) const { return by_peer_.contains(peer); }
  // Are all agents here, but for those that have retired?
  bool all_connected() const;
  bool is_connected(std::uint32_t rank) const {
    const auto link = links_.find(rank);
    return link != links_.end() && link->second.connected();
  }
  // Is there an agent of this rank, here or away?
  bool has(std::uint32_t rank) const { return links_.contains(rank); }
  bool none_connected() const { return by_peer_.empty(); }
  // REQUIRES: has(rank).
  AgentLink& of(std::uint32_t rank) { return links_.at(rank); }
  const AgentLink& of(std::uint32_t rank) const { return links_.at(rank); }
  // The agent that sees the same files as the broker.
  AgentLink& beside_broker() { return links_.begin()->second; }
  const AgentLink& beside_broker() const { return links_.begin()->second; }
  // The agents that run parts of the job, by rank.
  std::vector<AgentLink*> running(const ActiveJob& job);

  void kill_orphans(const JobManager::Orphans& orphans);
  void kill_all_now();
  void shutdown();

 private:
  Status take_in(const launch::msg::Hello& hello);
  bool is_second(const AgentLink& link, const transport::Request& request,
                 const launch::msg::Hello& hello) const;
  static void refuse_second(const transport::Request& request, const AgentLink& link);
  static void refuse_latecomer(const transport::Request& request, const launch::msg::Hello& hello,
                               const Error& why);
  void make_output_folder() const;
  bool proves_its_rank(const transport::Request& request, const launch::msg::Hello& hello) const;

  AgentGround ground_;
  Fences fences_;
  Refusals& refusals_;
  AwayNodes& offline_;
  std::vector<std::string> secrets_;
  std::map<std::uint32_t, AgentLink> links_;
  std::map<transport::PeerId, AgentLink*> by_peer_;  // connected agents
};

}  // namespace holon::instance
