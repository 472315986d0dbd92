// sinfo: partitions, which are the queues, and the nodes of the instance.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/hostlist.hpp"
#include "cli/show/job_json.hpp"
#include "cli/slurm/layout.hpp"
#include "cli/slurm/listing.hpp"
#include "cli/slurm/nodes.hpp"

namespace holon::cli::slurm {
namespace {

using Takes = Option::Takes;

constexpr Option kOptionsOfSinfo[] = {{'a', "all"},
                                      {'M', "clusters", Takes::value},
                                      {'e', "exact"},
                                      {'o', "format", Takes::value},
                                      {'O', "Format", Takes::value},
                                      {0, "help"},
                                      {'h', "noheader"},
                                      {0, "json"},
                                      {'l', "long"},
                                      {'N', "Node"},
                                      {'n', "nodes", Takes::value},
                                      {'p', "partition", Takes::value},
                                      {'R', "list-reasons"},
                                      {'r', "responding"},
                                      {'s', "summarize"},
                                      {'t', "states", Takes::value},
                                      {0, "usage"},
                                      {'v', "verbose"},
                                      {'V', "version"}};

constexpr const char* kHelpOfSinfo =
    "Usage: sinfo [-h] [-l] [-N] [-n nodes] [-o format] [-O fields] [-p partition] [-R] [-s]\n"
    "             [-t states] [--json]\n";

// A row: nodes that are alike, of one partition.
struct Nodes {
  std::string partition;
  bool is_usual = false, is_up = true;
  std::string state;
  std::vector<Node> nodes;
};

std::string list_of(const Nodes& row) {
  Hostlist hosts;
  for (const Node& node : row.nodes) hosts.append(node.host);
  return hosts.str();
}
std::string count(const Nodes& row) {
  return std::to_string(row.nodes.size());
}
std::string partition(const Nodes& row) {
  return row.partition + (row.is_usual ? "*" : "");
}
std::string bare_partition(const Nodes& row) {
  return row.partition;
}
std::string available(const Nodes& row) {
  return row.is_up ? "up" : "down";
}
std::string limit(const Nodes&) {
  return "infinite";
}
std::string short_state(const Nodes& row) {
  if (row.state == "allocated") return "alloc";
  if (row.state == "draining") return "drng";
  if (row.state == "drained") return "drain";
  if (row.state == "mixed") return "mix";
  return row.state;
}
std::string state(const Nodes& row) {
  return row.state;
}
std::string cores(const Nodes& row) {
  return row.nodes.empty() ? "0" : std::to_string(row.nodes.front().cores);
}
// "1/3/0/4": held, idle, other, in all.
std::string core_states(const Nodes& row) {
  std::int64_t held = 0, idle = 0, other = 0;
  for (const Node& node : row.nodes) {
    const bool is_up = node.state == "idle" || node.state == "mixed" || node.state == "allocated";
    held += node.cores_held;
    (is_up ? idle : other) += node.cores - node.cores_held;
  }
  return fmt::format("{}/{}/{}/{}", held, idle, other, held + idle + other);
}
// "1/3/0/4": allocated, idle, other, in all.
std::string node_states(const Nodes& row) {
  std::int64_t held = 0, idle = 0, other = 0;
  for (const Node& node : row.nodes)
    ++(node.state == "idle"                                 ? idle
       : node.state == "mixed" || node.state == "allocated" ? held
                                                            : other);
  return fmt::format("{}/{}/{}/{}", held, idle, other, held + idle + other);
}
std::string memory(const Nodes& row) {
  return row.nodes.empty() ? "0" : std::to_string(row.nodes.front().memory_mib);
}
std::string gres(const Nodes& row) {
  if (row.nodes.empty() || row.nodes.front().gpus == 0) return "(null)";
  return fmt::format("gpu:{}", row.nodes.front().gpus);
}
std::string reason(const Nodes& row) {
  return row.nodes.empty() || row.nodes.front().reason.empty() ? "none" : row.nodes.front().reason;
}
std::string nothing(const Nodes&) {
  return "(null)";
}
std::string zero(const Nodes&) {
  return "0";
}
std::string one(const Nodes&) {
  return "1";
}

struct NodeField {
  char letter;
  std::string_view name, title;
  std::string (*text)(const Nodes& row);
};

constexpr NodeField kNodeFields[] = {
    {'P', "Partition", "PARTITION", partition},
    {'R', "PartitionName", "PARTITION", bare_partition},
    {'a', "Available", "AVAIL", available},
    {'l', "Time", "TIMELIMIT", limit},
    {'D', "Nodes", "NODES", count},
    {'t', "StateCompact", "STATE", short_state},
    {'T', "StateLong", "STATE", state},
    {'N', "NodeList", "NODELIST", list_of},
    {'n', "NodeHost", "HOSTNAMES", list_of},
    {'c', "CPUs", "CPUS", cores},
    {'C', "CPUsState", "CPUS(A/I/O/T)", core_states},
    {'F', "NodeAIOT", "NODES(A/I/O/T)", node_states},
    {'m', "Memory", "MEMORY", memory},
    {'G', "Gres", "GRES", gres},
    {'E', "Reason", "REASON", reason},
    {'f', "Features", "AVAIL_FEATURES", nothing},
    {'b', "Features_act", "ACTIVE_FEATURES", nothing},
    {'d', "Disk", "TMP_DISK", zero},
    {'w', "Weight", "WEIGHT", one},
    {'O', "CPUsLoad", "CPU_LOAD", zero},
};

const NodeField* field_of_node(const std::string& name) {
  for (const NodeField& field : kNodeFields)
    if (name.size() == 1 ? field.letter == name.front() : field.name == name) return &field;
  return nullptr;
}

Result<std::vector<Part>> layout_of_nodes(const Options& options) {
  const auto is_known = [](std::string_view name) {
    return field_of_node(std::string(name)) != nullptr;
  };
  if (const auto names = options.value("Format")) return names_in(*names, is_known);
  std::string format = "%9P %.5a %.10l %.6D %.6t %N";
  if (options.has("summarize")) format = "%9P %.5a %.10l %.16F  %N";
  if (options.has("long")) format = "%9P %.5a %.10l %.6D %.11T %N";
  if (options.has("Node")) format = "%N %.6D %.9P %6t";
  if (options.has("list-reasons")) format = "%20E %9t %N";
  if (const char* const preset = std::getenv("SINFO_FORMAT"); preset != nullptr) format = preset;
  if (const auto typed = options.value("format")) format = *typed;
  return letters_in(format, [](char c) { return field_of_node(std::string(1, c)) != nullptr; });
}

// Whether rows hold a node each, a state each, or all.
std::string group_of(const Node& node, const Options& options) {
  if (options.has("Node")) return node.host;
  if (options.has("summarize")) return "";
  return fmt::format("{} {} {} {} {}", node.state, node.cores, node.memory_mib, node.gpus,
                     options.has("list-reasons") ? node.reason : "");
}

bool is_meant_node(const Node& node, const Options& options) {
  if (options.has("list-reasons") && node.reason.empty()) return false;
  if (options.has("responding") && node.state == "down") return false;
  if (const auto hosts = options.value("nodes")) {
    const auto named = Hostlist::parse(*hosts);
    if (named && !named->contains(node.host)) return false;
  }
  const auto states = options.value("states");
  if (!states || *states == "all") return true;
  for (std::string word : items_of(*states)) {
    std::transform(word.begin(), word.end(), word.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (node.state.starts_with(word) || (word == "mix" && node.state == "mixed")) return true;
  }
  return false;
}

std::vector<Nodes> rows_for(const Cluster& cluster, const Options& options) {
  const auto wanted = items_of(options.value("partition").value_or(""));
  std::vector<Nodes> rows;
  for (const Partition& partition : cluster.partitions) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), partition.name) == wanted.end())
      continue;
    std::map<std::string, Nodes> groups;
    for (const Node& node : cluster.nodes) {
      if (!is_meant_node(node, options)) continue;
      Nodes& row = groups[group_of(node, options)];
      row.partition = partition.name;
      row.is_usual = partition.is_usual;
      row.is_up = partition.is_up;
      row.state = node.state;
      row.nodes.push_back(node);
    }
    for (auto& [group, row] : groups) rows.push_back(std::move(row));
  }
  return rows;
}

void print_nodes_json(Call& call, const std::vector<Nodes>& rows) {
  nlohmann::ordered_json all = {{"sinfo", nlohmann::ordered_json::array()}};
  for (const Nodes& row : rows) {
    nlohmann::ordered_json names = nlohmann::ordered_json::array();
    for (const Node& node : row.nodes) names.push_back(node.host);
    all["sinfo"].push_back({{"partition", {{"name", row.partition}}},
                            {"node", {{"state", {row.state}}}},
                            {"nodes", {{"total", row.nodes.size()}, {"nodes", names}}},
                            {"cpus", {{"total", row.nodes.empty() ? 0 : row.nodes[0].cores}}}});
  }
  call.io.out << pretty(all);
}

}  // namespace

int sinfo(Call& call) {
  const auto options = Options::read(call.words, kOptionsOfSinfo);
  if (!options) return refuse(call, options.error());
  if (options->has("help") || options->has("usage")) {
    call.io.out << kHelpOfSinfo;
    return kOk;
  }
  if (options->has("version")) {
    call.io.out << kVersion << "\n";
    return kOk;
  }
  const auto parts = layout_of_nodes(*options);
  if (!parts) return refuse(call, parts.error());
  auto client = connect(call);
  if (!client) return refuse(call, client.error());
  const auto cluster = cluster_of(*client);
  if (!cluster) return refuse(call, cluster.error());
  const auto rows = rows_for(*cluster, *options);
  if (options->has("json")) {
    print_nodes_json(call, rows);
    return kOk;
  }
  std::vector<std::string> texts;
  for (const Part& part : *parts)
    texts.emplace_back(part.field.empty() ? "" : field_of_node(part.field)->title);
  if (!options->has("noheader")) call.io.out << line_of(*parts, texts);
  for (const Nodes& row : rows) {
    for (std::size_t i = 0; i < parts->size(); ++i)
      texts[i] = (*parts)[i].field.empty() ? "" : field_of_node((*parts)[i].field)->text(row);
    call.io.out << line_of(*parts, texts);
  }
  return kOk;
}

}  // namespace holon::cli::slurm
