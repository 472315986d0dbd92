// queues.hpp - the queues, how far the walk over each has come, and the jobs that are in none of
// their lists. Private to qmanager/.
#pragma once
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
  std::optional<OrderKey> last;  // the job considered last
  // Jobs that were looked at and stay pending, without those that a limit keeps back.
  std::int64_t considered = 0;
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
  std::vector<JobId> candidates;  // jobs of the rest that may start in a window, in queue order
  bool chunking = false;          // a large job waits: small ones leave it what is free
  bool in_order = true;  // no job has had to wait without a reservation yet: starts are no backfill
  // Some job that was looked at waits without a reservation that outlives the pass.
  bool passed_by = false;
  std::optional<Time> throttled_until;  // the first limit that gives way with time
  std::optional<Time> ripe_at;          // the first job that may then have a reservation
  bool over_soft = false;  // a job over its soft limit was skipped; the hard one may let it start
  bool closed = false;     // no job behind `last` can start before something changes
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
  std::size_t held = 0;  // jobs
  Walk walk;
  bool enabled = true;  // takes submissions
  bool started = true;  // schedules
  QueueCounts counts;
  QueueCounts in_advances;  // of jobs in advance reservations that are over
  Time chunk_until = 0;     // until then freed processors are kept for large jobs
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
