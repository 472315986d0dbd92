// Pools: instances without jobs of their own, which give what is idle to who has work for it.
#include <algorithm>

#include "sim/tree/tree_simulation.hpp"

namespace holon::sim {

// Shares decide who is next; it gets what its first job lacks, so that all come to something.
void TreeSimulation::share_pools() {
  std::vector<std::size_t> pools;
  for (std::size_t i = 0; i < instances_.size(); ++i)
    if (instances_[i].is_elastic() && !instances_[i].has_jobs &&
        instances_[i].has() > instances_[i].what->min)
      pools.push_back(i);
  if (pools.empty()) return;
  holdings::Tree tree = as_policy_sees_it();
  std::vector<bool> wants(instances_.size(), false);
  for (std::size_t i = 0; i < instances_.size(); ++i)
    wants[i] =
        instances_[i].is_elastic() && instances_[i].has_jobs && wanted_by(i) > instances_[i].has();
  while (const auto taker = holdings::next_taker(tree, wants)) {
    const Simulation& simulation = *instances_[*taker].simulation;
    std::int64_t lacking = wanted_by(*taker) - tree.parties[*taker].held[0];
    const std::int64_t one_job =
        simulation.waiting().empty()
            ? lacking
            : instances_[*taker].workload.jobs[simulation.waiting().begin()->second].procs;
    lacking = std::min(lacking, one_job);
    bool got = false;
    for (const std::size_t giver : holdings::givers_for(tree, *taker)) {
      if (std::find(pools.begin(), pools.end(), giver) == pools.end() || lacking <= 0) continue;
      const std::int64_t amount = std::min({holdings::idle_of(tree.parties[giver], 0), lacking,
                                            holdings::room_for(tree, *taker, giver, 0)});
      if (amount <= 0) continue;
      move_without_end(giver, *taker, amount);
      pool_of_[*taker] = giver;
      tree = holdings::moved(std::move(tree), {giver, *taker, 0, amount, true});
      lacking -= amount;
      got = true;
    }
    if (!got) wants[*taker] = false;
  }
}

// What neither runs nor waits needs no extra.
void TreeSimulation::give_back_to_pools(std::size_t at) {
  PlayedInstance& instance = instances_[at];
  const std::int64_t extra = instance.machine->held() - instance.what->owned;
  const std::int64_t idle = std::min(extra, instance.has() - wanted_by(at));
  if (extra <= 0 || idle <= 0) return;
  move_without_end(at, pool_of_[at], idle);
}

void TreeSimulation::move_without_end(std::size_t from, std::size_t to, std::int64_t procs) {
  PlayedInstance& giver = instances_[from];
  PlayedInstance& taker = instances_[to];
  if (!giver.machine->hold_without_end(giver.machine->held() - procs, now_)) {
    giver.machine->let_reservations_give_way(true);
    changed(from);
    giver.machine->let_reservations_give_way(false);
    if (!giver.machine->hold_without_end(giver.machine->held() - procs, now_)) return;
  }
  changed(from);
  note_move(from, to, procs);
  const Duration delay = way(from, to) + (taker.has_jobs ? plan_.costs.agent_start : 0);
  if (delay > 0) {
    result_.in_flight += procs * delay;
    taker.coming += procs;
    under_way_.insert({now_ + delay, JobId{}, to, procs});
    return;
  }
  taker.machine->hold_without_end(taker.machine->held() + procs, now_);
  changed(to);
}

}  // namespace holon::sim
