#include "instance/remote/departures.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/hostlist.hpp"
#include "base/printable.hpp"
#include "batch/hosts.hpp"
#include "msg/resource.hpp"
#include "resource/graph/graph.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

constexpr const char* kHasLeft = "it has left (holon leave)";

Hostlist hostlist_with(const std::string& host) {
  Hostlist hosts;
  hosts.append(host);
  return hosts;
}

}  // namespace

Result<Departures::Node> Departures::node_named(const std::string& host) const {
  const auto& graph = store_.graph();
  for (const auto node : graph.by_type("node"))
    if (batch::is_same_host(graph.name(node), host) && graph[node].rank >= 0)
      return Node{static_cast<std::uint32_t>(graph[node].rank), graph.name(node)};
  return fail(Errc::not_found, fmt::format("there is no node {} here", printable(host)), "host");
}

std::vector<JobId> Departures::jobs_on(std::uint32_t rank) const {
  std::vector<JobId> jobs;
  for (const JobId id : jobs_.holding()) {
    const auto& parts = jobs_.find(id)->life.parts;
    if (std::any_of(parts.begin(), parts.end(), [&](const Part& p) { return p.rank == rank; }))
      jobs.push_back(id);
  }
  return jobs;
}

void Departures::ask(const transport::Request& request, Time wall, Time now) {
  const auto ask = transport::unpack<msg::LeaveRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  const auto node = node_named(ask->host);
  if (!node) return request.fail(node.error());
  if (node->rank == 0 || !agents_.has(node->rank))
    return request.fail({Errc::denied,
                         fmt::format("{} is the node of the broker; `holon shutdown` ends the "
                                     "instance",
                                     node->host),
                         "host"});
  if (auto drained = drains_.drain(hostlist_with(node->host), {kHasLeft, wall}); !drained)
    return request.fail(drained.error());
  if (ask->now)
    for (const JobId id : jobs_on(node->rank))
      jobs_.raise(id, "cancel", fmt::format("its node {} leaves", node->host), now);
  leaving_.push_back({*node, request});
}

void Departures::turn() {
  for (auto at = leaving_.begin(); at != leaving_.end();) {
    const auto here = at++;
    if (!jobs_on(here->node.rank).empty()) continue;
    after_commit_.add([this, rank = here->node.rank, request = here->request] {
      agents_.of(rank).shutdown();
      request.reply(transport::pack(msg::Empty{}));
    });
    left_.insert(here->node.rank);
    leaving_.erase(here);
  }
}

void Departures::came_back(std::uint32_t rank, const std::string& host) {
  left_.erase(rank);
  const auto drain = drains_.here().find(host);
  if (drain == drains_.here().end() || drain->second.reason != kHasLeft) return;
  // It was drained here, so that nothing is in the way of that.
  static_cast<void>(drains_.undrain(hostlist_with(host)));
}

void Departures::close(const Error& why) {
  for (const Leaving& one : std::exchange(leaving_, {})) one.request.fail(why);
}

}  // namespace holon::instance
