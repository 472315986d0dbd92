// holon instances: the instances of this user, those that run and those that are over, and their
// folders cleared up.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <tuple>

#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/job_json.hpp"
#include "cli/show/table.hpp"
#include "cli/show/units.hpp"
#include "cli/verbs.hpp"
#include "cli/verbs/instance/same_folder.hpp"
#include "instance/basics/clock.hpp"
#include "instance/process/state_claim.hpp"
#include "instance/registry/left.hpp"
#include "instance/registry/registry.hpp"
#include "transport/blocking_client.hpp"

namespace holon::cli {
namespace {

using instance::Stand;

struct InstancesArgs {
  std::vector<std::string> dirs;
  Duration older = 0;  // 0: of any age
  bool remove = false, force = false, json = false;
};

struct InstanceRow {
  instance::Registered of;
  Stand stand = Stand::unknown;
  std::string uri;                      // if it runs
  std::optional<std::int64_t> waiting;  // waiting jobs; nullopt: unknown
  std::int64_t running = 0, bytes = 0;
  Time used = 0;        // the last time it was used
  std::string trouble;  // why part of it is unknown
  bool removed = false;
  std::string kept;  // why it was not removed
};

void ask_running(InstanceRow& row) {
  constexpr Duration kPatience = 500;
  if (row.uri.empty()) row.uri = instance::at_work_on(row.of.state_dir).uri;
  auto connection = transport::BlockingClient::connect(row.uri, kPatience);
  const auto node =
      connection ? connection->call<msg::TreeNode>("status", msg::StatusRequest{}, "", kPatience)
                 : tl::unexpected<Error>(connection.error());
  if (!node) {
    row.trouble = "does not answer just now";
    return;
  }
  row.of.name = node->name;
  row.of.started = node->t_started;
  row.waiting = node->pending;
  row.running = node->running;
}

void look_at_left(InstanceRow& row) {
  const auto left = instance::jobs_left(row.of.state_dir);
  if (left)
    row.waiting = *left;
  else
    row.trouble = "its journal cannot be read: " + left.error().what;
}

void look_at(InstanceRow& row) {
  row.bytes = instance::bytes_on_disk(row.of.state_dir);
  row.used = std::max(row.of.ended, instance::last_used(row.of.state_dir));
  if (row.stand == Stand::runs) return ask_running(row);
  if (row.stand == Stand::over) return look_at_left(row);
  row.trouble = row.bytes == 0
                    ? fmt::format("on {}; not to be seen from here", row.of.host)
                    : fmt::format("ran on {}, which has not said that it ended", row.of.host);
}

// Registered instances, and running ones that could not write to their home and are not registered.
std::vector<InstanceRow> find_instances() {
  std::vector<InstanceRow> rows;
  for (auto& entry : instance::read_registry()) {
    const Stand stand = instance::stand_of(entry);
    rows.emplace_back().of = std::move(entry);
    rows.back().stand = stand;
  }
  for (const auto& root : client::running_roots()) {
    auto row = std::find_if(rows.begin(), rows.end(), [&](const InstanceRow& known) {
      return is_same_folder(known.of.state_dir, root.state_dir);
    });
    if (row == rows.end()) {
      rows.emplace_back().of.state_dir = root.state_dir;
      rows.back().of.name = root.name;
      rows.back().of.host = instance::own_host_name();
      row = std::prev(rows.end());
    }
    row->stand = Stand::runs;
    row->uri = root.uri;
  }
  return rows;
}

// Keeps only rows of the named folders. Errors: not_found.
Status keep_named(std::vector<InstanceRow>& rows, const std::vector<std::string>& dirs) {
  std::vector<InstanceRow> named;
  for (const auto& dir : dirs) {
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const InstanceRow& known) {
      return is_same_folder(known.of.state_dir, dir);
    });
    if (row != rows.end()) {
      named.push_back(std::move(*row));
      rows.erase(row);
      continue;
    }
    if (!instance::is_state_dir(dir))
      return fail(Errc::not_found, "no instance has kept its state there", dir);
    std::error_code ignored;
    InstanceRow found;
    found.of.state_dir = std::filesystem::absolute(dir, ignored).lexically_normal().string();
    found.of.host = instance::own_host_name();
    found.stand = instance::stand_of(found.of);
    named.push_back(std::move(found));
  }
  rows = std::move(named);
  return {};
}

void sort_rows(std::vector<InstanceRow>& rows) {
  std::sort(rows.begin(), rows.end(), [](const InstanceRow& a, const InstanceRow& b) {
    const auto runs = [](const InstanceRow& row) { return row.stand == Stand::runs ? 0 : 1; };
    return std::tuple(runs(a), -a.used, a.of.state_dir) <
           std::tuple(runs(b), -b.used, b.of.state_dir);
  });
}

std::string jobs_wait(std::int64_t n) {
  return n == 1 ? "1 job waits" : fmt::format("{} jobs wait", n);
}

// Why the instance is not to be removed; "": it is.
std::string why_kept(const InstanceRow& row, bool force) {
  if (row.stand == Stand::runs) return "it runs";
  if (force) return {};
  if (row.bytes == 0) return row.trouble + "; --force forgets it";
  const char* const advice = "; --force removes it all the same";
  if (!row.waiting) return row.trouble + advice;
  return *row.waiting > 0 ? jobs_wait(*row.waiting) + " in it" + advice : "";
}

void remove_rows(std::vector<InstanceRow>& rows, bool force) {
  for (InstanceRow& row : rows) {
    row.kept = why_kept(row, force);
    if (!row.kept.empty()) continue;
    // An instance with nothing here to remove is forgotten.
    if (row.bytes == 0) instance::forget(row.of);
    const Status removed = row.bytes == 0 ? Status() : instance::remove_state_dir(row.of.state_dir);
    row.removed = removed.has_value();
    if (!removed) row.kept = removed.error().what;
  }
  (void)instance::read_registry();  // forgets those that have gone
}

const char* word_of(Stand stand) {
  return stand == Stand::runs ? "up" : stand == Stand::over ? "ended" : "unknown";
}

nlohmann::ordered_json json_of(const InstanceRow& row, bool with_removal) {
  nlohmann::ordered_json json = {{"name", row.of.name},
                                 {"state", word_of(row.stand)},
                                 {"host", row.of.host},
                                 {"uri", row.uri},
                                 {"state_dir", row.of.state_dir},
                                 {"folder", row.of.folder},
                                 {"t_started", row.of.started},
                                 {"t_ended", row.of.ended},
                                 {"t_used", row.used},
                                 {"pending", nullptr},
                                 {"running", row.running},
                                 {"bytes", row.bytes},
                                 {"trouble", row.trouble}};
  if (row.waiting) json["pending"] = *row.waiting;
  if (with_removal) json["removed"] = row.removed, json["kept"] = row.kept;
  return json;
}

void show_json(Invocation& call, const std::vector<InstanceRow>& rows, bool with_removal) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const auto& row : rows) all.push_back(json_of(row, with_removal));
  call.io.out << pretty({{"instances", std::move(all)}});
}

std::string age_of(const InstanceRow& row, Time now) {
  const Time since = row.stand == Stand::runs ? row.of.started : row.used;
  return since == 0 ? "" : show_duration(std::max<Duration>(0, now - since));
}

void show_table(Invocation& call, const std::vector<InstanceRow>& rows) {
  using enum Table::Align;
  Table table({{"NAME", left},
               {"STATE", left},
               {"AGE", right},
               {"RUNNING", right},
               {"WAITING", right},
               {"SIZE", right},
               {"STARTED IN", left},
               {"STATE DIRECTORY", left},
               {"INFO", left}});
  const Time now = instance::wall_clock_ms();
  for (const auto& row : rows) {
    const Colour colour = row.stand == Stand::runs   ? Colour::green
                          : row.stand == Stand::over ? Colour::plain
                                                     : Colour::yellow;
    table.add({{row.of.name},
               {word_of(row.stand), colour},
               {age_of(row, now)},
               {row.running > 0 ? std::to_string(row.running) : ""},
               {row.waiting.value_or(0) > 0 ? std::to_string(*row.waiting) : ""},
               {show_kib(row.bytes / 1024)},
               {show_path(row.of.folder)},
               {show_path(row.of.state_dir)},
               {row.trouble}});
  }
  call.io.out << (rows.empty() ? "no instance of yours is known here\n" : table.render(call.io));
  const auto waits = std::find_if(rows.begin(), rows.end(), [](const InstanceRow& row) {
    return row.stand == Stand::over && row.waiting.value_or(0) > 0;
  });
  if (waits != rows.end() && call.io.terminal)
    call.io.out << fmt::format("{} in an instance that has ended: holon start --state-dir {}\n",
                               jobs_wait(*waits->waiting),
                               printable(show_path(waits->of.state_dir)));
}

void tell_removed(Invocation& call, const std::vector<InstanceRow>& rows) {
  if (rows.empty()) call.io.out << "there is nothing to remove\n";
  for (const auto& row : rows) {
    const std::string dir = printable(show_path(row.of.state_dir));
    if (row.removed)
      call.io.out << fmt::format("removed {} ({})\n", dir, show_kib(row.bytes / 1024));
    else
      call.io.out << fmt::format("kept {}: {}\n", dir, printable(row.kept));
  }
}

Status read_age(const std::string& text, Duration& into) {
  const auto age = parse_limit(text);
  const bool has_unit = !text.empty() && (text.back() < '0' || text.back() > '9');
  if (!age || *age <= 0 || !has_unit)
    return fail(
        Errc::invalid_argument,
        fmt::format("'{}' is no age; accepted are a number and a unit, such as 30d or 12h", text));
  into = *age;
  return {};
}

Status check_instances(const InstancesArgs& args) {
  if (args.force && !args.remove)
    return fail(Errc::invalid_argument, "only with --remove", "--force");
  if (args.remove && args.older == 0 && args.dirs.empty())
    return fail(Errc::invalid_argument,
                "say which ones: those that nobody has used for a while (--older 30d), or their "
                "state directories",
                "--remove");
  return {};
}

}  // namespace

int verb_instances(Invocation& call) {
  InstancesArgs args;
  Parser parser("instances", "find your instances again, those that run and those that have ended");
  parser.positional("DIR", args.dirs, "only those with these state directories")
      .group("Options")
      .option(
          "--older", [&args](const std::string& text) { return read_age(text, args.older); }, "AGE",
          "only those that have ended and were not used for so long: 30d, 12h")
      .flag("--remove", args.remove,
            "remove their state directories: journal, records and outputs. One that runs stays, "
            "and so does one in which jobs wait")
      .flag("--force", args.force,
            "with --remove: also those in which jobs wait, and those of which nobody knows")
      .json(args.json)
      .note(
          "AGE is since the start of an instance that runs, and since the last use of one that has "
          "ended. WAITING is the jobs in the queue; holon start --state-dir DIR goes on with those "
          "of one that has ended. A start writes down where it was typed and where its state is, "
          "in holon/instances below $XDG_STATE_HOME (~/.local/state); what was written of a state "
          "directory that has gone is forgotten. UNKNOWN: the instance was started on another "
          "host, and its state directory is not to be seen from here, or nobody has said that it "
          "ended. Child instances have their state in their parent's.")
      .example("holon instances", "what runs, and what was left where")
      .example("holon instances --older 30d", "what could be cleared up")
      .example("holon instances --remove --older 30d", "remove all of that in which no job waits");
  if (const auto code = parser.parse(call)) return *code;
  if (auto good = check_instances(args); !good) return report(call, "instances", good.error());
  auto rows = find_instances();
  if (!args.dirs.empty())
    if (auto named = keep_named(rows, args.dirs); !named)
      return report(call, "instances", named.error());
  for (auto& row : rows) look_at(row);
  const Time latest = instance::wall_clock_ms() - args.older;
  if (args.older > 0)
    std::erase_if(rows, [latest](const InstanceRow& row) {
      return row.stand == Stand::runs || row.used > latest;
    });
  sort_rows(rows);
  if (args.remove) remove_rows(rows, args.force);
  if (args.json)
    show_json(call, rows, args.remove);
  else if (args.remove)
    tell_removed(call, rows);
  else
    show_table(call, rows);
  const bool all_gone =
      std::all_of(rows.begin(), rows.end(), [](const InstanceRow& row) { return row.removed; });
  return args.remove && !args.dirs.empty() && !all_gone ? kFailed : kOk;
}

}  // namespace holon::cli
