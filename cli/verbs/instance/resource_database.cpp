// holon resource save and load: RFC 16's database, a file that keeps what there is and who holds
// what of it, and when.
#include <fmt/format.h>

#include <ostream>

#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/table.hpp"
#include "cli/show/units.hpp"
#include "cli/verbs.hpp"
#include "cli/verbs/instance/resource_verbs.hpp"
#include "instance/basics/clock.hpp"
#include "instance/resources/resource_database.hpp"
#include "instance/resources/resources.hpp"
#include "resource/formats/readers.hpp"
#include "resource/graph/graph.hpp"
#include "resource/store.hpp"

namespace holon::cli {
namespace {

using instance::ResourceDatabase;
using resource::ResourceGraph;
using resource::ResourceStore;

// ---- save ----

Result<ResourceStore> store_of(const msg::ResourceReply& reply) {
  const auto spec = resource::read_rv1(reply.R, resource::Rv1Use::scheduling_first);
  if (!spec) return tl::unexpected(spec.error());
  auto store = ResourceStore::load(*spec, {});
  if (!store) return store;
  for (const auto& node : reply.nodes_drained)
    for (const auto v : store->graph().by_host(node.host)) store->set_drained(v, true);
  return store;
}

Result<resource::Holding> holding_of(const ResourceGraph& graph, const msg::Span& span) {
  const Interval when{span.begin, span.end == 0 ? kTimeMax : span.end};
  resource::Holding holding{{JobId(span.id), when, {}}, when, span.kind != "allocation"};
  for (const auto& held : span.vertices) {
    const auto v = graph.find_path(held.path);
    if (!v)
      return fail(Errc::not_found, fmt::format("job {} holds what is not in R", span.path),
                  held.path);
    holding.allocation.shares.push_back({graph[*v].uniq_id, held.amount, held.exclusive});
  }
  return holding;
}

struct Saved {
  std::size_t held = 0;
  std::size_t undecided = 0;  // reservations that are an amount so far, wherever there is room then
};

// Saves the resources and the plan, which are two answers: a job that starts or ends between them
// is in the second.
Result<Saved> save(Client& client, const std::string& file) {
  const auto reply = client.resources();
  if (!reply) return tl::unexpected(reply.error());
  auto store = store_of(*reply);
  if (!store) return tl::unexpected(store.error());
  Saved saved;
  Status held;
  const auto take = [&](const msg::Span& span) -> Status {
    if (span.vertices.empty()) {
      ++saved.undecided;
      return {};
    }
    const auto holding = holding_of(store->graph(), span);
    if (!holding) return tl::unexpected(holding.error());
    ++saved.held;
    return store->update(*holding);
  };
  const auto planned = client.plan({true}, [&](const msg::PlanPart& part) {
    for (const auto& span : part.spans)
      if (held) held = take(span);
  });
  if (!planned) return tl::unexpected(planned.error());
  if (!held) return tl::unexpected(held.error());
  auto database = ResourceDatabase::open(file, ResourceDatabase::Open::create);
  if (!database) return tl::unexpected(database.error());
  const auto written = database->save(*store, ResourceDatabase::Extent::all);
  return written ? Result<Saved>(saved) : tl::unexpected(written.error());
}

// ---- load ----

std::int64_t units_of(const ResourceGraph& graph, const resource::Allocation& allocation,
                      std::string_view type) {
  std::int64_t units = 0;
  for (const auto& share : allocation.shares) {
    const auto v = graph.find_uniq(share.uniq_id);
    if (v && graph.type_name(*v) == type) units += share.amount;
  }
  return units;
}

std::string table_of_held(const Io& io, const ResourceStore& store) {
  using enum Table::Align;
  const Time now = instance::wall_clock_ms();
  Table table({{"JOB", right},
               {"KIND", left},
               {"FROM", left},
               {"TO", left},
               {"CORES", right},
               {"GPUS", right}});
  for (const JobId job : store.jobs()) {
    const auto holding = store.holding(job);
    if (!holding) continue;
    const auto& allocation = holding->allocation;
    const bool endless = allocation.when.end == kTimeMax;
    table.add({{std::to_string(job.value())},
               {holding->reserved ? "reservation" : "allocation"},
               {show_time(allocation.when.begin, now)},
               {endless ? "no end" : show_time(allocation.when.end, now)},
               {std::to_string(units_of(store.graph(), allocation, "core"))},
               {std::to_string(units_of(store.graph(), allocation, "gpu"))}});
  }
  return table.render(io);
}

}  // namespace

int verb_resource_save(Invocation& call) {
  std::string file;
  Parser parser("resource save", "keep what there is and who holds it, in one file");
  parser.required("FILE", file, "an SQLite database (RFC 16); one that is there is written anew")
      .instance(call)
      .note(
          "Running jobs, reservations and advance reservations are in it, each with its vertices "
          "and its time. docs/formats.md describes the tables.")
      .example("holon resource save now.db", "and `sqlite3 now.db 'select * from shares'`");
  if (const auto code = parser.parse(call)) return *code;
  auto client = connect_to_instance(call);
  if (!client) return report(call, "resource save", client.error());
  const auto saved = save(*client, file);
  if (!saved) return report(call, "resource save", saved.error());
  if (saved->undecided > 0)
    call.io.err << fmt::format(
        "holon resource save: {} reservations are not in it: where they will be is not decided\n",
        saved->undecided);
  return kOk;
}

int verb_resource_load(Invocation& call) {
  std::string file;
  bool held = false;
  Parser parser("resource load", "print what `holon resource save` has kept");
  parser.required("FILE", file, "what was saved")
      .flag("--held", held, "who held what, and when, in place of the resources")
      .note(
          "Prints Rv1 with the graph, as `holon resource R` does. `holon start --resources` takes "
          "what is printed, and FILE itself. No instance is needed.")
      .example("holon resource load now.db > R.json", "the resources")
      .example("holon resource load --held now.db", "the jobs that held some of them");
  if (const auto code = parser.parse(call)) return *code;
  const auto database = ResourceDatabase::open(file, ResourceDatabase::Open::existing);
  if (!database) return report(call, "resource load", database.error());
  const auto store = database->load();
  if (!store) return report(call, "resource load", store.error());
  call.io.out << (held ? table_of_held(call.io, *store) : instance::R_text(store->graph()) + "\n");
  return kOk;
}

}  // namespace holon::cli
