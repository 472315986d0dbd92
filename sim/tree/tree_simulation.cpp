#include "sim/tree/tree_simulation.hpp"

#include <algorithm>

namespace holon::sim {

namespace {

std::size_t level_of(const TreePlan& plan, std::size_t at) {
  std::size_t level = 0;
  for (; plan.instances[at].parent; at = *plan.instances[at].parent) ++level;
  return level;
}

}  // namespace

std::int64_t processors_of(const TreePlan& plan) {
  std::int64_t procs = 0;
  for (const TreeInstance& instance : plan.instances) procs += instance.owned;
  return procs;
}

TreeSimulation::TreeSimulation(const Workload& workload, const TreePlan& plan,
                               const SimOptions& options)
    : workload_(workload), plan_(plan), options_(options), procs_(processors_of(plan)) {
  // The time that a start takes is planned with the job.
  request_of_ = [launch = plan.costs.launch](const TraceJob& job) {
    qmanager::JobRequest request = flat_request(job);
    if (request.limit > 0) request.limit = saturating_add(request.limit, launch);
    return request;
  };
  inner_.budget = options.budget;
  inner_.check_invariants = options.check_invariants;
  instances_.resize(plan.instances.size());
  pool_of_.resize(plan.instances.size());
  result_.dealt_to = deal(workload, plan.route);
  for (std::size_t i = 0; i < instances_.size(); ++i) {
    instances_[i].what = &plan.instances[i];
    instances_[i].workload.ticks_per_second = workload.ticks_per_second;
  }
  for (const std::size_t to : plan.route.to) instances_[to].has_jobs = true;
  for (std::size_t job = 0; job < workload.jobs.size(); ++job) {
    PlayedInstance& instance = instances_[result_.dealt_to[job]];
    instance.has_jobs = true;
    instance.workload.jobs.push_back(workload.jobs[job]);
    instance.whole.push_back(job);
  }
}

Status TreeSimulation::begin() {
  for (PlayedInstance& instance : instances_) {
    const std::int64_t owned = instance.what->owned;
    std::int64_t most = owned;
    if (instance.is_elastic()) most = std::max(owned, instance.what->max.value_or(procs_));
    auto machine = std::make_unique<SharedMachine>(std::max<std::int64_t>(most, 1), owned);
    instance.machine = machine.get();
    qmanager::SchedulerConfig config = instance.what->config;
    config.tell_waits = false;
    auto scheduler = qmanager::Scheduler::create(std::move(config), std::move(machine));
    if (!scheduler) return tl::unexpected(scheduler.error());
    instance.simulation =
        std::make_unique<Simulation>(instance.workload, std::move(*scheduler), inner_, request_of_);
    instance.simulation->keep_track();
    instance.simulation->set_launch(plan_.costs.launch);
  }
  return {};
}

TreeResult TreeSimulation::run() {
  std::size_t instants = 0;
  while (const auto next = next_instant()) {
    play(*next);
    if (options_.progress && ++instants % 1024 == 0) {
      std::size_t done = 0;
      for (const PlayedInstance& instance : instances_) done += instance.simulation->done();
      options_.progress(done);
    }
  }
  result_.whole.jobs.resize(workload_.jobs.size());
  if (!workload_.jobs.empty()) result_.whole.first_submit = workload_.jobs.front().submit;
  for (PlayedInstance& instance : instances_) {
    result_.ended_by_return += instance.simulation->ended_early();
    SimResult part = instance.simulation->finish();
    for (std::size_t i = 0; i < part.jobs.size(); ++i)
      result_.whole.jobs[instance.whole[i]] = std::move(part.jobs[i]);
    result_.whole.end = std::max(result_.whole.end, part.end);
    result_.whole.passes += part.passes;
  }
  for (const auto& [id, loan] : loans_) result_.moves[loan.record].to = result_.whole.end;
  return std::move(result_);
}

std::optional<Time> TreeSimulation::next_instant() const {
  std::optional<Time> next;
  const auto earlier = [&](Time t) {
    if (!next || t < *next) next = t;
  };
  if (!under_way_.empty()) earlier(under_way_.begin()->when);
  if (!loan_ends_.empty()) earlier(loan_ends_.begin()->first);
  for (const PlayedInstance& instance : instances_)
    if (const auto t = instance.simulation->next_instant()) earlier(*t);
  return next;
}

// Ends and submissions of all instances, what moves because of them, a pass of each instance that
// something has happened to, and then what they borrow from each other.
void TreeSimulation::play(Time t) {
  now_ = std::max(now_, t);
  for (std::size_t i = 0; i < instances_.size(); ++i) {
    PlayedInstance& instance = instances_[i];
    instance.tried.clear();
    instance.windows_known = false;
    const auto due = instance.simulation->next_instant();
    if (!due || *due > now_) continue;
    instance.simulation->take_events(now_);
    to_pass_.insert(i);
  }
  arrive();
  for (std::size_t i = 0; i < instances_.size(); ++i) note_ends(i);
  while (!loan_ends_.empty() && loan_ends_.begin()->first <= now_)
    end_loan(loan_ends_.begin()->second);
  share_pools();
  while (!to_pass_.empty()) pass(*to_pass_.begin());
  return_unused();
  lend_and_borrow();
  recall_for_owners();
}

void TreeSimulation::note_ends(std::size_t at) {
  if (instances_[at].simulation->take_ended().empty()) return;
  return_loans(at);
  give_back_to_pools(at);
}

void TreeSimulation::pass(std::size_t at) {
  PlayedInstance& instance = instances_[at];
  to_pass_.erase(at);
  instance.simulation->move_clock(now_);
  instance.simulation->pass();
  instance.windows_known = false;
}

void TreeSimulation::changed(std::size_t at) {
  instances_[at].simulation->move_clock(now_);
  instances_[at].simulation->scheduler().resources_changed();
  instances_[at].windows_known = false;
  to_pass_.insert(at);
}

void TreeSimulation::arrive() {
  while (!under_way_.empty() && under_way_.begin()->when <= now_) {
    const Arrival arrival = *under_way_.begin();
    under_way_.erase(under_way_.begin());
    PlayedInstance& to = instances_[arrival.to];
    if (arrival.loan == JobId{}) {
      to.coming -= arrival.procs;
      to.machine->hold_without_end(to.machine->held() + arrival.procs, now_);
    } else if (const auto found = loans_.find(arrival.loan); found != loans_.end()) {
      Loan& loan = found->second;
      loan.arrived = true;
      to.coming -= loan.procs;
      to.coming_for.erase(loan.job);
      to.borrowed += loan.procs;
      to.machine->borrow(loan.id, loan.procs, loan.until, now_);
    } else {  // it is back
      to.machine->take_back(arrival.loan, now_);
      to.on_loan -= arrival.procs;
    }
    changed(arrival.to);
  }
}

// Loans that have just come for jobs that have started already, or cannot.
void TreeSimulation::return_unused() {
  if (plan_.costs.message + plan_.costs.agent_start == 0) return;
  for (std::size_t i = 0; i < instances_.size(); ++i)
    if (instances_[i].borrowed > 0) return_loans(i);
  while (!to_pass_.empty()) pass(*to_pass_.begin());
}

Duration TreeSimulation::way(std::size_t from, std::size_t to) const {
  if (plan_.costs.message == 0) return 0;
  std::size_t a = from, b = to, steps = 0;
  while (a != b) {
    std::size_t& deeper = level_of(plan_, a) >= level_of(plan_, b) ? a : b;
    deeper = *plan_.instances[deeper].parent;
    ++steps;
  }
  return static_cast<Duration>(steps) * plan_.costs.message;
}

Duration TreeSimulation::lent_for(std::size_t lender, std::size_t taker, Duration limit) const {
  return saturating_add(limit, 2 * way(lender, taker) + plan_.costs.agent_start +
                                   plan_.costs.launch + plan_.costs.notice);
}

std::size_t TreeSimulation::note_move(std::size_t from, std::size_t to, std::int64_t procs) {
  result_.moves.push_back({from, to, procs, now_, kTimeMax});
  result_.moved_units += procs;
  return result_.moves.size() - 1;
}

holdings::Tree TreeSimulation::as_policy_sees_it() const {
  holdings::Tree tree;
  tree.total = {procs_};
  for (std::size_t i = 0; i < instances_.size(); ++i) {
    const TreeInstance& what = *instances_[i].what;
    tree.parties.push_back({.path = what.name,
                            .parent = what.parent,
                            .owned = {what.owned},
                            .floor = {what.min},
                            .ceiling = {what.max.value_or(procs_)},
                            .held = {instances_[i].has()},
                            .wanted = {wanted_by(i)},
                            .resting = {0},
                            .weight = what.weight});
  }
  return tree;
}

std::int64_t TreeSimulation::wanted_by(std::size_t at) const {
  const Simulation& simulation = *instances_[at].simulation;
  return simulation.running_procs() + simulation.waiting_procs();
}

// ---- with and without

namespace {

// By how much each job that ran in both started later than it would have without the others.
std::vector<Duration> regrets(const TreeResult& elastic, const TreeResult& fixed) {
  std::vector<Duration> all;
  for (std::size_t i = 0; i < elastic.whole.jobs.size(); ++i) {
    const auto& with = elastic.whole.jobs[i].start;
    const auto& without = fixed.whole.jobs[i].start;
    if (with && without) all.push_back(std::max<Duration>(*with - *without, 0));
  }
  return all;
}

Result<TreeResult> play_tree(const Workload& workload, const TreePlan& plan,
                             const SimOptions& options) {
  TreeSimulation simulation(workload, plan, options);
  if (Status good = simulation.begin(); !good) return tl::unexpected(good.error());
  return simulation.run();
}

}  // namespace

Result<TreeResult> simulate_tree(const Workload& workload, const TreePlan& plan,
                                 const SimOptions& options) {
  Result<TreeResult> result = play_tree(workload, plan, options);
  if (!result) return result;
  TreePlan fixed = plan;
  for (TreeInstance& instance : fixed.instances) instance.elastic = Elastic::off;
  const bool is_elastic =
      std::any_of(plan.instances.begin(), plan.instances.end(),
                  [](const TreeInstance& instance) { return instance.elastic != Elastic::off; });
  SimOptions quietly = options;
  quietly.progress = {};
  if (!is_elastic) {
    result->regret = regrets(*result, *result);
  } else if (const auto without = play_tree(workload, fixed, quietly)) {
    result->regret = regrets(*result, *without);
  }
  return result;
}

Metrics measure_instance(const Workload& workload, const TreeResult& result, std::size_t instance,
                         std::int64_t procs) {
  Workload mine;
  mine.ticks_per_second = workload.ticks_per_second;
  SimResult part;
  for (std::size_t job = 0; job < workload.jobs.size(); ++job) {
    if (result.dealt_to[job] != instance) continue;
    mine.jobs.push_back(workload.jobs[job]);
    part.jobs.push_back(result.whole.jobs[job]);
  }
  part.first_submit = result.whole.first_submit;
  part.end = result.whole.end;
  return measure(mine, part, procs);
}

}  // namespace holon::sim
