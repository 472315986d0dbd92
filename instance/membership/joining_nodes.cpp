#include "instance/membership/joining_nodes.hpp"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include "base/hostlist.hpp"
#include "resource/graph/graph.hpp"

namespace holon::instance {
namespace {

constexpr std::size_t kLongestList = 1'000;  // characters, for hosts whose names share nothing

// The source of the graph, as the broker has kept it.
Result<ResourceSource> kept_source(const Journal& journal) {
  ResourceSource source;
  for (auto [key, target] :
       {std::pair{"resources.kind", &source.kind}, std::pair{"resources.text", &source.text}}) {
    auto value = journal.meta(key);
    if (!value) return tl::unexpected(value.error());
    if (*value) *target = std::move(**value);
  }
  const auto bind = journal.meta("resources.bind");
  source.bind = bind && *bind == "1";
  return source;
}

}  // namespace

std::string JoiningNodes::own_host() const {
  const auto& graph = store_.graph();
  for (const auto node : graph.by_type("node"))
    if (graph[node].rank == 0) return graph.name(node);
  return "";
}

Status JoiningNodes::check_new(const NodeTopology& node) const {
  const auto& graph = store_.graph();
  for (const auto known : graph.by_type("node"))
    if (graph.name(known) == node.host || graph[known].rank == static_cast<std::int32_t>(node.rank))
      return fail(Errc::exists, "a node of this name or rank is here already", node.host);
  return {};
}

Status JoiningNodes::take_in(NodeTopology node) {
  if (auto is_new = check_new(node); !is_new) return is_new;
  const auto source = kept_source(journal_);
  if (!source) return tl::unexpected(source.error());
  const bool is_of_machines = source->kind == "hosts" || source->kind == "hwloc";
  if (is_of_machines && source->bind && node.xml.empty() && !node.digest.empty()) {
    node.xml = topology_in(*source, node.digest);
    if (node.xml.empty()) return fail(Errc::not_found, "its topology is not known yet", node.host);
  }
  const auto more = with_another_node(*source, own_host(), node);
  if (!more) return tl::unexpected(more.error());
  const auto part = read_node(node);
  if (!part) return tl::unexpected(part.error());
  if (auto grown = store_.grow(*part); !grown) return grown;
  journal_.set_meta("resources.kind", more->kind);
  journal_.set_meta("resources.text", more->text);
  nodes_of_agents_ = NodesOfAgents(store_.graph(), agents_of(*more, 0));
  jobs_.resources_changed();
  drains_.node_came();
  spdlog::info(fmt::format("{} has come, with rank {}", node.host, node.rank));
  return {};
}

std::string JoiningNodes::awaited(const std::vector<std::uint32_t>& ranks) const {
  Hostlist missing;
  for (const std::uint32_t rank : ranks)
    missing.append(rank < hosts_.size() ? hosts_[rank] : fmt::format("rank {}", rank));
  if (missing.empty()) return {};
  std::string names = missing.str();
  if (names.size() > kLongestList) names = names.substr(0, kLongestList) + "...";
  return fmt::format("{} {} not come yet", names, missing.count() == 1 ? "has" : "have");
}

}  // namespace holon::instance
