#include "qmanager/make_queue.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace holon::qmanager {

namespace {

Status check_range(std::int64_t value, std::int64_t most, const std::string& where) {
  if (value >= 1 && value <= most) return {};
  return fail(Errc::invalid_argument, fmt::format("{} is not from 1 to {}", value, most), where);
}

// Sets the policy that the name stands for, and the hooks of a user-written one.
Status choose_policy(Queue& queue, const QueueConfig& config, const SchedulerConfig& all) {
  if (!is_policy_file(config.policy)) {
    Result<Policy> policy = parse_policy(config.policy);
    if (!policy) return tl::unexpected(policy.error());
    queue.policy = std::move(*policy);
    return {};
  }
  const auto program = all.programs.find(config.policy);
  if (program == all.programs.end())
    return fail(Errc::not_found, fmt::format("there is no policy \"{}\" here", config.policy));
  Result<Policy> base = parse_policy(program->second->base());
  if (!base) return tl::unexpected(base.error());
  queue.policy = std::move(*base);
  queue.hooks = program->second->hooks();
  queue.program = program->second;
  return {};
}

// Lets the engine not decide before hooks are asked, and keep reservations in whatever order hooks
// put the queue.
void make_room_for_hooks(Queue& queue, bool keep_promises) {
  queue.base = queue.policy;
  const auto has = [&](Hook hook) { return queue.hooks->has(hook); };
  const bool reserves = has(Hook::may_reserve) || queue.base.reservations > 0;
  const bool reorders = has(Hook::priority) || has(Hook::may_backfill) || has(Hook::may_reserve);
  queue.policy.backfill = queue.base.backfill || has(Hook::may_backfill);
  queue.policy.keep = queue.base.keep || (keep_promises && reserves && reorders);
}

}  // namespace

Result<Queue> make_queue(const std::string& name, const QueueConfig& config,
                         const SchedulerConfig& all) {
  const bool weighted = all.priority.active();
  const auto at = [&](const char* key) { return fmt::format("queues.{}.{}", name, key); };
  if (auto ok = check_range(config.queue_depth, kMaxQueueDepth, at("queue-depth")); !ok)
    return tl::unexpected(ok.error());
  if (auto ok = check_range(config.max_queue_depth, kMaxQueueDepth, at("max-queue-depth")); !ok)
    return tl::unexpected(ok.error());
  if (auto ok =
          check_range(config.reservation_depth, kMaxReservationDepth, at("reservation-depth"));
      !ok)
    return tl::unexpected(ok.error());
  if (auto ok = check_range(config.max_reservation_depth, kMaxReservationDepth,
                            at("max-reservation-depth"));
      !ok)
    return tl::unexpected(ok.error());
  if (config.default_duration < 0 || config.duration_offset < 0)
    return fail(Errc::invalid_argument, "a duration is not negative", at("default-duration"));
  Queue queue;
  if (Status chosen = choose_policy(queue, config, all); !chosen)
    return fail(chosen.error().code, chosen.error().what, at("policy"));
  Policy* const policy = &queue.policy;
  if (config.policy == "hybrid") policy->reservations = config.reservation_depth;
  policy->reservations = std::min(policy->reservations, config.max_reservation_depth);
  if (!config.buckets.empty()) policy->backfill = true;
  if (config.reservation_policy)
    policy->keep = *config.reservation_policy == ReservationPolicy::highest;
  const bool none = config.backfill == BackfillOrder::none;
  if (none) *policy = fcfs();
  if (config.max_reservation) {
    policy->reservations = *config.max_reservation;
    policy->backfill = true;
  }
  queue.name = name;
  queue.config = config;
  queue.backfill =
      config.backfill.value_or(weighted ? BackfillOrder::first_fit : BackfillOrder::queue_order);
  queue.config.queue_depth = std::min(config.queue_depth, config.max_queue_depth);
  // BACKFILLPOLICY NONE means no priority reservations either.
  if (none || config.reservation_policy == ReservationPolicy::never) {
    queue.config.buckets.clear();
    policy->reservations = config.max_reservation.value_or(0);
  }
  if (queue.hooks) make_room_for_hooks(queue, all.keep_promises);
  return queue;
}

}  // namespace holon::qmanager
