// holon audit: who asked an instance to change something, and whom it refused.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/table.hpp"
#include "cli/show/units.hpp"
#include "cli/verbs.hpp"
#include "instance/basics/clock.hpp"
#include "transport/codec/json.hpp"

namespace holon::cli {
namespace {

constexpr std::int64_t kShownAtFirst = 50;

// The newest `limit` entries, the oldest first. One answer holds a bounded number of them.
Result<std::vector<msg::AuditEntry>> newest_entries(client::Client& client, std::int64_t limit,
                                                    bool refused_only) {
  std::vector<msg::AuditEntry> entries;
  msg::AuditRequest ask;
  ask.refused_only = refused_only;
  for (bool more = true; more && std::int64_t(entries.size()) < limit;) {
    ask.limit = static_cast<std::uint64_t>(limit) - entries.size();
    auto reply = client.audit(ask);
    if (!reply) return tl::unexpected(reply.error());
    more = reply->more && !reply->entries.empty();
    if (more) ask.before = reply->entries.back().number;
    std::move(reply->entries.begin(), reply->entries.end(), std::back_inserter(entries));
  }
  std::reverse(entries.begin(), entries.end());
  return entries;
}

std::string who(const msg::AuditEntry& e) {
  if (e.passed_on) return "above";
  return e.uid < 0 ? "?" : e.user;
}

std::string what(const msg::AuditEntry& e) {
  if (e.refused.empty()) return e.what;
  return (e.what.empty() ? "refused: " : e.what + "; refused: ") + e.refused;
}

Table table_of_entries(const std::vector<msg::AuditEntry>& entries, Time now) {
  using enum Table::Align;
  Table table({{"TIME", left},
               {"USER", left},
               {"PID", right},
               {"REQUEST", left},
               {"FOR", left},
               {"WHAT", left}});
  for (const auto& e : entries)
    table.add({{show_time(e.time, now)},
               {who(e)},
               {e.pid > 0 ? std::to_string(e.pid) : ""},
               {e.topic},
               {e.path},
               {what(e), e.refused.empty() ? Colour::plain : Colour::red}});
  return table;
}

}  // namespace

int verb_audit(Invocation& call) {
  bool json = false;
  bool refused_only = false;
  std::int64_t limit = kShownAtFirst;
  Parser parser("audit", "who asked for changes, and what was refused to whom");
  parser.option("-n,--last", number_up_to(10'000'000, limit), "N", "the newest N, 50 unless given")
      .flag("--refused", refused_only, "only what was refused")
      .instance(call)
      .json(json)
      .note(
          "Submissions, cancellations, urgencies, gates of queues, reservations, drains and "
          "shutdowns; and refused requests, one a source and minute. USER and PID are the "
          "kernel's word; \"above\": it came through the instance above, whose audit has more; "
          "\"?\": from another node of this one. FOR: the instance that was meant, if another "
          "one. The newest `journal.audit` are kept.")
      .example("holon audit --refused", "what was refused")
      .example("holon audit -n 1000 --json", "for programs");
  if (const auto code = parser.parse(call)) return *code;
  if (limit < 1)
    return report(call, "audit",
                  {Errc::invalid_argument, fmt::format("'{}' is not 1 or more", limit), "--last"});
  auto client = connect_to_instance(call);
  if (!client) return report(call, "audit", client.error());
  const auto entries = newest_entries(*client, limit, refused_only);
  if (!entries) return report(call, "audit", entries.error());
  if (json)
    call.io.out << transport::to_json(msg::AuditReply{*entries, false}, 2) << "\n";
  else if (entries->empty())
    call.io.out << (refused_only ? "nothing was refused\n" : "nobody asked for a change\n");
  else
    call.io.out << table_of_entries(*entries, instance::wall_clock_ms()).render(call.io);
  return kOk;
}

}  // namespace holon::cli
