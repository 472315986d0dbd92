// holon stats: what the scheduler did, and how long its passes took.
#include <fmt/format.h>

#include <ostream>

#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/schedule_json.hpp"
#include "cli/show/table.hpp"
#include "cli/verbs.hpp"

namespace holon::cli {
namespace {

// Microseconds as "350 us", "1.2 ms", "3.4 s".
std::string show_us(std::int64_t us) {
  if (us < 1'000) return fmt::format("{} us", us);
  if (us < 1'000'000) return fmt::format("{:.1f} ms", static_cast<double>(us) / 1e3);
  return fmt::format("{:.1f} s", static_cast<double>(us) / 1e6);
}

std::string sheet_of(const Io& io, const msg::StatsReply& stats) {
  std::string text =
      fmt::format("{} pass{} over {} vertices: the last took {}, the mean {}, the longest {}\n\n",
                  stats.passes, stats.passes == 1 ? "" : "es", stats.vertices,
                  show_us(stats.last_us), show_us(stats.mean_us), show_us(stats.longest_us));
  using enum Table::Align;
  Table table({{"QUEUE", left},
               {"POLICY", left},
               {"PENDING", right},
               {"CONSIDERED", right},
               {"DEPTH", right},
               {"PLANNED", right},
               {"RUNNING", right},
               {"SUBMITTED", right},
               {"STARTED", right},
               {"BACKFILLED", right},
               {"FINISHED", right},
               {"CANCELLED", right},
               {"REFUSED", right},
               {"PREEMPTED", right}});
  for (const auto& q : stats.queues)
    table.add({{q.name},
               {q.policy},
               {std::to_string(q.pending + q.held + q.blocked)},
               {std::to_string(q.considered)},
               {std::to_string(q.depth)},
               {std::to_string(q.reserved)},
               {std::to_string(q.running)},
               {std::to_string(q.submitted)},
               {std::to_string(q.begun)},
               {std::to_string(q.backfilled)},
               {std::to_string(q.finished)},
               {std::to_string(q.cancelled)},
               {std::to_string(q.rejected)},
               {std::to_string(q.preempted)}});
  return text + table.render(io);
}

}  // namespace

int verb_stats(Invocation& call) {
  bool json = false;
  Parser parser("stats", "what the scheduler did, and how long its passes took");
  parser.instance(call)
      .json(json)
      .note(
          "Counted since the broker was started. CONSIDERED: pending jobs the last pass looked at "
          "and left waiting; at DEPTH (queue.depth) of them that ask for the same licences, or for "
          "none, it looks at no more of these.")
      .example("holon stats -i /3", "the scheduler of the child that is job 3");
  if (const auto code = parser.parse(call)) return *code;
  auto client = connect_to_instance(call);
  if (!client) return report(call, "stats", client.error());
  const auto stats = client->stats();
  if (!stats) return report(call, "stats", stats.error());
  call.io.out << (json ? json_text(*stats) : sheet_of(call.io, *stats));
  return kOk;
}

}  // namespace holon::cli
