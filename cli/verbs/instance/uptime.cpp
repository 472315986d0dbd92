// holon uptime: one line about an instance.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/text/printable.hpp"
#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/job_json.hpp"
#include "cli/show/units.hpp"
#include "cli/verbs.hpp"
#include "instance/basics/clock.hpp"
#include "instance/registry/registry.hpp"
#include "web/address_file.hpp"

namespace holon::cli {
namespace {

std::string line_about(const msg::TreeNode& at, Time now) {
  const auto depth = at.path == "/" ? 0 : std::count(at.path.begin(), at.path.end(), '/');
  std::string line = fmt::format("{} {}: {}", at.path, printable(at.name), printable(at.health));
  // Of one that has ended little is known.
  if (at.health != "ended") line += fmt::format(" for {}", show_duration(now - at.t_started));
  line += fmt::format(", depth {}, ", depth);
  if (!at.policy.empty()) line += printable(at.policy) + ", ";
  if (at.expiration > 0)
    line += fmt::format("{} left, ", show_duration(std::max<Time>(at.expiration - now, 0)));
  line += fmt::format("{} node{}, {} of {} cores free, {} running, {} waiting, {} done", at.nodes,
                      at.nodes == 1 ? "" : "s", at.cores_free, at.cores, at.running, at.pending,
                      at.inactive);
  if (!at.state_dir.empty()) line += ", state in " + printable(show_path(at.state_dir));
  return line;
}

// The page that `holon start --web` serves, if it is this user's.
Result<web::KeptAddress> served_page(const msg::TreeNode& at) {
  if (at.state_dir.empty()) return fail(Errc::not_found, "it does not answer");
  return web::served_address(at.state_dir + "/web.json");
}

std::string page_text(const Result<web::KeptAddress>& page) {
  if (!page) return "";
  const bool here = page->host == instance::own_host_name();
  return fmt::format(", page at {}{}", page->address, here ? "" : " on " + printable(page->host));
}

std::string with_page(const std::string& json, const Result<web::KeptAddress>& page) {
  auto all = nlohmann::ordered_json::parse(json);
  all["web"] = page ? page->address : "";
  all["web_host"] = page ? page->host : "";
  return pretty(all);
}

}  // namespace

int verb_uptime(Invocation& call) {
  bool json = false;
  Parser parser("uptime", "one line about an instance");
  parser.instance(call)
      .json(json)
      .note(
          "Where `holon start --web` serves a page about the instance, and you have started it, "
          "its "
          "address is told, too; with --json as web, and web_host is the machine on which it is.")
      .example("holon uptime -i ..", "how the parent is doing");
  if (const auto code = parser.parse(call)) return *code;
  auto client = connect_to_instance(call);
  if (!client) return report(call, "uptime", client.error());
  const auto status = client->status();
  if (!status) return report(call, "uptime", status.error());
  const auto page = served_page(*status);
  if (json)
    call.io.out << with_page(json_text(*status), page);
  else
    call.io.out << line_about(*status, instance::wall_clock_ms()) << page_text(page) << "\n";
  return kOk;
}

}  // namespace holon::cli
