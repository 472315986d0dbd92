// policy.hpp - a policy is settings of the one backfill engine: who gets a reservation, who may
// start before others.
//
// Each family has a file of its own that opens with its source and its guarantee: fcfs.cpp,
// backfill.cpp (EASY, hybrid, conservative).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"

namespace holon::qmanager {

inline constexpr std::int64_t kMaxQueueDepth = 1'000'000;
inline constexpr std::int64_t kMaxReservationDepth = 100'000;
inline constexpr std::int64_t kHybridReservationDepth = 64;

// The order in which jobs are tried that may start before others that wait.
enum class BackfillOrder : std::uint8_t {
  queue_order,  // EASY: each in its turn
  first_fit,    // Maui: by backfill windows, widest first; in queue order within each
  best_fit,
  greedy,
  none,
};
enum class BackfillMetric : std::uint8_t {
  procs,
  seconds,
  proc_seconds,
  equivalents,  // processor equivalents (Demand)
  equivalent_seconds,
};

// The fate of priority reservations when a pass makes new ones (Maui's RESERVATIONPOLICY).
enum class ReservationPolicy : std::uint8_t {
  current_highest,  // made anew for those who are in front now
  highest,  // once given it is kept until the job runs, and only moves earlier, however many
            // they become
  never,    // none is made
};

// The threshold from which on a blocked job gets a reservation (Maui's RESERVATIONTHRESHOLDTYPE and
// RESERVATIONTHRESHOLDVALUE).
struct ReservationThreshold {
  enum class Type : std::uint8_t {
    none,
    bypass,      // others have started before it more than `value` times
    queue_time,  // it has waited more than `value` seconds
    xfactor,     // (waited + limit) / limit is more than `value`
  };
  Type type = Type::none;
  double value = 0;

  bool operator==(const ReservationThreshold&) const = default;
};

// The fate of a preemptible job whose place a job of the queue takes.
enum class PreemptMode : std::uint8_t {
  off,  // nobody's place is taken
  cancel,
  requeue,  // it waits for another run
};

struct PreemptRule {
  PreemptMode mode = PreemptMode::off;
  Duration grace = 0;  // ticks left to a job that checkpoints before it is ended

  bool operator==(const PreemptRule&) const = default;
};

struct Policy {
  std::string name;
  std::int64_t reservations = 0;  // jobs that may hold a reservation at a time
  bool backfill = false;          // may a job start before one that is in front of it and cannot?
  bool keep =
      false;  // reservations outlive the pass and only move earlier; else each pass plans anew
};

Policy fcfs();
Policy easy();
Policy hybrid(std::int64_t depth);
Policy conservative(std::int64_t max_depth = kMaxReservationDepth);
Policy conservative_rebuild(std::int64_t max_depth = kMaxReservationDepth);

// "queueorder", "firstfit", "bestfit", "greedy", "none"; "procs", "seconds", "procseconds", "pe",
// "peseconds"; "currenthighest", "highest", "never"; "none", "bypass", "queuetime", "xfactor", as
// Maui has them. nullopt: another word.
std::optional<BackfillOrder> parse_backfill(std::string_view text);
std::optional<BackfillMetric> parse_metric(std::string_view text);
std::optional<ReservationPolicy> parse_reservation_policy(std::string_view text);
std::optional<ReservationThreshold::Type> parse_threshold(std::string_view text);
// "off", "cancel", "requeue", and back.
std::optional<PreemptMode> parse_preempt_mode(std::string_view text);
const char* name_of(PreemptMode mode);

// "fcfs", "easy", "hybrid", "hybrid:8", "conservative", "conservative-rebuild".
// Errors: invalid_argument with what is accepted.
Result<Policy> parse_policy(std::string_view text);

}  // namespace holon::qmanager
