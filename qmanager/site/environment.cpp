#include "qmanager/site/environment.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>

#include <fmt/core.h>

namespace holon::qmanager {

namespace {

using Kind = AllocationRule::Kind;
using Slots = std::vector<std::int64_t>;

std::int64_t sum_of(const Slots& free) {
  return std::accumulate(free.begin(), free.end(), std::int64_t{0});
}

// Gives the first hosts all that they have.
Slots fill_up(std::int64_t count, const Slots& free) {
  Slots given(free.size());
  for (std::size_t host = 0; host < free.size(); ++host) {
    given[host] = std::min(free[host], count);
    count -= given[host];
  }
  return given;
}

// `rounds` are the slots that every host with room for them gets; the rest of the last, unfinished
// round goes to the first hosts that have one more.
Slots round_robin(std::int64_t count, const Slots& free) {
  const auto placed = [&](std::int64_t rounds) {
    std::int64_t slots = 0;
    for (const std::int64_t host : free) slots += std::min(host, rounds);
    return slots;
  };
  std::int64_t rounds = 0;
  for (std::int64_t high = count; rounds < high;) {
    const std::int64_t middle = rounds + (high - rounds + 1) / 2;
    if (placed(middle) <= count)
      rounds = middle;
    else
      high = middle - 1;
  }
  std::int64_t rest = count - placed(rounds);
  Slots given(free.size());
  for (std::size_t host = 0; host < free.size(); ++host) {
    const bool one_more = rest > 0 && free[host] > rounds;
    given[host] = std::min(free[host], rounds) + (one_more ? 1 : 0);
    rest -= one_more ? 1 : 0;
  }
  return given;
}

Slots one_host(std::int64_t count, const Slots& free) {
  Slots given(free.size());
  const auto host =
      std::find_if(free.begin(), free.end(), [&](std::int64_t slots) { return slots >= count; });
  given[static_cast<std::size_t>(host - free.begin())] = count;
  return given;
}

Slots per_host(std::int64_t each, std::int64_t count, const Slots& free) {
  Slots given(free.size());
  for (std::size_t host = 0; host < free.size() && count > 0; ++host)
    if (free[host] >= each) given[host] = each, count -= each;
  return given;
}

}  // namespace

Result<AllocationRule> parse_allocation_rule(std::string_view text) {
  if (text == "$pe_slots") return AllocationRule{Kind::one_host, 0};
  if (text == "$fill_up") return AllocationRule{Kind::fill_up, 0};
  if (text == "$round_robin") return AllocationRule{Kind::round_robin, 0};
  std::int64_t slots = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), slots);
  if (error == std::errc{} && end == text.data() + text.size() && slots > 0)
    return AllocationRule{Kind::per_host, slots};
  return fail(Errc::invalid_argument,
              fmt::format("\"{}\" is no allocation rule; accepted: a number of slots a host, "
                          "$pe_slots, $fill_up, $round_robin",
                          text),
              "rule");
}

std::int64_t most_that_spread(const AllocationRule& rule, std::int64_t most,
                              const std::vector<std::int64_t>& free) {
  if (free.empty()) return 0;
  if (rule.kind == Kind::one_host)
    return std::min(most, *std::max_element(free.begin(), free.end()));
  if (rule.kind != Kind::per_host) return std::min(most, sum_of(free));
  const auto hosts = std::count_if(free.begin(), free.end(),
                                   [&](std::int64_t slots) { return slots >= rule.slots; });
  return std::min(most / rule.slots, hosts) * rule.slots;
}

std::optional<std::vector<std::int64_t>> spread(const AllocationRule& rule, std::int64_t count,
                                                const std::vector<std::int64_t>& free) {
  if (count < 1 || most_that_spread(rule, count, free) != count) return std::nullopt;
  switch (rule.kind) {
    case Kind::per_host:
      return per_host(rule.slots, count, free);
    case Kind::one_host:
      return one_host(count, free);
    case Kind::round_robin:
      return round_robin(count, free);
    case Kind::fill_up:
    case Kind::any:
      break;
  }
  return fill_up(count, free);
}

}  // namespace holon::qmanager
