// The invariants of grants that move.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "batch/hosts.hpp"
#include "holdings/check.hpp"
#include "instance/grants/proof/prove_tree.hpp"
#include "resource/graph/graph.hpp"
#include "world/checks.hpp"
#include "world/instance.hpp"
#include "world/machine.hpp"

namespace holon::world {
namespace {

constexpr Duration kTermOnItsWay = 15'000;  // a word about a term may be held up for so long

// The child's book by its parent's clock. A child counts the time that is left from when it hears
// of it, by its own clock. What is its own has no end in its book: it ends with the lease, and so
// does all that it gives on.
holdings::Book by_clock_of(const instance::Instance& above, const instance::Instance& child) {
  holdings::Book book = child.grants.book();
  const Duration ahead = child.clock.now() - above.clock.now();
  for (auto& [peer, link] : book.links)
    for (holdings::Holding& holding : link.holdings) {
      if (peer != holdings::kParent || holding.source == holdings::Source::owned)
        holding.until = std::min(holding.until, child.identity.lease_end);
      if (holding.until != kTimeMax) holding.until -= ahead + kTermOnItsWay;
    }
  return book;
}

JobId job_of(const Instance& child) {
  return JobId(std::strtoull(child.path().c_str() + child.path().rfind('/') + 1, nullptr, 10));
}

// The hosts of which the reason of a return says that they leave, or that an agent there is lost.
std::vector<std::string> hosts_lost_by(const std::string& reason) {
  constexpr std::string_view kAgent = ": its agent on ", kLeaves = " leaves";
  std::size_t from = reason.find(kAgent), to = std::string::npos;
  if (from != std::string::npos) {
    from += kAgent.size();
    to = reason.find(' ', from);
  } else {
    to = reason.find(kLeaves);
    if (to == std::string::npos || to == 0) return {};
    from = reason.rfind(' ', to - 1) + 1;
  }
  return batch::expand_hosts(reason.substr(from, to - from)).value_or(std::vector<std::string>());
}

bool ran_on_one_of(const msg::JobRecord& record, const std::vector<std::string>& hosts) {
  const auto its = batch::expand_hosts(record.nodelist).value_or(std::vector<std::string>());
  return std::any_of(hosts.begin(), hosts.end(), [&](const std::string& host) {
    return std::find(its.begin(), its.end(), host) != its.end();
  });
}

}  // namespace

void Checks::books_of(const Instance& child, const Instance& parent) {
  const auto* below = child.core();
  const auto* above = parent.core();
  if (above == nullptr || above->read_only()) return;
  const JobId job = job_of(child);
  if (link_to(above->grants.book(), job).fence > 0) fenced_.insert(child.path());
  if (below == nullptr || below->read_only()) return;
  tell_recalls_of(child, link_to(above->grants.book(), job));
  tell_loans_of(child, link_to(above->grants.book(), job));
  const auto& up = link_to(below->grants.book(), holdings::kParent);
  // One that has lost its journal, and has not said hello, knows of nothing.
  if (!below->grants.has_begun()) return;
  if (up.epoch > 0 && !above->grants.book().links.contains(job))
    return machine_.history.violation("grants: {} is at epoch {}, and {} knows of nothing",
                                      child.path(), up.epoch, parent.path());
  const auto breach =
      holdings::check({{parent.path(), std::nullopt, holdings::kParent, above->grants.book()},
                       {child.path(), 0, job, by_clock_of(*above, *below)}});
  if (breach)
    machine_.history.violation("grants: {}: {} (invariant {})", breach->path, breach->what,
                               breach->invariant);
}

// Each once, for the history.
void Checks::tell_recalls_of(const Instance& child, const holdings::Link& link) {
  for (const holdings::Recall& recall : link.recalls)
    if (recalls_[child.path()].insert(recall.op).second)
      machine_.history.note("{} is to give {} back: {}", child.path(), recall.units.str(),
                            recall.why);
}

// What the instance above has of a child's own, as that changes.
void Checks::tell_loans_of(const Instance& child, const holdings::Link& link) {
  holdings::Units& known = lent_[child.path()];
  const holdings::Units here = without(lent_on(link), units_of(link));
  if (here == known) return;
  if (without(here, known).empty())
    machine_.history.note("{}: a loan is back, {}", child.path(), without(known, here).str());
  else
    machine_.history.note("{}: loan of {}", child.path(), without(here, known).str());
  known = here;
}

// As `holon doctor --tree` does.
void Checks::journals_of_tree(const std::string& state_dir) {
  const auto proof = instance::prove_tree(state_dir);
  std::size_t looked_at = 0;
  for (const auto& one : proof.instances) {
    looked_at += one.looked_at;
    for (const auto& trouble : one.trouble) machine_.history.note("{}: {}", one.path, trouble);
  }
  machine_.history.note("{} entries about grants in the journals of {} instances", looked_at,
                        proof.instances.size());
  if (const auto& breach = proof.breach)
    machine_.history.violation("journals: {}: {} (invariant {}) with entry {}: {}", breach->path,
                               breach->what, breach->invariant, breach->number, breach->entry);
}

// What jobs of an instance run on is in its book: of what it has, or has given.
void Checks::graph_of(const Instance& child) {
  const auto* core = child.core();
  const auto& up = link_to(core->grants.book(), holdings::kParent);
  if (!core->grants.has_begun()) return;
  // What it has lent it plans with for when that is back.
  const holdings::Units mine = holdings::all_of(units_of(up), lent_on(up));
  const auto& graph = core->store->graph();
  for (const char* type : {"core", "gpu"})
    for (const auto v : graph.by_type(type))
      if (!mine.contains(static_cast<std::uint64_t>(graph[v].uniq_id)))
        return machine_.history.violation("{} plans with {} {}, which its book does not have",
                                          child.path(), type, graph[v].uniq_id);
}

bool Checks::was_ended_for_return(const msg::JobRecord& record) const {
  return record.reason.starts_with("what it ran on went back to the instance above") ||
         record.reason.starts_with("what it ran on was lent: ");
}

// No running job is ended by a return, but for a recall that says so, of its instance or of one
// above, where it ran on a whole node whose agent is lost, or which leaves, and by a fence. Whether
// there was one the book above says: of a whole node no units are taken, but the child's agent is
// ended there.
void Checks::ended_for_return(const msg::JobRecord& record) {
  if (!was_ended_for_return(record)) return;
  if (ran_on_one_of(record, hosts_lost_by(record.reason))) return;
  machine_.history.note("job {} was ended: {}", record.path, record.reason);
  std::string above = record.path;
  while (!above.empty() && !ended_below_.contains(above) && !fenced_.contains(above))
    above.resize(above.rfind('/'));
  if (above.empty() && !ended_below_.contains("/"))
    machine_.history.violation("job {} was ended, and nobody has recalled that: {}", record.path,
                               record.reason);
}

}  // namespace holon::world
