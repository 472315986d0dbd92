// holon events: what happens to the jobs of an instance, or of all instances of a tree, as one
// stream in the order of time.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/units.hpp"
#include "cli/verbs.hpp"
#include "instance/basics/clock.hpp"

namespace holon::cli {
namespace {

using client::TreeCursors;

// Events of several instances wait for so long before they are shown: those that happened before
// them elsewhere have arrived by then.
constexpr Duration kSettle = 250;

struct EventsArgs {
  bool recursive = false, follow = false, json = false;
  std::string after;
  Time since = 0;

  bool from_the_past() const { return !follow || since > 0; }
};

// A position in the streams of several instances, as "/=a1.7.0,/3=b2.4.0".
std::string text_of(const TreeCursors& cursors) {
  std::string text;
  for (const auto& [path, cursor] : cursors)
    if (!cursor.empty()) text += fmt::format("{}{}={}", text.empty() ? "" : ",", path, cursor);
  return text;
}

Result<TreeCursors> parse_cursors(const std::string& text) {
  TreeCursors cursors;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string one = text.substr(at, end - at);
    const std::size_t equals = one.find('=');
    if (!one.starts_with('/') || equals == std::string::npos || equals + 1 == one.size())
      return fail(Errc::invalid_argument,
                  fmt::format("'{}' is no cursor; --json writes them, as \"cursor\"", one),
                  "--after");
    cursors[one.substr(0, equals)] = one.substr(equals + 1);
    at = end + 1;
  }
  return cursors;
}

Status read_since(const std::string& text, Time& since) {
  const auto read = parse_since(text, instance::wall_clock_ms());
  if (!read) return tl::unexpected(read.error());
  since = *read;
  return {};
}

struct TreeEvent {
  std::string instance;  // its path
  msg::JobEvent event;
};

std::string path_of(const TreeEvent& at) {
  return fmt::format("{}/{}", at.instance == "/" ? "" : at.instance, at.event.id);
}

class EventPrinter {
 public:
  EventPrinter(Invocation& call, const EventsArgs& args) : call_(call), args_(args) {}

  // `cursors`: where the streams are behind this event; nullptr: in the middle of a part.
  void print(const TreeEvent& at, const TreeCursors* cursors) {
    if (at.event.time < args_.since) return;
    if (args_.json) return print_json(at, cursors);
    const std::string& context = at.event.context;
    std::string line = fmt::format("{}  {:<10}  {:<12} {}", clock_of(at.event.time), path_of(at),
                                   at.event.name, context == "{}" ? "" : context);
    line.erase(line.find_last_not_of(' ') + 1);
    call_.io.out << line << "\n";
  }

  void print_cursor(const TreeCursors& cursors) {
    if (args_.json)
      call_.io.out << nlohmann::ordered_json{{"cursor", text_of(cursors)}}.dump() << "\n";
  }

  void say_gap(const std::string& instance) {
    call_.io.err << fmt::format(
        "holon events: what happened in {} right after the cursor is not kept any more\n",
        instance);
  }

  void flush() { call_.io.out << std::flush; }

 private:
  static std::string clock_of(Time time) {
    return fmt::format("{:%Y-%m-%d %H:%M:%S}.{:03}",
                       fmt::localtime(static_cast<std::time_t>(time / 1000)), time % 1000);
  }

  void print_json(const TreeEvent& at, const TreeCursors* cursors) {
    nlohmann::ordered_json json = {
        {"timestamp", static_cast<double>(at.event.time) / 1000},
        {"path", path_of(at)},
        {"id", at.event.id},
        {"name", at.event.name},
        {"context", nlohmann::ordered_json::parse(at.event.context, nullptr, false)}};
    if (cursors != nullptr) json["cursor"] = text_of(*cursors);
    call_.io.out << json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
                 << "\n";
  }

  Invocation& call_;
  const EventsArgs& args_;
};

// Puts the events of several instances into the order of time.
class Ordered {
 public:
  explicit Ordered(EventPrinter& printer) : printer_(printer) {}

  void add(const std::string& instance, const msg::EventsPart& part, Time now) {
    parts_.push_back({now, instance, part});
  }

  // Prints what arrived until `when`. Whole parts only, so that the cursor behind them is one.
  void print_until(Time when, TreeCursors& cursors) {
    const auto end = std::find_if(parts_.begin(), parts_.end(),
                                  [when](const Arrived& part) { return part.when > when; });
    std::vector<TreeEvent> events;
    for (auto part = parts_.begin(); part != end; ++part) {
      for (const auto& event : part->part.events) events.push_back({part->instance, event});
      if (is_over(part->part))
        cursors.erase(part->instance);
      else if (!part->part.cursor.empty())
        cursors[part->instance] = part->part.cursor;
    }
    parts_.erase(parts_.begin(), end);
    std::stable_sort(events.begin(), events.end(), [](const TreeEvent& a, const TreeEvent& b) {
      return a.event.time < b.event.time;
    });
    for (std::size_t i = 0; i < events.size(); ++i)
      printer_.print(events[i], i + 1 == events.size() ? &cursors : nullptr);
    if (!events.empty()) printer_.flush();
  }

 private:
  struct Arrived {
    Time when;
    std::string instance;
    msg::EventsPart part;
  };
  // The last part of an instance that has ended has the records of its jobs.
  static bool is_over(const msg::EventsPart& part) {
    return !part.node.empty() && part.node.front().health == "ended";
  }

  EventPrinter& printer_;
  std::vector<Arrived> parts_;
};

using OnPart = std::function<void(const msg::EventsPart&)>;

// Hears one instance out.
Status hear_once(Client& client, const std::string& path, msg::EventsRequest request,
                 const OnPart& on_part) {
  client.set_path(path);
  request.once = true;
  return client.follow(std::move(request), [&](const msg::EventsPart& part) {
    on_part(part);
    return true;
  });
}

Status print_kept(Client& client, const EventsArgs& args, TreeCursors cursors,
                  EventPrinter& printer) {
  const auto paths = living_instances(client, args.recursive);
  if (!paths) return tl::unexpected(paths.error());
  Ordered ordered(printer);
  for (const auto& path : *paths) {
    msg::EventsRequest request;
    request.past = true;
    request.cursor = cursors[path];
    const auto heard = hear_once(client, path, request, [&](const msg::EventsPart& part) {
      if (part.anew && !request.cursor.empty()) printer.say_gap(path);
      ordered.add(path, part, 0);
      if (paths->size() == 1) ordered.print_until(0, cursors);
    });
    // A child may end meanwhile.
    if (!heard && (path == paths->front() || heard.error().code != Errc::not_found)) return heard;
  }
  ordered.print_until(0, cursors);
  printer.print_cursor(cursors);
  return {};
}

// Adds where the streams of instances without a cursor are now.
Status add_now(Client& client, const std::vector<std::string>& paths, TreeCursors& cursors) {
  for (const auto& path : paths) {
    if (!cursors[path].empty()) continue;
    msg::EventsRequest request;
    request.bare = true;
    const auto heard = hear_once(client, path, request,
                                 [&](const msg::EventsPart& part) { cursors[path] = part.cursor; });
    if (!heard && (path == paths.front() || heard.error().code != Errc::not_found)) return heard;
  }
  return {};
}

Status print_as_it_happens(Client& client, const EventsArgs& args, TreeCursors cursors,
                           EventPrinter& printer) {
  const auto paths = living_instances(client, args.recursive);
  if (!paths) return tl::unexpected(paths.error());
  const std::string top = paths->front();
  if (args.after.empty() && !args.from_the_past())
    if (auto added = add_now(client, *paths, cursors); !added) return added;
  client.set_path(top);
  msg::EventsRequest request;
  request.past = true;  // of instances that begin from now on, from their first event
  Ordered ordered(printer);
  if (!args.recursive) {
    request.cursor = cursors[top];
    return client.follow(request, [&](const msg::EventsPart& part) {
      if (part.anew && !cursors[top].empty()) printer.say_gap(top);
      ordered.add(top, part, 0);
      ordered.print_until(0, cursors);
      return true;
    });
  }
  auto& reactor = client.reactor();
  const auto settled =
      reactor.every(kSettle / 2, [&] { ordered.print_until(reactor.now() - kSettle, cursors); });
  const auto followed = client.follow_tree(
      request, cursors,
      [&](const std::string& path, const msg::EventsPart& part, const TreeCursors&) {
        if (const auto at = cursors.find(path);
            part.anew && at != cursors.end() && !at->second.empty())
          printer.say_gap(path);
        ordered.add(path, part, reactor.now());
        return true;
      });
  ordered.print_until(kTimeMax, cursors);
  return followed;
}

}  // namespace

int verb_events(Invocation& call) {
  EventsArgs args;
  Parser parser("events", "what happens to jobs, as one stream");
  parser.flag("-f,--follow", args.follow, "go on with what happens from now on")
      .flag("-R,--recursive", args.recursive,
            "of child instances, too, also of those that begin later, in the order of time")
      .option("--after", args.after, "CURSOR", "only what is behind it, as --json has written it")
      .option(
          "--since", [&args](const std::string& text) { return read_since(text, args.since); },
          "TIME", "only what happened since: -2h, 18:30, 2026-12-24T18:30")
      .instance(call)
      .json(args.json)
      .note(
          "Without -f all that is kept: what is behind the last event that the instance has "
          "forgotten (journal.keep). What happens to single tasks of an array is no event. A "
          "restart of the broker is waited for. With --json an object a line; \"cursor\" comes "
          "with "
          "the last event of each bundle, and at the end: with --after it goes on right there, "
          "with nothing left out or told twice, from another process, too. With -R and -f events "
          "are shown a quarter of a second late, in order.")
      .example("holon events -f -R", "the whole tree, as it happens")
      .example("holon events --json --since -1h", "the last hour, for a program");
  if (const auto code = parser.parse(call)) return *code;
  auto cursors = parse_cursors(args.after);
  if (!cursors) return report(call, "events", cursors.error());
  auto client = connect_to_instance(call);
  if (!client) return report(call, "events", client.error());
  EventPrinter printer(call, args);
  const auto done = args.follow ? print_as_it_happens(*client, args, std::move(*cursors), printer)
                                : print_kept(*client, args, std::move(*cursors), printer);
  return done ? kOk : report(call, "events", done.error());
}

}  // namespace holon::cli
