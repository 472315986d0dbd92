// best_fit.cpp - Maui's BACKFILLPOLICY BESTFIT and GREEDY: which of the jobs that fit fills the gap
// best.
//
// The windows are visited widest first. BESTFIT: of the jobs that fit in the window, the one with
// the largest metric is started, the earlier in the queue where two are equal; again, until nothing
// fits. GREEDY: the set of jobs with the largest summed metric that fits in the window side by side
// is started, found by a search that gives up after so many sets (BACKFILLMAXSCHEDULES); exact when
// it does not.
// Guarantee: as for FIRSTFIT, no reservation is delayed.
#include <algorithm>

#include "qmanager/pass.hpp"

namespace holon::qmanager {

namespace {

struct Candidate {
  Job* job;
  double worth;
};

double worth_of(const Job& job, Duration length, BackfillMetric metric) {
  const auto procs = static_cast<double>(job.procs);
  const auto ticks = static_cast<double>(length);
  switch (metric) {
    case BackfillMetric::procs:
      break;
    case BackfillMetric::seconds:
      return ticks;
    case BackfillMetric::proc_seconds:
      return procs * ticks;
    case BackfillMetric::equivalents:
      return job.demand.equivalents;
    case BackfillMetric::equivalent_seconds:
      return job.demand.equivalents * ticks;
  }
  return procs;
}

// The best set that needs at most `room` processors: take or leave, in queue order.
class GreedySearch {
 public:
  GreedySearch(const std::vector<Candidate>& candidates, std::int64_t room,
               const QueueConfig& queue)
      : candidates_(candidates),
        stop_when_full_(queue.backfill_metric == BackfillMetric::procs),
        tries_left_(queue.backfill_max_schedules) {
    std::vector<std::size_t> taken;
    descend(0, room, 0, taken);
  }
  const std::vector<std::size_t>& best() const { return best_; }

 private:
  void descend(std::size_t from, std::int64_t room, double worth, std::vector<std::size_t>& taken) {
    if (full_ || (!taken.empty() && tries_left_-- <= 0)) return;
    if (worth > best_worth_) {
      best_worth_ = worth;
      best_ = taken;
      full_ = stop_when_full_ && room == 0;
    }
    for (std::size_t i = from; i < candidates_.size() && !full_ && tries_left_ > 0; ++i) {
      if (candidates_[i].job->procs > room) continue;
      taken.push_back(i);
      descend(i + 1, room - candidates_[i].job->procs, worth + candidates_[i].worth, taken);
      taken.pop_back();
    }
  }

  const std::vector<Candidate>& candidates_;
  bool stop_when_full_;
  std::int64_t tries_left_;
  std::vector<std::size_t> best_;
  double best_worth_ = 0;
  bool full_ = false;
};

std::vector<Candidate> candidates_of(Scheduler::State& state, Queue& queue, const Window& window,
                                     Time now) {
  std::vector<Candidate> all;
  const std::int64_t depth = queue.config.backfill_depth;
  for (std::size_t slot = queue.pending.front(); slot < queue.pending.slots(); ++slot) {
    Job* job = queue.pending.at(slot);
    if (job == nullptr || job->booked || job->procs > window.procs) continue;
    const Duration length = state.length_of(*job);
    if (length > window.length || state.limiter.over(*job, now, length, false)) continue;
    all.push_back({job, worth_of(*job, length, queue.config.backfill_metric)});
    if (depth > 0 && static_cast<std::int64_t>(all.size()) == depth) break;
  }
  return all;
}

}  // namespace

// Those that were started from the window before it count as well.
Pass::Tried Pass::try_within_limits(Job& job) {
  if (s_.limiter.over(job, now_, s_.length_of(job), false)) return Tried::not_now;
  return try_start(job);
}

void Pass::fill_window(Queue& queue, const Window& window) {
  std::vector<Candidate> candidates = candidates_of(s_, queue, window, now_);
  if (queue.config.backfill == BackfillOrder::greedy) {
    const GreedySearch search(candidates, window.procs, queue.config);
    for (std::size_t i : search.best()) try_within_limits(*candidates[i].job);
    return;
  }
  // Room and limits only shrink: who was passed over once cannot fit after that.
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.worth > b.worth; });
  std::int64_t room = window.procs;
  for (const Candidate& best : candidates) {
    const std::int64_t procs = best.job->procs;
    if (procs <= room && try_within_limits(*best.job) == Tried::started) room -= procs;
  }
}

void Pass::fill_gaps(Queue& queue) {
  book_the_entitled();
  for (const Window& window : s_.machine->windows(now_)) fill_window(queue, window);
}

}  // namespace holon::qmanager
