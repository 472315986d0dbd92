// holon resource: what an instance has, and what hwloc finds on this machine.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>

#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/job_json.hpp"
#include "cli/show/table.hpp"
#include "cli/show/units.hpp"
#include "cli/verbs.hpp"
#include "cli/verbs/instance/resource_verbs.hpp"
#include "instance/basics/clock.hpp"

namespace holon::cli {
namespace {

constexpr auto kResourceVerbs = std::to_array<Verb>({
    {"list", "how much there is, free, allocated and down", Group::look, verb_resource_list},
    {"drain", "let nodes take no new work", Group::look, verb_resource_drain},
    {"undrain", "let drained nodes take work again", Group::look, verb_resource_undrain},
    {"R", "the instance's resources as Rv1 with the graph", Group::look, verb_resource_r},
    {"save", "keep what there is and who holds it, in one file", Group::look, verb_resource_save},
    {"load", "print what `holon resource save` has kept", Group::look, verb_resource_load},
    {"discover", "what hwloc finds on this machine", Group::look, verb_resource_discover},
});

std::int64_t amount(const std::map<std::string, std::int64_t>& of, const std::string& type) {
  const auto found = of.find(type);
  return found == of.end() ? 0 : found->second;
}

// Types outermost first, as a person thinks of them; others by name.
std::vector<std::string> types_in_order(const msg::ResourceReply& reply) {
  static const std::vector<std::string> kUsual = {"cluster",  "rack", "node", "socket",
                                                  "numanode", "core", "gpu",  "memory"};
  const auto place = [](const std::string& type) {
    return std::find(kUsual.begin(), kUsual.end(), type) - kUsual.begin();
  };
  std::vector<std::string> types;
  for (const auto& [type, count] : reply.total) types.push_back(type);
  std::stable_sort(types.begin(), types.end(),
                   [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return types;
}

// "n3, since 10:04, jobs run there still: bad memory"
std::string details_of(const msg::DrainedNode& node, Time now) {
  std::string text = node.host + ", since " + show_time(node.since, now);
  if (node.above) text += ", by an instance above";
  if (node.busy) text += ", jobs run there still";
  return node.reason.empty() ? text : text + ": " + printable(node.reason);
}

std::string table_of_nodes(const Io& io, const msg::ResourceReply& reply) {
  using enum Table::Align;
  Table table({{"TYPE", left},
               {"TOTAL", right},
               {"FREE", right},
               {"ALLOCATED", right},
               {"DRAINED", right},
               {"DOWN", right}});
  for (const auto& type : types_in_order(reply)) {
    const std::int64_t total = amount(reply.total, type), free = amount(reply.free, type),
                       down = amount(reply.down, type), drained = amount(reply.drained, type);
    table.add({{type},
               {std::to_string(total)},
               {std::to_string(free), free > 0 ? Colour::green : Colour::plain},
               {std::to_string(std::max<std::int64_t>(total - free - drained - down, 0))},
               {std::to_string(drained), drained > 0 ? Colour::yellow : Colour::plain},
               {std::to_string(down), down > 0 ? Colour::red : Colour::plain}});
  }
  std::string text = table.render(io);
  const auto nodes = [&text](const char* what, const std::string& list) {
    if (!list.empty()) text += fmt::format("{} {}\n", what, list);
  };
  text += "\n";
  nodes("nodes free:     ", reply.nodes_free);
  nodes("nodes allocated:", reply.nodes_allocated);
  nodes("nodes down:     ", reply.nodes_down);
  const auto now = instance::wall_clock_ms();
  for (const auto& node : reply.nodes_drained) nodes("node drained:   ", details_of(node, now));
  return text;
}

}  // namespace

int verb_resource_list(Invocation& call) {
  bool json = false;
  Parser parser("resource list", "how much there is, free, allocated and down");
  parser.instance(call).json(json).example("holon resource list", "by type, and which nodes");
  if (const auto code = parser.parse(call)) return *code;
  auto client = connect_to_instance(call);
  if (!client) return report(call, "resource list", client.error());
  const auto reply = client->resources();
  if (!reply) return report(call, "resource list", reply.error());
  call.io.out << (json ? json_text(*reply) : table_of_nodes(call.io, *reply));
  return kOk;
}

int verb_resource_r(Invocation& call) {
  Parser parser("resource R", "the instance's resources as Rv1 with the graph");
  parser.instance(call).example("holon resource R > R.json",
                                "a file that holon start --resources takes");
  if (const auto code = parser.parse(call)) return *code;
  auto client = connect_to_instance(call);
  if (!client) return report(call, "resource R", client.error());
  const auto reply = client->resources();
  if (!reply) return report(call, "resource R", reply.error());
  call.io.out << reply->R << "\n";
  return kOk;
}

int verb_resource(Invocation& call) {
  return run_group({"resource",
                    "what an instance has, what this machine has",
                    kResourceVerbs,
                    {{"holon resource list", "by type: total, free, allocated, down"},
                     {"holon resource discover", "what an instance would have here"}}},
                   call);
}

}  // namespace holon::cli
