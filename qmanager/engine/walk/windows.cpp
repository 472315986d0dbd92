#include "qmanager/engine/walk/windows.hpp"

#include <algorithm>

#include "qmanager/engine/walk/throttle.hpp"

namespace holon::qmanager {

namespace {

struct Candidate {
  Job* job;
  double worth;
};

// Larger sets are not searched for: the search is recursive.
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

// Ticks that the job would hold, as long as windows are counted.
Duration ticks_of(Parts<const Plan, const Queues> s, const Job& job, Time now) {
  return s.plan().ticks(s.queues().length_of(job), now);
}

bool over_limits(Parts<const Queues, const Accounts> s, const Job& job, Time now) {
  return s.accounts().limiter->over(job, now, s.queues().length_of(job), false).has_value();
}

// Small jobs behind a large one that fits in no window leave it what is free.
void keep_chunks(Parts<Jobs, const Plan, const Queues> s, Queue& queue,
                 const std::vector<Window>& windows, Time now, Deciding& deciding) {
  if (queue.config.chunk_size == 0 || now >= queue.chunk_until) return;
  bool& chunking = queue.walk.chunking;
  std::erase_if(queue.walk.candidates, [&](const auto& candidate) {
    Job* const job = s.jobs().find(candidate.first);
    if (job == nullptr) return true;
    const bool waits = std::none_of(windows.begin(), windows.end(), [&](const Window& window) {
      return fits(window, *job, ticks_of(s, *job, now));
    });
    chunking = chunking || (waits && opens_chunk(queue, *job, now));
    const bool leaves_it = chunking && job->procs < queue.config.chunk_size;
    if (leaves_it) deciding.tell_why(*job, Why::chunk);
    return leaves_it;
  });
}

// The queue's candidates that fit in the window, in queue order.
std::vector<Candidate> candidates_for(Parts<Jobs, const Plan, const Queues, const Accounts> s,
                                      const Queue& queue, const Window& window, Time now) {
  std::vector<Candidate> candidates;
  const std::int64_t depth = queue.config.backfill_depth;
  for (const auto& [id, pools] : queue.walk.candidates) {
    Job* const job = s.jobs().find(id);
    if (job == nullptr || job->place != Job::Place::pending) continue;
    const Duration ticks = ticks_of(s, *job, now);
    if (!fits(window, *job, ticks) || over_limits(s, *job, now)) continue;
    candidates.push_back({job, worth_of(*job, ticks, queue.config.backfill_metric)});
    if (depth > 0 && static_cast<std::int64_t>(candidates.size()) == depth) break;
  }
  return candidates;
}

void fill_window(Parts<Jobs, const Plan, const Queues, const Accounts> s, Queue& queue,
                 const Window& window, Time now, Trying& trying) {
  std::vector<Candidate> candidates = candidates_for(s, queue, window, now);
  // Jobs started from the window before this one count for the limits as well.
  const auto starts = [&](Job& job) {
    return !over_limits(s, job, now) && trying.start(job) == Tried::started;
  };
  if (queue.backfill == BackfillOrder::greedy) {
    const GreedySearch search(candidates, window.procs, queue.config);
    for (std::size_t i : search.best()) starts(*candidates[i].job);
    return;
  }
  if (queue.backfill == BackfillOrder::best_fit)
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.worth > b.worth; });
  // Room and limits only shrink: a job that was passed over once does not fit later.
  std::int64_t room = window.procs;
  for (const Candidate& next : candidates) {
    const std::int64_t procs = next.job->procs;
    if (procs <= room && starts(*next.job)) room -= procs;
  }
}

}  // namespace

namespace {

// Those that have started, or were refused, wait no more.
bool forget_gone(Jobs& jobs, Walk& walk) {
  const auto gone = std::erase_if(walk.candidates, [&](const auto& candidate) {
    const Job* const job = jobs.find(candidate.first);
    const bool waits = job != nullptr && job->place == Job::Place::pending;
    if (!waits) --walk.considered[candidate.second];
    return !waits;
  });
  return gone > 0;
}

}  // namespace

void leave_to_windows(const Plan& plan, Queue& queue, Job& job, Deciding& deciding) {
  if (!plan.machine->placeable(job.request)) return deciding.stand_aside(job, Why::blocked);
  ++queue.walk.considered[job.pools];
  queue.walk.passed_by = true;
  queue.walk.candidates.emplace_back(job.request.id, job.pools);
  deciding.tell_shortage(job, queue.walk);
}

bool fill_windows(Parts<const SchedulerConfig, Jobs, const Plan, const Queues, const Accounts> s,
                  Queue& queue, Time now, Deciding& deciding, Trying& trying) {
  Walk& walk = queue.walk;
  if (walk.candidates.empty()) return false;
  if (s.config().shortcuts && s.plan().machine->exhausted(now)) return false;
  trying.reserve_for_the_entitled();
  const std::vector<Window> windows = s.plan().machine->windows(now);
  if (queue.backfill == BackfillOrder::first_fit) keep_chunks(s, queue, windows, now, deciding);
  for (const Window& window : windows) fill_window(s, queue, window, now, trying);
  return forget_gone(s.jobs(), walk);
}

}  // namespace holon::qmanager
