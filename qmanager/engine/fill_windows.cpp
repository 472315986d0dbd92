// fill_windows.cpp - Maui's BACKFILLPOLICY FIRSTFIT, BESTFIT and GREEDY: which of the jobs that fit
// are started in a backfill window.
//
// The windows are visited widest first. FIRSTFIT: each job that fits in the window is started, in
// queue order. BESTFIT: the one with the largest metric, the earlier in the queue where two are
// equal; again, until nothing fits. GREEDY: the set of jobs with the largest summed metric that
// fits in the window side by side, found by a search that gives up after so many sets
// (BACKFILLMAXSCHEDULES); exact when it does not.
// Guarantee: no reservation is delayed.
#include <algorithm>

#include "qmanager/engine/pass.hpp"

namespace holon::qmanager {

namespace {

struct Candidate {
  Job* job;
  double worth;
};

// Deeper than this a set is not searched for: the search is recursive.
constexpr std::size_t kMostInSet = 10'000;

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
    if (taken.size() == kMostInSet) return;
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

bool fits(const Window& window, const Job& job, Duration length) {
  return job.procs <= window.procs && length <= window.length;
}

}  // namespace

// What the job would hold, as long as windows are counted.
Duration Pass::ticks_of(const Job& job) const {
  const Duration length = s_.length_of(job);
  return length == kTimeMax ? distance(now_, s_.machine->horizon().end) : length;
}

// It has passed all that is asked of one in the walk, and waits for its window.
void Pass::leave_to_windows(Queue& queue, Job& job) {
  if (!s_.machine->placeable(job.request)) return stand_aside(job, Why::blocked);
  ++queue.walk.considered;
  queue.walk.candidates.push_back(job.request.id);
  tell_shortage(job, queue.walk);
}

// Small jobs behind a large one that fits in no window leave it what is free.
void Pass::keep_chunks(Queue& queue, const std::vector<Window>& windows) {
  if (queue.config.chunk_size == 0 || now_ >= queue.chunk_until) return;
  bool& chunking = queue.walk.chunking;
  std::erase_if(queue.walk.candidates, [&](JobId id) {
    Job* const job = s_.find(id);
    if (job == nullptr) return true;
    const bool waits = std::none_of(windows.begin(), windows.end(), [&](const Window& window) {
      return fits(window, *job, ticks_of(*job));
    });
    chunking = chunking || (waits && opens_chunk(queue, *job));
    const bool leaves_it = chunking && job->procs < queue.config.chunk_size;
    if (leaves_it) tell_why(*job, Why::chunk);
    return leaves_it;
  });
}

// Jobs started from the window before this one count as well.
Pass::Tried Pass::try_within_limits(Job& job) {
  if (s_.limiter->over(job, now_, s_.length_of(job), false)) return Tried::not_now;
  return try_start(job);
}

void Pass::fill_window(Queue& queue, const Window& window) {
  std::vector<Candidate> candidates;
  const std::int64_t depth = queue.config.backfill_depth;
  for (const JobId id : queue.walk.candidates) {
    Job* const job = s_.find(id);
    if (job == nullptr || job->place != Job::Place::pending) continue;
    const Duration ticks = ticks_of(*job);
    if (!fits(window, *job, ticks)) continue;
    if (s_.limiter->over(*job, now_, s_.length_of(*job), false)) continue;
    candidates.push_back({job, worth_of(*job, ticks, queue.config.backfill_metric)});
    if (depth > 0 && static_cast<std::int64_t>(candidates.size()) == depth) break;
  }
  if (queue.backfill == BackfillOrder::greedy) {
    const GreedySearch search(candidates, window.procs, queue.config);
    for (std::size_t i : search.best()) try_within_limits(*candidates[i].job);
    return;
  }
  if (queue.backfill == BackfillOrder::best_fit)
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.worth > b.worth; });
  // Room and limits only shrink: a job that was passed over once does not fit later.
  std::int64_t room = window.procs;
  for (const Candidate& next : candidates) {
    const std::int64_t procs = next.job->procs;
    if (procs <= room && try_within_limits(*next.job) == Tried::started) room -= procs;
  }
}

// True: some were started, and the depth of the queue leaves room for others to be looked at.
bool Pass::fill_windows(Queue& queue) {
  Walk& walk = queue.walk;
  if (walk.candidates.empty() || s_.machine->exhausted(now_)) return false;
  book_the_entitled();
  const std::vector<Window> windows = s_.machine->windows(now_);
  if (queue.backfill == BackfillOrder::first_fit) keep_chunks(queue, windows);
  for (const Window& window : windows) fill_window(queue, window);
  const auto gone = std::erase_if(walk.candidates, [&](JobId id) {
    const Job* const job = s_.find(id);
    return job == nullptr || job->place != Job::Place::pending;
  });
  walk.considered -= static_cast<std::int64_t>(gone);
  return gone > 0 && std::exchange(walk.closed, false);
}

}  // namespace holon::qmanager
