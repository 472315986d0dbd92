// holon resource discover: what `holon start` would find here, without starting anything.
#include <fmt/format.h>

#include <ostream>
#include <vector>

#include "cli/parser/parser.hpp"
#include "cli/verbs.hpp"
#include "cli/verbs/instance/resource_verbs.hpp"
#include "launch/topology.hpp"
#include "resource/formats/readers.hpp"
#include "resource/formats/writers.hpp"
#include "resource/graph/graph.hpp"

namespace holon::cli {
namespace {

using resource::GraphSpec;

std::string name_of(const GraphSpec& spec, const GraphSpec::Row& row) {
  if (row.name.value() != GraphSpec::kNone) return spec.words.names.text(row.name);
  const std::string base = spec.words.names.text(row.basename);
  return row.id < 0 ? base : base + std::to_string(row.id);
}

class MachineDrawing {
 public:
  explicit MachineDrawing(const GraphSpec& spec) : spec_(spec), below_(spec.rows.size()) {}

  std::string draw() {
    for (std::uint32_t row = 0; row < spec_.rows.size(); ++row)
      if (const auto parent = spec_.rows[row].parent; parent != GraphSpec::kNone)
        below_[parent].push_back(row);
    for (std::uint32_t row = 0; row < spec_.rows.size(); ++row)
      if (spec_.rows[row].parent == GraphSpec::kNone) node(row, 0);
    return std::move(text_);
  }

 private:
  // Neighbours without anything below them and of one type and size share a line.
  void node(std::uint32_t at, std::size_t depth) {
    line(at, at, 1, depth);
    const auto& list = below_[at];
    for (std::size_t i = 0; i < list.size();) {
      std::size_t end = i + 1;
      while (end < list.size() && alike(list[i], list[end])) ++end;
      if (below_[list[i]].empty())
        line(list[i], list[end - 1], end - i, depth + 1);
      else
        node(list[i], depth + 1);
      i = end;
    }
  }

  bool alike(std::uint32_t a, std::uint32_t b) const {
    const auto &first = spec_.rows[a], &second = spec_.rows[b];
    return first.type == second.type && first.size == second.size && below_[a].empty() &&
           below_[b].empty();
  }

  void line(std::uint32_t first, std::uint32_t last, std::size_t count, std::size_t depth) {
    const auto& row = spec_.rows[first];
    std::string text(2 * depth, ' ');
    text += name_of(spec_, row);
    if (count > 1) text += fmt::format(" ... {} ({})", name_of(spec_, spec_.rows[last]), count);
    const bool has_unit = row.unit.value() != GraphSpec::kNone;
    if (row.size != 1 || has_unit) text += fmt::format(": {}", row.size);
    if (has_unit) text += " " + spec_.words.names.text(row.unit);
    text_ += text + "\n";
  }

  const GraphSpec& spec_;
  std::vector<std::vector<std::uint32_t>> below_;
  std::string text_;
};

// The resources found, in the form asked for.
Result<std::string> discover(const std::string& format) {
  auto xml = launch::topology_xml();
  if (!xml || format == "xml") return xml;
  const resource::HostTopology host{*xml, -1, ""};
  const auto spec = resource::read_hwloc({&host, 1});
  if (!spec) return tl::unexpected(spec.error());
  if (format == "tree") return MachineDrawing(*spec).draw();
  const auto graph = resource::ResourceGraph::build(*spec);
  if (!graph) return tl::unexpected(graph.error());
  return resource::write_jgf(*graph) + "\n";
}

}  // namespace

int verb_resource_discover(Invocation& call) {
  std::string format = "tree";
  Parser parser("resource discover", "what hwloc finds on this machine");
  parser
      .option("--format", format, "tree|jgf|xml",
              "a drawing; a graph that --resources takes; hwloc's own XML, which it takes, too")
      .note("Only what this process may use: cgroups and CPU masks count. No instance is needed.")
      .example("holon resource discover", "sockets, cores, memory, GPUs")
      .example("holon resource discover --format jgf > here.json",
               "to keep, to edit, to start with");
  if (const auto code = parser.parse(call)) return *code;
  if (format != "tree" && format != "jgf" && format != "xml")
    return report(call, "resource discover",
                  {Errc::invalid_argument,
                   fmt::format("'{}' is not accepted; tree, jgf and xml are", format), "--format"});
  const auto text = discover(format);
  if (!text) return report(call, "resource discover", text.error());
  call.io.out << *text;
  return kOk;
}

}  // namespace holon::cli
