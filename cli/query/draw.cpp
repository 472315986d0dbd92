#include "cli/query/draw.hpp"

#include <fmt/format.h>

#include <array>
#include <functional>

#include "resource/graph/graph.hpp"

namespace holon::cli::query {
namespace {

using resource::ResourceGraph;
using resource::VertexId;

using EdgeVisitor =
    std::function<void(VertexId source, VertexId target, const std::string& subsystem)>;

void for_each_edge(const ResourceGraph& graph, const EdgeVisitor& visit) {
  for (const VertexId v : graph.in_preorder())
    for (const VertexId child : graph.children(v)) visit(v, child, graph.subsystems()[0]);
  for (const auto& edge : graph.aux_edges())
    visit(edge.source, edge.target, graph.subsystems()[edge.subsystem]);
}

std::string quoted(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string draw_dot(const ResourceGraph& graph) {
  std::string text = "digraph G {\n";
  for (const VertexId v : graph.in_preorder())
    text += fmt::format("{}[label=\"{}\"];\n", graph.pre(v), quoted(graph.name(v)));
  for_each_edge(graph, [&](VertexId source, VertexId target, const std::string& subsystem) {
    text += fmt::format("{}->{} [label=\"{}\"];\n", graph.pre(source), graph.pre(target),
                        quoted(subsystem));
  });
  return text + "}\n";
}

struct Key {
  std::string_view name;
  std::string_view type;
};
constexpr std::array kVertexKeys{
    Key{"type", "string"},  Key{"basename", "string"},  Key{"name", "string"},
    Key{"id", "long"},      Key{"uniq_id", "long"},     Key{"rank", "long"},
    Key{"size", "long"},    Key{"unit", "string"},      Key{"status", "string"},
    Key{"paths", "string"}, Key{"properties", "string"}};

std::string list_of_paths(const ResourceGraph& graph, VertexId v) {
  std::string text;
  for (std::uint32_t s = 0; s < graph.subsystems().size(); ++s) {
    const std::string path = graph.path(v, s);
    if (!path.empty()) text += (text.empty() ? "" : ",") + graph.subsystems()[s] + "=" + path;
  }
  return text;
}

std::string list_of_properties(const ResourceGraph& graph, VertexId v) {
  std::string text;
  for (const auto& property : graph.properties(v)) {
    const auto& names = graph.words().names;
    text += (text.empty() ? "" : ",") + names.text(property.key) + "=" + names.text(property.value);
  }
  return text;
}

void draw_vertex(const ResourceGraph& graph, VertexId v, std::string& text) {
  const auto datum = [&](std::size_t key, std::string_view value) {
    text +=
        fmt::format("      <data key=\"{}\">{}</data>\n", kVertexKeys[key].name, escaped(value));
  };
  const auto& vertex = graph[v];
  text += fmt::format("    <node id=\"n{}\">\n", graph.pre(v));
  datum(0, graph.type_name(v));
  datum(1, graph.basename(v));
  datum(2, graph.name(v));
  datum(3, fmt::to_string(vertex.id));
  datum(4, fmt::to_string(vertex.uniq_id));
  datum(5, fmt::to_string(vertex.rank));
  datum(6, fmt::to_string(vertex.size));
  datum(7, graph.unit(v));
  datum(8, vertex.up ? "up" : "down");
  datum(9, list_of_paths(graph, v));
  datum(10, list_of_properties(graph, v));
  text += "    </node>\n";
}

std::string draw_graphml(const ResourceGraph& graph) {
  std::string text =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n";
  for (const Key& key : kVertexKeys)
    text += fmt::format("  <key id=\"{0}\" for=\"node\" attr.name=\"{0}\" attr.type=\"{1}\" />\n",
                        key.name, key.type);
  text +=
      "  <key id=\"subsystem\" for=\"edge\" attr.name=\"subsystem\" attr.type=\"string\" />\n"
      "  <graph id=\"G\" edgedefault=\"directed\">\n";
  for (const VertexId v : graph.in_preorder()) draw_vertex(graph, v, text);
  std::size_t edges = 0;
  for_each_edge(graph, [&](VertexId source, VertexId target, const std::string& subsystem) {
    text += fmt::format(
        "    <edge id=\"e{}\" source=\"n{}\" target=\"n{}\">\n"
        "      <data key=\"subsystem\">{}</data>\n    </edge>\n",
        edges++, graph.pre(source), graph.pre(target), escaped(subsystem));
  });
  return text + "  </graph>\n</graphml>\n";
}

}  // namespace

std::string draw_graph(const ResourceGraph& graph, std::string_view format) {
  return format == "graphml" ? draw_graphml(graph) : draw_dot(graph);
}

}  // namespace holon::cli::query
