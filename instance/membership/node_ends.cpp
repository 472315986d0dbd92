#include "instance/membership/node_ends.hpp"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "resource/graph/graph.hpp"
#include "transport/codec/json.hpp"

namespace holon::instance {
namespace {

// The form in the journal, as JSON. Times are the instance's.
struct KeptEnd {
  std::uint32_t rank = 0;
  std::uint64_t incarnation = 0;
  std::int64_t said = kTimeMax;
  std::string system, job;
  std::int64_t end = kTimeMax;
  bool is_known = false;
  HOLON_FIELDS(rank, incarnation, said, system, job, end, is_known)
};
struct KeptEnds {
  std::vector<KeptEnd> nodes;
  HOLON_FIELDS(nodes)
};

constexpr const char* kNodeEnds = "node-ends";  // in the journal

batch::Allocation allocation_of_batch(const std::string& system, const std::string& job) {
  batch::Allocation allocation;
  allocation.system = batch::system_of(system).value_or(batch::System::none);
  allocation.job = job;
  return allocation;
}

std::optional<resource::VertexId> node_of_rank(const resource::ResourceGraph& graph,
                                               std::uint32_t rank) {
  for (const auto node : graph.by_type("node"))
    if (graph[node].rank == static_cast<std::int32_t>(rank)) return node;
  return std::nullopt;
}

}  // namespace

NodeEnds::NodeEnds(transport::Reactor& reactor, Journal& journal, resource::ResourceStore& store,
                   JobManager& jobs, Agents& agents, LeavingNodes& leaving_nodes,
                   Walltime::Settings settings)
    : reactor_(reactor),
      journal_(journal),
      store_(store),
      jobs_(jobs),
      agents_(agents),
      leaving_nodes_(leaving_nodes),
      settings_(settings) {}

Status NodeEnds::restore(bool fresh) {
  if (fresh) {
    journal_.set_meta(kNodeEnds, "");
    return {};
  }
  const auto kept = journal_.meta(kNodeEnds);
  if (!kept) return tl::unexpected(kept.error());
  if (!*kept || (**kept).empty()) return {};
  const auto all = transport::from_json<KeptEnds>(**kept);
  // An agent whose process is new says its end again at its hello.
  if (!all) spdlog::error("when nodes leave is forgotten: " + to_string(all.error()));
  for (const KeptEnd& one : all ? all->nodes : std::vector<KeptEnd>()) {
    const BatchJob which{one.system, one.job};
    nodes_[one.rank] = {one.incarnation, one.said, which, false};
    if (one.job.empty()) continue;
    batches_[which].end = one.end;
    batches_[which].is_known = one.is_known;
  }
  plan_with_all();
  return {};
}

void NodeEnds::keep() {
  KeptEnds all;
  for (const auto& [rank, node] : nodes_) {
    const auto batch = batches_.find(node.batch);
    const bool has_batch = batch != batches_.end();
    all.nodes.push_back({rank, node.incarnation, node.said, node.batch.first, node.batch.second,
                         has_batch ? batch->second.end : kTimeMax,
                         has_batch && batch->second.is_known});
  }
  journal_.set_meta(kNodeEnds, transport::to_json(all));
}

bool NodeEnds::is_known(const Node& node) const {
  const auto batch = batches_.find(node.batch);
  return batch == batches_.end() || batch->second.is_known || node.said != kTimeMax;
}

Time NodeEnds::end_of(const Node& node) const {
  const auto batch = batches_.find(node.batch);
  return std::min(node.said, batch == batches_.end() ? kTimeMax : batch->second.end);
}

Time NodeEnds::end_of(std::uint32_t rank) const {
  const auto node = nodes_.find(rank);
  return node == nodes_.end() ? kTimeMax : end_of(node->second);
}

std::vector<std::uint32_t> NodeEnds::ranks_in(const std::string& batch_job) const {
  std::vector<std::uint32_t> ranks;
  for (const auto& [rank, node] : nodes_)
    if (node.batch.second == batch_job) ranks.push_back(rank);
  return ranks;
}

bool NodeEnds::is_known(std::uint32_t rank) const {
  const auto node = nodes_.find(rank);
  return node == nodes_.end() || is_known(node->second);
}

std::string NodeEnds::cause(std::uint32_t rank) const {
  const auto node = nodes_.find(rank);
  if (node == nodes_.end()) return {};
  const auto& [system, job] = node->second.batch;
  const auto kind = batch::system_of(system);
  if (!kind || job.empty()) return "the time it was to be there for is over";
  return fmt::format("the walltime of {} job {}", batch::title_of(*kind), job);
}

void NodeEnds::agent_came(const launch::msg::Hello& hello, Time now) {
  const bool has_batch = !hello.batch_job.empty();
  const auto known = nodes_.find(hello.rank);
  if (hello.lasts <= 0 && !has_batch) {
    if (known != nodes_.end()) forget(hello.rank);
    return;
  }
  const bool is_new = known == nodes_.end() || known->second.incarnation != hello.incarnation;
  if (is_new && known != nodes_.end()) forget(hello.rank);
  Node& node = nodes_[hello.rank];
  if (is_new) {
    node.incarnation = hello.incarnation;
    if (has_batch) node.batch = {hello.batch_system, hello.batch_job};
    if (hello.lasts > 0)
      node.said = saturating_add(now, hello.lasts) - (has_batch ? settings_.margin : 0);
  }
  if (has_batch) follow(node.batch);
  keep();
  plan_with_all();
}

// Sends the first question at once.
void NodeEnds::follow(const BatchJob& which) {
  Batch& batch = batches_[which];
  if (batch.walltime) return;
  batch.walltime = std::make_unique<Walltime>(
      reactor_, allocation_of_batch(which.first, which.second), settings_,
      [this, which](std::vector<std::string> command, const Walltime::Answer& answer) {
        ask(which, std::move(command), answer);
      },
      [this, which](Time end) {
        Batch& moved = batches_.at(which);
        moved.end = end;
        moved.is_known = true;
        keep();
        plan_with_all();
      });
  batch.walltime->begin([this, which] {
    Batch& asked = batches_.at(which);
    if (std::exchange(asked.is_known, true)) return;
    keep();
    plan_with_all();
  });
}

// Asks by the agent of any of its nodes, which know the batch system.
void NodeEnds::ask(const BatchJob& which, std::vector<std::string> command,
                   const Walltime::Answer& answer) {
  for (const auto& [rank, node] : nodes_) {
    if (node.batch != which || !agents_.is_connected(rank)) continue;
    const std::string program = command.front();
    const std::weak_ptr<bool> asks = batches_.at(which).asks;
    return agents_.of(rank).capture(
        std::move(command),
        [answer, program, asks](const Result<launch::msg::CaptureReply>& reply) {
          if (!asks.expired()) answer(output_of(reply, program));
        });
  }
  answer(fail(Errc::disconnected, "no agent of its nodes is there"));
}

void NodeEnds::plan_with(std::uint32_t rank, Time end) {
  const auto node = node_of_rank(store_.graph(), rank);
  if (!node || store_.graph().end_of(*node) == end) return;
  store_.set_end_of(*node, end);
  jobs_.resources_changed();
}

// Before a node's end is known nothing is placed on it.
void NodeEnds::plan_with_all() {
  for (const auto& [rank, node] : nodes_) plan_with(rank, is_known(node) ? end_of(node) : 0);
}

void NodeEnds::forget(std::uint32_t rank) {
  const auto node = nodes_.extract(rank);
  plan_with(rank, kTimeMax);
  const bool is_used = std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& other) {
    return other.second.batch == node.mapped().batch;
  });
  if (!is_used) batches_.erase(node.mapped().batch);
  keep();
}

std::optional<Time> NodeEnds::turn(Time wall, Time now) {
  std::optional<Time> next;
  std::vector<std::uint32_t> gone;
  for (auto& [rank, node] : nodes_) {
    const Time end = end_of(node);
    const bool leaves = node.is_sent_away || leaving_nodes_.has_left(rank);
    if (leaves && !agents_.is_connected(rank)) gone.push_back(rank);
    if (!is_known(node) || node.is_sent_away || end == kTimeMax) continue;
    if (end > now) {
      next = next ? std::min(*next, end) : end;
      continue;
    }
    node.is_sent_away = true;
    leaving_nodes_.send_away(rank, {cause(rank), end}, wall, now);
  }
  for (const std::uint32_t rank : gone) forget(rank);
  return next;
}

}  // namespace holon::instance
