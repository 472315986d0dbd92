// JGF out: single vertices and edges, whole graphs, grants.
#include "resource/formats/jgf_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "resource/formats/json.hpp"
#include "resource/formats/rv1_document.hpp"
#include "resource/formats/writers.hpp"

namespace holon::resource {
namespace {

void append_member(std::string& out, std::string_view key, std::string_view text) {
  out += ", \"";
  out += key;
  out += "\": ";
  append_quoted(out, text);
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

void append_map(std::string& out, std::string_view key, const Pairs& pairs) {
  if (pairs.empty()) return;
  out += ", \"";
  out += key;
  out += "\": ";
  const char* comma = "{";
  for (const auto& [name, value] : pairs) {
    out += comma;
    append_quoted(out, name);
    out += ": ";
    append_quoted(out, value);
    comma = ", ";
  }
  out += '}';
}

Pairs properties_of(const ResourceGraph& graph, VertexId v) {
  Pairs pairs;
  const auto& names = graph.words().names;
  for (const auto& p : graph.properties(v))
    pairs.emplace_back(names.text(p.key), names.text(p.value));
  return pairs;
}

// Containment first, whatever is dominant.
Pairs paths_of(const ResourceGraph& graph, VertexId v) {
  Pairs pairs;
  for (std::uint32_t s = 0; s < graph.subsystems().size(); ++s) {
    auto path = graph.path(v, s);
    if (path.empty()) continue;
    const auto& name = graph.subsystems()[s];
    pairs.insert(name == kContainment ? pairs.begin() : pairs.end(), {name, std::move(path)});
  }
  return pairs;
}

// The members of an "x-" object, to stand among others.
void append_extensions(std::string& out, std::string_view object) {
  if (object.size() <= 2) return;
  out += ", ";
  out += object.substr(1, object.size() - 2);
}

}  // namespace

void JgfWriter::vertex(VertexId v, const JgfExtras& extras) {
  const auto& data = graph_[v];
  begin_node(data.uniq_id);
  append_quoted(nodes_, graph_.type_name(v));
  const auto& basename = graph_.basename(v);
  if (basename != graph_.type_name(v)) append_member(nodes_, "basename", basename);
  const auto name = graph_.name(v);
  // A name without number is always written: a reader would put the id behind the basename.
  if (data.id < 0 || data.name.value() != GraphSpec::kNone) append_member(nodes_, "name", name);
  nodes_ += fmt::format(", \"id\": {}, \"rank\": {}", data.id, extras.rank.value_or(data.rank));
  append_map(nodes_, "properties", properties_of(graph_, v));
  if (const auto unit = graph_.unit(v); !unit.empty()) append_member(nodes_, "unit", unit);
  if (extras.exclusive) nodes_ += ", \"exclusive\": true";
  if (extras.size != 1) nodes_ += fmt::format(", \"size\": {}", extras.size);
  const bool up = data.up || extras.up;
  if (extras.own && !(up && !data.drained && data.alive))
    nodes_ += up ? ", \"status\": 2" : ", \"status\": 1";
  append_map(nodes_, "paths", paths_of(graph_, v));
  if (!extras.label.empty())
    append_map(nodes_, "ephemeral", {{"label", std::string(extras.label)}});
  if (extras.agfilter != nullptr) append_map(nodes_, "agfilter", *extras.agfilter);
  if (extras.own) append_extensions(nodes_, extras.extensions);
  nodes_ += "}}";
}

void JgfWriter::begin_node(std::int64_t uniq_id) {
  nodes_ += nodes_.empty() ? "[" : ", ";
  nodes_ += fmt::format("{{\"id\": \"{}\", \"metadata\": {{\"type\": ", uniq_id);
}

void JgfWriter::edge(VertexId source, VertexId target, std::uint32_t subsystem) {
  edges_ += edges_.empty() ? "[" : ", ";
  edges_ += fmt::format("{{\"source\": \"{}\", \"target\": \"{}\"", graph_[source].uniq_id,
                        graph_[target].uniq_id);
  if (const auto& name = graph_.subsystems()[subsystem]; name != kContainment) {
    edges_ += ", \"metadata\": {\"subsystem\": ";
    append_quoted(edges_, name);
    edges_ += '}';
  }
  edges_ += '}';
}

std::string JgfWriter::str(std::string_view writer) && {
  std::string out = "{\"graph\": {\"nodes\": ";
  out += nodes_.empty() ? "[" : nodes_;
  out += "], \"edges\": ";
  out += edges_.empty() ? "[" : edges_;
  out += "]}";
  if (!writer.empty()) append_member(out, "writer", writer);
  return out += '}';
}

std::string write_jgf(const ResourceGraph& graph) {
  JgfWriter writer(graph);
  for (const auto v : graph.in_preorder()) {
    writer.vertex(v, {.size = graph[v].size, .own = true, .extensions = graph.extensions(v)});
    if (const auto above = graph.parent(v); above != kNoVertex) writer.edge(above, v, 0);
  }
  for (const auto& edge : graph.aux_edges()) writer.edge(edge.source, edge.target, edge.subsystem);
  return std::move(writer).str();
}

std::string write_jgf(const ResourceGraph& graph, VertexId top) {
  JgfWriter writer(graph);
  std::vector<VertexId> vertices;
  for (auto v = graph.parent(top); v != kNoVertex; v = graph.parent(v)) vertices.push_back(v);
  std::ranges::reverse(vertices);
  const auto below = graph.subtree(top);
  vertices.insert(vertices.end(), below.begin(), below.end());
  for (const auto v : vertices) {
    writer.vertex(v, {.size = graph[v].size, .own = true, .extensions = graph.extensions(v)});
    if (const auto above = graph.parent(v); above != kNoVertex) writer.edge(above, v, 0);
  }
  return std::move(writer).str();
}

// ---- grants

namespace {

// The extensions of a vertex with its parent's rank among them.
std::string with_parent_rank(std::string_view extensions, std::int32_t rank) {
  if (rank < 0) return std::string(extensions);
  // The name that the grandparent gave it is of no use to the child.
  auto object = extensions.empty() ? Json::object() : Json::parse(extensions);
  object["x-parent-rank"] = rank;
  std::string out;
  for (const auto& [key, value] : object.items()) {
    out += out.empty() ? "{" : ", ";
    append_quoted(out, key);
    out += ": " + value.dump();
  }
  return out + '}';
}

constexpr Amount kAbsent = -1;

// Adds, as vertices passed through, all that stands above what is granted in any subsystem: its
// power supply, its switch.
void add_above(const ResourceGraph& graph, std::vector<Amount>& amount) {
  std::vector<VertexId> open;
  for (const auto v : graph.in_preorder())
    if (amount[v.value()] != kAbsent) open.push_back(v);
  const auto add = [&](VertexId v) {
    if (v == kNoVertex || amount[v.value()] != kAbsent) return;
    amount[v.value()] = 0;
    open.push_back(v);
  };
  while (!open.empty()) {
    const auto v = open.back();
    open.pop_back();
    add(graph.parent(v));
    for (const auto& edge : graph.aux_above(v)) add(edge.source);
  }
}

}  // namespace

Result<std::string> grant_jgf(const ResourceGraph& graph, const Allocation& allocation) {
  const auto held = held_vertices(graph, allocation);
  if (!held) return tl::unexpected(held.error());
  std::vector<Amount> amount(graph.slots(), kAbsent);
  std::map<std::int32_t, std::int32_t> new_rank;  // the parent's -> the child's
  for (const auto& [v, units] : *held) {
    amount[v.value()] = std::max(amount[v.value()], units);
    if (const auto rank = rank_of(graph, v); units > 0 && rank >= 0) new_rank[rank] = 0;
  }
  add_above(graph, amount);
  std::int32_t next = 0;
  for (auto& [parents, childs] : new_rank) childs = next++;
  JgfWriter writer(graph);
  for (const auto v : graph.in_preorder()) {
    auto& granted = amount[v.value()];
    if (granted == kAbsent) continue;
    const auto rank = graph[v].rank;
    const auto it = new_rank.find(rank);
    const bool in_tree = graph.parent(v) != kNoVertex || v == graph.root();
    if (in_tree && rank >= 0 && it == new_rank.end()) {  // nothing of its node is held
      granted = kAbsent;
      continue;
    }
    const auto extensions = with_parent_rank(graph.extensions(v), rank);
    writer.vertex(v, {.rank = it == new_rank.end() ? -1 : it->second,
                      .size = granted > 0 ? granted : 1,
                      .own = true,
                      .up = true,
                      .extensions = extensions});
    if (const auto above = graph.parent(v); above != kNoVertex) writer.edge(above, v, 0);
  }
  for (const auto& edge : graph.aux_edges())
    if (amount[edge.source.value()] != kAbsent && amount[edge.target.value()] != kAbsent)
      writer.edge(edge.source, edge.target, edge.subsystem);
  return std::move(writer).str();
}

}  // namespace holon::resource
