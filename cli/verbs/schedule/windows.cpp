// holon windows: what could start now, and for how long, without delaying anybody.
#include <ostream>

#include <fmt/core.h>

#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/schedule_json.hpp"
#include "cli/show/table.hpp"
#include "cli/show/units.hpp"
#include "cli/verbs.hpp"

namespace holon::cli {
namespace {

Table table_of_windows(const msg::WindowsReply& reply) {
  using enum Table::Align;
  Table table({{"CORES", right}, {"FOR", right}, {"UNTIL", left}});
  for (const auto& window : reply.windows)
    table.add({{std::to_string(window.cores)},
               {window.length == 0 ? "any time" : show_duration(window.length)},
               {window.length == 0 ? "" : show_time(reply.now + window.length, reply.now)}});
  return table;
}

void show(Io& io, const msg::WindowsReply& reply) {
  if (!reply.windows.empty())
    io.out << table_of_windows(reply).render(io);
  else if (reply.closed.empty())
    io.out << "nothing is free\n";
  for (const auto& closed : reply.closed)
    io.out << fmt::format("queue {}: nothing would start at once; {}\n", printable(closed.queue),
                          printable(closed.reason));
}

}  // namespace

int verb_windows(Invocation& call) {
  bool json = false;
  Parser parser("windows", "what could start now, and for how long");
  parser.instance(call)
      .json(json)
      .note(
          "Backfill windows: so many cores are free now for so long without delaying a job that "
          "has "
          "a reservation. They overlap: a narrower one lasts longer. A job that asks for no more "
          "than a window has, with a time limit that is no longer, may start at once, unless its "
          "queue is stopped or starts jobs in order only and one waits.")
      .example("holon windows", "what size and limit to choose for a job that should start now");
  if (const auto code = parser.parse(call)) return *code;
  auto client = connect_to_instance(call);
  if (!client) return report(call, "windows", client.error());
  const auto reply = client->windows();
  if (!reply) return report(call, "windows", reply.error());
  if (json)
    call.io.out << json_text(*reply);
  else
    show(call.io, *reply);
  return kOk;
}

}  // namespace holon::cli
