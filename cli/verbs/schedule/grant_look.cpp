// holon grant show, wait, explain, history: what an instance has from the one above and has given
// on, how that has moved, and what could come.
#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "base/text/printable.hpp"
#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/paths.hpp"
#include "cli/show/grant_text.hpp"
#include "cli/show/job_json.hpp"
#include "cli/show/table.hpp"
#include "cli/show/units.hpp"
#include "cli/verbs/schedule/grant_advice.hpp"
#include "cli/verbs/schedule/grant_verbs.hpp"
#include "instance/basics/clock.hpp"
#include "msg/grant.hpp"

namespace holon::cli {
namespace {

using nlohmann::ordered_json;

ordered_json json_of(const msg::GrantPart& part) {
  return {{"path", part.path},   {"source", part.source}, {"state", part.state},
          {"units", part.units}, {"cores", part.cores},   {"gpus", part.gpus},
          {"until", part.until}, {"grant", part.grant},   {"why", part.why},
          {"nodes", part.nodes}};
}

ordered_json json_of(const msg::GrantReply& reply) {
  ordered_json json = {{"path", reply.path}, {"epoch", reply.epoch}};
  for (const auto& [key, parts] : {std::pair{"held", &reply.held}, {"given", &reply.given}}) {
    json[key] = ordered_json::array();
    for (const auto& part : *parts) json[key].push_back(json_of(part));
  }
  json["promised"] = reply.promised;
  return json;
}

void add_parts(Table& table, const std::vector<msg::GrantPart>& parts, Time now) {
  for (const auto& part : parts)
    table.add({{part.path},
               {part.source},
               {std::to_string(part.cores)},
               {part.gpus > 0 ? std::to_string(part.gpus) : ""},
               {part.state},
               {part.until == 0 ? "" : show_time(part.until, now)},
               {part.grant == 0 ? "" : std::to_string(part.grant)},
               {part.units},
               {part.nodes},
               {part.why}});
}

void print(Invocation& call, const std::vector<msg::GrantReply>& replies) {
  using enum Table::Align;
  const Time now = instance::wall_clock_ms();
  Table table({{"PATH", left},
               {"SOURCE", left},
               {"CORES", right},
               {"GPUS", right},
               {"STATE", left},
               {"UNTIL", left},
               {"GRANT", right},
               {"UNITS", left},
               {"NODES", left},
               {"WHY", left}});
  std::set<std::string> told;
  for (const auto& reply : replies) told.insert(reply.path);
  for (const auto& reply : replies) {
    add_parts(table, reply.held, now);
    for (const auto& part : reply.given)
      if (!told.contains(part.path)) add_parts(table, {part}, now);
  }
  call.io.out << table.render(call.io);
  for (const auto& reply : replies)
    for (const auto when : reply.promised)
      call.io.out << fmt::format(
          "{} has asked for more: {}\n", reply.path,
          when == 0 ? "it is not known when it comes" : "planned for " + show_time(when, now));
}

// What each of the instances has. One that has ended meanwhile, or is another user's, is shown as
// the instance above it has it.
Result<std::vector<msg::GrantReply>> ask_all(Client& client, bool recursive) {
  std::vector<msg::GrantReply> replies;
  const auto paths = living_instances(client, recursive);
  if (!paths) return tl::unexpected(paths.error());
  for (const auto& path : *paths) {
    client.set_path(path);
    auto reply = client.grants();
    if (!reply && path == paths->front()) return tl::unexpected(reply.error());
    if (reply) replies.push_back(std::move(*reply));
  }
  return replies;
}

}  // namespace

int verb_grant_show(Invocation& call) {
  bool json = false, recursive = false;
  Parser parser("grant show", "what an instance has from the one above, and has given on");
  parser.group("Options")
      .flag("-R,--recursive", recursive, "those below it, too")
      .instance(call)
      .json(json)
      .example("holon grant", "of the instance that this shell is in")
      .example("holon grant -i / -R", "who has what, in the whole tree");
  if (const auto code = parser.parse(call)) return *code;
  auto client = connect_to_instance(call);
  if (!client) return report(call, "grant show", client.error());
  const auto replies = ask_all(*client, recursive);
  if (!replies) return report(call, "grant show", replies.error());
  if (!json) {
    print(call, *replies);
  } else if (recursive) {
    ordered_json all = ordered_json::array();
    for (const auto& reply : *replies) all.push_back(json_of(reply));
    call.io.out << pretty({{"instances", all}});
  } else {
    call.io.out << pretty(json_of(replies->front()));
  }
  return kOk;
}

namespace {

// The epoch with which this task was started, if its instance is the one at `path`.
std::optional<std::uint64_t> epoch_of_this_task(const std::string& path) {
  const char* const epoch = std::getenv("HOLON_GRANT_EPOCH");
  const char* const job = std::getenv("HOLON_JOB_PATH");  // "/3/7"
  if (epoch == nullptr || job == nullptr || !std::string_view(job).starts_with(path + "/"))
    return std::nullopt;
  return std::string_view(job).find('/', path.size() + 1) == std::string_view::npos
             ? std::optional(std::strtoull(epoch, nullptr, 10))
             : std::nullopt;
}

// The epoch that a change is awaited from: as typed, else this task's, else the present one.
Result<std::uint64_t> epoch_to_wait_from(Client& client, std::int64_t typed) {
  if (typed >= 0) return static_cast<std::uint64_t>(typed);
  const auto now = client.grants();
  if (!now) return tl::unexpected(now.error());
  return epoch_of_this_task(now->path).value_or(now->epoch);
}

}  // namespace

int verb_grant_wait(Invocation& call) {
  bool json = false;
  std::int64_t epoch = -1;
  Parser parser("grant wait", "wait until what an instance has changes");
  parser
      .option("--epoch", number_up_to(INT64_MAX, epoch), "N",
              "until it has changed more than N times; unless given: since this task was started "
              "(HOLON_GRANT_EPOCH), or, outside of the instance, from now on")
      .group("Options")
      .instance(call)
      .json(json)
      .note(
          "What comes, and what goes back, is a change each. Prints what the instance has then, as "
          "holon grant does; its epoch, in --json, is the N of the next call.")
      .example("holon grant wait", "a program that uses more as soon as there is more");
  if (const auto code = parser.parse(call)) return *code;
  auto client = connect_to_instance(call);
  if (!client) return report(call, "grant wait", client.error());
  const auto since = epoch_to_wait_from(*client, epoch);
  if (!since) return report(call, "grant wait", since.error());
  const auto reply = client->wait_for_grants(*since);
  if (!reply) return report(call, "grant wait", reply.error());
  if (json)
    call.io.out << pretty(json_of(*reply));
  else
    print(call, {*reply});
  return kOk;
}

int verb_grant_explain(Invocation& call) {
  bool json = false;
  std::string id;
  Parser parser("grant explain", "what more would let a waiting job start, and when it could come");
  parser.required("ID", id, "a job that waits in an instance below another one: 7, /3/7")
      .group("Options")
      .instance(call)
      .json(json)
      .note(
          "The instance's own scheduler is asked how many cores more are needed, or whole nodes "
          "where no cores of its nodes would do; that of the instance above when they could come, "
          "with all that waits there. Nothing is asked for or "
          "reserved: holon grant ask does that.")
      .example("holon grant explain 7", "of the instance that this shell is in");
  if (const auto code = parser.parse(call)) return *code;
  auto selected = connect_to_job(call, id);
  if (!selected) return report(call, "grant explain", selected.error());
  const auto advice = GrantAdvice::beside(selected->client);
  if (!advice) return report(call, "grant explain", advice.error());
  const auto about = selected->client.explain_grant({selected->id});
  if (!about) return report(call, "grant explain", about.error());
  if (json) {
    call.io.out << pretty(advice->json(*about));
    return kOk;
  }
  for (const auto& line : advice->lines(*about, instance::wall_clock_ms()))
    call.io.out << printable(line) << '\n';
  return kOk;
}

int verb_grant_history(Invocation& call) {
  bool json = false;
  std::int64_t limit = 100;
  Parser parser("grant history", "how an instance's grants have moved");
  parser
      .option("-l,--limit", number_up_to(10'000, limit), "N",
              "the last N entries, 100 unless given")
      .group("Options")
      .instance(call)
      .json(json)
      .note("Each line is an entry of the instance's journal, which --json shows whole.")
      .example("holon grant history", "of the instance that this shell is in");
  if (const auto code = parser.parse(call)) return *code;
  auto client = connect_to_instance(call);
  if (!client) return report(call, "grant history", client.error());
  const auto node = client->status();
  if (!node) return report(call, "grant history", node.error());
  const auto history = client->grant_history({static_cast<std::uint64_t>(limit)});
  if (!history) return report(call, "grant history", history.error());
  const Time now = instance::wall_clock_ms();
  ordered_json list = ordered_json::array();
  for (const auto& event : history->events) {
    const auto entry = ordered_json::parse(event.entry, nullptr, false);
    const auto what = entry.is_object() ? entry.value("what", ordered_json()) : ordered_json();
    if (json)
      list.push_back({{"time", event.time}, {"name", event.name}, {"what", what}});
    else
      call.io.out << fmt::format("{}  {}\n", show_time(event.time, now),
                                 printable(text_of_grant_event(node->path, event.name, what, now)));
  }
  if (json) call.io.out << pretty({{"events", list}});
  return kOk;
}

}  // namespace holon::cli
