#include "instance/request/request_text.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "resource/refusal.hpp"

namespace holon::instance {
namespace {

using resource::amount_text;

// Amounts by type, in the order of the request, each type once.
using Amounts = std::vector<std::pair<std::string, std::int64_t>>;

// Products and sums are bounded by a number that nobody reads any more.
std::int64_t bounded(std::int64_t a, std::int64_t b, bool product) {
  std::int64_t result = 0;
  const bool over =
      product ? __builtin_mul_overflow(a, b, &result) : __builtin_add_overflow(a, b, &result);
  return over ? INT64_MAX : result;
}

// What is on whole nodes is not counted: all of it is the job's.
void count_up(const resource::Request& request, std::int64_t factor, bool count_slots,
              Amounts& amounts) {
  const bool counts = request.type != "slot" || count_slots;
  const std::int64_t n = counts ? bounded(factor, request.count.least(), true) : 1;
  if (request.type != "slot") {
    const bool whole = request.type == "node" && request.exclusive == true;
    const std::string type = whole ? "whole node" : request.type;
    const auto known = std::find_if(amounts.begin(), amounts.end(),
                                    [&](const auto& one) { return one.first == type; });
    if (known == amounts.end())
      amounts.emplace_back(type, n);
    else
      known->second = bounded(known->second, n, false);
    if (whole) return;
  }
  for (const resource::Request& child : request.with) count_up(child, n, count_slots, amounts);
}

// Tasks that do not divide evenly over nodes need no more slots than tasks.
void take_spare_from(Amounts& amounts, const resource::Jobspec& spec) {
  const std::int64_t spare = resource::spare_slots(spec);
  if (spare == 0 || spec.resources.front().exclusive == true) return;
  Amounts slot;
  for (const resource::Request& part : spec.resources.front().with.front().with)
    count_up(part, spare, true, slot);
  for (const auto& [type, n] : slot)
    for (auto& [known, all] : amounts)
      if (known == type) all -= n;
}

std::string joined(const Amounts& amounts) {
  std::string text;
  for (const auto& [type, n] : amounts)
    if (n > 0) text += (text.empty() ? "" : ", ") + amount_text(n, type);
  return text;
}

std::string range_text(const resource::Count& slots) {
  if (!slots.values.empty()) return fmt::format("{}", fmt::join(slots.values, " or "));
  if (slots.max == resource::Count::kUnbounded) return fmt::format("{} or more", slots.min);
  return fmt::format("{}-{}", slots.min, slots.max);
}

std::string consumables_text(const SchedulingOptions& wishes) {
  std::string text;
  for (const auto& use : wishes.consumes)
    text += fmt::format(", {} {}{}", use.amount, use.pool, use.per_slot ? " a slot" : "");
  return text;
}

std::string nodes_text(const resource::Jobspec& spec) {
  const std::string text = resource::constraint_text(spec.constraints);
  return text.empty() ? text : " on nodes " + text;
}

}  // namespace

std::string request_text(const resource::Jobspec& spec, const SchedulingOptions& wishes) {
  Amounts amounts;
  for (const resource::Request& request : spec.resources)
    count_up(request, 1, !wishes.slots.has_value(), amounts);
  take_spare_from(amounts, spec);
  const std::string what = joined(amounts);
  return (wishes.slots ? fmt::format("{} slots of {}", range_text(*wishes.slots), what) : what) +
         consumables_text(wishes) + nodes_text(spec);
}

}  // namespace holon::instance
