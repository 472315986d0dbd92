#include "instance/membership/leaving_nodes.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "base/hostlist.hpp"
#include "base/text/printable.hpp"
#include "batch/hosts.hpp"
#include "msg/resource.hpp"
#include "resource/graph/graph.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

// Reasons, for people.
constexpr const char* kHasLeft = "it has left (holon leave)";
constexpr const char* kComesBack = "it had left, and is about to come back";

Hostlist hostlist_with(const std::string& host) {
  Hostlist hosts;
  hosts.append(host);
  return hosts;
}

bool is_grant(const ActiveJob& job) {
  return job.submission->wishes.grant_to.value() != 0;
}

// Does the job hold all of the node of this rank?
bool has_whole(const resource::ResourceGraph& graph, const ActiveJob& job, std::uint32_t rank) {
  if (!job.allocation) return false;
  const auto& shares = job.allocation->shares;
  return std::any_of(shares.begin(), shares.end(), [&](const resource::Share& share) {
    const auto v = share.exclusive ? graph.find_uniq(share.uniq_id) : std::nullopt;
    return v && graph.type_name(*v) == "node" && graph[*v].rank == static_cast<std::int32_t>(rank);
  });
}

bool has_some(const resource::ResourceGraph& graph, const ActiveJob& job, std::uint32_t rank) {
  if (!job.allocation) return false;
  const auto nodes = nodes_of(graph, *job.allocation);
  return std::any_of(nodes.begin(), nodes.end(), [&](const PlacedNode& node) {
    return node.rank == static_cast<std::int32_t>(rank);
  });
}

}  // namespace

Result<LeavingNodes::Node> LeavingNodes::node_named(const std::string& host) const {
  const auto& graph = store_.graph();
  for (const auto node : graph.by_type("node"))
    if (batch::is_same_host(graph.name(node), host) && graph[node].rank >= 0)
      return Node{static_cast<std::uint32_t>(graph[node].rank), graph.name(node)};
  return fail(Errc::not_found, fmt::format("there is no node {} here", printable(host)), "host");
}

Status LeavingNodes::can_leave(const Node& node) const {
  if (node.rank == 0)
    return fail(
        Errc::denied,
        fmt::format("{} is the node of the broker; `holon shutdown` ends the instance", node.host),
        "host");
  if (granted_.has(static_cast<std::int32_t>(node.rank)))
    return fail(Errc::denied,
                fmt::format("{} came from the instance above; `holon grant release` gives it back",
                            node.host),
                "host");
  const std::uint32_t agent = nodes_of_agents_.agent_of(static_cast<std::int32_t>(node.rank));
  if (agent != node.rank || nodes_of_agents_.nodes_of(agent).size() != 1 || !agents_.has(agent))
    return fail(Errc::unsupported,
                fmt::format("the agent of {} stands for other nodes, too", node.host), "host");
  return {};
}

// A child is on the nodes of its own job. Where it is beyond them are its grants, which last longer
// than its agents there.
bool LeavingNodes::is_on(const ActiveJob& job, std::uint32_t rank) const {
  if (is_grant(job)) return has_whole(store_.graph(), job, rank);
  if (job.submission->wishes.lends) return has_some(store_.graph(), job, rank);
  const auto& [parts, extra] = std::tie(job.life.parts, job.life.extra);
  const bool is_lent = std::any_of(extra.begin(), extra.end(), [&](const event::GrantExtend& one) {
    return std::find(one.ranks.begin(), one.ranks.end(), rank) != one.ranks.end();
  });
  return !is_lent &&
         std::any_of(parts.begin(), parts.end(), [&](const Part& p) { return p.rank == rank; });
}

std::vector<JobId> LeavingNodes::jobs_on(std::uint32_t rank) const {
  std::vector<JobId> jobs;
  for (const JobId id : jobs_.holding())
    if (is_on(*jobs_.find(id), rank)) jobs.push_back(id);
  return jobs;
}

void LeavingNodes::ask(const transport::Request& request, Time wall, Time now) {
  const auto ask = transport::unpack<msg::LeaveRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  const auto node = node_named(ask->host);
  if (!node) return request.fail(node.error());
  if (auto can = can_leave(*node); !can) return request.fail(can.error());
  if (auto drained = drains_.drain(hostlist_with(node->host), {kHasLeft, wall, NodeLeave::leaves});
      !drained)
    return request.fail(drained.error());
  // A job that ends anyhow is left alone: a cancel would keep it from running again elsewhere.
  for (const JobId id : jobs_on(node->rank)) {
    const ActiveJob& job = *jobs_.find(id);
    if (is_grant(job))
      recall({id, node->rank, ask->now, fmt::format("{} leaves", node->host)}, now);
    else if (ask->now && job.life.state == JobState::run)
      jobs_.raise(id, "cancel", fmt::format("its node {} leaves", node->host), now);
  }
  leaving_.push_back({*node, request, ask->now});
}

bool LeavingNodes::is_idle(std::uint32_t rank) const {
  if (!agents_.is_connected(rank) || has_left(rank) || !jobs_on(rank).empty()) return false;
  const auto& graph = store_.graph();
  for (const auto node : graph.by_type("node"))
    if (graph[node].rank == static_cast<std::int32_t>(rank) && !store_.jobs_at(node).empty())
      return false;
  return true;
}

void LeavingNodes::send_away(std::uint32_t rank, const Reason& reason, Time wall, Time now) {
  const Node node{rank, name_of(rank)};
  if (node.host.empty() || has_left(rank) || !can_leave(node)) return;
  if (!drains_.drain(hostlist_with(node.host), {kHasLeft, wall, NodeLeave::leaves})) return;
  for (const JobId id : jobs_on(rank)) {
    const ActiveJob& job = *jobs_.find(id);
    const Time end = job.life.expiration;
    const bool is_too_long = reason.end != kTimeMax && (end == 0 || end > reason.end);
    if (is_grant(job))
      recall({id, rank, is_too_long, fmt::format("{} leaves: {}", node.host, reason.why)}, now);
    else if (is_too_long)
      jobs_.raise(id, "node-failure", fmt::format("its node {} leaves: {}", node.host, reason.why),
                  now);
  }
}

void LeavingNodes::send_home(std::uint32_t rank) {
  const AgentLink& agent = agents_.of(rank);
  sent_home_[rank] = {agent.incarnation(), agent.peer()};
  after_commit_.add([this, rank] { agents_.of(rank).shutdown(); });
}

// Sends home the agents that are here of nodes that an earlier broker had begun to send home.
void LeavingNodes::go_on() {
  for (const auto& [host, drain] : drains_.here()) {
    if (drain.leave != NodeLeave::leaves) continue;
    const auto node = node_named(host);
    const auto is_its = [&](const Leaving& one) { return one.node.rank == node->rank; };
    if (!node || !can_leave(*node) || sent_home_.contains(node->rank) ||
        std::any_of(leaving_.begin(), leaving_.end(), is_its))
      continue;
    if (agents_.is_connected(node->rank) && jobs_on(node->rank).empty()) send_home(node->rank);
  }
}

void LeavingNodes::look_after_all() {
  for (auto at = sent_home_.begin(); at != sent_home_.end();) {
    const auto here = at++;
    look_after(here->first, here->second);
  }
}

// What a child was given and has not taken yet is on its way still: it is recalled again.
void LeavingNodes::recall_all(const Leaving& leaving, Time now) {
  for (const JobId id : jobs_on(leaving.node.rank))
    if (is_grant(*jobs_.find(id)))
      recall({id, leaving.node.rank, true, fmt::format("{} leaves", leaving.node.host)}, now);
}

void LeavingNodes::turn(Time now) {
  go_on();
  for (auto at = leaving_.begin(); at != leaving_.end();) {
    const auto here = at++;
    const std::uint32_t rank = here->node.rank;
    if (!jobs_on(rank).empty()) {
      if (here->by_force) recall_all(*here, now);
      continue;
    }
    send_home(rank);
    after_commit_.add([request = here->request] { request.reply(transport::pack(msg::Empty{})); });
    leaving_.erase(here);
  }
}

// An agent that was away is told to end when it comes, and so is another one that was on its way
// when its node was asked to leave. An agent that was let in after that stays: the node takes work.
void LeavingNodes::look_after(std::uint32_t rank, SentHome& agent) {
  AgentLink& link = agents_.of(rank);
  if (!link.connected()) return;
  if (link.incarnation() == agent.incarnation) {
    if (std::exchange(agent.told_to, link.peer()) != link.peer()) link.shutdown();
    return;
  }
  if (!agent.is_replaced) return send_home(rank);
  sent_home_.erase(rank);
  take_back(name_of(rank));
}

std::string LeavingNodes::name_of(std::uint32_t rank) const {
  const auto& graph = store_.graph();
  for (const auto node : graph.by_type("node"))
    if (graph[node].rank == static_cast<std::int32_t>(rank)) return graph.name(node);
  return "";
}

bool LeavingNodes::has_left(const Node& node) const {
  const auto drain = drains_.here().find(node.host);
  return sent_home_.contains(node.rank) ||
         (drain != drains_.here().end() && drain->second.leave != NodeLeave::stays);
}

bool LeavingNodes::has_left(std::uint32_t rank) const {
  return has_left(Node{rank, name_of(rank)});
}

std::vector<resource::VertexId> LeavingNodes::gone() const {
  std::vector<resource::VertexId> nodes;
  if (sent_home_.empty() && drains_.here().empty()) return nodes;
  const auto& graph = store_.graph();
  for (const auto v : graph.by_type("node")) {
    const Node node{static_cast<std::uint32_t>(graph[v].rank), graph.name(v)};
    if (graph[v].rank >= 0 && has_left(node) && jobs_on(node.rank).empty()) nodes.push_back(v);
  }
  return nodes;
}

// The node is taken back when another agent has come, which says how long it stays. A broker
// restarted before that finds the reason of the drain, and knows the last agent's number.
void LeavingNodes::expect_back(std::uint32_t rank, Time wall) {
  if (!has_left(rank) || !agents_.has(rank)) return;
  const AgentLink& last = agents_.of(rank);
  sent_home_.try_emplace(rank, SentHome{last.incarnation(), last.peer()})
      .first->second.is_replaced = true;
  const auto drain = drains_.here().find(name_of(rank));
  if (drain != drains_.here().end() && drain->second.leave == NodeLeave::leaves)
    static_cast<void>(
        drains_.drain(hostlist_with(drain->first), {kComesBack, wall, NodeLeave::comes_back}));
}

void LeavingNodes::restore() {
  for (const auto& [host, drain] : drains_.here()) {
    const auto node =
        drain.leave == NodeLeave::comes_back ? node_named(host) : fail(Errc::not_found, "");
    if (node && agents_.has(node->rank))
      sent_home_[node->rank] = {agents_.of(node->rank).incarnation(), transport::PeerId{0}, true};
  }
}

void LeavingNodes::forget() {
  std::vector<std::string> hosts;
  for (const auto& [host, drain] : drains_.here()) hosts.push_back(host);
  for (const auto& host : hosts) take_back(host);
}

void LeavingNodes::take_back(const std::string& host) {
  const auto drain = drains_.here().find(host);
  if (drain != drains_.here().end() && drain->second.leave != NodeLeave::stays) drains_.lift(host);
}

void LeavingNodes::close(const Error& why) {
  for (const Leaving& one : std::exchange(leaving_, {})) one.request.fail(why);
}

}  // namespace holon::instance
