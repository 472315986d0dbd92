// planner.cpp - a Timeline of what is held, with a total, a horizon and numbered spans over it.
//
// The free amount is never stored: it is the total less what is in use. So a changed total costs
// nothing, and a span that no longer fits after it needs no bookkeeping.
#include "resource/planner/planner.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "resource/planner/span_table.hpp"
#include "resource/planner/timeline.hpp"

namespace holon::resource {

namespace {

std::string text(Interval when) {
  return fmt::format("[{}, {})", when.begin, when.end);
}

auto unknown(SpanId id) {
  return fail(Errc::not_found, fmt::format("no span {}", id.value()));
}

auto empty_interval(const char* what, Interval when) {
  return fail(Errc::invalid_argument, fmt::format("{} {} is empty", what, text(when)));
}

auto outside(Interval when, Interval horizon) {
  return fail(Errc::out_of_range,
              fmt::format("{} is not within the horizon {}", text(when), text(horizon)));
}

auto overcommitted(Amount want, Amount free, Interval when) {
  return fail(Errc::overcommitted,
              fmt::format("{} units wanted over {}, {} free", want, text(when), free));
}

}  // namespace

struct Planner::State {
  std::string type;
  Timeline timeline;
  SpanTable spans;
};

Planner::Planner() = default;
Planner::Planner(const Planner& other)
    : total_(other.total_),
      horizon_(other.horizon_),
      state_(other.state_ ? std::make_unique<State>(*other.state_) : nullptr) {}
Planner::Planner(Planner&& other) noexcept = default;
Planner& Planner::operator=(const Planner& other) {
  return *this = Planner(other);
}
Planner& Planner::operator=(Planner&& other) noexcept = default;
Planner::~Planner() = default;

Planner::State& Planner::state() {
  if (!state_) state_ = std::make_unique<State>();
  return *state_;
}

Result<Planner> Planner::create(Amount total, Interval horizon, std::string type) {
  Planner planner;
  if (const Status status = planner.update_total(total); !status)
    return tl::unexpected(status.error());
  if (const Status status = planner.reset(horizon); !status) return tl::unexpected(status.error());
  if (!type.empty()) planner.state().type = std::move(type);
  return planner;
}

bool Planner::operator==(const Planner& other) const {
  if (total_ != other.total_ || horizon_ != other.horizon_ || type() != other.type()) return false;
  if (span_count() != other.span_count()) return false;
  return span_count() == 0 || state_->spans == other.state_->spans;
}

Status Planner::reset(Interval horizon) {
  if (horizon.empty()) return empty_interval("horizon", horizon);
  horizon_ = horizon;
  if (state_) {
    state_->timeline = Timeline{};
    state_->spans.clear();
  }
  return {};
}

Status Planner::set_horizon(Interval horizon) {
  if (horizon.empty()) return empty_interval("horizon", horizon);
  horizon_ = horizon;
  return {};
}

Status Planner::update_total(Amount total) {
  if (total < 0) return fail(Errc::invalid_argument, fmt::format("total {} is negative", total));
  total_ = total;
  return {};
}

Duration Planner::duration() const {
  return distance(horizon_.begin, horizon_.end);
}

std::string_view Planner::type() const {
  return state_ ? std::string_view{state_->type} : "";
}

Amount Planner::free_at(Time t) const {
  if (!horizon_.contains(t)) return 0;
  return state_ ? std::max<Amount>(0, total_ - state_->timeline.used_at(t)) : total_;
}

Amount Planner::free_during(Interval when) const {
  if (!when.within(horizon_)) return 0;
  return state_ ? std::max<Amount>(0, total_ - state_->timeline.max_used(when)) : total_;
}

bool Planner::fits(Amount want, Interval when) const {
  return when.within(horizon_) && want >= 0 && want <= free_during(when);
}

Status Planner::check_request(Amount want, Duration duration) const {
  if (want < 0 || duration < 1)
    return fail(
        Errc::invalid_argument,
        fmt::format("{} units for {} ticks: units must be >= 0, ticks >= 1", want, duration));
  if (want > total_)
    return fail(Errc::unsatisfiable, fmt::format("{} units wanted, {} in all", want, total_));
  return {};
}

std::optional<Time> Planner::search(Amount want, Duration duration, Time from) const {
  // A request for nothing fits everywhere, even if more is held than there is.
  const Amount cap = want == 0 ? std::numeric_limits<Amount>::max() : total_ - want;
  const WindowQuery query{std::max(from, horizon_.begin), horizon_.end, duration, cap};
  return state_ ? state_->timeline.earliest_window(query) : Timeline().earliest_window(query);
}

Result<std::optional<Time>> Planner::earliest_fit(Amount want, Duration duration,
                                                  Time not_before) const {
  if (const Status status = check_request(want, duration); !status)
    return tl::unexpected(status.error());
  return search(want, duration, not_before);
}

Result<PointCursor> Planner::points_that_fit(Amount want, Duration duration,
                                             Time on_or_after) const {
  if (const Status status = check_request(want, duration); !status)
    return tl::unexpected(status.error());
  return PointCursor(want, duration, on_or_after);
}

std::optional<Time> PointCursor::next(const Planner& planner) {
  if (!from_) return std::nullopt;
  // Only points are starts: go to the first one; a search from a point ends at a point.
  std::optional<Time> start = planner.base_time();
  if (*from_ > planner.base_time())
    start = planner.state_ ? planner.state_->timeline.next_point(*from_) : std::nullopt;
  if (start && want_ <= planner.total())
    start = planner.search(want_, duration_, *start);
  else
    start.reset();
  from_ = start && *start < kTimeMax ? std::optional(*start + 1) : std::nullopt;
  return start;
}

Result<SpanId> Planner::add(Amount amount, Interval when) {
  if (amount < 0) return fail(Errc::invalid_argument, fmt::format("{} units", amount));
  if (when.empty()) return empty_interval("span", when);
  if (!when.within(horizon_)) return outside(when, horizon_);
  const Amount free = free_during(when);
  if (amount > free) return overcommitted(amount, free, when);
  const SpanId id = state().spans.insert(Span{amount, when});
  state_->timeline.add(when, amount);
  return id;
}

Status Planner::remove(SpanId id) {
  const Span* span = state_ ? state_->spans.find(id) : nullptr;
  if (!span) return unknown(id);
  state_->timeline.remove(span->when, span->amount);
  state_->spans.erase(id);
  return {};
}

Result<Amount> Planner::reduce(SpanId id, Amount amount) {
  Span* span = state_ ? state_->spans.find(id) : nullptr;
  if (!span) return unknown(id);
  if (amount < 0 || amount > span->amount)
    return fail(Errc::invalid_argument,
                fmt::format("{} units to give back of {}", amount, span->amount));
  if (amount == span->amount) return remove(id).map([] { return Amount{0}; });
  state_->timeline.change(span->when, -amount);
  return span->amount -= amount;
}

Status Planner::set_end(SpanId id, Time end) {
  Span* span = state_ ? state_->spans.find(id) : nullptr;
  if (!span) return unknown(id);
  const Interval moved{span->when.begin, end};
  if (moved.empty()) return empty_interval("span", moved);
  if (end > span->when.end) {
    const Interval more{span->when.end, end};
    if (end > horizon_.end) return outside(moved, horizon_);
    const Amount free = std::max<Amount>(0, total_ - state_->timeline.max_used(more));
    if (span->amount > free) return overcommitted(span->amount, free, more);
  }
  state_->timeline.move_end(span->when, span->amount, end);
  span->when = moved;
  return {};
}

std::size_t Planner::span_count() const {
  return state_ ? state_->spans.size() : 0;
}

std::optional<Span> Planner::find(SpanId id) const {
  const Span* span = state_ ? state_->spans.find(id) : nullptr;
  return span ? std::optional(*span) : std::nullopt;
}

std::optional<SpanId> Planner::first_span() const {
  return state_ ? state_->spans.first() : std::nullopt;
}

std::optional<SpanId> Planner::next_span(SpanId id) const {
  return state_ ? state_->spans.next(id) : std::nullopt;
}

std::size_t Planner::point_count() const {
  return state_ ? state_->timeline.point_count() : 0;
}

std::size_t Planner::memory() const {
  if (!state_) return 0;
  return sizeof(State) + state_->timeline.memory() + state_->spans.memory();
}

void Planner::check_invariants() const {
  HOLON_CHECK(total_ >= 0);
  if (!state_) return;
  state_->timeline.check_invariants();
  Timeline replayed;
  for (auto id = first_span(); id; id = next_span(*id)) {
    const Span span = *find(*id);
    HOLON_CHECK(span.amount >= 0 && !span.when.empty());
    replayed.add(span.when, span.amount);
  }
  HOLON_CHECK(replayed == state_->timeline);
}

}  // namespace holon::resource
