// holon resource drain, undrain: nodes that take no new work.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/hostlist.hpp"
#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/verbs.hpp"
#include "cli/verbs/instance/resource_verbs.hpp"

namespace holon::cli {
namespace {

int change(Invocation& call, Parser& parser, const std::string& verb,
           const std::vector<std::string>& hosts, msg::DrainRequest& request) {
  if (const auto code = parser.parse(call)) return *code;
  if (hosts.empty() || std::find(hosts.begin(), hosts.end(), "") != hosts.end())
    return report(call, verb, {Errc::invalid_argument, "name at least one node", "NODES"});
  for (const std::string& word : hosts)
    if (const auto list = Hostlist::parse(word); !list)
      return report(call, verb,
                    {list.error().code, list.error().what, word + ", " + list.error().where});
  request.hosts = fmt::format("{}", fmt::join(hosts, ","));
  auto client = connect_to_instance(call);
  if (!client) return report(call, verb, client.error());
  const auto done = client->drain(request);
  return done ? static_cast<int>(kOk) : report(call, verb, done.error());
}

}  // namespace

int verb_resource_drain(Invocation& call) {
  std::vector<std::string> hosts;
  msg::DrainRequest request{"", true, ""};
  Parser parser("resource drain", "let nodes take no new work; what runs there goes on");
  parser.positional("NODES", hosts, "host lists: node3, node[0-7,12]")
      .group("Options")
      .option("-m,--message", request.reason, "TEXT", "why; `resource list` shows it")
      .instance(call)
      .note(
          "Child instances on these nodes follow: they start nothing there either. It stays so, "
          "also when the broker is restarted, until `holon resource undrain`.")
      .example("holon resource drain node3 -m 'bad memory'", "nothing more is started on node3")
      .example("holon resource drain 'node[0-7]'", "eight nodes; all of them or none");
  return change(call, parser, "resource drain", hosts, request);
}

int verb_resource_undrain(Invocation& call) {
  std::vector<std::string> hosts;
  msg::DrainRequest request{"", false, ""};
  Parser parser("resource undrain", "let drained nodes take work again");
  parser.positional("NODES", hosts, "host lists: node3, node[0-7,12]")
      .group("Options")
      .instance(call)
      .note("What an instance above has drained is for that instance to undrain.")
      .example("holon resource undrain node3", "jobs are started on node3 again");
  return change(call, parser, "resource undrain", hosts, request);
}

}  // namespace holon::cli
