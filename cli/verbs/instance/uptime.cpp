// holon uptime: one line about an instance.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/text/printable.hpp"
#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/job_json.hpp"
#include "cli/show/units.hpp"
#include "cli/verbs.hpp"
#include "instance/basics/clock.hpp"

namespace holon::cli {
namespace {

std::string line_about(const msg::TreeNode& at, Time now) {
  const auto depth = at.path == "/" ? 0 : std::count(at.path.begin(), at.path.end(), '/');
  std::string line = fmt::format("{} {}: {} for {}, depth {}, {}, ", at.path, printable(at.name),
                                 printable(at.health), show_duration(now - at.t_started), depth,
                                 printable(at.policy));
  if (at.expiration > 0)
    line += fmt::format("{} left, ", show_duration(std::max<Time>(at.expiration - now, 0)));
  line += fmt::format("{} node{}, {} of {} cores free, {} running, {} waiting, {} done", at.nodes,
                      at.nodes == 1 ? "" : "s", at.cores_free, at.cores, at.running, at.pending,
                      at.inactive);
  if (!at.state_dir.empty()) line += ", state in " + printable(show_path(at.state_dir));
  return line + "\n";
}

}  // namespace

int verb_uptime(Invocation& call) {
  bool json = false;
  Parser parser("uptime", "one line about an instance");
  parser.instance(call).json(json).example("holon uptime -i ..", "how the parent is doing");
  if (const auto code = parser.parse(call)) return *code;
  auto client = connect_to_instance(call);
  if (!client) return report(call, "uptime", client.error());
  const auto status = client->status();
  if (!status) return report(call, "uptime", status.error());
  if (json)
    call.io.out << json_text(*status);
  else
    call.io.out << line_about(*status, instance::wall_clock_ms());
  return kOk;
}

}  // namespace holon::cli
