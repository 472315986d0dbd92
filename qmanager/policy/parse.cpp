#include <algorithm>
#include <charconv>

#include <fmt/core.h>

#include "qmanager/policy/policy.hpp"

namespace holon::qmanager {

namespace {

constexpr const char* kAccepted =
    "fcfs, easy, hybrid[:N], conservative[:N], conservative-rebuild[:N] with N from 1 to 100000";

}  // namespace

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

std::optional<BackfillOrder> parse_backfill(std::string_view text) {
  if (text == "firstfit") return BackfillOrder::first_fit;
  if (text == "bestfit") return BackfillOrder::best_fit;
  if (text == "greedy") return BackfillOrder::greedy;
  return text == "none" ? std::optional(BackfillOrder::none) : std::nullopt;
}

std::optional<BackfillMetric> parse_metric(std::string_view text) {
  if (text == "procs") return BackfillMetric::procs;
  if (text == "seconds") return BackfillMetric::seconds;
  return text == "procseconds" ? std::optional(BackfillMetric::proc_seconds) : std::nullopt;
}

}  // namespace holon::qmanager
