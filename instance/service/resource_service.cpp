#include "instance/service/resource_service.hpp"

#include <set>
#include <utility>

#include "base/hostlist.hpp"
#include "instance/request/placement.hpp"
#include "instance/resources/resources.hpp"
#include "msg/instance.hpp"
#include "resource/graph/graph.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

using transport::pack;
using transport::Request;
using transport::unpack;

void add_node(std::vector<msg::DrainedNode>& nodes, const Drains::ByHost& drains, bool above,
              const std::set<std::string>& busy) {
  for (const auto& [host, drain] : drains)
    nodes.push_back({host, drain.reason, drain.since, above, busy.contains(host)});
}

std::set<std::string> busy_hosts(const resource::ResourceGraph& graph, const JobManager& jobs) {
  std::set<std::string> hosts;
  for (const JobId id : jobs.holding())
    for (const auto& node : nodes_of(graph, *jobs.find(id)->allocation)) hosts.insert(node.host);
  return hosts;
}

// By type, for vertices with cores below them: how many have nothing in use. A node on which one
// core is in use is not free.
std::map<std::string, std::int64_t> idle_containers(const resource::ResourceGraph& graph,
                                                    const JobManager& jobs) {
  std::set<resource::VertexId> used, containers;
  const auto mark_above = [&graph](resource::VertexId v, std::set<resource::VertexId>& marked) {
    while ((v = graph.parent(v)) != resource::kNoVertex && marked.insert(v).second) continue;
  };
  for (const auto v : graph.by_type("core")) mark_above(v, containers);
  for (const JobId id : jobs.holding()) {
    for (const auto& share : jobs.find(id)->allocation->shares) {
      const auto v = graph.find_uniq(share.uniq_id);
      if (!v || (share.amount == 0 && !share.exclusive)) continue;
      if (used.insert(*v).second) mark_above(*v, used);
      if (share.exclusive)
        for (const auto below : graph.subtree(*v)) used.insert(below);
    }
  }
  std::map<std::string, std::int64_t> idle;
  for (const auto v : containers)
    idle[graph.type_name(v)] +=
        !used.contains(v) && graph[v].up && !graph[v].drained ? graph[v].size : 0;
  return idle;
}

}  // namespace

ResourceService::ResourceService(transport::Reactor& reactor, transport::Server& server, Uses uses)
    : reactor_(reactor), server_(server), uses_(uses) {
  uses_.drains.on_changed = [this] { tell_drains_after_commit(); };
}

void ResourceService::add_to(transport::Dispatcher& dispatcher) {
  dispatcher.add("resource.list", [this](const Request& r) { list(r); });
  dispatcher.add("resource.R", [this](const Request& r) { list(r); });
  dispatcher.add("resource.drain", [this](const Request& r) { drain(r); });
  dispatcher.add("drain", [this](const Request& r) { follow(r); });
}

void ResourceService::list(const Request& request) {
  const auto& graph = uses_.store.graph();
  const Time now = reactor_.now();
  msg::ResourceReply reply;
  std::set<resource::VertexId> down;  // with all vertices below
  for (const auto v : graph.in_preorder())
    if (!graph[v].up)
      for (const auto below : graph.subtree(v)) down.insert(below);
  for (const auto v : graph.in_preorder()) {
    const std::string& type = graph.type_name(v);
    reply.total[type] += graph[v].size;
    reply.down[type] += down.contains(v) ? graph[v].size : 0;
  }
  for (const auto& [type, n] : reply.total) {
    reply.free[type] = uses_.store.available(type, now);
    reply.drained[type] = uses_.store.drained(type, now);
  }
  for (const auto& [type, n] : idle_containers(graph, uses_.jobs)) reply.free[type] = n;
  const std::set<std::string> busy = busy_hosts(graph, uses_.jobs);
  NodeLists lists = node_lists(graph, busy);
  reply.nodes_free = std::move(lists.free);
  reply.nodes_allocated = std::move(lists.allocated);
  reply.nodes_down = std::move(lists.down);
  add_node(reply.nodes_drained, uses_.drains.here(), false, busy);
  add_node(reply.nodes_drained, uses_.drains.above_here(), true, busy);
  reply.R = R_text(graph);
  uses_.after_commit.add([request, reply = std::move(reply)] { request.reply(pack(reply)); });
}

void ResourceService::drain(const Request& request) {
  const auto ask = unpack<msg::DrainRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  const auto hosts = Hostlist::parse(ask->hosts);
  if (!hosts) return request.fail(hosts.error());
  const Status done =
      ask->drain ? uses_.drains.drain(*hosts, {ask->reason, uses_.clock.wall(reactor_.now())})
                 : uses_.drains.undrain(*hosts);
  if (!done) return request.fail(done.error());
  uses_.after_commit.add([request] { request.reply(pack(msg::Empty{})); });
}

// Handles "drain" of the instance above.
void ResourceService::follow(const Request& request) {
  const auto told = unpack<msg::DrainedAbove>(request.payload());
  if (!told) return request.fail(told.error());
  Drains::ByHost above;
  for (const msg::DrainedNode& node : told->nodes) above[node.host] = {node.reason, node.since};
  uses_.drains.follow(std::move(above));
  uses_.after_commit.add([request] { request.reply(pack(msg::Empty{})); });
}

// Many nodes may leave in one turn.
void ResourceService::tell_drains_after_commit() {
  if (std::exchange(tells_drains_, true)) return;
  uses_.after_commit.add([this] {
    tells_drains_ = false;
    for (const auto& [child, peer] : uses_.children.connected()) send_drains(child);
  });
}

void ResourceService::tell_drains(JobId child) {
  uses_.after_commit.add([this, child] { send_drains(child); });
}

void ResourceService::send_drains(JobId child) {
  const auto peer = uses_.children.peer(child);
  if (peer.value() == 0) return;
  msg::DrainedAbove drained;
  add_node(drained.nodes, uses_.drains.here(), true, {});
  add_node(drained.nodes, uses_.drains.above(), true, {});
  server_.call(peer, {"drain", pack(drained), "", 0}, [](const Result<std::string>&) {});
}

}  // namespace holon::instance
