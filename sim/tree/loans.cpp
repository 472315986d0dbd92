// Loans: processors that one instance has of another for one job, until a time that both plan with.
#include <algorithm>

#include "sim/tree/tree_simulation.hpp"

namespace holon::sim {

namespace {

// Processors that are free for at least `length`. Windows come widest first.
std::int64_t free_for(const std::vector<qmanager::Window>& windows, Duration length) {
  for (const qmanager::Window& window : windows)
    if (window.length >= length) return window.procs;
  return 0;
}

Duration limit_of(const TraceJob& job) {
  return job.limit == 0 ? kTimeMax : job.limit;
}

}  // namespace

// Where nobody waits, the plan is what jobs and loans hold; else the scheduler knows what is
// reserved.
const std::vector<qmanager::Window>& TreeSimulation::windows_of(std::size_t at) {
  PlayedInstance& instance = instances_[at];
  if (instance.windows_known) return instance.windows;
  if (to_pass_.contains(at)) pass(at);
  instance.simulation->move_clock(now_);
  const qmanager::Scheduler& scheduler = instance.simulation->scheduler();
  instance.windows =
      scheduler.pending() == 0 ? instance.machine->windows(now_) : scheduler.windows(now_);
  instance.windows_known = true;
  return instance.windows;
}

// Who is next is decided by shares; what it borrows for, by its own queue.
void TreeSimulation::lend_and_borrow() {
  std::vector<bool> wants(instances_.size(), false);
  std::size_t elastic = 0;
  for (std::size_t i = 0; i < instances_.size(); ++i) {
    elastic += instances_[i].is_elastic();
    wants[i] = instances_[i].is_elastic() && !instances_[i].simulation->waiting().empty();
  }
  if (elastic < 2 || std::none_of(wants.begin(), wants.end(), [](bool want) { return want; }))
    return;
  holdings::Tree tree = as_policy_sees_it();
  while (const auto taker = holdings::next_taker(tree, wants)) {
    if (borrow_something(*taker))
      tree = as_policy_sees_it();
    else
      wants[*taker] = false;
  }
  while (!to_pass_.empty()) pass(*to_pass_.begin());
}

bool TreeSimulation::borrow_something(std::size_t taker) {
  PlayedInstance& instance = instances_[taker];
  std::int64_t most = instance.machine->free_procs(now_);  // that a job could have now
  for (std::size_t i = 0; i < instances_.size(); ++i)
    if (i != taker && instances_[i].is_elastic())
      most += std::max<std::int64_t>(instances_[i].machine->free_procs(now_), 0);
  bool is_first = true;
  const auto waiting = instance.simulation->waiting();
  for (const auto& [submitted, job] : waiting) {
    const bool can = instance.workload.jobs[job].procs <= most && !instance.tried.contains(job) &&
                     !instance.coming_for.contains(job);
    if (can && borrow_for(taker, job, is_first)) return true;
    is_first = false;
  }
  return false;
}

// True: the job has started, or what it borrows is under way. The first job of the queue may have
// all that is free; the others what no reservation is in the way of.
bool TreeSimulation::borrow_for(std::size_t taker, std::size_t job, bool is_first) {
  PlayedInstance& instance = instances_[taker];
  const TraceJob& wanted = instance.workload.jobs[job];
  const Duration length = limit_of(wanted);
  const std::int64_t own =
      is_first ? instance.machine->free_procs(now_) : free_for(windows_of(taker), length);
  const std::int64_t missing = wanted.procs - std::max<std::int64_t>(own, 0);
  if (missing <= 0) return false;
  const auto lenders = lenders_for(taker, missing, length);
  if (lenders.empty()) return false;
  instance.tried.insert(job);
  for (const auto& [lender, procs] : lenders) {
    lend(lender, taker, job, procs, saturating_add(now_, lent_for(lender, taker, length)));
  }
  if (!under_way_.empty()) return true;
  pass(taker);
  if (instance.simulation->is_running(job)) return true;
  return_loans(taker);
  while (!to_pass_.empty()) pass(*to_pass_.begin());
  return false;
}

// Nearest first; all that are needed, or none.
std::vector<std::pair<std::size_t, std::int64_t>> TreeSimulation::lenders_for(std::size_t taker,
                                                                              std::int64_t procs,
                                                                              Duration length) {
  std::vector<std::pair<std::size_t, std::int64_t>> lenders;
  const holdings::Tree tree = as_policy_sees_it();
  for (const std::size_t giver : holdings::givers_for(tree, taker)) {
    PlayedInstance& lender = instances_[giver];
    if (!lender.is_elastic() || lender.machine->free_procs(now_) <= 0) continue;
    std::int64_t amount = std::min(free_for(windows_of(giver), lent_for(giver, taker, length)),
                                   lender.machine->held() - lender.on_loan - lender.what->min);
    amount = std::min({amount, procs, holdings::room_for(tree, taker, giver, 0)});
    if (amount <= 0) continue;
    lenders.emplace_back(giver, amount);
    procs -= amount;
    if (procs == 0) return lenders;
  }
  return {};
}

void TreeSimulation::lend(std::size_t lender, std::size_t taker, std::size_t job,
                          std::int64_t procs, Time back) {
  const JobId id{++last_loan_};
  PlayedInstance& giver = instances_[lender];
  if (!giver.machine->lend(id, procs, back, now_)) return;
  const Time until = back == kTimeMax ? kTimeMax : back - way(lender, taker);
  giver.on_loan += procs;
  changed(lender);
  const Duration delay = way(lender, taker) + plan_.costs.agent_start;
  result_.in_flight += procs * delay;
  Loan loan{id, lender, taker, procs, until, job, note_move(lender, taker, procs)};
  if (until != kTimeMax) loan_ends_.emplace(until, id);
  loan.arrived = delay == 0;
  loans_.emplace(id, loan);
  if (!loan.arrived) {
    instances_[taker].coming += procs;
    instances_[taker].coming_for.insert(job);
    under_way_.insert({now_ + delay, id, taker, procs});
    return;
  }
  instances_[taker].borrowed += procs;
  instances_[taker].machine->borrow(id, procs, until, now_);
  changed(taker);
}

// Gives back what is no longer used: the loans of jobs that do not run.
void TreeSimulation::return_loans(std::size_t taker) {
  std::vector<JobId> over;
  for (const auto& [id, loan] : loans_)
    if (loan.taker == taker && loan.arrived && !instances_[taker].simulation->is_running(loan.job))
      over.push_back(id);
  for (const JobId id : over) end_loan(id);
}

// Reservations give way to it; jobs do not: then it stays until they are over.
void TreeSimulation::end_loan(JobId id) {
  const Loan loan = loans_.at(id);
  loan_ends_.erase({loan.until, id});
  PlayedInstance& taker = instances_[loan.taker];
  if (loan.arrived) {
    if (!taker.machine->give_back(id, now_)) {
      taker.machine->let_reservations_give_way(true);
      changed(loan.taker);
      taker.machine->let_reservations_give_way(false);
      if (!taker.machine->give_back(id, now_)) {
        if (loan.until > now_) loan_ends_.emplace(loan.until, id);
        return;
      }
    }
    taker.borrowed -= loan.procs;
    changed(loan.taker);
  }
  result_.moves[loan.record].to = now_;
  loans_.erase(id);
  if (const Duration back = way(loan.taker, loan.lender); back > 0) {
    result_.in_flight += loan.procs * back;
    under_way_.insert({now_ + back, id, loan.lender, loan.procs});
    return;
  }
  PlayedInstance& lender = instances_[loan.lender];
  lender.machine->take_back(id, now_);
  lender.on_loan -= loan.procs;
  changed(loan.lender);
}

// The first job of an eager owner, if it could start with what preemptible jobs have of it.
void TreeSimulation::recall_for_owners() {
  for (std::size_t i = 0; i < instances_.size(); ++i) {
    PlayedInstance& owner = instances_[i];
    const auto& waiting = owner.simulation->waiting();
    if (owner.what->elastic != Elastic::eager || owner.on_loan == 0 || waiting.empty()) continue;
    const std::size_t first = waiting.begin()->second;
    std::int64_t missing = owner.workload.jobs[first].procs - owner.machine->free_procs(now_);
    std::vector<const Loan*> recalled;
    for (const auto& [id, loan] : loans_) {
      const PlayedInstance& taker = instances_[loan.taker];
      if (loan.lender != i || missing <= 0 || !taker.workload.jobs[loan.job].preemptible ||
          !taker.simulation->is_running(loan.job))
        continue;
      recalled.push_back(&loan);
      missing -= loan.procs;
    }
    if (missing > 0) continue;
    const JobId for_job{static_cast<std::uint64_t>(owner.workload.jobs[first].id)};
    for (const Loan* loan : recalled)
      instances_[loan->taker].simulation->end_early(
          loan->job, saturating_add(now_, plan_.costs.notice), for_job);
  }
}

}  // namespace holon::sim
