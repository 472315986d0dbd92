#include "qmanager/engine/walk/entitle.hpp"

#include <algorithm>
#include <cmath>

#include "qmanager/engine/pass/ranking.hpp"

namespace holon::qmanager {

namespace {

using ThresholdType = ReservationThreshold::Type;

// The bucket a job counts in: the first that is there and lists its QOS. Without buckets: 0.
std::optional<int> bucket_of(const Queue& queue, const Job& job) {
  if (queue.config.buckets.empty()) return 0;
  for (const auto& [number, bucket] : queue.config.buckets)
    if (bucket.depth > 0 && bucket.lists(job.request.qos)) return number;
  return std::nullopt;
}

std::int64_t reservations_in_all(const Queues& queues) {
  std::int64_t all = 0;
  for (const Queue& queue : queues.all)
    for (const auto& [bucket, held] : queue.walk.reservations) all += held;
  return all;
}

// Has the job waited long enough, or been passed often enough, to be given a reservation? If time
// alone can bring that, the walk notes when. REQUIRES: the queue has a threshold.
bool past_threshold(Queue& queue, const Job& job, Duration length, std::int64_t ticks_per_second,
                    Time now) {
  const auto& [type, value] = queue.config.threshold;
  if (type == ThresholdType::bypass) return static_cast<double>(job.bypassed) > value;
  if (type == ThresholdType::xfactor && length == kTimeMax) return 1 > value;
  const double most = type == ThresholdType::queue_time
                          ? value * static_cast<double>(ticks_per_second)
                          : (value - 1) * static_cast<double>(length);
  const Duration waited = job.waited(now);
  if (static_cast<double>(waited) > most) return true;
  constexpr double kTooLong = 1e18;
  if (job.uncounted_since || most > kTooLong) return false;
  const Time ripe = saturating_add(now, static_cast<Duration>(std::floor(most)) + 1 - waited);
  if (!queue.walk.ripe_at || ripe < *queue.walk.ripe_at) queue.walk.ripe_at = ripe;
  return false;
}

}  // namespace

bool entitled(const PolicyParts& s, Queue& queue, Job& job, Time now) {
  const QosConfig& qos = qos_of(s.config(), job);
  if (!job.request.reserve || qos.no_reservation) return false;
  if (qos.reserve_always) return true;
  const auto bucket = bucket_of(queue, job);
  if (!bucket) return false;
  const auto& most = s.config().max_reservation;
  if (most && reservations_in_all(s.queues()) >= *most) return false;
  if (const auto answer = policy_reserves(s, queue, job, now)) return *answer;
  if (queue.config.threshold.type != ThresholdType::none &&
      !past_threshold(queue, job, s.queues().length_of(job), s.config().priority.ticks_per_second,
                      now))
    return false;
  const auto held = queue.walk.reservations.find(*bucket);
  const auto& buckets = queue.config.buckets;
  const std::int64_t depth =
      buckets.empty() ? queue.policy.reservations : buckets.at(*bucket).depth;
  // Where a policy changes the order, jobs that the walk has not come to may hold reservations.
  if (queue.hooks && queue.policy.keep && buckets.empty()) return queue.reserved < depth;
  return (held == queue.walk.reservations.end() ? 0 : held->second) < depth;
}

void count_reservation(const SchedulerConfig& config, Queue& queue, const Job& job) {
  if (qos_of(config, job).reserve_always) return;
  if (const auto bucket = bucket_of(queue, job)) ++queue.walk.reservations[*bucket];
}

bool plans_more_beside_kept(Parts<const SchedulerConfig, const Queues> s, const Queue& queue) {
  const auto keeps = [&](const Queue& q) { return &q != &queue && q.started && q.policy.keep; };
  if (std::none_of(s.queues().all.begin(), s.queues().all.end(), keeps)) return false;
  if (queue.hooks && queue.hooks->has(Hook::may_reserve)) return true;
  if (std::any_of(s.config().qos.begin(), s.config().qos.end(),
                  [](const auto& qos) { return qos.second.reserve_always; }))
    return true;
  if (s.config().max_reservation && reservations_in_all(s.queues()) >= *s.config().max_reservation)
    return false;
  const auto held = [&](int bucket) {
    const auto found = queue.walk.reservations.find(bucket);
    return found == queue.walk.reservations.end() ? 0 : found->second;
  };
  const auto& buckets = queue.config.buckets;
  if (buckets.empty()) return held(0) < queue.policy.reservations;
  return std::any_of(buckets.begin(), buckets.end(),
                     [&](const auto& bucket) { return held(bucket.first) < bucket.second.depth; });
}

bool count_bypassed(Jobs& jobs, Queue& queue, const Job& job) {
  const ReservationThreshold& threshold = queue.config.threshold;
  bool entitles = false;
  const std::size_t end = queue.pending.lower_bound(job.key);
  for (std::size_t slot = queue.pending.front(); slot < end; ++slot) {
    if (queue.pending.at(slot) == nullptr) continue;
    Job& passed = jobs.own(*queue.pending.at(slot));
    const auto before = static_cast<double>(passed.bypassed++);
    entitles = entitles || (threshold.type == ThresholdType::bypass && before <= threshold.value &&
                            before + 1 > threshold.value);
  }
  return entitles;
}

}  // namespace holon::qmanager
