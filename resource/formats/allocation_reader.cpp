// R of a job in: JGF or Rv1 against the graph it was made from.
//
// A document gives vertices in any order; shares are put in post-order of the graph, the order in
// which a match emits them.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "resource/formats/jgf.hpp"
#include "resource/formats/readers.hpp"
#include "resource/formats/rv1_document.hpp"
#include "resource/graph/graph.hpp"

namespace holon::resource {
namespace {

struct Found {
  Amount amount = 0;
  bool exclusive = false;
};

// Vertices by their place in a post-order walk: children in order, then the vertex.
class Shares {
 public:
  explicit Shares(const ResourceGraph& graph) : graph_(graph) {}

  void add(VertexId v, Found found) { found_[v] = found; }
  void add_ancestors(VertexId v) {
    for (v = graph_.parent(v); v != kNoVertex; v = graph_.parent(v)) found_.try_emplace(v);
  }

  Allocation allocation() const {
    Allocation allocation;
    for (const auto& [v, found] : sorted()) {
      allocation.shares.push_back({graph_[v].uniq_id, found.amount, found.exclusive});
    }
    return allocation;
  }

 private:
  std::vector<std::pair<VertexId, Found>> sorted() const {
    std::vector<std::pair<VertexId, Found>> list(found_.begin(), found_.end());
    // A vertex stands in post-order where its subtree ends, the deeper one first.
    std::ranges::sort(list, [&](const auto& a, const auto& b) {
      const auto end_a = graph_.subtree_end(a.first);
      const auto end_b = graph_.subtree_end(b.first);
      return end_a != end_b ? end_a < end_b : graph_.depth(a.first) > graph_.depth(b.first);
    });
    return list;
  }

  const ResourceGraph& graph_;
  std::map<VertexId, Found> found_;
};

std::string difference(const ResourceGraph& graph, VertexId v, const JgfVertex& said) {
  if (graph.type_name(v) != said.type) {
    return fmt::format("type {}, not {}", graph.type_name(v), said.type);
  }
  if (graph.basename(v) != said.basename) {
    return fmt::format("basename {}, not {}", graph.basename(v), said.basename);
  }
  if (graph.name(v) != said.name) return fmt::format("name {}, not {}", graph.name(v), said.name);
  if (graph[v].id != said.id) return fmt::format("id {}, not {}", graph[v].id, said.id);
  if (said.size > graph[v].size) return fmt::format("size {}, not {}", graph[v].size, said.size);
  return {};
}

// All paths of a vertex must lead to the same one.
Result<VertexId> find(const ResourceGraph& graph, const JgfVertex& said) {
  auto found = kNoVertex;
  for (const auto& [subsystem, path] : said.paths) {
    const auto v = graph.find_path(path, said.rank);
    if (!v || (found != kNoVertex && *v != found)) {
      return fail(Errc::not_found,
                  fmt::format("{} of rank {} is not in the graph", path, said.rank), said.pointer);
    }
    found = *v;
  }
  if (found == kNoVertex) {
    return fail(Errc::invalid_argument, "a vertex without a path", said.pointer);
  }
  if (const auto text = difference(graph, found, said); !text.empty()) {
    return fail(Errc::invalid_argument, "it has " + text, said.pointer);
  }
  return found;
}

Found share_of(const ResourceGraph& graph, VertexId v, const JgfVertex& said) {
  const bool pool = graph.children(v).empty() && graph[v].size > 1;
  return {said.exclusive || pool ? said.size : 0, said.exclusive};
}

// The vertices of one host of an Rv1.
class HostFinder {
 public:
  HostFinder(const ResourceGraph& graph, Shares& shares) : graph_(graph), shares_(shares) {}

  Status add(const Rv1Document::Host& host, const std::string& where) {
    const auto node = find_node(host);
    if (node == kNoVertex) {
      return fail(Errc::not_found,
                  fmt::format("host {} of rank {} is not in the graph", host.name, host.rank),
                  where);
    }
    std::size_t held = 0;
    const ByKind below = below_by_kind(node);
    for (const auto& [type, ids] : host.children) {
      const auto kind = graph_.words().types.find(type);
      for (const auto id : ids.ids()) {
        const auto at = kind ? below.find({*kind, static_cast<std::int64_t>(id)}) : below.end();
        if (at == below.end()) {
          return fail(Errc::not_found, fmt::format("{} has no {}{}", host.name, type, id), where);
        }
        shares_.add(at->second, {graph_[at->second].size, true});
        shares_.add_ancestors(at->second);
        ++held;
      }
    }
    const bool whole = held > 0 && held == leaves_below(node);
    shares_.add(node, {whole ? graph_[node].size : 0, whole});
    shares_.add_ancestors(node);
    return {};
  }

 private:
  VertexId find_node(const Rv1Document::Host& host) const {
    for (const auto v : graph_.by_host(host.name)) {
      if (graph_[v].rank == host.rank) return v;
    }
    return kNoVertex;
  }

  using ByKind = std::map<std::pair<TypeId, std::int64_t>, VertexId>;  // by type and id

  // Vertices below the node; the first of several of one kind.
  ByKind below_by_kind(VertexId node) const {
    ByKind below;
    for (const auto v : graph_.subtree(node))
      below.emplace(std::pair(graph_[v].type, graph_[v].id), v);
    return below;
  }

  std::size_t leaves_below(VertexId node) const {
    const auto below = graph_.subtree(node).subspan(1);
    return static_cast<std::size_t>(
        std::ranges::count_if(below, [&](VertexId v) { return graph_.children(v).empty(); }));
  }

  const ResourceGraph& graph_;
  Shares& shares_;
};

}  // namespace

Result<Allocation> read_allocation_jgf(const ResourceGraph& graph, std::string_view bytes,
                                       bool shorthand) {
  const auto document = parse_jgf(bytes);
  if (!document) return tl::unexpected(document.error());
  Shares shares(graph);
  std::vector<std::pair<std::int64_t, std::string>> labels;
  for (const auto& said : document->vertices) {
    const auto v = find(graph, said);
    if (!v) return tl::unexpected(v.error());
    if (said.rank >= 0 && document->free_ranks.contains(static_cast<std::uint64_t>(said.rank))) {
      continue;
    }
    shares.add(*v, share_of(graph, *v, said));
    if (!said.label.empty()) labels.emplace_back(graph[*v].uniq_id, said.label);
    if (!shorthand || !said.exclusive) continue;
    for (const auto below : graph.subtree(*v).subspan(1)) {
      shares.add(below, {graph[below].size, true});
    }
  }
  auto allocation = shares.allocation();
  allocation.labels = std::move(labels);
  return allocation;
}

Result<Allocation> read_allocation_rv1(const ResourceGraph& graph, std::string_view bytes) {
  const auto document = parse_rv1_document(bytes);
  if (!document) return tl::unexpected(document.error());
  Shares shares(graph);
  HostFinder finder(graph, shares);
  for (const auto& host : document->hosts) {
    if (auto ok = finder.add(host, fmt::format("/execution/R_lite (rank {})", host.rank)); !ok) {
      return tl::unexpected(ok.error());
    }
  }
  return shares.allocation();
}

}  // namespace holon::resource
