#include "qmanager/engine/pass/replan.hpp"

#include "qmanager/engine/pass/ranking.hpp"

namespace holon::qmanager {

bool drop_reservations(Parts<Jobs, Plan, Queues> s, Time now, Kept kept) {
  std::vector<JobId> drop;
  for (const auto& [when, id] : *s.plan().reservations)
    if (kept == Kept::go || !s.queues().of(*s.jobs().find(id)).policy.keep) drop.push_back(id);
  for (JobId id : drop) unreserve(s, *s.jobs().find(id), now);
  return !drop.empty();
}

void begin_walks(Parts<Jobs, Plan, Progress, Queues, Accounts> s, Time now) {
  s.progress().dirty = false;
  s.plan().entitled.clear();
  s.accounts().limiter.edit().begin_idle();
  if (drop_reservations(s, now, Kept::stay)) ++s.plan().epoch;
  for (Queue& queue : s.queues().all) {
    queue.walk = {};
    queue.walk.compress = s.progress().released && queue.policy.keep;
    queue.pending.compact();
  }
  s.progress().released = false;
}

void replan(Parts<const SchedulerConfig, Jobs, Plan, Progress, Queues, Accounts> s, Time now) {
  drop_reservations(s, now, Kept::go);
  freed(s);
  s.progress().sliced = false;
  rank_by_policies(s, now);  // the order may have made no difference while the reservations stood
  begin_walks(s, now);
}

}  // namespace holon::qmanager
