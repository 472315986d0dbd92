// Rv1 (RFC 20) between text, value and graph.
#include "resource/formats/rv1.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/hostlist.hpp"
#include "resource/formats/json.hpp"
#include "resource/formats/rv1_document.hpp"
#include "resource/graph/graph.hpp"

namespace holon::resource {
namespace {

// ---- writing

std::string children_of(const Rv1::Host& host) {
  std::string text;
  if (!host.cores.empty()) text += "\"core\": \"" + host.cores.str() + '"';
  if (!host.gpus.empty()) {
    if (!text.empty()) text += ", ";
    text += "\"gpu\": \"" + host.gpus.str() + '"';
  }
  return text;
}

// key -> ranks, by first rank: equal keys share one entry.
template <class Key>
std::vector<std::pair<std::string, Idset>> grouped(const std::vector<Rv1::Host>& hosts, Key key) {
  std::map<std::string, std::size_t> index;
  std::vector<std::pair<std::string, Idset>> groups;
  for (const auto& host : hosts) {
    const std::string text = key(host);
    const auto [it, fresh] = index.emplace(text, groups.size());
    if (fresh) groups.emplace_back(text, Idset{});
    groups[it->second].second.insert(static_cast<std::uint64_t>(host.rank));
  }
  return groups;
}

// A whole number of seconds is written without a fraction.
std::string seconds_in(double value) {
  constexpr double kWhole = 9e15;  // below it every whole number has its own double, and an int64
  return value < kWhole && value == std::floor(value)
             ? std::to_string(static_cast<std::int64_t>(value))
             : fmt::format("{}", value);
}

void append_execution(std::string& out, const Rv1& r) {
  out += "{\"R_lite\": [";
  const char* comma = "";
  for (const auto& [children, ranks] : grouped(r.hosts, children_of)) {
    out +=
        fmt::format("{}{{\"rank\": \"{}\", \"children\": {{{}}}}}", comma, ranks.str(), children);
    comma = ", ";
  }
  Hostlist hosts;
  for (const auto& host : r.hosts) hosts.append(host.name);
  out += "], \"nodelist\": [";
  if (!hosts.empty()) append_quoted(out, hosts.str());
  out += ']';
  if (r.nslots > 0) out += fmt::format(", \"nslots\": {}", r.nslots);
  if (!r.properties.empty()) {
    comma = ", \"properties\": {";
    for (const auto& [name, ranks] : r.properties) {
      out += comma;
      append_quoted(out, name);
      out += ": \"" + ranks.str() + '"';
      comma = ", ";
    }
    out += '}';
  }
  const auto memory = [](const Rv1::Host& h) { return std::to_string(h.memory); };
  comma = ", \"x-memory\": {";
  bool any = false;
  for (const auto& [amount, ranks] : grouped(r.hosts, memory)) {
    if (amount == "0") continue;
    out += fmt::format("{}\"{}\": {}", comma, ranks.str(), amount);
    comma = ", ";
    any = true;
  }
  if (any) out += '}';
  out += fmt::format(", \"starttime\": {}, \"expiration\": {}}}", seconds_in(r.starttime),
                     seconds_in(r.expiration));
}

// ---- from a graph

// Gathers what is held on each rank.
class Gatherer {
 public:
  explicit Gatherer(const ResourceGraph& graph)
      : graph_(graph),
        core_(graph.words().types.find("core")),
        gpu_(graph.words().types.find("gpu")),
        memory_(graph.words().types.find("memory")) {}

  void add(VertexId v, Amount amount) {
    const auto& vertex = graph_[v];
    const auto rank = rank_of(graph_, v);
    if (rank < 0) return;
    auto& host = hosts_[rank];
    const auto number = static_cast<std::uint64_t>(vertex.id);
    if (vertex.type == core_ && vertex.id >= 0) host.cores.insert(number);
    if (vertex.type == gpu_ && vertex.id >= 0) host.gpus.insert(number);
    if (vertex.type == memory_) host.memory += amount;
  }

  // Every host on which something is held.
  std::vector<Rv1::Host> hosts() && {
    std::vector<Rv1::Host> list;
    for (auto& [rank, host] : hosts_) {
      host.rank = rank;
      host.name = host_name(rank);
      list.push_back(std::move(host));
    }
    return list;
  }

 private:
  std::string host_name(std::int32_t rank) const {
    const auto of_rank = graph_.by_rank(rank);
    for (const auto v : of_rank) {
      if (graph_.type_name(v) == "node") return graph_.name(v);
    }
    return graph_.name(of_rank.front());
  }

  const ResourceGraph& graph_;
  const std::optional<TypeId> core_, gpu_, memory_;
  std::map<std::int32_t, Rv1::Host> hosts_;
};

std::map<std::string, Idset> properties_by_rank(const ResourceGraph& graph,
                                                const std::vector<Rv1::Host>& hosts) {
  std::map<std::string, Idset> properties;
  for (const auto& host : hosts) {
    for (const auto v : graph.by_rank(host.rank)) {
      if (graph.type_name(v) != "node") continue;
      for (const auto& p : graph.properties(v)) {
        const auto& value = graph.words().names.text(p.value);
        const auto& key = graph.words().names.text(p.key);
        properties[value.empty() ? key : key + "=" + value].insert(
            static_cast<std::uint64_t>(host.rank));
      }
    }
  }
  return properties;
}

}  // namespace

std::string write_rv1(const Rv1& r) {
  std::string out = "{\"version\": 1, \"execution\": ";
  append_execution(out, r);
  if (!r.scheduling.empty()) out += ", \"scheduling\": " + r.scheduling;
  if (!r.attributes.empty()) out += ", \"attributes\": " + r.attributes;
  return out + '}';
}

Result<Rv1> parse_rv1(std::string_view bytes) {
  auto document = parse_rv1_document(bytes);
  if (!document) return tl::unexpected(document.error());
  Rv1 r;
  for (auto& entry : document->hosts) {
    Rv1::Host host;
    host.rank = entry.rank;
    host.name = std::move(entry.name);
    for (auto& [type, ids] : entry.children) {
      if (type == "core") host.cores = std::move(ids);
      if (type == "gpu") host.gpus = std::move(ids);
    }
    host.memory = entry.memory;
    r.hosts.push_back(std::move(host));
  }
  std::ranges::sort(r.hosts, {}, &Rv1::Host::rank);
  r.properties = std::move(document->properties);
  r.starttime = document->starttime;
  r.expiration = document->expiration;
  r.nslots = document->nslots;
  r.scheduling = std::move(document->scheduling);
  r.attributes = std::move(document->attributes);
  return r;
}

Result<Rv1> to_rv1(const ResourceGraph& graph, const Allocation& allocation) {
  const auto held = held_vertices(graph, allocation);
  if (!held) return tl::unexpected(held.error());
  Gatherer gatherer(graph);
  for (const auto& [v, amount] : *held) {
    if (amount > 0) gatherer.add(v, amount);
  }
  Rv1 r;
  r.hosts = std::move(gatherer).hosts();
  r.properties = properties_by_rank(graph, r.hosts);
  return r;
}

Rv1 to_rv1(const ResourceGraph& graph) {
  Gatherer gatherer(graph);
  for (const auto v : graph.subtree(graph.root())) gatherer.add(v, graph[v].size);
  Rv1 r;
  r.hosts = std::move(gatherer).hosts();
  r.properties = properties_by_rank(graph, r.hosts);
  return r;
}

std::int32_t rank_of(const ResourceGraph& graph, VertexId v) {
  while (v != kNoVertex && graph[v].rank < 0) v = graph.parent(v);
  return v == kNoVertex ? -1 : graph[v].rank;
}

Result<std::vector<Held>> held_vertices(const ResourceGraph& graph, const Allocation& allocation) {
  std::vector<VertexId> vertices;
  std::vector<bool> listed_below(graph.slots());
  for (const auto& share : allocation.shares) {
    const auto v = graph.find_uniq(share.uniq_id);
    if (!v) {
      return fail(Errc::not_found, "no vertex has this uniq_id",
                  fmt::format("uniq_id {}", share.uniq_id));
    }
    vertices.push_back(*v);
    for (auto above = graph.parent(*v); above != kNoVertex && !listed_below[above.value()];
         above = graph.parent(above)) {
      listed_below[above.value()] = true;
    }
  }
  std::vector<Held> held;
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    const auto v = vertices[i];
    const auto& share = allocation.shares[i];
    held.push_back({v, share.amount});
    if (!share.exclusive || listed_below[v.value()]) continue;
    for (const auto below : graph.subtree(v).subspan(1)) held.push_back({below, graph[below].size});
  }
  return held;
}

}  // namespace holon::resource
