#include "qmanager/store_machine.hpp"

#include <algorithm>
#include <cstdlib>

#include "qmanager/scheduler.hpp"

namespace holon::qmanager {

using resource::Allocation;
using resource::MatchOp;
using resource::Never;
using resource::NotNow;

namespace {

constexpr std::int64_t kManyUnits = INT64_MAX / 4;

std::int64_t times(std::int64_t a, std::int64_t b) {
  return a > kManyUnits / std::max<std::int64_t>(b, 1) ? kManyUnits : a * b;
}

std::int64_t least_of(const resource::Request& request, std::string_view type) {
  if (request.type == "xor_slot")
    return 0;  // only one of its kind is taken: no bound to be had cheaply
  std::int64_t units = request.type == type ? 1 : 0;
  for (const resource::Request& child : request.with) units += least_of(child, type);
  return times(units, request.count.min);
}

// Jobs that ask for the same resources under the same constraints are of one shape, whatever they
// run.
std::size_t content_hash(const resource::Request& request) {
  std::size_t hash = std::hash<std::string>{}(request.type);
  const auto mix = [&](std::size_t value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL; };
  mix(static_cast<std::size_t>(request.count.min));
  mix(static_cast<std::size_t>(request.count.max));
  mix(request.exclusive.has_value() ? 1U + *request.exclusive : 0U);
  for (const resource::Request& child : request.with) mix(content_hash(child));
  return hash;
}

std::size_t content_hash(const resource::Jobspec& spec) {
  std::size_t hash = 0;
  for (const resource::Request& request : spec.resources) hash = hash * 31 + content_hash(request);
  return hash;
}

bool same_content(const resource::Jobspec& a, const resource::Jobspec& b) {
  return a.resources == b.resources && a.constraints == b.constraints;
}

}  // namespace

std::int64_t least_units(const resource::Jobspec& spec, std::string_view type) {
  std::int64_t units = 0;
  for (const resource::Request& request : spec.resources) units += least_of(request, type);
  return units;
}

Result<std::optional<std::string>> StoreMachine::refuses(const JobRequest& job, Time now,
                                                         Duration length) {
  if (!job.spec) return fail(Errc::invalid_argument, "a job needs a jobspec", "spec");
  Shape& of_job = shape(job);
  if (of_job.placeable_at == status_ && of_job.placeable) return std::nullopt;
  const Duration asked = length == kTimeMax ? until_horizon(now) : length;
  auto outcome = store_.match(job.id, *job.spec, MatchOp::satisfiability, now, asked);
  if (!outcome) return tl::unexpected(outcome.error());
  if (auto* never = std::get_if<Never>(&*outcome)) return std::move(never->reason);
  return std::nullopt;
}

ShapeId StoreMachine::shape_of(const JobRequest& job) {
  if (job.spec.get() == last_spec_) return last_shape_;
  const std::size_t hash = content_hash(*job.spec);
  const auto [begin, end] = by_content_.equal_range(hash);
  for (auto at = begin; at != end; ++at)
    if (same_content(*shapes_[at->second].spec, *job.spec)) return at->second;
  const auto id = static_cast<ShapeId>(shapes_.size());
  const std::int64_t cores = least_units(*job.spec, "core");
  shapes_.push_back({job.spec, cores});
  by_content_.emplace(hash, id);
  coreless_shapes_ = coreless_shapes_ || cores == 0;
  last_spec_ = job.spec.get();
  last_shape_ = id;
  return id;
}

std::int64_t StoreMachine::procs_of(const JobRequest& job) const {
  return std::max<std::int64_t>(1, least_units(*job.spec, "core"));
}

bool StoreMachine::placeable(const JobRequest& job, Time now, Duration length) {
  Shape& of_job = shape(job);
  if (of_job.placeable_at != status_) {
    of_job.placeable = earliest(job, now, length).has_value();
    of_job.placeable_at = status_;
  }
  return of_job.placeable;
}

bool StoreMachine::exhausted(Time now) {
  return !coreless_shapes_ && free_procs(now) <= 0;
}

bool StoreMachine::hopeless(const JobRequest& job, Time now) {
  return shape(job).cores > free_procs(now);
}

Machine::Outcome StoreMachine::match(const JobRequest& job, MatchOp op, Time now, Duration length) {
  free_at_ = -1;
  auto outcome = store_.match(job.id, *job.spec, op, now, length);
  // What the matcher cannot understand will not be understood later either.
  if (!outcome) return Never{to_string(outcome.error())};
  return std::move(*outcome);
}

Duration StoreMachine::until_horizon(Time from) const {
  const Time end = store_.options().horizon.end;
  return end == kTimeMax ? kTimeMax - from : end - from;
}

Machine::Outcome StoreMachine::start(const JobRequest& job, Time now, Duration length) {
  const Duration asked = length == kTimeMax ? until_horizon(now) : length;
  if (asked <= 0) return NotNow{"the lease of these resources is over"};
  return match(job, MatchOp::allocate, now, asked);
}

Machine::Outcome StoreMachine::reserve(const JobRequest& job, Time not_before, Duration length) {
  if (length != kTimeMax) return match(job, MatchOp::allocate_orelse_reserve, not_before, length);
  const std::optional<Time> begin = earliest(job, not_before, length);
  if (!begin) return NotNow{"there is no room for a job without a time limit"};
  return match(job, MatchOp::allocate, *begin, until_horizon(*begin));
}

std::optional<Time> StoreMachine::earliest(const JobRequest& job, Time not_before,
                                           Duration length) {
  if (length != kTimeMax) {
    const Outcome outcome = match(job, MatchOp::without_allocating_future, not_before, length);
    const auto* found = std::get_if<Allocation>(&outcome);
    return found == nullptr ? std::nullopt : std::optional(found->when.begin);
  }
  // A job without a limit fits where it fits for a tick and from there to the horizon. Few steps:
  // each one goes past the end of what was in the way.
  constexpr int kMaxSteps = 64;
  Time from = not_before;
  for (int step = 0; step < kMaxSteps; ++step) {
    const Outcome tick = match(job, MatchOp::without_allocating_future, from, 1);
    const auto* found = std::get_if<Allocation>(&tick);
    if (found == nullptr) return std::nullopt;
    from = found->when.begin;
    if (until_horizon(from) <= 0) return std::nullopt;
    const Outcome whole = match(job, MatchOp::without_allocating, from, until_horizon(from));
    if (std::holds_alternative<Allocation>(whole)) return from;
    from = saturating_add(from, 1);
  }
  return std::nullopt;
}

void StoreMachine::release(JobId job, Time) {
  free_at_ = -1;
  // REQUIRES that it holds something, so that there is nothing to report.
  static_cast<void>(store_.release(job));
}

Status StoreMachine::impose(const Allocation& allocation) {
  free_at_ = -1;
  return store_.update(allocation);
}

Status StoreMachine::set_end(JobId job, Time end) {
  free_at_ = -1;
  return store_.set_end(job, end);
}

Allocation StoreMachine::holding(JobId job) const {
  return *store_.find(job);
}

std::int64_t StoreMachine::procs() const {
  return store_.total("core");
}

std::int64_t StoreMachine::free_procs(Time now) {
  if (free_at_ != now) {
    free_ = store_.available("core", now);
    free_at_ = now;
  }
  return free_;
}

Interval StoreMachine::horizon() const {
  return store_.options().horizon;
}

void StoreMachine::resources_changed() {
  ++status_;
  free_at_ = -1;
}

void StoreMachine::check_invariants() const {
  store_.check_invariants();
}

Result<Scheduler> Scheduler::create(SchedulerConfig config, resource::ResourceStore& store) {
  return create(std::move(config), std::make_unique<StoreMachine>(store));
}

}  // namespace holon::qmanager
