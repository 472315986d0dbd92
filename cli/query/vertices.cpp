// find, and the state of single vertices: set-property, get-property, set-status, get-status.
#include <fmt/format.h>

#include <algorithm>

#include "cli/query/commands.hpp"
#include "cli/query/json_object.hpp"
#include "cli/query/printing.hpp"
#include "cli/query/writing.hpp"
#include "resource/graph/graph.hpp"

namespace holon::cli::query {
namespace {

using resource::VertexId;

// All vertices at `path`: brokers on one host are siblings of one name.
std::vector<VertexId> at_path(const resource::ResourceGraph& graph, const std::string& path) {
  const auto first = graph.find_path(path);
  if (!first) return {};
  std::vector<VertexId> found{graph.root()};
  std::size_t at = path.find('/', 1);
  while (at != std::string::npos) {
    const std::size_t end = path.find('/', at + 1);
    const std::string name = path.substr(at + 1, end - at - 1);
    std::vector<VertexId> below;
    for (const VertexId v : found)
      for (const VertexId child : graph.children(v))
        if (graph.name(child) == name) below.push_back(child);
    found = std::move(below);
    at = end;
  }
  // A path of another subsystem does not lead down the tree.
  return std::find(found.begin(), found.end(), *first) == found.end() ? std::vector{*first} : found;
}

// The vertices at `path`. If there are none, the answers say so, as resource-query does.
std::vector<VertexId> vertices_at(const Session& session, const std::string& command,
                                  const std::string& path, Reply& reply) {
  auto found = at_path(session.store().graph(), path);
  if (!found.empty()) return found;
  if (session.options().json)
    complain(session, command, "there is no vertex " + path, reply);
  else
    reply.out += fmt::format("{} find path {} in resource graph.\n",
                             command == "set-property" ? "Couldn't" : "Could not", path);
  return found;
}

std::string properties_as_json(const resource::ResourceGraph& graph, VertexId v) {
  JsonObject object;
  for (const auto& property : graph.properties(v))
    object.text(graph.words().names.text(property.key), graph.words().names.text(property.value));
  return object.str();
}

}  // namespace

void run_find(Session& session, const Words& words, Reply& reply) {
  if (words.size() < 2) return complain(session, "find", "EXPRESSION is expected", reply);
  std::string text = words[1];
  for (std::size_t i = 2; i < words.size(); ++i) text += " " + words[i];
  const auto found = find_and_write(session, text);
  if (!found) return complain(session, "find", found.error(), reply);
  // An R_lite that would be empty is an error, as in resource-query, and nothing is printed.
  if (found->empty() && session.options().match_format == "rlite" && !session.options().json)
    return complain(session, "find", "no core or GPU of a node is among what was found", reply);
  print_found(session, text, *found, reply);
}

void run_set_property(Session& session, const Words& words, Reply& reply) {
  if (words.size() != 3)
    return complain(session, "set-property", "PATH KEY=VALUE is expected", reply);
  const auto equals = words[2].find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == words[2].size()) {
    if (session.options().json)
      return complain(session, "set-property", "KEY=VALUE is expected", reply);
    reply.out += "Incorrect input format. \nPlease use `set-property <resource> PROPERTY=VALUE`.\n";
    return;
  }
  const auto vertices = vertices_at(session, "set-property", words[1], reply);
  for (const VertexId v : vertices)
    session.store().set_property(v, words[2].substr(0, equals), words[2].substr(equals + 1));
  if (!vertices.empty()) print_done(session, "set-property", reply);
}

void run_get_property(Session& session, const Words& words, Reply& reply) {
  if (words.size() != 2) return complain(session, "get-property", "PATH is expected", reply);
  const auto& graph = session.store().graph();
  for (const VertexId v : vertices_at(session, "get-property", words[1], reply)) {
    if (session.options().json) {
      JsonObject object;
      object.text("command", "get-property").boolean("ok", true).text("path", words[1]);
      reply.add_json(object.raw("properties", properties_as_json(graph, v)).str());
      continue;
    }
    const auto& names = graph.words().names;
    const auto properties = graph.properties(v);
    if (properties.empty())
      reply.out += fmt::format("No properties were found for {} (vtx's uniq_id={}).\n", words[1],
                               graph[v].uniq_id);
    for (const auto& property : properties)
      reply.out += fmt::format("{}={}\n", names.text(property.key), names.text(property.value));
  }
}

// Sets a vertex up or down; `up` ends draining too.
void run_set_status(Session& session, const Words& words, Reply& reply) {
  if (words.size() != 3)
    return complain(session, "set-status", "PATH up|down|drained is expected", reply);
  const auto vertices = vertices_at(session, "set-status", words[1], reply);
  if (vertices.empty()) return;
  const std::string& status = words[2];
  if (status != "up" && status != "down" && status != "drained")
    return complain(session, "set-status", "'" + status + "': up, down or drained is expected",
                    reply);
  for (const VertexId v : vertices) {
    if (status != "drained") session.store().set_status(v, status == "up");
    if (status != "down") session.store().set_drained(v, status == "drained");
  }
  print_done(session, "set-status", reply);
}

void run_get_status(Session& session, const Words& words, Reply& reply) {
  if (words.size() != 2) return complain(session, "get-status", "PATH is expected", reply);
  for (const VertexId v : vertices_at(session, "get-status", words[1], reply)) {
    const resource::Vertex& vertex = session.store().graph()[v];
    const std::string_view status = !vertex.up ? "down" : vertex.drained ? "drained" : "up";
    if (session.options().json) {
      JsonObject object;
      object.text("command", "get-status").boolean("ok", true).text("path", words[1]);
      reply.add_json(object.text("status", status).str());
    } else {
      reply.out += fmt::format("{} is {}\n", words[1], status);
    }
  }
}

}  // namespace holon::cli::query
