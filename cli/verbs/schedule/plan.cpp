// holon plan: every span of the schedule, running and planned, by job or by vertex.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/paths.hpp"
#include "cli/show/schedule_json.hpp"
#include "cli/show/table.hpp"
#include "cli/show/units.hpp"
#include "cli/verbs.hpp"

namespace holon::cli {
namespace {

struct PlanArgs {
  bool vertices = false;
  bool json = false;
};

Result<msg::PlanPart> ask_for_plan(Client& client, const PlanArgs& args) {
  msg::PlanPart plan;
  msg::PlanRequest request;
  request.vertices = args.vertices || args.json;
  const auto got = client.plan(request, [&plan](msg::PlanPart part) {
    plan.now = part.now;
    for (auto& span : part.spans) plan.spans.push_back(std::move(span));
  });
  if (!got) return tl::unexpected(got.error());
  std::stable_sort(plan.spans.begin(), plan.spans.end(),
                   [](const auto& a, const auto& b) { return a.begin < b.begin; });
  return plan;
}

std::string end_of(const msg::Span& span, Time now) {
  return span.end == 0 ? "no end" : show_time(span.end, now);
}

std::string number(std::int64_t n) {
  return n > 0 ? std::to_string(n) : "";
}

// "matlab 2, ansys 1"
std::string pools_of(const msg::Span& span) {
  std::string text;
  for (const auto& [name, amount] : span.pools)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, amount);
  return text;
}

Table::Cell kind_of(const msg::Span& span) {
  return {span.kind, span.kind == "allocation" ? Colour::green : Colour::yellow};
}

Table by_job(const msg::PlanPart& plan) {
  using enum Table::Align;
  Table table({{"FROM", left},
               {"TO", left},
               {"JOB", right},
               {"NAME", left},
               {"KIND", left},
               {"NODES", right},
               {"CORES", right},
               {"GPUS", right},
               {"POOLS", left},
               {"WHERE", left}});
  for (const auto& span : plan.spans)
    table.add({{show_time(span.begin, plan.now)},
               {end_of(span, plan.now)},
               {label_in(span.path)},
               {span.name},
               kind_of(span),
               {number(span.nodes)},
               {number(span.cores)},
               {number(span.gpus)},
               {pools_of(span)},
               {span.nodelist.empty() ? "wherever there is room then" : span.nodelist}});
  return table;
}

// The use of one vertex, or of one pool beside the tree.
struct Use {
  std::string what;
  std::int64_t amount = 0;
  const msg::Span* span = nullptr;
};

Table by_vertex(const msg::PlanPart& plan) {
  std::vector<Use> uses;
  for (const auto& span : plan.spans) {
    for (const auto& vertex : span.vertices) uses.push_back({vertex.path, vertex.amount, &span});
    for (const auto& [pool, amount] : span.pools) uses.push_back({pool, amount, &span});
    if (span.vertices.empty()) uses.push_back({"any cores", span.cores, &span});
  }
  std::stable_sort(uses.begin(), uses.end(),
                   [](const Use& a, const Use& b) { return natural_before(a.what, b.what); });
  using enum Table::Align;
  Table table({{"VERTEX", left},
               {"AMOUNT", right},
               {"FROM", left},
               {"TO", left},
               {"JOB", right},
               {"NAME", left},
               {"KIND", left}});
  for (const auto& use : uses)
    table.add({{use.what},
               {std::to_string(use.amount)},
               {show_time(use.span->begin, plan.now)},
               {end_of(*use.span, plan.now)},
               {label_in(use.span->path)},
               {use.span->name},
               kind_of(*use.span)});
  return table;
}

}  // namespace

int verb_plan(Invocation& call) {
  PlanArgs args;
  Parser parser("plan", "what is held now and reserved for later");
  parser.group("Options")
      .flag("--vertices", args.vertices,
            "a line for each vertex of the resource graph, and each pool")
      .instance(call)
      .json(args.json)
      .note(
          "An allocation is held by a job that runs, up to its time limit; a reservation "
          "belongs to one that waits. Jobs without either are missing here: holon explain says why "
          "they "
          "wait.")
      .example("holon plan", "who has what until when, and who is next")
      .example("holon plan --json", "the same with every vertex, for a program");
  if (const auto code = parser.parse(call)) return *code;
  auto client = connect_to_instance(call);
  if (!client) return report(call, "plan", client.error());
  const auto plan = ask_for_plan(*client, args);
  if (!plan) return report(call, "plan", plan.error());
  if (args.json) {
    call.io.out << json_text(*plan);
    return kOk;
  }
  if (plan->spans.empty())
    call.io.out << "nothing is held or reserved\n";
  else
    call.io.out << (args.vertices ? by_vertex(*plan) : by_job(*plan)).render(call.io);
  return kOk;
}

}  // namespace holon::cli
