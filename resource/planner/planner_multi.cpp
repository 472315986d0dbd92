// planner_multi.cpp - one Timeline a pool, one table of spans for all.
#include "resource/planner/planner_multi.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace holon::resource {

namespace {

auto unknown_span(SpanId id) {
  return fail(Errc::not_found, fmt::format("no span {}", id.value()));
}

auto bad_interval(Interval when) {
  return fail(Errc::invalid_argument, fmt::format("[{}, {}) is empty", when.begin, when.end));
}

}  // namespace

Result<PlannerMulti> PlannerMulti::create(std::vector<Pool> pools, Interval horizon) {
  PlannerMulti planner;
  if (const Status status = planner.reset(horizon); !status) return tl::unexpected(status.error());
  for (Pool& pool : pools) {
    if (pool.total < 0 || planner.pool_of(pool.type))
      return fail(
          Errc::invalid_argument,
          fmt::format("pool {}: total {}, must be >= 0 and given once", pool.type, pool.total));
    planner.pools_.push_back({std::move(pool.type), pool.total, {}});
  }
  return planner;
}

bool PlannerMulti::operator==(const PlannerMulti& other) const {
  const auto same = [](const Plan& a, const Plan& b) {
    return a.type == b.type && a.total == b.total && a.used == b.used;
  };
  if (horizon_ != other.horizon_ || !(spans_ == other.spans_)) return false;
  if (!std::ranges::equal(pools_, other.pools_, same)) return false;
  for (auto id = first_span(); id; id = next_span(*id)) {
    if (!std::ranges::equal(held_by(*id), other.held_by(*id))) return false;
  }
  return true;
}

Status PlannerMulti::reset(Interval horizon) {
  if (horizon.empty()) return bad_interval(horizon);
  horizon_ = horizon;
  spans_.clear();
  for (Plan& pool : pools_) pool.used = Timeline{};
  return {};
}

Status PlannerMulti::set_horizon(Interval horizon) {
  if (horizon.empty()) return bad_interval(horizon);
  horizon_ = horizon;
  return {};
}

Status PlannerMulti::update_total(std::size_t pool, Amount total) {
  if (pool >= pools_.size()) return fail(Errc::not_found, fmt::format("no pool {}", pool));
  if (total < 0) return fail(Errc::invalid_argument, fmt::format("total {} is negative", total));
  pools_[pool].total = total;
  return {};
}

std::optional<std::size_t> PlannerMulti::pool_of(std::string_view type) const {
  const auto pool = std::ranges::find(pools_, type, &Plan::type);
  if (pool == pools_.end()) return std::nullopt;
  return static_cast<std::size_t>(pool - pools_.begin());
}

Amount PlannerMulti::free_at(std::size_t pool, Time t) const {
  if (!horizon_.contains(t)) return 0;
  return std::max<Amount>(0, pools_[pool].total - pools_[pool].used.used_at(t));
}

Amount PlannerMulti::free_during(std::size_t pool, Interval when) const {
  if (!when.within(horizon_)) return 0;
  return std::max<Amount>(0, pools_[pool].total - pools_[pool].used.max_used(when));
}

bool PlannerMulti::fits(Amounts want, Interval when) const {
  if (!check_amounts(want) || !when.within(horizon_)) return false;
  for (std::size_t pool = 0; pool < want.size(); ++pool) {
    if (want[pool] > 0 && want[pool] > free_during(pool, when)) return false;
  }
  return true;
}

Status PlannerMulti::check_amounts(Amounts amounts) const {
  if (amounts.size() != pools_.size())
    return fail(Errc::invalid_argument,
                fmt::format("{} amounts for {} pools", amounts.size(), pools_.size()));
  for (std::size_t pool = 0; pool < amounts.size(); ++pool) {
    if (amounts[pool] < 0)
      return fail(Errc::invalid_argument, fmt::format("{} of {}", amounts[pool], type(pool)));
  }
  return {};
}

Result<std::optional<Time>> PlannerMulti::earliest_fit(Amounts want, Duration duration,
                                                       Time not_before) const {
  if (const Status status = check_amounts(want); !status) return tl::unexpected(status.error());
  if (duration < 1) return fail(Errc::invalid_argument, fmt::format("duration {}", duration));
  std::vector<CappedTimeline> wanted;
  for (std::size_t pool = 0; pool < want.size(); ++pool) {
    if (want[pool] > total(pool))
      return fail(Errc::unsatisfiable,
                  fmt::format("{} {} wanted, {} in all", want[pool], type(pool), total(pool)));
    if (want[pool] > 0) wanted.push_back({&pools_[pool].used, total(pool) - want[pool]});
  }
  return earliest_joint_window(wanted,
                               {std::max(not_before, horizon_.begin), horizon_.end, duration});
}

Result<SpanId> PlannerMulti::add(Amounts amounts, Interval when) {
  if (const Status status = check_amounts(amounts); !status) return tl::unexpected(status.error());
  if (when.empty()) return bad_interval(when);
  if (!when.within(horizon_))
    return fail(Errc::out_of_range,
                fmt::format("[{}, {}) is not within the horizon [{}, {})", when.begin, when.end,
                            horizon_.begin, horizon_.end));
  for (std::size_t pool = 0; pool < amounts.size(); ++pool) {
    const Amount free = amounts[pool] > 0 ? free_during(pool, when) : 0;
    if (amounts[pool] > free)
      return fail(Errc::overcommitted,
                  fmt::format("{} {} wanted, {} free", amounts[pool], type(pool), free));
  }
  const SpanId id = spans_.insert(Span{0, when});
  const std::size_t at = SpanTable::slot_of(id) * pools_.size();
  amounts_.resize(std::max(amounts_.size(), at + pools_.size()));
  std::ranges::copy(amounts, amounts_.begin() + static_cast<std::ptrdiff_t>(at));
  for (std::size_t pool = 0; pool < amounts.size(); ++pool) {
    if (amounts[pool] > 0) pools_[pool].used.add(when, amounts[pool]);
  }
  return id;
}

Amounts PlannerMulti::held_by(SpanId id) const {
  return Amounts(amounts_).subspan(SpanTable::slot_of(id) * pools_.size(), pools_.size());
}

Status PlannerMulti::remove(SpanId id) {
  const Span* span = spans_.find(id);
  if (!span) return unknown_span(id);
  const Amounts held = held_by(id);
  for (std::size_t pool = 0; pool < held.size(); ++pool) {
    if (held[pool] > 0) pools_[pool].used.remove(span->when, held[pool]);
  }
  spans_.erase(id);
  return {};
}

Result<bool> PlannerMulti::reduce(SpanId id, Amounts amounts) {
  const Span* span = spans_.find(id);
  if (!span) return unknown_span(id);
  if (const Status status = check_amounts(amounts); !status) return tl::unexpected(status.error());
  const Amounts held = held_by(id);
  bool nothing_left = true;
  for (std::size_t pool = 0; pool < held.size(); ++pool) {
    if (amounts[pool] > held[pool])
      return fail(Errc::invalid_argument,
                  fmt::format("{} {} to give back of {}", amounts[pool], type(pool), held[pool]));
    nothing_left = nothing_left && amounts[pool] == held[pool];
  }
  if (nothing_left) return remove(id).map([] { return true; });
  const std::size_t at = SpanTable::slot_of(id) * pools_.size();
  for (std::size_t pool = 0; pool < held.size(); ++pool) {
    if (amounts[pool] == 0) continue;
    Amount& left = amounts_[at + pool];
    if (amounts[pool] == left)
      pools_[pool].used.remove(span->when, left);
    else
      pools_[pool].used.change(span->when, -amounts[pool]);
    left -= amounts[pool];
  }
  return false;
}

Status PlannerMulti::set_end(SpanId id, Time end) {
  Span* span = spans_.find(id);
  if (!span) return unknown_span(id);
  const Interval moved{span->when.begin, end};
  if (moved.empty()) return bad_interval(moved);
  const Interval more{span->when.end, end};
  if (!more.empty() && end > horizon_.end)
    return fail(Errc::out_of_range,
                fmt::format("{} is after the horizon's end {}", end, horizon_.end));
  const Amounts held = held_by(id);
  for (std::size_t pool = 0; pool < held.size() && !more.empty(); ++pool) {
    const Amount free = std::max<Amount>(0, total(pool) - pools_[pool].used.max_used(more));
    if (held[pool] > free)
      return fail(Errc::overcommitted,
                  fmt::format("{} {} held, {} free until {}", held[pool], type(pool), free, end));
  }
  for (std::size_t pool = 0; pool < held.size(); ++pool) {
    if (held[pool] > 0) pools_[pool].used.move_end(span->when, held[pool], end);
  }
  span->when = moved;
  return {};
}

std::optional<PlannerMulti::Holding> PlannerMulti::find(SpanId id) const {
  const Span* span = spans_.find(id);
  if (!span) return std::nullopt;
  const Amounts held = held_by(id);
  return Holding{{held.begin(), held.end()}, span->when};
}

std::size_t PlannerMulti::memory() const {
  std::size_t bytes =
      pools_.capacity() * sizeof(Plan) + spans_.memory() + amounts_.capacity() * sizeof(Amount);
  for (const Plan& pool : pools_) bytes += pool.used.memory();
  return bytes;
}

void PlannerMulti::check_invariants() const {
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    pools_[pool].used.check_invariants();
    Timeline replayed;
    for (auto id = first_span(); id; id = next_span(*id)) {
      const Amount held = held_by(*id)[pool];
      HOLON_CHECK(held >= 0);
      if (held > 0) replayed.add(spans_.find(*id)->when, held);
    }
    HOLON_CHECK(replayed == pools_[pool].used);
  }
}

}  // namespace holon::resource
