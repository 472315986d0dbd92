#include "instance/grants/lender.hpp"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/hostlist.hpp"
#include "instance/basics/text.hpp"
#include "instance/grants/grant_codec.hpp"
#include "instance/resources/resources.hpp"
#include "resource/graph/graph.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

namespace h = holdings;
namespace he = holdings::entry;

// What the child has been given of a grant: without what has joined a whole node of it since.
h::Units given_of(const h::Units& all, const h::Link& link) {
  h::Units given;
  for (const h::Holding& holding : link.holdings)
    if (!h::have_none_in_common(holding.units, all))
      given = h::all_of(given, common(holding.units, all));
  return given;
}

}  // namespace

bool Lender::write(const h::Turn& turn, Time now) {
  const auto written = uses_.book.write(turn, now);
  if (!written) spdlog::error(fmt::format("grant: {}", to_string(written.error())));
  if (written)
    for (const h::Sent& sent : turn.sent) send(sent.to, sent.message);
  return written.has_value();
}

const ActiveJob* Lender::grant_of(JobId child, const h::Units& units) const {
  const auto grants = uses_.jobs.grants().find(child);
  if (grants == uses_.jobs.grants().end()) return nullptr;
  for (const JobId id : grants->second) {
    const ActiveJob* grant = uses_.jobs.find(id);
    if (grant == nullptr || !grant->allocation) continue;
    const auto its = units_of(uses_.store.graph(), *grant->allocation);
    if (its && !h::have_none_in_common(*its, units)) return grant;
  }
  return nullptr;
}

void Lender::send(JobId child, const h::Message& message) {
  uses_.after_commit.add([this, child, message] {
    const Time now = uses_.clock.now();
    msg::GrantMessage told{text_of(message, now), {}, uses_.clock.wall(now)};
    if (const auto* extend = std::get_if<h::Extend>(&message)) {
      const auto& graph = uses_.store.graph();
      const bool comes_back = extend->source == h::Source::returned;
      const ActiveJob* grant = comes_back ? nullptr : grant_of(child, extend->units);
      if (grant == nullptr && !comes_back) return;
      auto jgf =
          grant_text(graph, comes_back ? allocation_of(graph, extend->units) : *grant->allocation);
      if (!jgf) return spdlog::error(fmt::format("grant: {}", to_string(jgf.error())));
      told.jgf = std::move(*jgf);
    }
    uses_.children.tell(child, "grant", transport::pack(told));
  });
}

// ---- what is its own, and a child's

void Lender::ensure_own(Time now) {
  const h::Units known = h::all_of(units_of(uses_.book.up()), lent_on(uses_.book.up()));
  const auto more = without(units_in(uses_.store.graph()), known);
  if (!more.empty()) write({{he::Granted{more, kTimeMax}}, {}, {}}, now);
}

bool Lender::begin(JobId child, Time now) {
  if (uses_.book.book().links.contains(child)) return true;
  const ActiveJob* job = uses_.jobs.find(child);
  if (job == nullptr || !job->allocation) return false;
  ensure_own(now);
  const auto own = units_of(uses_.store.graph(), *job->allocation);
  if (!own || own->empty()) return false;
  // What another child has lent, and has back, this one has no longer.
  const h::Book& book = uses_.book.book();
  const auto begun =
      h::begin(book, child, *own, std::min(until_of(book, *own), lent_until(book, *own)));
  return begun && write(*begun, now);
}

bool Lender::is_child(JobId child) const {
  const ActiveJob* job = uses_.jobs.find(child);
  return job != nullptr && job->submission->is_instance && job->life.holds_resources;
}

// The asks of the child before it are void: the new one counts its own from 1 again. What that one
// may have had in use is offered to the new one, so that it comes back with the agents' look; whole
// nodes come back at once, since their agents are those of the child before it, and so does what
// was taken from that one, once the agents have looked.
void Lender::begins_anew(JobId child, Time now) {
  const auto grants = uses_.jobs.grants().find(child);
  const std::set<JobId> all =
      grants == uses_.jobs.grants().end() ? std::set<JobId>() : grants->second;
  std::set<JobId> lost;
  for (const JobId id : all)
    if (const ActiveJob* grant = uses_.jobs.find(id);
        grant != nullptr && grant->allocation && is_lost(child, *grant))
      lost.insert(id);
  if (const auto over = h::over(uses_.book.book(), child)) write(*over, now);
  for (const JobId id : all) {  // grants end here
    clearing_.erase(id);
    const ActiveJob* grant = uses_.jobs.find(id);
    if (grant == nullptr) continue;
    const bool is_whole = !agents_for(*grant).empty();
    if (is_pending(grant->life.state) || is_whole || lost.contains(id))
      uses_.jobs.raise(id, "cancel", "the instance that asked for it has begun anew", now);
  }
}

// ---- messages

// Of a child whose grant has changed more often than the journal here tells: of a damaged one rows
// are lost. What the child holds and lends is not known then.
bool Lender::has_forgotten(JobId child, const h::Message& message) const {
  const auto* const hello = std::get_if<h::Hello>(&message);
  const h::Link& link = link_to(uses_.book.book(), child);
  return hello != nullptr && hello->epoch > link.epoch + (link.extending ? 1 : 0);
}

void Lender::receive(JobId child, const h::Message& message, Time now) {
  if (!is_child(child) || !begin(child, now)) return;
  heard_[child] = now;
  if (has_forgotten(child, message)) return lose(child, now);
  const std::optional<h::Extend> offered = link_to(uses_.book.book(), child).extending;
  const h::Turn turn = h::receive(uses_.book.book(), child, message, now);
  if (std::holds_alternative<h::Hello>(message)) say_promises_again(child);
  if (!write(turn, now)) return;
  for (const h::Entry& entry : turn.entries) {
    const auto* settled = std::get_if<he::Settled>(&entry);
    if (settled == nullptr || settled->taken || !offered) continue;
    const auto* refused = std::get_if<h::Refused>(&message);
    if (const ActiveJob* grant = grant_of(child, offered->units))
      was_not_given(child, *grant, "the child refused it: " + (refused ? refused->why : ""), now);
  }
  if (!turn.heard) return;
  if (const auto* ask = std::get_if<h::Ask>(&*turn.heard)) heard(child, *ask, now);
  if (const auto* no = std::get_if<h::Withdraw>(&*turn.heard)) withdrawn(child, no->op, now);
}

// What the child before this one may have had in use is not free before the agents have looked.
void Lender::was_not_given(JobId child, const ActiveJob& grant, const std::string& why, Time now) {
  if (grant.life.started || is_of_earlier(child, grant))
    uses_.jobs.raise(grant.id, "cancel", why, now);
  else
    uses_.jobs.grant_ends(grant.id, why, now);
}

// What holds resources is given, and goes back when it is idle.
void Lender::withdrawn(JobId child, h::Op ask, Time now) {
  if (const auto grants = uses_.jobs.grants().find(child); grants != uses_.jobs.grants().end())
    for (const JobId id : grants->second) {
      const ActiveJob* grant = uses_.jobs.find(id);
      if (grant == nullptr || grant->submission->wishes.ask != ask) continue;
      if (is_pending(grant->life.state))
        uses_.jobs.raise(id, "cancel", "the child needs it no more", now);
      return;
    }
  refuse(child, ask, {Errc::busy, "it was withdrawn", {}}, now);
}

// A child's broker that was started again does not know what comes; with the welcome it does.
void Lender::say_promises_again(JobId child) {
  const auto grants = uses_.jobs.grants().find(child);
  if (grants == uses_.jobs.grants().end()) return;
  for (const JobId id : grants->second) {
    const ActiveJob* grant = uses_.jobs.find(id);
    if (grant == nullptr || grant->life.started || is_of_earlier(child, *grant)) continue;
    const h::Op ask = grant->submission->wishes.ask;
    const auto* kept = kept_answer(link_to(uses_.book.book(), child), ask);
    const bool is_kept = kept != nullptr && std::holds_alternative<h::Promise>(kept->answer);
    send(child, is_kept ? kept->answer : h::Promise{ask, kTimeMax});
  }
}

void Lender::refuse(JobId child, h::Op ask, const Error& why, Time now) {
  const bool never = why.code == Errc::unsatisfiable || why.code == Errc::unsupported;
  const std::string told = fmt::format("{} says: {}", uses_.identity.path, to_string(why));
  write(h::answer(uses_.book.book(), child, ask, h::No{ask, told, "", never}), now);
}

void Lender::is_over(const msg::JobRecord& record, Time now) {
  clearing_.erase(JobId(record.id));
  const ActiveJob* grant = uses_.jobs.find(JobId(record.id));
  if (grant == nullptr || grant->life.started) return;
  const auto& wishes = grant->submission->wishes;
  if (wishes.grant_to.value() == 0 || !uses_.book.book().links.contains(wishes.grant_to) ||
      is_of_earlier(wishes.grant_to, *grant))
    return;
  const std::string why = record.reason.empty() ? "it was ended" : record.reason;
  refuse(wishes.grant_to, wishes.ask, {Errc::busy, why, {}}, now);
}

// ---- what is to be done

std::optional<Time> Lender::turn(Time now) {
  next_.reset();
  look_at_silence(now);
  if (uses_.jobs.grants().empty() && uses_.book.book().links.empty()) return std::nullopt;
  const auto all = uses_.jobs.grants();  // grants end below
  for (const auto& [child, grants] : all) {
    if (!is_child(child)) {
      close(child, grants, now);
      continue;
    }
    for (const JobId id : grants)
      if (const ActiveJob* grant = uses_.jobs.find(id)) look_after(child, *grant, now);
  }
  std::vector<JobId> over;
  for (const auto& [child, link] : uses_.book.book().links)
    if (child != h::kParent && !is_child(child)) over.push_back(child);
  for (const JobId child : over)
    if (const auto closed = h::over(uses_.book.book(), child)) write(*closed, now);
  return next_;
}

// The child's job has ended: its agents have seen the last process leave, wherever it was.
void Lender::close(JobId child, const std::set<JobId>& grants, Time now) {
  if (const auto over = h::over(uses_.book.book(), child)) write(*over, now);
  for (const JobId id : grants) {
    const ActiveJob* grant = uses_.jobs.find(id);
    if (grant == nullptr) continue;
    const bool is_over = grant->life.started || grant->life.state == JobState::cleanup;
    if (!is_over) {
      uses_.jobs.raise(id, "cancel", "the instance that asked for it is over", now);
      at(now);  // one that got its place in this turn still has to leave it
    } else if (grant->life.holds_resources) {
      uses_.jobs.grant_ends(id, "", now);
    }
  }
}

void Lender::look_after(JobId child, const ActiveJob& grant, Time now) {
  if (!grant.life.holds_resources) return promise(child, grant, now);
  if (grant.life.finished || !grant.allocation) return;
  const auto all = units_of(uses_.store.graph(), *grant.allocation);
  if (!all) return;
  if (!begin(child, now)) return;
  const h::Link& link = link_to(uses_.book.book(), child);  // until something is written
  const h::Units units = given_of(*all, link);
  if (units.empty()) {
    if (grant.life.state == JobState::cleanup) {
      if (!agents_have_left(child, grant.id, now)) return;
      if (was_of_earlier(child, grant) && !are_clear(child, grant, kLooksByForce, now)) return;
      note_return(child, grant.id, now);
      return uses_.jobs.grant_ends(grant.id, "", now);
    }
    return offer(child, grant, *all, now);
  }
  if (h::has_all(to_clear(link), units)) return clear(child, grant, units, now);
  if (h::have_none_in_common(in_hand(link), units)) return fence_if_due(child, grant, now);
  if (!grant.life.started) {
    uses_.jobs.grant_begins(grant.id, now);
    const auto counts = count(uses_.store.graph(), units);
    uses_.jobs.note_grant(child,
                          event::GrantExtend{grant.id.value(), counts.cores, counts.gpus,
                                             grant.life.expiration, agents_for(grant)},
                          now);
  }
  for (const Wanted& wanted : wanted_back(grant, *all, now)) ask_back(child, grant, wanted, now);
  fence_if_due(child, grant, now);
}

// Nothing could be given yet; the child learns once what is planned.
void Lender::promise(JobId child, const ActiveJob& grant, Time now) {
  const h::Op ask = grant.submission->wishes.ask;
  if (grant.life.state != JobState::sched || !uses_.jobs.settled()) return;
  if (kept_answer(link_to(uses_.book.book(), child), ask) != nullptr) return;
  const auto record = uses_.jobs.record_of(grant);
  const Time planned =
      record.t_estimate == 0 ? kTimeMax : uses_.jobs.clock().instance(record.t_estimate);
  write(h::answer(uses_.book.book(), child, ask, h::Promise{ask, planned}), now);
}

void Lender::offer(JobId child, const ActiveJob& grant, const h::Units& units, Time now) {
  ensure_own(now);
  if (auto lendable = are_units(uses_.store.graph(), *grant.allocation); !lendable || units.empty())
    return uses_.jobs.grant_ends(
        grant.id, lendable ? "there is nothing in it that could be lent" : lendable.error().what,
        now);
  h::Extend wanted;
  wanted.units = units;
  wanted.fence = fence_for(units);
  // To the child's end is no end of its own: what has no limit there may run on it, too. A limit of
  // its own holds also when the child's end is moved behind it, of which nothing more is told.
  const ActiveJob* const its_child = uses_.jobs.find(child);
  const Time end = grant.life.expiration;
  const bool ends_before = end != 0 && its_child != nullptr &&
                           (its_child->life.expiration == 0 || end < its_child->life.expiration);
  const Duration limit = grant.submission->limit;
  const Time own = limit == 0 ? kTimeMax : saturating_add(grant.life.t_alloc, limit);
  wanted.until = std::min({ends_before ? end : own, until_of(uses_.book.book(), units),
                           lent_until(uses_.book.book(), units)});
  // What the child before this one had, or was to have, is no answer to an ask of the new one.
  const bool is_answer = !grant.life.started && !is_of_earlier(child, grant);
  wanted.answers = is_answer ? grant.submission->wishes.ask : 0;
  const auto offered = h::extend(uses_.book.book(), child, wanted);
  if (offered) heard_[child] = now;  // it may have had no cause to say anything for an hour
  if (offered) return void(write(*offered, now));
  if (offered.error().code == Errc::busy) return;  // looked at again with its answer
  was_not_given(child, grant, to_string(offered.error()), now);
}

// Whatever wants the units back, as often as it is looked for: the book knows what was asked.
std::vector<Lender::Wanted> Lender::wanted_back(const ActiveJob& grant, const h::Units& units,
                                                Time now) {
  const Lifecycle& life = grant.life;
  std::vector<Wanted> all = wanted_above(units, now);
  if (life.preemption.by != 0)
    all.push_back({life.preemption.end, h::RecallMode::kill,
                   fmt::format("job {} takes its place", life.preemption.by)});
  if (life.state == JobState::cleanup)
    all.push_back({now, h::RecallMode::drain, life.note});
  else if (life.expiration != 0 && life.expiration <= now)
    all.push_back({now, h::RecallMode::drain, "its time is over"});
  else if (life.expiration != 0)
    at(life.expiration);
  if (const auto lost = nodes_with_lost_agents(grant); !lost.empty())
    for (Wanted& wanted :
         from_nodes(grant, lost, {now, h::RecallMode::lost, what_was_lost(grant, lost)}))
      all.push_back(std::move(wanted));
  return all;
}

// What goes back to the instance above cannot stay with a child: it is asked back on the same
// terms. So is what is of the same grant and is not wanted above, on those of the hardest: this
// instance has a grant back as a whole.
std::vector<Lender::Wanted> Lender::wanted_above(const h::Units& units, Time now) const {
  const h::Link& up = uses_.book.up();
  std::vector<Wanted> all;
  h::Units rest = units;
  for (const h::Recall& recall : up.recalls) {
    h::Units there = common(recall.units, units);
    if (there.empty()) continue;
    rest = without(rest, there);
    all.push_back({recall.by, recall.mode, recall.why, std::move(there)});
  }
  if (!all.empty() && !rest.empty()) {
    const auto hardest = std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return a.mode != b.mode ? a.mode < b.mode : a.by > b.by;
    });
    all.push_back({hardest->by, hardest->mode, hardest->why, std::move(rest)});
  }
  if (all.empty() && !h::have_none_in_common(units_in(up, h::State::draining), units))
    all.push_back(
        {now, h::RecallMode::drain, fmt::format("{} gives it back", uses_.identity.path)});
  return all;
}

// What has gone back of it already is on its way.
void Lender::ask_back(JobId child, const ActiveJob& grant, const Wanted& wanted, Time now) {
  const auto all = units_of(uses_.store.graph(), *grant.allocation);
  if (!all) return;
  const h::Link& link = link_to(uses_.book.book(), child);
  h::Recall recall;
  recall.units = common(wanted.units.value_or(*all), common(given_of(*all, link), in_hand(link)));
  recall.by = wanted.by;
  recall.mode = wanted.mode;
  recall.why = wanted.why;
  const auto asked = h::recall(uses_.book.book(), child, recall);
  if (!asked || asked->entries.empty() || !write(*asked, now)) return;
  const bool kills = wanted.mode >= h::RecallMode::kill;
  uses_.jobs.note_grant(
      child, event::GrantRecall{grant.id.value(), wanted.by, kills ? "kill" : "drain", wanted.why},
      now);
}

// The child now counts its asks anew: the number is another ask's, or none's.
bool Lender::is_of_earlier(JobId child, const ActiveJob& grant) const {
  const std::uint64_t epoch = grant.submission->wishes.child_epoch;
  return epoch != 0 && epoch != uses_.children.epoch_of(child);
}

bool Lender::is_offered(JobId child, const ActiveJob& grant) const {
  const auto& extending = link_to(uses_.book.book(), child).extending;
  return extending && grant_of(child, extending->units) == &grant;
}

// A recall is in the journal before it is answered, whatever state the grant is in.
Status Lender::recall(const msg::GrantRecall& what, Time now) {
  const JobId child(what.child);
  if (!is_child(child))
    return fail(Errc::not_found, fmt::format("no instance {} runs here", uses_.jobs.path_of(child)),
                "child");
  std::vector<JobId> all;
  if (const auto of_child = uses_.jobs.grants().find(child); of_child != uses_.jobs.grants().end())
    for (const JobId id : of_child->second)
      if (what.grant == 0 || id.value() == what.grant) all.push_back(id);
  if (all.empty())
    return fail(Errc::not_found,
                what.grant == 0
                    ? fmt::format("{} has nothing beyond its own", uses_.jobs.path_of(child))
                    : fmt::format("{} has no grant {}", uses_.jobs.path_of(child), what.grant),
                "child");
  for (const JobId id : all)
    if (const ActiveJob* grant = uses_.jobs.find(id);
        what.kill && what.grant != 0 && grant != nullptr && is_offered(child, *grant))
      return fail(Errc::busy,
                  fmt::format("grant {} is on its way to {}, which has not answered yet; it can be "
                              "cancelled, or recalled once it is there",
                              id.value(), uses_.jobs.path_of(child)),
                  "child");
  const Wanted wanted{saturating_add(now, what.notice),
                      what.kill ? h::RecallMode::kill : h::RecallMode::drain, what.reason};
  for (const JobId id : all) take_back(child, id, wanted, now);
  return {};
}

bool Lender::is_going_back(JobId child, const ActiveJob& grant) const {
  if (grant.life.state == JobState::cleanup || grant.life.preemption.by != 0) return true;
  const auto units = units_of(uses_.store.graph(), *grant.allocation);
  const auto link = uses_.book.book().links.find(child);
  if (!units || link == uses_.book.book().links.end()) return false;
  return !h::have_none_in_common(to_clear(link->second), *units) ||
         std::any_of(link->second.recalls.begin(), link->second.recalls.end(),
                     [&](const h::Recall& recall) {
                       return !h::have_none_in_common(recall.units, *units);
                     });
}

void Lender::want_back(JobId grant, Time by, h::RecallMode mode, const std::string& why, Time now) {
  if (const ActiveJob* const job = uses_.jobs.find(grant))
    take_back(job->submission->wishes.grant_to, grant, {by, mode, why}, now);
}

void Lender::give_way(JobId child, JobId grant, const std::string& why, Time now) {
  take_back(child, grant, {now, h::RecallMode::drain, why}, now);
}

void Lender::node_leaves(const NodeLeaves& what, Time now) {
  const ActiveJob* const grant = uses_.jobs.find(what.grant);
  if (grant == nullptr || !grant->allocation) return;
  const JobId child = grant->submission->wishes.grant_to;
  const Wanted gently{now, h::RecallMode::drain, what.why};
  if (!what.kills) return take_back(child, what.grant, gently, now);
  std::vector<resource::VertexId> nodes = whole_nodes(uses_.store.graph(), *grant->allocation);
  std::erase_if(nodes, [&](resource::VertexId node) {
    return uses_.store.graph()[node].rank != static_cast<std::int32_t>(what.rank);
  });
  for (const Wanted& wanted : from_nodes(*grant, nodes, {now, h::RecallMode::kill, what.why}))
    take_back(child, what.grant, wanted, now);
}

// What the child does not have yet is cancelled: it comes back when it has arrived, without force.
void Lender::take_back(JobId child, JobId id, const Wanted& wanted, Time now) {
  const ActiveJob* grant = uses_.jobs.find(id);
  if (grant == nullptr) return;
  const auto all =
      grant->allocation ? units_of(uses_.store.graph(), *grant->allocation) : h::Units{};
  const h::Link& link = link_to(uses_.book.book(), child);
  const h::Units units = all ? given_of(*all, link) : h::Units{};
  if (!h::have_none_in_common(in_hand(link), units))
    ask_back(child, *grant, wanted, now);
  else if (h::have_none_in_common(units, to_clear(link)) && grant->life.state != JobState::cleanup)
    uses_.jobs.raise(id, "cancel", wanted.why, now);
}

// ---- what comes back

void Lender::clear(JobId child, const ActiveJob& grant, const h::Units& units, Time now) {
  if (!agents_have_left(child, grant.id, now)) return;
  const bool is_taken = is_lost(child, grant);
  if (!are_clear(child, grant, is_taken ? kLooksByForce : uses_.identity.bind ? 1 : 0, now)) return;
  const auto left = h::gone(uses_.book.book(), child, units);
  if (!left || !write(*left, now)) return;
  const JobId id = grant.id;
  clearing_.erase(id);
  const bool is_vain = is_taken && !grant.life.started;
  const char* const why = is_vain ? "the instance that asked for it is out of reach" : "";
  note_return(child, id, now);
  uses_.jobs.grant_ends(id, why, now);
}

void Lender::lose_all(Time now) {
  const auto all = uses_.jobs.grants();
  for (const auto& [child, grants] : all) lose(child, now);
}

void Lender::lose(JobId child, Time now) {
  if (const ActiveJob* const job = uses_.jobs.find(child);
      job != nullptr && job->life.state != JobState::cleanup)
    uses_.jobs.raise(child, "instance",
                     "the journal was damaged: what it had been given, or has lent, is not known",
                     now);
}

}  // namespace holon::instance
