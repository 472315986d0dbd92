#include "instance/grants/loans/taken_loans.hpp"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "instance/basics/text.hpp"
#include "instance/grants/loans/reserved.hpp"
#include "resource/graph/graph.hpp"

namespace holon::instance {
namespace {

namespace h = holdings;
namespace he = holdings::entry;

constexpr Duration kLookOnceMore = 50;   // ms, at processes that are still there
constexpr Duration kAwaitAgent = 1'000;  // ms, for an agent that is away
constexpr Duration kLoanAgain = 1'000;   // ms, what has failed, or what a child has refused

Idset cores_asked(const std::vector<std::int64_t>& numbers) {
  Idset all;
  for (const auto number : numbers) all.insert(static_cast<std::uint64_t>(number));
  return all;
}

// What this instance has of the loans of a child: not what the child is still to leave, nor what is
// on its way back.
h::Units here_of(const h::Link& link) {
  return without(lent_on(link), units_of(link));
}

}  // namespace

bool TakenLoans::is_child(JobId child) const {
  const ActiveJob* const job = uses_.jobs.find(child);
  return job != nullptr && job->submission->is_instance && job->life.holds_resources &&
         job->allocation;
}

// ---- what the scheduler places jobs on

TakenLoans::Terms TakenLoans::terms_of(JobId child, const h::Units& without_these) const {
  const h::Link& link = link_to(uses_.book.book(), child);
  Terms terms;
  for (const h::Due& loan : link.loans) {
    h::Units here = without(without(loan.units, units_of(link)), without_these);
    if (!here.empty()) terms.emplace_back(std::move(here), loan.at);
  }
  return terms;
}

std::vector<Lent> TakenLoans::lent_as(const Terms& terms) const {
  std::vector<Lent> lent;
  for (const auto& [units, until] : terms) {
    Lent& loan = lent.emplace_back();
    loan.until = until;
    for (const std::uint64_t unit : units.ids())
      if (const auto v = uses_.store.graph().find_uniq(static_cast<std::int64_t>(unit)))
        loan.vertices.push_back(*v);
  }
  return lent;
}

std::vector<Lent> TakenLoans::lent_by(JobId child) const {
  return lent_as(terms_of(child));
}

bool TakenLoans::apply(JobId child, const Terms& terms, Time now) {
  Terms& known = applied_[child];
  if (known == terms) return true;
  if (const auto set = uses_.jobs.set_lent(child, lent_as(terms), now); !set) {
    spdlog::warn(fmt::format("what {} has lent cannot be used, or given back, yet: {}",
                             uses_.jobs.path_of(child), to_string(set.error())));
    again_[child] = saturating_add(now, kLoanAgain);
    at(again_[child]);
    return false;
  }
  known = terms;
  return true;
}

void TakenLoans::restore() {
  h::Units reclaimed;
  for (const auto& [child, link] : uses_.book.book().links) {
    if (child == h::kParent || !is_child(child)) continue;
    applied_[child] = terms_of(child);
    for (const h::Reclaim& open : link.reclaims)
      reclaimed = h::all_of(reclaimed, common(open.units, here_of(link)));
  }
  drain_only(reclaimed);
}

bool TakenLoans::begins_anew(JobId child, Time now) {
  if (here_of(link_to(uses_.book.book(), child)).empty()) return false;
  uses_.jobs.raise(child, "instance", "it has lost its journal while others use what it has lent",
                   now);
  return true;
}

// ---- turns

std::optional<Time> TakenLoans::turn(Time now) {
  next_.reset();
  std::vector<JobId> children;
  for (const auto& [child, link] : uses_.book.book().links)
    if (child != h::kParent && (!link.loans.empty() || applied_.contains(child)))
      children.push_back(child);
  const auto is_over = [&](const auto& one) {
    return std::find(children.begin(), children.end(), one.first) == children.end();
  };
  std::erase_if(applied_, is_over);
  std::erase_if(again_, is_over);
  std::erase_if(clearing_, is_over);
  std::erase_if(offered_, is_over);
  h::Units reclaimed;
  for (const JobId child : children) {
    if (!is_child(child)) continue;
    look_after(child, now);
    const h::Link& link = link_to(uses_.book.book(), child);
    for (const h::Reclaim& open : link.reclaims)
      reclaimed = h::all_of(reclaimed, common(open.units, here_of(link)));
  }
  drain_only(reclaimed);
  return next_;
}

void TakenLoans::look_after(JobId child, Time now) {
  clear(child, now);
  if (!apply(child, terms_of(child), now)) return;
  look_at_answer(child, now);
  if (const auto again = again_.find(child); again != again_.end() && again->second > now)
    return at(again->second);
  const Due what = due(child, now);
  if (what.units.empty()) return;
  const auto users = users_of(child, what.units);
  end_users(child, users, now);
  end_endless(child, users, what.late, now);
  h::Units used;
  for (const auto& [job, its] : users) used = h::all_of(used, its);
  for (const ReservedUnits& one : reserved_of_loans(child, what.units, now))
    used = h::all_of(used, one.units);
  give_back(child, without(what.units, used), now);
}

// A child that ends refuses what comes back.
void TakenLoans::look_at_answer(JobId child, Time now) {
  const auto offered = offered_.find(child);
  const h::Link& link = link_to(uses_.book.book(), child);
  if (offered == offered_.end() || link.extending) return;
  if (!h::have_none_in_common(offered->second, here_of(link)))
    again_[child] = saturating_add(now, kLoanAgain);
  offered_.erase(offered);
}

// What the child's processes are still to leave is its own again as it is: where an agent is away,
// nobody can look there for a while. So is what was on its way back as the child was fenced.
TakenLoans::Due TakenLoans::due(JobId child, Time now) {
  const h::Link& link = link_to(uses_.book.book(), child);
  Due what;
  for (const h::Due& loan : link.loans) {
    if (loan.at > now)
      at(loan.at);
    else
      what.late = h::all_of(what.late, loan.units);
  }
  what.units = what.late;
  for (const h::Reclaim& open : link.reclaims) what.units = h::all_of(what.units, open.units);
  what.units = common(what.units, h::all_of(here_of(link), to_clear(link)));
  return what;
}

// The reservations beside that in which the child itself runs.
std::vector<ReservedUnits> TakenLoans::reserved_of_loans(JobId child, const h::Units& units,
                                                         Time now) const {
  const ActiveJob* const job = uses_.jobs.find(child);
  if (job == nullptr || units.empty()) return {};
  return reserved_of(uses_.scheduler, uses_.store.graph(), units, {now, kTimeMax},
                     job->submission->wishes.reservation);
}

std::string TakenLoans::why_reserved(JobId child, const h::Units& units, Time now) const {
  std::string why;
  for (const ReservedUnits& one : reserved_of_loans(child, units, now)) {
    const auto& clock = uses_.jobs.clock();
    why += fmt::format("{}advance reservation {} has {} until {}", why.empty() ? "" : "; ",
                       one.reservation.value(), one.units.str(),
                       time_text(clock.wall(one.end), clock.wall(now)));
  }
  return why;
}

// The jobs that have some of these units, beside that of the child. What they hold is what they
// were given, whatever their planned ends say.
std::map<JobId, h::Units> TakenLoans::users_of(JobId child, const h::Units& units) const {
  std::map<JobId, h::Units> users;
  for (const JobId id : uses_.jobs.holding()) {
    const ActiveJob* const job = uses_.jobs.find(id);
    if (id == child || !job->allocation) continue;
    const auto its = units_of(uses_.store.graph(), *job->allocation);
    if (!its || h::have_none_in_common(*its, units)) continue;
    users[id] = common(*its, units);
  }
  return users;
}

// What another child has of it is asked back on the same terms; a job is ended if the child wants
// that, once its notice is over.
void TakenLoans::end_users(JobId child, const std::map<JobId, h::Units>& users, Time now) {
  const std::vector<h::Reclaim> wanted =
      link_to(uses_.book.book(), child).reclaims;  // an end may close some
  for (const h::Reclaim& open : wanted)
    for (const auto& [id, its] : users) {
      if (h::have_none_in_common(its, open.units)) continue;
      const ActiveJob* const job = uses_.jobs.find(id);
      if (job == nullptr) continue;
      const std::string why =
          fmt::format("{} has it back: {}", uses_.jobs.path_of(child), open.why);
      if (job->submission->wishes.grant_to.value() != 0) {
        uses_.lender.want_back(id, open.by, open.mode, why, now);
      } else if (open.mode >= h::RecallMode::kill && open.by > now) {
        at(open.by);
      } else if (open.mode >= h::RecallMode::kill && job->life.state == JobState::run) {
        uses_.jobs.raise(id, "node-failure", fmt::format("what it ran on was lent: {}", why), now);
      }
    }
}

// A job without a limit is there because its queue believed that it would be over
// (default-duration), or within an advance reservation, which ends it.
void TakenLoans::end_endless(JobId child, const std::map<JobId, h::Units>& users,
                             const h::Units& late, Time now) {
  for (const auto& [id, its] : users) {
    const ActiveJob* const job = uses_.jobs.find(id);
    if (job == nullptr || job->submission->limit != 0 || h::have_none_in_common(its, late))
      continue;
    if (const Time end = job->life.expiration; end != 0 && end <= now) continue;
    const std::string why = fmt::format("{} has it back", uses_.jobs.path_of(child));
    if (job->submission->wishes.grant_to.value() != 0)
      uses_.lender.want_back(id, now, h::RecallMode::drain, why, now);
    else if (job->life.state == JobState::run)
      uses_.jobs.raise(
          id, "node-failure",
          fmt::format("it has no time limit, and the time for which what it ran on was lent is "
                      "over: {}",
                      why),
          now);
  }
}

// What cannot go back yet of one loan does not hold the others back.
void TakenLoans::give_back(JobId child, const h::Units& units, Time now) {
  const h::Link& link = link_to(uses_.book.book(), child);
  if (units.empty() || link.extending) return;  // looked at again with its answer
  if (offer_back(child, units, now)) return;
  const std::vector<h::Due> loans = link.loans;
  for (const h::Due& loan : loans)
    if (const h::Units some = common(loan.units, units); !some.empty() && some != units)
      if (offer_back(child, some, now)) return;
}

// The child's job has the units again before the child hears of it.
bool TakenLoans::offer_back(JobId child, const h::Units& units, Time now) {
  h::Extend back;
  back.units = units;
  // Another child may have lent them first, to this one.
  back.until =
      std::min(until_of(uses_.book.book(), units), lent_until(uses_.book.book(), units, child));
  const auto offered = h::give_back(uses_.book.book(), child, back);
  if (!offered) {
    spdlog::warn(fmt::format("grant: {}", to_string(offered.error())));
    again_[child] = saturating_add(now, kLoanAgain);
    at(again_[child]);
    return false;
  }
  const h::Units here = common(units, here_of(link_to(uses_.book.book(), child)));
  if (!apply(child, terms_of(child, units), now) || !uses_.lender.write(*offered, now))
    return false;
  offered_[child] = units;
  clearing_.erase(child);
  const UnitCounts counts = count(uses_.store.graph(), here);
  if (!here.empty())
    uses_.jobs.note_grant(child, event::LoanReturn{counts.cores, counts.gpus}, now);
  return true;
}

// What is wanted back, and in use, takes no new work. What goes back to the instance above, too, is
// drained for that.
void TakenLoans::drain_only(const h::Units& units) {
  if (units == drained_) return;
  const h::Link& up = uses_.book.up();
  const h::Units going_back =
      h::all_of(units_in(up, h::State::asked_back), units_in(up, h::State::draining));
  const auto set = [&](const h::Units& some, bool drained) {
    for (const std::uint64_t unit : some.ids())
      if (const auto v = uses_.store.graph().find_uniq(static_cast<std::int64_t>(unit)))
        uses_.store.set_drained(*v, drained);
  };
  set(without(without(drained_, units), going_back), false);
  set(without(units, drained_), true);
  drained_ = units;
  uses_.jobs.resources_changed();
}

// ---- no process of the child is left

void TakenLoans::clear(JobId child, Time now) {
  const h::Link& link = link_to(uses_.book.book(), child);
  const h::Units units = common(units_in(link, h::State::returned), lent_on(link));
  if (units.empty()) return;
  Clearing& clearing = clearing_[child];
  if (uses_.identity.bind && !(clearing.is_clear && clearing.units == units)) {
    if (clearing.unanswered > 0) return;
    if (clearing.again > now) return at(clearing.again);
    return ask_agents(child, units, now);
  }
  clearing_.erase(child);
  const auto left = h::gone(uses_.book.book(), child, units);
  if (!left || !uses_.lender.write(*left, now)) return;
  const UnitCounts counts = count(uses_.store.graph(), units);
  uses_.jobs.note_grant(
      child, event::Loan{counts.cores, counts.gpus, lent_until(uses_.book.book(), units)}, now);
}

void TakenLoans::ask_agents(JobId child, const h::Units& units, Time now) {
  const auto& graph = uses_.store.graph();
  std::vector<std::pair<AgentLink*, PlacedNode>> asked;
  for (const PlacedNode& node : nodes_of(graph, allocation_of(graph, units))) {
    const std::uint32_t rank = uses_.nodes_of_agents.agent_of(node.rank);
    if (!uses_.agents.is_connected(rank)) return at(now + kAwaitAgent);
    asked.emplace_back(&uses_.agents.of(rank), node);
  }
  Clearing& clearing = clearing_[child];
  clearing = {asked.size(), true, asked.empty(), now + kLookOnceMore, ++rounds_, units};
  if (asked.empty()) return at(now);
  for (auto& [agent, node] : asked)
    agent->find_on_cores(
        child, cores_asked(node.cores),
        [this, child, round = rounds_](const auto& found) {
          answered(child, round, found && found->empty());
        },
        OnCores::of_its_jobs);
}

void TakenLoans::answered(JobId child, std::uint64_t round, bool is_clear) {
  const auto at = clearing_.find(child);
  if (at == clearing_.end() || at->second.round != round) return;
  Clearing& clearing = at->second;
  clearing.all_clear = clearing.all_clear && is_clear;
  if (--clearing.unanswered == 0) clearing.is_clear = clearing.all_clear;
}

}  // namespace holon::instance
