#include "instance/grants/loans/own_loans.hpp"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "instance/basics/text.hpp"
#include "instance/grants/loans/reserved.hpp"
#include "resource/graph/graph.hpp"

namespace holon::instance {
namespace {

namespace h = holdings;
using nlohmann::json;

constexpr std::int64_t kKeptCores = 1;   // an instance that has no core is none
constexpr std::size_t kMostLoans = 100;  // at a time: each is planned by itself above

std::string in_words(std::int64_t n, const std::string& type) {
  return fmt::format("{} {}{}", n, type == "gpu" ? "GPU" : type, n == 1 ? "" : "s");
}

const char* are(std::int64_t n) {
  return n == 1 ? "is" : "are";
}

// Drained and lost nodes are marked as a whole.
bool takes_work(const resource::ResourceGraph& graph, resource::VertexId unit) {
  for (auto v = unit; v != resource::kNoVertex; v = graph.parent(v))
    if (!graph[v].schedulable()) return false;
  return true;
}

h::Units units_of(const std::vector<std::uint64_t>& numbers) {
  h::Units units;
  for (const auto number : numbers) units.insert(number);
  return units;
}

// The jobspec of the job that holds so much here.
std::string jobspec_of(const msg::GrantLend& what, Duration limit) {
  json slot = {{"type", "slot"}, {"count", 1}, {"label", "lent"}, {"with", json::array()}};
  if (what.cores > 0) slot["with"].push_back({{"type", "core"}, {"count", what.cores}});
  if (what.gpus > 0) slot["with"].push_back({{"type", "gpu"}, {"count", what.gpus}});
  const json task = {{"command", {"lend"}}, {"slot", "lent"}, {"count", {{"per_slot", 1}}}};
  const json system = {{"duration", static_cast<double>(limit) / 1000},
                       {"job", {{"name", "lend"}}},
                       {"holon", {{"lend", true}}}};
  return json({{"version", 1},
               {"resources", json::array({slot})},
               {"tasks", json::array({task})},
               {"attributes", {{"system", system}}}})
      .dump();
}

}  // namespace

bool OwnLoans::write(const h::Turn& turn, Time now) {
  if (auto written = uses_.book.write(turn, now); !written) {
    spdlog::error(fmt::format("grant: {}", to_string(written.error())));
    return false;
  }
  for (const h::Sent& sent : turn.sent)
    uses_.after_commit.add([this, message = sent.message] { send_(message); });
  return true;
}

std::vector<JobId> OwnLoans::jobs_that_hold() const {
  std::vector<JobId> all;
  for (const JobId id : uses_.jobs.lending())
    if (uses_.jobs.find(id)->life.holds_resources) all.push_back(id);
  return all;
}

bool OwnLoans::is_any() const {
  return !uses_.book.up().loans.empty() || !jobs_that_hold().empty();
}

std::string OwnLoans::instead_of_more() const {
  UnitCounts lent;
  for (const JobId id : jobs_that_hold())
    if (const auto& held = uses_.jobs.find(id)->allocation)
      if (const auto its = instance::units_of(uses_.store.graph(), *held)) {
        const UnitCounts counts = count(uses_.store.graph(), *its);
        lent.cores += counts.cores;
        lent.gpus += counts.gpus;
      }
  const std::string what =
      lent.gpus == 0    ? in_words(lent.cores, "core")
      : lent.cores == 0 ? in_words(lent.gpus, "gpu")
                        : in_words(lent.cores, "core") + " and " + in_words(lent.gpus, "gpu");
  return fmt::format(
      "none are given while this instance lends {} of its own; have that back with: holon -i {} "
      "grant recall",
      what, uses_.identity.path);
}

// ---- lending

// Units of the type that are its own and idle, and in no advance reservation for that time; those
// of nodes with the most of them first, so that what is lent is on few.
std::vector<std::uint64_t> OwnLoans::idle_of_own(const std::string& type, Interval when) const {
  const auto& graph = uses_.store.graph();
  h::Units taken = given_by(uses_.book.book());
  for (const JobId id : uses_.jobs.holding())
    if (const ActiveJob* const job = uses_.jobs.find(id); job->allocation)
      if (const auto its = instance::units_of(graph, *job->allocation))
        taken = h::all_of(taken, *its);
  for (const ReservedUnits& one :
       reserved_of(uses_.scheduler, graph, units_of(uses_.book.up()), when))
    taken = h::all_of(taken, one.units);
  std::map<resource::VertexId, std::vector<std::uint64_t>> by_node;
  for (const h::Holding& holding : uses_.book.up().holdings) {
    if (holding.source != h::Source::owned || holding.state != h::State::held) continue;
    for (const std::uint64_t unit : without(holding.units, taken).ids()) {
      const auto v = graph.find_uniq(static_cast<std::int64_t>(unit));
      h::Units alone;
      alone.insert(unit);
      if (!v || graph.type_name(*v) != type || !takes_work(graph, *v) ||
          lent_until(uses_.book.book(), alone) != kTimeMax)
        continue;
      const auto nodes = nodes_with(graph, alone);
      by_node[nodes.empty() ? graph.root() : nodes.front()].push_back(unit);
    }
  }
  std::vector<std::vector<std::uint64_t>> groups;
  for (auto& [node, units] : by_node) groups.push_back(std::move(units));
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  std::vector<std::uint64_t> idle;
  for (const auto& group : groups) idle.insert(idle.end(), group.begin(), group.end());
  return idle;
}

Status OwnLoans::may_lend(const msg::GrantLend& what, Time until, Time now) const {
  if (uses_.identity.path == "/")
    return fail(Errc::unsupported,
                "this instance is the root of its tree: nobody is above it who could use them");
  if (what.nodes > 0)
    return fail(Errc::unsupported,
                "whole nodes are not lent; cores (-n) and GPUs (-g) of nodes are accepted",
                "nodes");
  if (what.cores < 0 || what.gpus < 0 || what.cores + what.gpus == 0)
    return fail(Errc::invalid_argument,
                fmt::format("asks for {} cores and {} GPUs; one of them at least is accepted",
                            what.cores, what.gpus),
                "cores");
  const auto shown = [&](Time time) {
    const auto& clock = uses_.jobs.clock();
    return time_text(clock.wall(time), clock.wall(now));
  };
  if (until <= now)
    return fail(Errc::invalid_argument,
                fmt::format("{} is over; a time after now is accepted", shown(until)), "until");
  if (const Time end = uses_.store.options().horizon.end; until > end)
    return fail(Errc::invalid_argument,
                fmt::format("{} is after the end of this instance; a time until {} is accepted",
                            shown(until), shown(end)),
                "until");
  if (const auto open = jobs_that_hold().size(); open >= kMostLoans)
    return fail(Errc::busy, fmt::format("it has {} loans already; {} at a time are accepted", open,
                                        kMostLoans));
  if (has_asked())
    return fail(
        Errc::busy,
        "this instance has itself asked for more, and waits for it; `holon grant` shows it");
  return {};
}

Status OwnLoans::owns(const msg::GrantLend& what) const {
  h::Units own;
  for (const h::Holding& holding : uses_.book.up().holdings)
    if (holding.source == h::Source::owned && holding.state == h::State::held)
      own = h::all_of(own, holding.units);
  // What another loan is to take, once the instance above answers, is its own no more.
  for (const JobId id : jobs_that_hold())
    if (const auto& held = uses_.jobs.find(id)->allocation)
      if (const auto its = instance::units_of(uses_.store.graph(), *held)) own = without(own, *its);
  const UnitCounts has = count(uses_.store.graph(), own);
  const auto refuse = [](std::int64_t wanted, std::int64_t owned, std::int64_t most,
                         const std::string& type) {
    return fail(Errc::invalid_argument,
                fmt::format("asks to lend {}; it has {} of its own{}: {} at most {} accepted",
                            in_words(wanted, type), in_words(owned, type),
                            type == "core" ? ", of which one stays" : "", most, are(most)),
                type == "core" ? "cores" : "gpus");
  };
  const std::int64_t most = std::max<std::int64_t>(0, has.cores - kKeptCores);
  if (what.cores > most) return refuse(what.cores, has.cores, most, "core");
  if (what.gpus > has.gpus) return refuse(what.gpus, has.gpus, has.gpus, "gpu");
  return {};
}

// When so many are idle if all jobs take the whole of their time, as a clause.
std::string OwnLoans::when_idle(const std::string& type, std::int64_t wanted, Interval when) const {
  const Time now = when.begin;
  const auto& graph = uses_.store.graph();
  std::map<std::uint64_t, Time> ends;
  for (const h::Holding& holding : uses_.book.up().holdings)
    if (holding.source == h::Source::owned && holding.state == h::State::held)
      for (const std::uint64_t unit : holding.units.ids())
        if (const auto v = graph.find_uniq(static_cast<std::int64_t>(unit));
            v && graph.type_name(*v) == type)
          ends[unit] = takes_work(graph, *v) ? now : kTimeMax;
  const auto until = [&](const h::Units& units, Time end) {
    for (const std::uint64_t unit : units.ids())
      if (const auto at = ends.find(unit); at != ends.end()) at->second = std::max(at->second, end);
  };
  for (const ReservedUnits& one :
       reserved_of(uses_.scheduler, graph, units_of(uses_.book.up()), when))
    until(one.units, one.end);
  for (const JobId id : uses_.jobs.holding()) {
    const ActiveJob* const job = uses_.jobs.find(id);
    const auto its = job->allocation ? instance::units_of(graph, *job->allocation)
                                     : Result<h::Units>(h::Units{});
    if (!its) continue;
    until(*its, job->life.expiration == 0 ? kTimeMax : job->life.expiration);
  }
  std::vector<Time> all;
  for (const auto& [unit, end] : ends) all.push_back(end);
  std::sort(all.begin(), all.end());
  const auto place = static_cast<std::size_t>(wanted) - 1;
  if (place >= all.size() || all[place] == kTimeMax) return "it is not known when more are";
  const auto& clock = uses_.jobs.clock();
  return fmt::format("{} {} at {}", wanted, are(wanted),
                     time_text(clock.wall(all[place]), clock.wall(now)));
}

Result<std::vector<std::uint64_t>> OwnLoans::choose(const std::string& type, std::int64_t wanted,
                                                    Interval when) const {
  if (wanted == 0) return std::vector<std::uint64_t>();
  auto idle = idle_of_own(type, when);
  const auto there = static_cast<std::int64_t>(idle.size());
  if (there < wanted)
    return fail(Errc::busy,
                fmt::format("{} of its own {} idle, {} {} to be lent; {}", in_words(there, type),
                            are(there), wanted, are(wanted), when_idle(type, wanted, when)));
  idle.resize(static_cast<std::size_t>(wanted));
  return idle;
}

Result<msg::GrantLent> OwnLoans::lend(const msg::GrantLend& what, const std::string& user,
                                      Time now) {
  const auto& clock = uses_.jobs.clock();
  const Time until = clock.instance(what.until);
  if (auto may = may_lend(what, until, now); !may) return tl::unexpected(may.error());
  if (!begin(now)) return fail(Errc::protocol, "what it has cannot be lent");
  if (auto sound = owns(what); !sound) return tl::unexpected(sound.error());
  auto units = choose("core", what.cores, {now, until});
  if (!units) return tl::unexpected(units.error());
  const auto gpus = choose("gpu", what.gpus, {now, until});
  if (!gpus) return tl::unexpected(gpus.error());
  units->insert(units->end(), gpus->begin(), gpus->end());
  msg::SubmitRequest request;
  request.jobspec = jobspec_of(what, until - now);
  request.user = user;
  resource::Allocation held = allocation_of(uses_.store.graph(), units_of(*units));
  held.when = {now, until};
  const auto job = uses_.jobs.lend(request, std::move(held), now);
  if (!job) return tl::unexpected(job.error());
  if (const ActiveJob* const made = uses_.jobs.find(*job)) look_after(*made, now);
  return msg::GrantLent{job->value(), what.cores, what.gpus, what.until, units_of(*units).str()};
}

// ---- what is to be done

std::optional<Time> OwnLoans::turn(Time now) {
  keep_free();
  std::optional<Time> next;
  for (const JobId id : jobs_that_hold()) {
    if (const ActiveJob* const job = uses_.jobs.find(id)) look_after(*job, now);
    const ActiveJob* const still = uses_.jobs.find(id);
    if (still == nullptr || still->life.expiration <= now) continue;
    next = next ? std::min(*next, still->life.expiration) : still->life.expiration;
  }
  return next;
}

// A job here holds what is lent. Where that was lost, with rows of a damaged journal, say, nothing
// else may be placed there all the same: others have it.
void OwnLoans::keep_free() {
  h::Units bare = lent_on(uses_.book.up());
  if (bare.empty() && drained_.empty()) return;
  for (const JobId id : jobs_that_hold())
    if (const auto& held = uses_.jobs.find(id)->allocation)
      if (const auto its = instance::units_of(uses_.store.graph(), *held))
        bare = without(bare, *its);
  if (bare == drained_) return;
  const auto set = [&](const h::Units& units, bool drained) {
    for (const std::uint64_t unit : units.ids())
      if (const auto v = uses_.store.graph().find_uniq(static_cast<std::int64_t>(unit)))
        uses_.store.set_drained(*v, drained);
  };
  set(without(drained_, bare), false);
  set(without(bare, drained_), true);
  drained_ = bare;
  uses_.jobs.resources_changed();
}

void OwnLoans::look_after(const ActiveJob& job, Time now) {
  if (!job.allocation || job.life.finished) return;
  const JobId id = job.id;
  const auto& graph = uses_.store.graph();
  const auto all = instance::units_of(graph, *job.allocation);
  if (!all) return;
  const h::Link& up = uses_.book.up();
  const h::Units lent = common(*all, lent_on(up));
  const h::Units going = up.releasing ? common(*all, up.releasing->units) : h::Units{};
  const bool is_unwanted = job.life.state == JobState::cleanup;
  // An instance that ends does not wait for what is the instance's above with its end.
  if (is_unwanted && uses_.jobs.is_paused()) return uses_.jobs.grant_ends(id, "", now);
  if (lent.empty()) {
    if (!going.empty()) return;
    const bool is_over = is_unwanted || job.life.expiration <= now;
    if (job.life.started || is_over) return uses_.jobs.grant_ends(id, "", now);
    return release(job, *all, now);
  }
  if (!job.life.started) uses_.jobs.grant_begins(id, now);
  if (lent != *all) uses_.jobs.lends_less(id, allocation_of(graph, lent), now);
  if (is_unwanted)
    reclaim(lent, {.by = now, .mode = h::RecallMode::drain, .why = job.life.note}, now);
}

// One that finds another release in flight is made in a later turn.
void OwnLoans::release(const ActiveJob& job, const h::Units& units, Time now) {
  if (uses_.book.up().releasing) return;
  const auto lent = h::release(uses_.book.book(), {.units = units, .back_at = job.life.expiration});
  if (!lent) return uses_.jobs.grant_ends(job.id, to_string(lent.error()), now);
  write(*lent, now);
}

// ---- what comes back before its time

bool OwnLoans::reclaim(const h::Units& units, const h::Reclaim& how, Time now) {
  const auto says_it = [&](const h::Reclaim& open) {
    const bool as_hard = how.mode < open.mode || (how.mode == open.mode && open.by <= how.by);
    return as_hard && h::has_all(open.units, units);
  };
  const auto& open = uses_.book.up().reclaims;
  if (std::any_of(open.begin(), open.end(), says_it)) return true;
  h::Reclaim wanted = how;
  wanted.units = units;
  const auto asked = h::reclaim(uses_.book.book(), wanted);
  return asked && write(*asked, now);
}

Status OwnLoans::recall(const msg::GrantRecall& what, Time now) {
  std::vector<JobId> all = jobs_that_hold();
  std::erase_if(all, [&](JobId id) { return what.grant != 0 && id.value() != what.grant; });
  if (all.empty())
    return fail(Errc::not_found,
                what.grant == 0
                    ? fmt::format("{} has lent nothing of its own", uses_.identity.path)
                    : fmt::format("{} has lent nothing as job {}", uses_.identity.path, what.grant),
                "grant");
  const h::Reclaim how{.by = saturating_add(now, what.notice),
                       .mode = what.kill ? h::RecallMode::kill : h::RecallMode::drain,
                       .why = what.reason};
  const auto lent_of = [&](JobId id) {
    const auto units = instance::units_of(uses_.store.graph(), *uses_.jobs.find(id)->allocation);
    return units ? common(*units, lent_on(uses_.book.up())) : h::Units{};
  };
  for (const JobId id : all)
    if (what.kill && lent_of(id).empty())
      return fail(
          Errc::busy,
          fmt::format("what job {} lends is on its way to the instance above, which has not "
                      "answered yet: until then it cannot come back; `holon cancel {}` has it back "
                      "as soon as it can",
                      id.value(), id.value()),
          "grant");
  for (const JobId id : all) {
    const h::Units lent = lent_of(id);
    lent.empty() ? uses_.jobs.raise(id, "cancel", what.reason, now)
                 : static_cast<void>(reclaim(lent, how, now));
  }
  return {};
}

}  // namespace holon::instance
