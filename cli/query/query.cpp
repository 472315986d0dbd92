#include "cli/query/query.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <ostream>
#include <set>

#include "cli/query/commands.hpp"
#include "cli/query/draw.hpp"
#include "cli/query/json_object.hpp"
#include "cli/verbs.hpp"
#include "resource/graph/graph.hpp"

namespace holon::cli {
namespace query {
namespace {

struct GraphCounts {
  std::size_t types = 0;
  std::size_t names = 0;
  std::size_t paths = 0;
};

GraphCounts count(const resource::ResourceGraph& graph) {
  std::set<resource::TypeId> types;
  std::set<std::string> names;
  std::set<std::string> paths;
  for (const auto v : graph.in_preorder()) {
    types.insert(graph[v].type);
    names.insert(graph.name(v));
    for (std::uint32_t s = 0; s < graph.subsystems().size(); ++s)
      if (auto path = graph.path(v, s); !path.empty()) paths.insert(std::move(path));
  }
  return {types.size(), names.size(), paths.size()};
}

// The text that -e prints before the first command.
std::string describe_load(const Session& session) {
  const auto& graph = session.store().graph();
  const GraphCounts counts = count(graph);
  std::string text = fmt::format(
      "INFO: Graph Load Time: {:g}\nINFO: Vertex Count: {}\nINFO: Edge Count: {}\n"
      "INFO: by_type Key-Value Pairs: {}\nINFO: by_name Key-Value Pairs: {}\n"
      "INFO: by_path Key-Value Pairs: {}\n",
      session.load_seconds(), graph.vertex_count(), graph.edge_count(), counts.types, counts.names,
      counts.paths);
  std::size_t ranked = 0;
  std::string by_rank;
  for (const auto rank : graph.ranks()) {
    const std::size_t size = graph.by_rank(rank).size();
    ranked += size;
    by_rank += fmt::format("INFO: number of vertices with rank {}: {}\n", rank, size);
  }
  if (ranked < graph.vertex_count())
    text +=
        fmt::format("INFO: number of vertices with rank -1: {}\n", graph.vertex_count() - ranked);
  return text + by_rank;
}

std::string load_as_json(const Session& session) {
  const auto& graph = session.store().graph();
  JsonObject object;
  object.text("command", "load").boolean("ok", true).real("elapse", session.load_seconds());
  object.number("vertices", static_cast<std::int64_t>(graph.vertex_count()));
  return object.number("edges", static_cast<std::int64_t>(graph.edge_count())).str() + "\n";
}

std::unique_ptr<LineSource> standard_input(const Options& options, std::function<void()> flush) {
  if (::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0)
    return terminal_lines(options.no_prompt ? "" : "resource-query> ");
  return descriptor_lines(STDIN_FILENO, std::move(flush));
}

Status write_graph(const Session& session) {
  const Options& options = session.options();
  if (options.graph_output.empty()) return {};
  const std::string path = options.graph_output + "." + options.graph_format;
  std::ofstream file(path, std::ios::binary);
  file << draw_graph(session.store().graph(), options.graph_format);
  file.close();
  if (!file) return fail(Errc::system, "it cannot be written", path);
  return {};
}

int run_session(Session& session, std::ostream& out, Invocation& call) {
  const Options& options = session.options();
  if (options.elapse)
    call.io.out << (options.json ? load_as_json(session) : describe_load(session));
  const auto flush = [&] {
    out.flush();
    call.io.out.flush();
  };
  const auto lines = standard_input(options, flush);
  run_lines(session, *lines, out, call.io);
  flush();
  if (auto written = write_graph(session); !written) return report(call, "query", written.error());
  if (!out) return report(call, "query", Error{Errc::system, "not all could be written", "output"});
  return kOk;
}

}  // namespace

void run_lines(Session& session, LineSource& lines, std::ostream& out, Io& io) {
  while (const auto line = lines.next()) {
    const Reply reply = run_line(session, *line);
    if (!reply.error.empty()) io.err << reply.error;
    if (session.options().json) {
      out << reply.json;
    } else {
      out << reply.out;
      io.out << reply.console;
    }
    if (reply.quit) return;
  }
}

}  // namespace query

int verb_query(Invocation& call) {
  query::Options options;
  if (auto code = query::parse_options(call, options)) return *code;
  auto session = query::Session::open(options);
  if (!session) return report(call, "query", session.error());
  if (options.test_output.empty()) return query::run_session(*session, call.io.out, call);
  std::ofstream file(options.test_output, std::ios::binary);
  if (!file)
    return report(call, "query", Error{Errc::system, "it cannot be written", options.test_output});
  return query::run_session(*session, file, call);
}

}  // namespace holon::cli
