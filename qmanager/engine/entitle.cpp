// entitle.cpp - which of the jobs that cannot start get a reservation: depth, QOS flags, Maui's
// buckets and thresholds.
#include <cmath>

#include "qmanager/engine/pass.hpp"

namespace holon::qmanager {

namespace {

// The bucket a job counts in: the first that is there and lists its QOS. Without buckets: 0.
std::optional<int> bucket_of(const Queue& queue, const Job& job) {
  if (queue.config.buckets.empty()) return 0;
  for (const auto& [number, bucket] : queue.config.buckets)
    if (bucket.depth > 0 && bucket.lists(job.request.qos)) return number;
  return std::nullopt;
}

}  // namespace

// Does it get a reservation if it cannot start?
bool Pass::entitled(Queue& queue, Job& job) const {
  const QosConfig& qos = s_.qos_of(job);
  if (!job.request.reserve || qos.no_reservation) return false;
  if (qos.reserve_always) return true;
  const auto bucket = bucket_of(queue, job);
  if (!bucket) return false;
  if (s_.config.max_reservation && reservations_in_all() >= *s_.config.max_reservation)
    return false;
  if (const auto answer = policy_reserves(queue, job)) return *answer;
  if (!past_threshold(queue, job)) return false;
  const auto held = queue.walk.reservations.find(*bucket);
  const auto& buckets = queue.config.buckets;
  const std::int64_t depth =
      buckets.empty() ? queue.policy.reservations : buckets.at(*bucket).depth;
  // Where a policy changes the order, jobs that the walk has not come to may hold promises.
  if (queue.hooks && queue.policy.keep && buckets.empty()) return queue.booked < depth;
  return (held == queue.walk.reservations.end() ? 0 : held->second) < depth;
}

std::int64_t Pass::reservations_in_all() const {
  std::int64_t all = 0;
  for (const Queue& queue : s_.queues)
    for (const auto& [bucket, held] : queue.walk.reservations) all += held;
  return all;
}

void Pass::count_reservation(Queue& queue, const Job& job) {
  if (s_.qos_of(job).reserve_always) return;
  if (const auto bucket = bucket_of(queue, job)) ++queue.walk.reservations[*bucket];
}

// Has it waited long enough, or been passed often enough, to be given a reservation? One that time
// alone brings there is looked at again then.
bool Pass::past_threshold(Queue& queue, const Job& job) const {
  using Type = ReservationThreshold::Type;
  const auto& [type, value] = queue.config.threshold;
  if (type == Type::none) return true;
  if (type == Type::bypass) return static_cast<double>(job.bypassed) > value;
  const Duration length = s_.length_of(job);
  if (type == Type::xfactor && length == kTimeMax) return 1 > value;
  const double most = type == Type::queue_time
                          ? value * static_cast<double>(s_.config.priority.ticks_per_second)
                          : (value - 1) * static_cast<double>(length);
  const Duration waited = job.waited(now_);
  if (static_cast<double>(waited) > most) return true;
  constexpr double kTooLong = 1e18;
  if (job.uncounted_since || most > kTooLong) return false;
  const Time ripe = saturating_add(now_, static_cast<Duration>(std::floor(most)) + 1 - waited);
  if (!queue.walk.ripe_at || ripe < *queue.walk.ripe_at) queue.walk.ripe_at = ripe;
  return false;
}

// Everybody in front of a job that is backfilled. Who has been passed often enough now is to have a
// reservation: the walk begins anew.
void Pass::count_bypassed(Queue& queue, const Job& job) {
  const ReservationThreshold& threshold = queue.config.threshold;
  const std::size_t end = queue.pending.lower_bound(job.key);
  for (std::size_t slot = queue.pending.front(); slot < end; ++slot) {
    if (queue.pending.at(slot) == nullptr) continue;
    Job& passed = s_.own(*queue.pending.at(slot));
    const auto before = static_cast<double>(passed.bypassed++);
    if (threshold.type == ReservationThreshold::Type::bypass && before <= threshold.value &&
        before + 1 > threshold.value)
      s_.dirty = true;
  }
}

}  // namespace holon::qmanager
