// holon config: what an instance goes by, and its files read again.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <ostream>

#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/table.hpp"
#include "cli/verbs.hpp"
#include "config/config.hpp"
#include "msg/config.hpp"
#include "transport/codec/json.hpp"

namespace holon::cli {
namespace {

// The error with the nearest key: the instance knows which keys are set, this program all keys.
Error with_nearest_key(Error error, const std::string& key) {
  if (error.code != Errc::not_found) return error;
  std::vector<std::string> names;
  for (const auto& known : config::config_keys()) names.push_back(known.name);
  if (std::find(names.begin(), names.end(), key) != names.end()) return error;
  const auto close = nearest(key, names);
  error.what += close.empty() ? "; `holon config get` lists all"
                              : fmt::format("; did you mean {}?", fmt::join(close, " or "));
  return error;
}

int verb_get(Invocation& call) {
  std::string key;
  bool json = false, all_that_is_set = false;
  Parser parser("config get", "what an instance goes by, and who says so");
  parser.positional("KEY", key, "this key, or all of a table (job); all otherwise")
      .group("Options")
      .flag("--set", all_that_is_set, "only what somebody has set, no defaults")
      .instance(call)
      .json(json)
      .note(
          "SOURCE is the line of a file, --conf for KEY=VALUE on the command line of `holon "
          "start`, "
          "default, or holon policy where `holon policy load` or `disable` has set it since.")
      .example("holon config get job.grace", "one value")
      .example("holon config get --set", "what differs from the defaults, and where");
  if (const auto code = parser.parse(call)) return *code;
  if (key.empty() && std::find(call.args.begin(), call.args.end(), "") != call.args.end())
    return report(call, "config get",
                  {Errc::invalid_argument, "'' is no key; job.grace is one", "KEY"});
  auto client = connect_to_instance(call);
  if (!client) return report(call, "config get", client.error());
  auto reply = client->config({key});
  if (!reply) return report(call, "config get", with_nearest_key(reply.error(), key));
  if (all_that_is_set)
    std::erase_if(reply->values, [](const auto& value) { return value.source == "default"; });
  if (json) {
    call.io.out << transport::to_json(*reply, 2) + "\n";
    return kOk;
  }
  using enum Table::Align;
  Table table({{"KEY", left}, {"VALUE", left}, {"SOURCE", left}});
  for (const auto& value : reply->values) table.add({{value.key}, {value.value}, {value.source}});
  call.io.out << table.render(call.io);
  return kOk;
}

std::string shown(const std::string& value) {
  return value.empty() ? "(not set)" : value;
}

int verb_reload(Invocation& call) {
  bool json = false;
  Parser parser("config reload", "read an instance's configuration files again");
  parser.group("Options")
      .instance(call)
      .json(json)
      .note(
          "The files that --conf named when the instance was started. All that has changed in them "
          "comes into force, while jobs run on; or nothing does, and the key or the job that is in "
          "the way is named. What resources, agents and connections were made with changes with "
          "the next start only.")
      .example("holon config reload", "after an edit of a file of --conf");
  if (const auto code = parser.parse(call)) return *code;
  auto client = connect_to_instance(call);
  if (!client) return report(call, "config reload", client.error());
  const auto reply = client->reload_config();
  if (!reply) return report(call, "config reload", reply.error());
  if (json)
    call.io.out << transport::to_json(*reply, 2) + "\n";
  else if (reply->changes.empty())
    call.io.out << "nothing has changed\n";
  else
    for (const auto& change : reply->changes)
      call.io.out << fmt::format("{}: {} -> {}\n", change.key, shown(change.before),
                                 shown(change.after));
  return kOk;
}

constexpr auto kConfigVerbs = std::to_array<Verb>({
    {"get", "what an instance goes by, and who says so", Group::look, verb_get},
    {"reload", "read an instance's configuration files again", Group::work, verb_reload},
});

}  // namespace

int verb_config(Invocation& call) {
  return run_group({"config",
                    "get, reload: what an instance goes by",
                    kConfigVerbs,
                    {{"holon config get job", "the keys of [job], and who says so"},
                     {"holon config reload", "what was edited comes into force"}}},
                   call);
}

}  // namespace holon::cli
