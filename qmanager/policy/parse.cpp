#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/core.h>

#include "qmanager/policy/hooks.hpp"
#include "qmanager/policy/policy.hpp"

namespace holon::qmanager {

namespace {

constexpr const char* kAccepted =
    "fcfs, easy, hybrid[:N], conservative[:N], conservative-rebuild[:N] with N from 1 to 100000";

}  // namespace

bool is_policy_file(std::string_view policy) {
  return policy.ends_with(".lua");
}

Result<Policy> parse_policy(std::string_view text) {
  const auto refuse = [&] {
    return fail(Errc::invalid_argument,
                fmt::format("\"{}\" is no policy; accepted: {}", text, kAccepted), "policy");
  };
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  std::int64_t depth = name == "hybrid" ? kHybridReservationDepth : kMaxReservationDepth;
  if (colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), depth);
    if (error != std::errc{} || end != digits.data() + digits.size() || depth < 1 ||
        depth > kMaxReservationDepth)
      return refuse();
    if (name == "fcfs" || name == "easy") return refuse();
  }
  if (name == "fcfs") return fcfs();
  if (name == "easy") return easy();
  if (name == "hybrid") return hybrid(depth);
  if (name == "conservative") return conservative(depth);
  if (name == "conservative-rebuild") return conservative_rebuild(depth);
  return refuse();
}

namespace {

template <class Value, std::size_t N>
std::optional<Value> named(const std::pair<std::string_view, Value> (&words)[N],
                           std::string_view text) {
  for (const auto& [word, value] : words)
    if (word == text) return value;
  return std::nullopt;
}

}  // namespace

std::optional<BackfillOrder> parse_backfill(std::string_view text) {
  constexpr std::pair<std::string_view, BackfillOrder> kWords[] = {
      {"queueorder", BackfillOrder::queue_order},
      {"firstfit", BackfillOrder::first_fit},
      {"bestfit", BackfillOrder::best_fit},
      {"greedy", BackfillOrder::greedy},
      {"none", BackfillOrder::none}};
  return named(kWords, text);
}

std::optional<BackfillMetric> parse_metric(std::string_view text) {
  constexpr std::pair<std::string_view, BackfillMetric> kWords[] = {
      {"procs", BackfillMetric::procs},
      {"seconds", BackfillMetric::seconds},
      {"procseconds", BackfillMetric::proc_seconds},
      {"pe", BackfillMetric::equivalents},
      {"peseconds", BackfillMetric::equivalent_seconds}};
  return named(kWords, text);
}

std::optional<ReservationPolicy> parse_reservation_policy(std::string_view text) {
  constexpr std::pair<std::string_view, ReservationPolicy> kWords[] = {
      {"currenthighest", ReservationPolicy::current_highest},
      {"highest", ReservationPolicy::highest},
      {"never", ReservationPolicy::never}};
  return named(kWords, text);
}

std::optional<ReservationThreshold::Type> parse_threshold(std::string_view text) {
  using Type = ReservationThreshold::Type;
  constexpr std::pair<std::string_view, Type> kWords[] = {{"none", Type::none},
                                                          {"bypass", Type::bypass},
                                                          {"queuetime", Type::queue_time},
                                                          {"xfactor", Type::xfactor}};
  return named(kWords, text);
}

std::optional<PreemptMode> parse_preempt_mode(std::string_view text) {
  for (const PreemptMode mode : {PreemptMode::off, PreemptMode::cancel, PreemptMode::requeue})
    if (name_of(mode) == text) return mode;
  return std::nullopt;
}

const char* name_of(PreemptMode mode) {
  return mode == PreemptMode::off ? "off" : mode == PreemptMode::cancel ? "cancel" : "requeue";
}

}  // namespace holon::qmanager
