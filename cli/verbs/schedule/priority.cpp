// holon priority: what the places of jobs in their queue come from.
#include <fmt/format.h>

#include <ostream>

#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/schedule_json.hpp"
#include "cli/show/table.hpp"
#include "cli/verbs.hpp"

namespace holon::cli {
namespace {

constexpr std::int64_t kShown = 100;
// A priority above all that can be computed or set (an expedited job) is shown in words.
constexpr std::int64_t kSetByHand = INT64_MAX - 2;

struct PriorityArgs {
  std::vector<std::string> ids;
  std::int64_t limit = kShown;
  bool json = false;
};

// A part as "queuetime 12 x 3 = 36": the value after its cap, the weight and their product.
std::string parts_of(const msg::Prioritized& job) {
  std::string text;
  for (const auto& part : job.parts)
    text += fmt::format("{}{} {:.6g} x {:.6g} = {:.6g}", text.empty() ? "" : ", ", part.factor,
                        part.value, part.weight, part.points);
  return text;
}

std::string why(const msg::Prioritized& job) {
  const std::string parts = parts_of(job);
  if (job.set_by == "urgency") return "the urgency: nothing is weighted";
  if (job.set_by.empty()) return parts;
  return job.set_by + (parts.empty() ? "" : "; would be " + parts);
}

Table table_of_factors(const std::vector<msg::Prioritized>& jobs) {
  using enum Table::Align;
  Table table({{"JOB", left},
               {"NAME", left},
               {"USER", left},
               {"QUEUE", left},
               {"STATE", left},
               {"URGENCY", right},
               {"PRIORITY", right},
               {"COMES FROM", left}});
  for (const auto& job : jobs)
    table.add({{job.path},
               {printable(job.name)},
               {printable(job.user)},
               {job.queue},
               {job.state},
               {std::to_string(job.urgency)},
               {job.priority > kSetByHand ? "highest" : std::to_string(job.priority)},
               {why(job)}});
  return table;
}

}  // namespace

int verb_priority(Invocation& call) {
  PriorityArgs args;
  Parser parser("priority", "what the places of jobs in their queue come from");
  parser.positional("ID", args.ids, "these jobs: 7, 3-9, /3/7; all that wait otherwise")
      .group("Options")
      .option("--limit", args.limit, "N",
              "without ID: the first N, 100 unless given; 0, or more: 10000")
      .instance(call)
      .json(args.json)
      .note(
          "Jobs in the order in which they are looked at, highest priority first. A priority is "
          "the urgency, or the sum of what is weighted in [priority]: value x weight for each "
          "factor. "
          "A running job has one as well, if it is asked for; no order depends on it.")
      .example("holon priority", "who is first, and why")
      .example("holon priority 7 --json", "every part of job 7's priority");
  if (const auto code = parser.parse(call)) return *code;
  if (args.limit < 0)
    return report(call, "priority",
                  {Errc::invalid_argument,
                   fmt::format("{} is not accepted, at least 0 (all) is", args.limit), "--limit"});
  auto selected = connect_to_jobs(call, args.ids);
  if (!selected) return report(call, "priority", selected.error());
  const auto reply =
      selected->client.priority({selected->ids, static_cast<std::uint64_t>(args.limit)});
  if (!reply) return report(call, "priority", reply.error());
  if (args.json) {
    call.io.out << json_text(*reply);
    return kOk;
  }
  if (reply->jobs.empty()) {
    call.io.out << "no job waits\n";
    return kOk;
  }
  call.io.out << table_of_factors(reply->jobs).render(call.io);
  if (args.ids.empty() && reply->jobs.size() < reply->pending)
    call.io.out << fmt::format("\nand {} others{}\n", reply->pending - reply->jobs.size(),
                               args.limit == 0 || reply->pending > msg::kMaxPriorities
                                   ? ""
                                   : "; holon priority --limit 0 shows all");
  return kOk;
}

}  // namespace holon::cli
