#include "cli/slurm/nodes.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/hostlist.hpp"
#include "resource/formats/rv1.hpp"

namespace holon::cli::slurm {
namespace {

constexpr const char* kNameOfUsualQueue = "queue.default";

Hostlist hosts_in(const std::string& text) {
  auto hosts = Hostlist::parse(text);
  return hosts ? std::move(*hosts) : Hostlist();
}

// The cores that running jobs hold on each host; those of a job are shared evenly among its hosts.
Result<std::map<std::string, std::int64_t>> held_by_jobs(client::Client& client) {
  msg::JobsRequest request;
  request.filter.states = {"RUNNING", "SUSPENDED"};
  request.tasks = true;
  const auto jobs = client.jobs(request);
  if (!jobs) return tl::unexpected(jobs.error());
  std::map<std::string, std::int64_t> held;
  for (const auto& job : jobs->jobs) {
    if (job.tasks > 0) continue;  // its tasks are counted
    const Hostlist hosts = hosts_in(job.nodelist);
    const auto count = static_cast<std::int64_t>(hosts.count());
    for (std::int64_t i = 0; i < count; ++i)
      held[hosts.at(static_cast<std::uint64_t>(i))] +=
          job.ncores / count + (i < job.ncores % count ? 1 : 0);
  }
  return held;
}

class Reading {
 public:
  Reading(const msg::ResourceReply& reply, const std::map<std::string, std::int64_t>& held)
      : reply_(reply),
        held_(held),
        down_(hosts_in(reply.nodes_down)),
        used_(hosts_in(reply.nodes_allocated)) {}

  Node node(const resource::Rv1::Host& its) const {
    const auto& host = its.name;
    const auto cores = static_cast<std::int64_t>(its.cores.count());
    Node node{host,
              "idle",
              {},
              cores,
              0,
              static_cast<std::int64_t>(its.gpus.count()),
              its.memory * 1024};  // the graph counts GiB
    if (const auto held = held_.find(host); held != held_.end())
      node.cores_held = std::min(cores, held->second);
    if (node.cores_held > 0 || used_.contains(host))
      node.state = node.cores_held < cores ? "mixed" : "allocated";
    for (const auto& drained : reply_.nodes_drained)
      if (drained.host == host) {
        node.state = drained.busy ? "draining" : "drained";
        node.reason = drained.reason;
      }
    if (down_.contains(host)) node.state = "down";
    return node;
  }

 private:
  const msg::ResourceReply& reply_;
  const std::map<std::string, std::int64_t>& held_;
  Hostlist down_, used_;
};

// In an instance for several users its members are not told of its queues: those of their own jobs
// stand for them.
Status add_queues_of_jobs(client::Client& client, Cluster& cluster) {
  msg::JobsRequest request;
  request.all = true;
  const auto jobs = client.jobs(request);
  if (!jobs) return tl::unexpected(jobs.error());
  std::set<std::string> names;
  for (const auto& job : jobs->jobs) names.insert(job.queue);
  for (const std::string& name : names)
    cluster.partitions.push_back({name, names.size() == 1, true});
  return {};
}

Status add_partitions(client::Client& client, Cluster& cluster) {
  const auto stats = client.stats();
  if (!stats && stats.error().code == Errc::denied) return add_queues_of_jobs(client, cluster);
  if (!stats) return tl::unexpected(stats.error());
  const auto usual = client.config({kNameOfUsualQueue});
  const std::string name = usual && !usual->values.empty() ? usual->values.front().value : "";
  for (const auto& queue : stats->queues)
    cluster.partitions.push_back(
        {queue.name, stats->queues.size() == 1 || queue.name == name, queue.enabled});
  return {};
}

}  // namespace

Result<Cluster> cluster_of(client::Client& client) {
  const auto reply = client.resources();
  if (!reply) return tl::unexpected(reply.error());
  const auto what = resource::parse_rv1(reply->R);
  if (!what) return tl::unexpected(what.error());
  const auto held = held_by_jobs(client);
  if (!held) return tl::unexpected(held.error());
  Cluster cluster;
  const Reading reading(*reply, *held);
  for (const auto& host : what->hosts) cluster.nodes.push_back(reading.node(host));
  if (auto added = add_partitions(client, cluster); !added) return tl::unexpected(added.error());
  return cluster;
}

}  // namespace holon::cli::slurm
