// find, and the state of single vertices: set-property, get-property, set-status, get-status.
#include <fmt/format.h>

#include <iterator>

#include "cli/query/commands.hpp"
#include "cli/query/json_object.hpp"
#include "cli/query/printing.hpp"
#include "cli/query/writing.hpp"
#include "resource/graph/graph.hpp"

namespace holon::cli::query {
namespace {

using resource::VertexId;

// The vertex at `path`. There is none: says so among the answers, as resource-query does.
std::optional<VertexId> vertex_at(const Session& session, const std::string& command,
                                  const std::string& path, Reply& reply) {
  const auto v = session.store().graph().find_path(path);
  if (v) return v;
  if (session.options().json) {
    complain(session, command, "there is no vertex " + path, reply);
  } else {
    reply.out += fmt::format("{} find path {} in resource graph.\n",
                             command == "set-property" ? "Couldn't" : "Could not", path);
  }
  return std::nullopt;
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
  if (!vertex_at(session, "set-property", words[1], reply)) return;
  const auto status = session.store().set_property(words[1], words[2].substr(0, equals),
                                                   words[2].substr(equals + 1));
  if (!status) return complain(session, "set-property", status.error(), reply);
  print_done(session, "set-property", reply);
}

void run_get_property(Session& session, const Words& words, Reply& reply) {
  if (words.size() != 2) return complain(session, "get-property", "PATH is expected", reply);
  const auto v = vertex_at(session, "get-property", words[1], reply);
  if (!v) return;
  const auto& graph = session.store().graph();
  if (session.options().json) {
    JsonObject object;
    object.text("command", "get-property").boolean("ok", true).text("path", words[1]);
    reply.add_json(object.raw("properties", properties_as_json(graph, *v)).str());
    return;
  }
  const auto properties = graph.properties(*v);
  if (properties.empty())
    fmt::format_to(std::back_inserter(reply.out),
                   "No properties were found for {} (vtx's uniq_id={}).\n", words[1],
                   graph[*v].uniq_id);
  for (const auto& property : properties)
    fmt::format_to(std::back_inserter(reply.out), "{}={}\n", graph.words().names.text(property.key),
                   graph.words().names.text(property.value));
}

void run_set_status(Session& session, const Words& words, Reply& reply) {
  if (words.size() != 3) return complain(session, "set-status", "PATH up|down is expected", reply);
  if (!vertex_at(session, "set-status", words[1], reply)) return;
  if (words[2] != "up" && words[2] != "down")
    return complain(session, "set-status", "'" + words[2] + "': up or down is expected", reply);
  if (auto status = session.store().set_status(words[1], words[2] == "up"); !status)
    return complain(session, "set-status", status.error(), reply);
  print_done(session, "set-status", reply);
}

void run_get_status(Session& session, const Words& words, Reply& reply) {
  if (words.size() != 2) return complain(session, "get-status", "PATH is expected", reply);
  const auto v = vertex_at(session, "get-status", words[1], reply);
  if (!v) return;
  const std::string_view status = session.store().graph()[*v].up ? "up" : "down";
  if (session.options().json) {
    JsonObject object;
    object.text("command", "get-status").boolean("ok", true).text("path", words[1]);
    reply.add_json(object.text("status", status).str());
  } else {
    reply.out += fmt::format("{} is {}\n", words[1], status);
  }
}

}  // namespace holon::cli::query
