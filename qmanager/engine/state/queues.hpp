// queues.hpp - the queues, how far the walk over each has come, and the jobs that are in none of
// their lists. Private to qmanager/.
#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/shared.hpp"
#include "qmanager/engine/pending.hpp"
#include "qmanager/job.hpp"
#include "qmanager/policy/policy.hpp"
#include "qmanager/scheduler.hpp"

namespace holon::qmanager {

// How far the walk over one queue has come. It outlives a pass: what was considered stays
// considered until something is freed, so that a submit at the tail costs one job, and a pass that
// ran out of budget goes on where it stopped.
struct Walk {
  std::optional<OrderKey> last;  // the job that the walk came to last
  // Jobs that were looked at and stay pending, without those that a limit keeps back; by the pools
  // they ask for. Of each set of pools as many are looked at as the depth of the queue says, so
  // that jobs that wait for a licence do not keep out jobs that need none. Whether a job lacks its
  // licence plays no part, because each start may change that.
  std::map<PoolSet, std::int64_t> considered;
  // The last job that a limit kept back, as limits saw it then: jobs like it are kept back too.
  struct KeptBack {
    std::string user, group, account, qos;
    std::int64_t procs = 0;
    Duration length = 0;
    Demand demand;
    Time now = 0;
    Throttle over;

    bool is_like(const Job& job, Duration its_length, Time when) const {
      const JobRequest& asked = job.request;
      return now == when && length == its_length && procs == job.procs && user == asked.user &&
             account == asked.account && group == asked.group && qos == asked.qos &&
             demand == job.demand;
    }
  };
  std::optional<KeptBack> kept_back;
  std::map<int, std::int64_t>
      reservations;        // jobs that hold, or are to be given, one; by bucket, 0 without buckets
  JobId blocked_by;        // the first job that could not start; 0: none yet
  bool compress = false;   // kept reservations are moved to the earliest place they fit
  bool by_window = false;  // the rest of the queue starts window by window
  // Jobs of the rest that may start in a window, in queue order, with the pools they ask for.
  std::vector<std::pair<JobId, PoolSet>> candidates;
  bool chunking = false;  // a large job waits: small ones leave it what is free
  bool in_order = true;  // no job has had to wait without a reservation yet: starts are no backfill
  // Some job that was looked at waits without a reservation that outlives the pass.
  bool passed_by = false;
  std::optional<Time> throttled_until;  // the first limit that gives way with time
  std::optional<Time> ripe_at;          // the first job that may then have a reservation
  bool over_soft = false;  // a job over its soft limit was skipped; the hard one may let it start
  bool closed = false;     // no job behind `last` can start before something changes
  bool cut_off = false;    // the walk has come to a job that the depth of the queue keeps out ...
  bool skipped = false;    // ... and has gone on behind it, to those that ask for other pools

  std::int64_t considered_in_all() const {
    std::int64_t all = 0;
    for (const auto& [pools, jobs] : considered) all += jobs;
    return all;
  }
};

struct Queue {
  std::string name;
  QueueConfig config;
  Policy policy;
  Policy base;  // decides where `hooks` have no opinion
  // The hooks of a user-written policy, else null. Each fork has its own.
  std::shared_ptr<PolicyHooks> hooks;
  std::shared_ptr<const PolicyProgram> program;  // the source of `hooks`
  std::int64_t reserved = 0;                     // jobs that hold a reservation
  bool given_up = false;                         // the policy that a user wrote, for `base`
  std::optional<Time> ranked_at;                 // when all jobs were asked for their places last
  bool ranks_change = false;  // time may change the order that the policy gives the queue
  BackfillOrder backfill = BackfillOrder::queue_order;
  PendingList pending;
  std::map<PoolSet, std::size_t> waiting;  // jobs in the list, by the pools that they ask for
  std::size_t held = 0;                    // jobs
  Walk walk;
  bool enabled = true;  // takes submissions
  bool started = true;  // schedules
  QueueCounts counts;
  QueueCounts in_advances;  // of jobs in advance reservations that are over
  Time chunk_until = 0;     // until then freed processors are kept for large jobs

  // Into its list, and out of it.
  void list(Job& job) {
    pending.insert(job.key, &job);
    ++waiting[job.pools];
  }
  void unlist(const Job& job) {
    pending.erase(job.key);
    if (--waiting[job.pools] == 0) waiting.erase(job.pools);
  }
  // Have as many jobs that ask for these pools been looked at as are to be?
  bool is_at_depth(PoolSet pools) const {
    const auto found = walk.considered.find(pools);
    return found != walk.considered.end() && found->second >= config.queue_depth;
  }
  // The same of all jobs in the list.
  bool is_at_depth() const {
    return std::all_of(waiting.begin(), waiting.end(),
                       [this](const auto& jobs) { return is_at_depth(jobs.first); });
  }
};

struct Queues {
  // The jobspec that a queue's `requires` made of another one.
  struct Narrowed {
    std::shared_ptr<const resource::Jobspec> from;
    std::string queue;
    std::shared_ptr<const resource::Jobspec> made;
  };

  std::vector<Queue> all;
  Shared<std::set<JobId>> aside;  // blocked: no resource that is up can serve them
  std::vector<JobId> immediate;   // to be started by the next whole pass, or rejected
  Narrowed narrowed;              // made last
  std::map<std::vector<std::string>, PoolSet> pool_sets;  // by the names, in their order

  PoolSet pools_of(const JobRequest& job) {
    std::vector<std::string> names;
    for (const Consumes& use : job.consumes)
      if (use.amount > 0) names.push_back(use.pool);
    if (names.empty()) return 0;
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return pool_sets.emplace(std::move(names), pool_sets.size() + 1).first->second;
  }
  Queue& of(const Job& job) { return all[job.queue]; }
  const Queue& of(const Job& job) const { return all[job.queue]; }
  // Ticks the plan gives the job; kTimeMax: until the horizon.
  Duration length_of(const Job& job) const {
    const QueueConfig& queue = of(job).config;
    const Duration limit = job.request.limit > 0 ? job.request.limit : queue.default_duration;
    return limit > 0 ? saturating_add(limit, queue.duration_offset) : kTimeMax;
  }
};

}  // namespace holon::qmanager
