#include "cli/query/writing.hpp"

#include <algorithm>

#include "base/whole_file.hpp"
#include "cli/query/session.hpp"
#include "resource/find/find.hpp"
#include "resource/formats/readers.hpp"
#include "resource/formats/writers.hpp"
#include "resource/graph/graph.hpp"

namespace holon::cli::query {
namespace {

using resource::WriteNotes;

resource::WriteFormat match_format(const Session& session) {
  return *resource::find_write_format(session.options().match_format);
}

std::vector<std::string> split_list(const std::string& list) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    if (end > at) words.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

Result<resource::GraphSpec> read_host(const Options& options, std::string_view xml) {
  const resource::HostTopology host{.xml = xml, .rank = -1, .host = {}};
  return resource::read_hwloc(std::span(&host, 1),
                              {.allow = split_list(options.allowlist), .as_fluxion = true});
}

}  // namespace

resource::GraphOptions graph_options(const Options& options) {
  return {.dominant = matcher_subsystems(options.matcher)->front(), .as_fluxion = true};
}

Result<resource::GraphSpec> read_graph_file(const Options& options) {
  auto bytes = read_whole_file(options.load_file);
  if (!bytes) {
    if (options.load_file.empty() || options.load_file == Options{}.load_file)
      bytes.error().what += "; say with -L FILE what the resources are";
    return tl::unexpected(bytes.error());
  }
  const auto graph = graph_options(options);
  auto spec = [&]() -> Result<resource::GraphSpec> {
    if (options.load_format == "hwloc") return read_host(options, *bytes);
    // resource-query looks at no JGF under `scheduling` in either case
    if (options.load_format == "rv1exec" || options.load_format == "rv1exec_force")
      return resource::read_rv1(*bytes, resource::Rv1Use::execution_only, graph);
    if (options.load_format == "grug") return resource::read_grug(*bytes, graph);
    return resource::read_jgf(*bytes, graph);
  }();
  if (!spec)
    spec.error().where =
        options.load_file + (spec.error().where.empty() ? "" : ": ") + spec.error().where;
  return spec;
}

Result<std::string> write_allocation(Session& session, const resource::Allocation& allocation,
                                     const std::string& queue) {
  WriteNotes notes;
  notes.queue = queue;
  notes.shortened = session.shortened;
  auto text =
      resource::write_allocation(match_format(session), session.store().graph(), allocation, notes);
  if (text && text->find("\"writer\": \"fluxion:jgf_shorthand\"") != text->npos)
    session.shortened = true;
  return text;
}

Result<std::string> find_and_write(const Session& session, const std::string& expression) {
  const auto parsed = resource::FindExpression::parse(expression);
  if (!parsed) return tl::unexpected(parsed.error());
  const auto& graph = session.store().graph();
  resource::Allocation found;
  WriteNotes notes;
  notes.nothing_implied = true;
  notes.shortened = session.shortened;
  for (const auto& vertex : resource::find_vertices(session.store(), *parsed, 0)) {
    const auto& pool = graph[vertex.vertex];
    found.shares.push_back({pool.uniq_id, pool.size, true});
    for (const auto& use : vertex.aggregates)
      notes.agfilter[pool.uniq_id].emplace_back(
          use.type, "used:" + std::to_string(use.used) + ", total:" + std::to_string(use.total));
  }
  return resource::write_allocation(match_format(session), graph, found, notes);
}

}  // namespace holon::cli::query
