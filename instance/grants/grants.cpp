#include "instance/grants/grants.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "base/hostlist.hpp"
#include "instance/grants/grant_codec.hpp"
#include "instance/journal/schema.hpp"
#include "resource/graph/graph.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {

namespace h = holdings;

namespace {

// A message tells times as what is left of them when it was sent. How long it lay unread is what
// the wall clocks of two machines say; they may differ, and are believed no further than this.
constexpr Duration kUnread = 60'000;
constexpr std::size_t kMostWaiting = 1'000;  // requests

bool is_late(const h::Due& loan, Time now) {
  return loan.at <= now;
}

void put_need(msg::GrantExplained& about, const Need& need) {
  about.cores = need.least;
  about.nodes = need.nodes;
  about.limit = need.limit;
  about.hosts = need.hosts;
}

// Asks the instance above when it could give what `about` says.
void ask_chance(ParentLink& parent, msg::GrantExplained about,
                std::function<void(const msg::GrantExplained&)> done) {
  const Need need{about.cores, about.cores, about.limit, about.hosts, about.nodes};
  parent.ask("grant.could", transport::pack(msg::GrantCould{jobspec_of_ask(need, false)}),
             [about, done = std::move(done)](const Result<std::string>& told) mutable {
               const auto chance = told ? transport::unpack<msg::GrantChance>(*told)
                                        : tl::unexpected<Error>(told.error());
               if (chance)
                 about.chance = *chance;
               else if (chance.error().code == Errc::unsatisfiable)
                 about.never = chance.error().what;
               else
                 about.unsaid = to_string(chance.error());
               done(about);
             });
}

}  // namespace

Grants::Grants(Uses uses)
    : uses_(uses),
      book_(uses.journal, uses.parent == nullptr),
      lender_({uses.identity, uses.config, uses.clock, uses.store, uses.nodes_of_agents, uses.jobs,
               uses.agents, uses.children, book_, uses.after_commit}),
      borrower_({uses.identity, uses.journal, uses.store, uses.jobs, uses.granted_nodes, book_,
                 uses.after_commit},
                [this](const h::Message& message) { send_up(message); }),
      own_loans_({uses.identity, uses.store, uses.scheduler, uses.jobs, book_, uses.after_commit},
                 [this](const h::Message& message) { send_up(message); }),
      taken_loans_({uses.identity, uses.store, uses.scheduler, uses.nodes_of_agents, uses.jobs,
                    uses.agents, book_, lender_}),
      nodes_above_(uses.store, uses.granted_nodes, uses.parent),
      needs_(uses.store, uses.scheduler, uses.jobs, uses.granted_nodes, nodes_above_),
      elastic_({uses.config, uses.journal, uses.store, uses.scheduler, uses.jobs, book_, needs_,
                uses.granted_nodes, nodes_above_, borrower_,
                [this](const Need& need, std::function<void()> yes) {
                  if_there_now(need, std::move(yes));
                }}),
      reclaim_({uses.config, uses.store, uses.scheduler, uses.jobs, lender_}) {
  borrower_.has_parent(uses.parent != nullptr);
  lender_.is_elastic = [this] { return elastic_.most() > 0; };
  lender_.sure_for = [this](Time now) { return borrower_.sure_for(now); };
  borrower_.ask_pulse = [this](auto done) { ask_pulse(std::move(done)); };
  borrower_.take_below = [this](const h::Units& units, const std::string& why, Time now) {
    lender_.take_by_force(units, why, now);
  };
  borrower_.lends = [this] { return own_loans_.is_any(); };
  own_loans_.begin = [this](Time now) { return borrower_.begin(now); };
  own_loans_.has_asked = [this] { return borrower_.has_asked(); };
  uses.jobs.lent_by = [this](JobId child) { return taken_loans_.lent_by(child); };
  borrower_.objection = [this](h::Op ask, std::int64_t cores) {
    return elastic_.objection(ask, cores);
  };
}

void Grants::send_up(const h::Message& message) {
  if (uses_.parent == nullptr) return;
  const Time now = uses_.clock.now();
  const msg::GrantMessage told{text_of(message, now), {}, uses_.clock.wall(now)};
  uses_.parent->tell("grant", transport::pack(told));
}

Status Grants::load(bool fresh) {
  if (fresh) {
    book_.begin_anew();
    return {};
  }
  const auto loaded = book_.load();
  if (loaded || loaded.error().code == Errc::system) return loaded;
  if (!uses_.journal.rebuilt()) return tl::unexpected(uses_.journal.condemn(loaded.error()));
  if (uses_.parent != nullptr) return loaded;
  is_lost_ = true;
  book_.begin_anew();
  return {};
}

void Grants::restore(Time now) {
  if (is_lost_) return lender_.lose_all(now);
  borrower_.restore();
  taken_loans_.restore();
  own_loans_.restore();
  elastic_.restore();
}

std::string Grants::awaited(const qmanager::JobRequest& job) const {
  if (elastic_.most() > 0) return elastic_.awaited(job);
  if (epoch() == 0) return "";
  return own_loans_.is_any() ? "holon grant ask may bring more once what is lent is back"
                             : "holon grant ask may bring more";
}

void Grants::take(const transport::Request& request, Time now) {
  const auto told = transport::unpack<msg::GrantMessage>(request.payload());
  if (!told) return request.fail(told.error());
  const Duration unread =
      told->sent == 0 ? 0 : std::clamp<Duration>(uses_.clock.wall(now) - told->sent, 0, kUnread);
  const auto message = parse_message(told->message, now - unread);
  if (!message) return request.fail(message.error());
  if (const auto child = uses_.children.child_at(request.peer()))
    lender_.receive(*child, *message, now);
  else
    borrower_.receive(*message, told->jgf, now);
  uses_.after_commit.add([request] { request.reply(transport::pack(msg::Empty{})); });
}

void Grants::if_there_now(const Need& need, std::function<void()> yes) {
  if (uses_.parent == nullptr || !uses_.parent->is_up()) return;
  const msg::GrantCould what{jobspec_of_ask(need, !need.is_wished)};
  uses_.parent->ask("grant.could", transport::pack(what),
                    [yes = std::move(yes)](const Result<std::string>& told) {
                      const auto chance = told ? transport::unpack<msg::GrantChance>(*told)
                                               : tl::unexpected<Error>(told.error());
                      if (chance && chance->is_planned && chance->at == 0) yes();
                    });
}

// An elastic instance reckons with whole nodes before it asks for them.
std::optional<Time> Grants::learn_of_nodes(Time now) {
  if (elastic_.most() == 0) return std::nullopt;
  if (!uses_.granted_nodes.may_come()) return std::nullopt;
  if (nodes_above_.is_known() && uses_.scheduler.pending() == 0) return std::nullopt;
  nodes_above_.ask(now);
  return nodes_above_.due() > now ? std::optional(nodes_above_.due()) : std::nullopt;
}

std::optional<Time> Grants::turn(Time now) {
  std::optional<Time> next = elastic_.turn(now);
  if (const auto due = learn_of_nodes(now)) next = next ? std::min(*next, *due) : due;
  for (const auto& other : {reclaim_.turn(now), lender_.turn(now), taken_loans_.turn(now),
                            borrower_.turn(now), own_loans_.turn(now)})
    if (other) next = next ? std::min(*next, *other) : other;
  answer_waiting();
  return next;
}

// ---- what programs ask

void Grants::wait(const transport::Request& request) {
  const auto what = transport::unpack<msg::GrantWait>(request.payload());
  if (!what) return request.fail(what.error());
  if (uses_.parent == nullptr)
    return request.fail({Errc::unsupported,
                         "this instance is the root of its tree: what it has does not change",
                         {}});
  std::erase_if(waiting_, [](const Waiting& one) { return one.request.done(); });
  if (waiting_.size() >= kMostWaiting)
    return request.fail(
        {Errc::busy, fmt::format("{} requests wait already", waiting_.size()), "grant.wait"});
  waiting_.push_back({request, what->epoch});
  answer_waiting();
}

void Grants::answer_waiting() {
  std::vector<transport::Request> due;
  std::erase_if(waiting_, [&](const Waiting& one) {
    if (epoch() <= one.epoch) return false;
    due.push_back(one.request);
    return true;
  });
  if (due.empty()) return;
  uses_.after_commit.add([due = std::move(due), reply = transport::pack(show())] {
    for (const auto& request : due) request.reply(reply);
  });
}

// With how many cores more the job would start.
msg::GrantExplained Grants::explained(const ActiveJob& job, Time now) const {
  msg::GrantExplained about;
  about.here = static_cast<std::int64_t>(uses_.store.graph().by_type("core").size());
  if (uses_.parent == nullptr) {
    about.why_none = "this instance is the root of its tree: nobody is above it";
  } else if (job.life.state != JobState::sched) {
    about.why_none = "it does not wait for resources";
  } else if (own_loans_.is_any()) {
    about.why_none = own_loans_.instead_of_more();
  } else {
    Need need = needs_.of_job(job.id, kMostCoresAtOnce, now);
    if (need.least == 0 && nodes_above_.may_come())
      need = needs_.of_job_on_nodes(job.id, kMostCoresAtOnce, now);
    put_need(about, need);
    if (need.least == 0)
      about.why_none = fmt::format("{} cores more on the nodes here would not let it start now",
                                   kMostCoresAtOnce);
  }
  return about;
}

void Grants::explain(const transport::Request& request, Time now) {
  const auto what = transport::unpack<msg::GrantExplain>(request.payload());
  if (!what) return request.fail(what.error());
  nodes_above_.ask(
      now, [this, request, id = JobId(what->job)] { explain_job(request, id, uses_.clock.now()); });
}

void Grants::explain_job(const transport::Request& request, JobId id, Time now) const {
  const ActiveJob* const job = uses_.jobs.find(id);
  if (job == nullptr)
    return request.fail(
        {Errc::not_found, fmt::format("no job {} is active here", id.value()), "job"});
  auto about = explained(uses_.jobs.representative_task(*job), now);
  if (about.cores > 0 && !uses_.parent->is_up())
    about.unsaid = "there is no connection to the instance above";
  if (about.cores == 0 || !about.unsaid.empty())
    return uses_.after_commit.add([request, about] { request.reply(transport::pack(about)); });
  // Where cores never come, whole nodes may.
  const Need instead =
      about.nodes == 0 && nodes_above_.may_come()
          ? needs_.of_job_on_nodes(uses_.jobs.representative_task(*job).id, kMostCoresAtOnce, now)
          : Need();
  ParentLink& parent = *uses_.parent;
  const auto answered = [request](msg::GrantExplained told) {
    request.reply(transport::pack(told));
  };
  ask_chance(parent, about, [&parent, instead, answered](const msg::GrantExplained& first) {
    if (first.never.empty() || instead.nodes == 0) return answered(first);
    msg::GrantExplained second = first;
    second.never.clear();
    put_need(second, instead);
    ask_chance(parent, second, answered);
  });
}

void Grants::could(const transport::Request& request, Time now) const {
  const auto what = transport::unpack<msg::GrantCould>(request.payload());
  if (!what) return request.fail(what.error());
  const auto child = uses_.children.child_at(request.peer());
  if (!child) return request.fail({Errc::denied, "is asked by children", "grant.could"});
  const auto chance = lender_.could(*child, *what, now);
  if (!chance) return request.fail(chance.error());
  uses_.after_commit.add([request, reply = *chance] { request.reply(transport::pack(reply)); });
}

void Grants::pulse(const transport::Request& request, Time now) {
  const auto what = transport::unpack<msg::GrantPulse>(request.payload());
  if (!what) return request.fail(what.error());
  const auto child = uses_.children.child_at(request.peer());
  if (!child) return request.fail({Errc::denied, "is said by children", "grant.pulse"});
  const auto reply = lender_.pulse(*child, what->epoch, now);
  uses_.after_commit.add([request, reply] { request.reply(transport::pack(reply)); });
}

void Grants::ask_pulse(std::function<void(const msg::GrantPulseReply&)> done) {
  if (uses_.parent == nullptr || !uses_.parent->is_up()) return;
  uses_.parent->ask("grant.pulse", transport::pack(msg::GrantPulse{epoch()}),
                    [done = std::move(done)](const Result<std::string>& answer) {
                      const auto told = answer ? transport::unpack<msg::GrantPulseReply>(*answer)
                                               : tl::unexpected<Error>(answer.error());
                      if (told) done(*told);
                    });
}

// The whole nodes among what a child holds, or this instance beyond its own; a hostlist.
std::string Grants::hosts_of_whole(const h::Units& units, JobId child) const {
  const auto& graph = uses_.store.graph();
  const ActiveJob* const job = child == h::kParent ? nullptr : uses_.jobs.find(child);
  const auto own = job != nullptr && job->allocation ? units_of(graph, *job->allocation)
                                                     : Result<h::Units>(h::Units{});
  const auto shared = own ? nodes_with(graph, *own) : std::vector<resource::VertexId>();
  Hostlist hosts;
  for (const auto node : nodes_with(graph, units)) {
    const bool is_whole = child == h::kParent
                              ? uses_.granted_nodes.has(graph[node].rank)
                              : std::find(shared.begin(), shared.end(), node) == shared.end();
    if (is_whole) hosts.append(graph.name(node));
  }
  return hosts.str();
}

msg::GrantPart Grants::part_of(const h::Holding& holding, const std::string& path,
                               JobId child) const {
  msg::GrantPart part;
  part.path = path;
  part.source = name_of(holding.source);
  part.state = name_of(holding.state);
  part.units = holding.units.str();
  const UnitCounts counts = count(uses_.store.graph(), holding.units);
  part.cores = counts.cores;
  part.gpus = counts.gpus;
  part.until = holding.until == kTimeMax ? 0 : uses_.jobs.clock().wall(holding.until);
  part.why = holding.why;
  part.nodes = hosts_of_whole(holding.units, child);
  const auto grants = uses_.jobs.grants().find(child);
  if (child == h::kParent || grants == uses_.jobs.grants().end()) return part;
  for (const JobId id : grants->second) {
    const ActiveJob* grant = uses_.jobs.find(id);
    if (grant == nullptr || !grant->allocation) continue;
    const auto units = units_of(uses_.store.graph(), *grant->allocation);
    if (units && !h::have_none_in_common(*units, holding.units)) part.grant = id.value();
  }
  return part;
}

// What a child has lent, on either side of the link. What its processes are still to leave, or is
// on its way back, is among what it holds.
void Grants::add_lent(const h::Link& link, const std::string& path, JobId child,
                      std::vector<msg::GrantPart>& parts) const {
  for (const h::Due& loan : link.loans) {
    h::Holding lent;
    lent.units = without(loan.units, units_of(link));
    lent.until = loan.at;
    if (lent.units.empty()) continue;
    for (const h::Reclaim& open : link.reclaims)
      if (!h::have_none_in_common(open.units, lent.units)) lent.why = open.why;
    if (const Time now = uses_.clock.now();
        child != h::kParent && (!lent.why.empty() || is_late(loan, now)))
      if (const auto reserved = taken_loans_.why_reserved(child, lent.units, now);
          !reserved.empty())
        lent.why += (lent.why.empty() ? "" : "; ") + reserved;
    parts.push_back(part_of(lent, path, child));
    parts.back().state = "lent";
  }
}

msg::GrantReply Grants::show() const {
  msg::GrantReply reply;
  reply.path = uses_.identity.path;
  reply.epoch = epoch();
  for (const h::Holding& holding : book_.up().holdings)
    reply.held.push_back(part_of(holding, uses_.identity.path, h::kParent));
  if (reply.held.empty()) {
    h::Holding own;
    own.units = units_in(uses_.store.graph());
    reply.held.push_back(part_of(own, uses_.identity.path, h::kParent));
  }
  add_lent(book_.up(), uses_.identity.path, h::kParent, reply.held);
  for (const auto& [child, link] : book_.book().links)
    if (child != h::kParent) {
      for (const h::Holding& holding : link.holdings)
        reply.given.push_back(part_of(holding, uses_.jobs.path_of(child), child));
      add_lent(link, uses_.jobs.path_of(child), child, reply.given);
    }
  for (const Time when : borrower_.promised())
    reply.promised.push_back(when == kTimeMax ? 0 : uses_.jobs.clock().wall(when));
  return reply;
}

Result<msg::GrantHistory> Grants::history(std::uint64_t limit) const {
  const auto rows = uses_.journal.last_grant_entries(static_cast<std::int64_t>(limit));
  if (!rows) return tl::unexpected(rows.error());
  msg::GrantHistory history;
  const auto& clock = uses_.jobs.clock();
  for (const GrantEntry& row : *rows) {
    const auto entry = parse_entry(row.entry, clock.offset());  // the journal has instance time
    history.events.push_back({clock.wall(row.time),
                              entry ? h::name_of(*entry) : std::string("unreadable"),
                              entry ? text_of(*entry, 0) : row.entry});
  }
  return history;
}

}  // namespace holon::instance
