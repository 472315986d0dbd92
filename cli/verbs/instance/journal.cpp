// holon journal: what an instance that has ended, or cannot start, has kept.
#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/connect.hpp"
#include "cli/parser/help.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/job_json.hpp"
#include "cli/show/units.hpp"
#include "cli/verbs.hpp"
#include "instance/basics/clock.hpp"
#include "instance/journal/damage/export.hpp"
#include "instance/journal/damage/repair.hpp"

namespace holon::cli {
namespace {

namespace in = instance;

// The state directory; the name of the journal itself is taken too.
std::string state_dir_of(const std::string& word) {
  const std::filesystem::path path(word);
  if (path.filename() == "journal.db") return path.has_parent_path() ? path.parent_path() : ".";
  return path.has_filename() ? path.string() : path.parent_path().string();
}

std::optional<int> read_dir(Parser& parser, Invocation& call, std::string& dir) {
  parser.required("STATE_DIR", dir, "where the instance kept its journal: its --state-dir");
  if (const auto code = parser.parse(call)) return code;
  dir = state_dir_of(dir);
  return std::nullopt;
}

std::string rows_text(const std::map<std::string, std::int64_t>& rows) {
  std::string text;
  for (const auto& [table, n] : rows)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", n, table);
  return text.empty() ? "nothing" : text;
}

int verb_check(Invocation& call) {
  std::string dir;
  Parser parser("journal check", "say what is wrong with a journal");
  parser.note("Looks at all of it and changes nothing. Exit code 1: something is wrong.")
      .example("holon journal check ~/.local/state/holon/holon-x7Yq2b", "is it sound?");
  if (const auto code = read_dir(parser, call, dir)) return *code;
  const auto check = in::check_journal(dir);
  if (!check) return report(call, "journal check", check.error());
  for (const auto& item : check->damage) call.io.out << item << "\n";
  if (!check->rows.empty()) call.io.out << "it holds " << rows_text(check->rows) << "\n";
  if (check->damage.empty()) {
    call.io.out << "the journal is sound\n";
    return kOk;
  }
  call.io.out << fmt::format("`holon journal repair {}` makes a new one of what can be read\n",
                             dir);
  return kFailed;
}

int verb_export(Invocation& call) {
  std::string dir;
  Parser parser("journal export", "print what a journal holds, a JSON object a line");
  parser
      .note(
          "Lines have one key: batch (what was submitted), event, record (how a job stands), grant "
          "(what the instance itself was granted), child (what was granted to one below), agent, "
          "drain, gate (of a queue, closed), reservation, or lost (what cannot be read). Exit code "
          "1: something was lost.")
      .example("holon journal export old-state | jq 'select(.record).record.path'",
               "the paths of all jobs");
  if (const auto code = read_dir(parser, call, dir)) return *code;
  bool whole = true;
  const auto line = [&](const char* key, const nlohmann::ordered_json& value) {
    const nlohmann::ordered_json object = {{key, value}};
    call.io.out << object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
                << "\n";
  };
  const auto as_json = [](const std::string& text) {
    auto json = nlohmann::ordered_json::parse(text, nullptr, false);
    return json.is_discarded() ? nlohmann::ordered_json(text) : json;
  };
  in::JournalSink sink;
  sink.batch = [&](const in::Batch& b) {
    line("batch", {{"first", b.first.value()},
                   {"count", b.count},
                   {"is_instance", b.is_instance},
                   {"jobspec", as_json(b.jobspec)}});
  };
  sink.event = [&](JobId first, std::uint64_t count, Time time, const std::string& name,
                   const std::string& context) {
    line("event", {{"id", first.value()},
                   {"count", count},
                   {"time", time},
                   {"name", name},
                   {"context", as_json(context)}});
  };
  sink.record = [&](const msg::JobRecord& record) { line("record", to_json(record)); };
  sink.grant = [&](const in::HeldGrant& g) {
    line("grant", {{"path", g.path}, {"name", g.name}, {"epoch", g.epoch}, {"end", g.end}});
  };
  sink.child = [&](const in::ChildGrant& c) {
    line("child", {{"id", c.job.value()}, {"epoch", c.epoch}, {"uri", c.uri}});
  };
  sink.agent = [&](const in::KnownAgent& a) {
    line("agent", {{"rank", a.rank}, {"incarnation", a.incarnation}});
  };
  sink.drain = [&](const in::KeptDrain& d) {
    line("drain", {{"host", d.host}, {"reason", d.reason}, {"since", d.since}, {"above", d.above}});
  };
  sink.gate = [&](const in::ClosedGate& g) {
    line("gate", {{"queue", g.queue}, {"gate", g.gate}, {"reason", g.reason}});
  };
  sink.reservation = [&](const in::KeptReservation& r) {
    line("reservation", {{"id", r.id.value()},
                         {"name", r.request.name},
                         {"user", r.request.user},
                         {"users", r.request.users},
                         {"begin", r.request.begin},
                         {"end", r.request.end},
                         {"cancelled", r.cancelled},
                         {"jobspec", as_json(r.request.jobspec)}});
  };
  sink.lost = [&](const std::string& what) {
    whole = false;
    line("lost", what);
  };
  const auto done = in::export_journal(dir, sink);
  if (!done) return report(call, "journal export", done.error());
  return whole ? kOk : kFailed;
}

int verb_repair(Invocation& call) {
  std::string dir;
  Parser parser("journal repair", "make a new journal of what can be read of a damaged one");
  parser
      .note(
          "The old one stays beside it, as journal.db.damaged-DATE-TIME. What is lost is said, and "
          "what could be mended; numbers of lost jobs are not given again.")
      .example("holon journal repair old-state", "then holon start --state-dir old-state");
  if (const auto code = read_dir(parser, call, dir)) return *code;
  const auto repair = in::repair_journal(dir, in::wall_clock_ms());
  if (!repair) return report(call, "journal repair", repair.error());
  for (const auto& item : repair->mended) call.io.out << "mended: " << item << "\n";
  for (const auto& item : repair->lost) call.io.out << "lost: " << item << "\n";
  if (repair->lost.empty()) call.io.out << "nothing is lost\n";
  call.io.out << "the new journal holds " << rows_text(repair->rows) << "\n";
  if (!repair->kept_as.empty())
    call.io.out << fmt::format("the old one is kept as {}\n", repair->kept_as);
  return kOk;
}

int verb_compact(Invocation& call) {
  bool json = false;
  Parser parser("journal compact", "give what a running instance's journal has free to the disk");
  parser.group("Options")
      .instance(call)
      .json(json)
      .note(
          "A little at a time, while the instance goes on. What is kept is what journal.keep and "
          "journal.keep-age say; records that go leave room in the file, most of which is given "
          "back anyway.")
      .example("holon journal compact", "the journal of the instance this shell talks to");
  if (const auto code = parser.parse(call)) return *code;
  auto client = connect_to_instance(call);
  if (!client) return report(call, "journal compact", client.error());
  const auto reply = client->compact_journal();
  if (!reply) return report(call, "journal compact", reply.error());
  if (json)
    call.io.out << pretty(
        {{"bytes_before", reply->bytes_before}, {"bytes_after", reply->bytes_after}});
  else
    call.io.out << fmt::format("{} before, {} now\n", show_kib(reply->bytes_before / 1024),
                               show_kib(reply->bytes_after / 1024));
  return kOk;
}

constexpr auto kJournalVerbs = std::to_array<Verb>({
    {"check", "say what is wrong with a journal", Group::tools, verb_check},
    {"compact", "give what a running instance's journal has free to the disk", Group::tools,
     verb_compact},
    {"export", "print what a journal holds, a JSON object a line", Group::tools, verb_export},
    {"repair", "make a new journal of what can be read of a damaged one", Group::tools,
     verb_repair},
});

}  // namespace

int verb_journal(Invocation& call) {
  return run_group({"journal",
                    "check, compact, export, repair what an instance has kept",
                    kJournalVerbs,
                    {{"holon journal check DIR", "is the journal in that state directory sound?"},
                     {"holon journal export DIR", "everything in it, as JSON Lines"}}},
                   call);
}

}  // namespace holon::cli
