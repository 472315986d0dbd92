#include "qmanager/site/limits.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "qmanager/job.hpp"

namespace holon::qmanager {

namespace {

// Fractions of processor equivalents do not add up exactly.
constexpr double kRounding = 1e-9;

constexpr std::size_t at(Measure measure) {
  return static_cast<std::size_t>(measure);
}

constexpr double kEndless = std::numeric_limits<double>::infinity();

// The amounts that a job adds to the sums, were it to run for `length`.
std::array<double, kMeasures> amounts_of(const Job& job, Duration length) {
  const auto procs = static_cast<double>(job.procs);
  const double ticks = length == kTimeMax ? kEndless : static_cast<double>(length);
  return {1,
          procs,
          static_cast<double>(job.demand.nodes),
          procs * ticks,
          ticks,
          job.demand.equivalents,
          static_cast<double>(job.demand.memory)};
}

std::string who(const Scope& scope) {
  if (!scope.kind) return "everybody together";
  const auto* kind = kCredentialNames[static_cast<std::size_t>(*scope.kind)];
  if (scope.queue.empty()) return fmt::format("{} {}", kind, scope.name);
  return fmt::format("{} {} in queue {}", kind, scope.name, scope.queue);
}

std::string reason(const Scope& scope, Measure measure, double used, double more, double most,
                   const char* kind) {
  constexpr std::array<const char*, kMeasures> kUnits = {
      "jobs", "processors", "nodes", "", "", "processor equivalents", "units of memory"};
  if (measure == Measure::jobs)
    return fmt::format("{} runs {} job{}, the {} limit is {}", who(scope), used,
                       used == 1 ? "" : "s", kind, most);
  if (measure == Measure::proc_ticks)
    return fmt::format("{} would hold more processor-time than its {} limit", who(scope), kind);
  if (measure == Measure::ticks)
    return fmt::format("the time limits of what {} runs would sum up to more than its {} limit",
                       who(scope), kind);
  return fmt::format("{} uses {:.6g} {}, with {:.6g} more the {} limit of {} is passed", who(scope),
                     used, kUnits[at(measure)], more, kind, most);
}

const std::string& name_of(const Job& job, Credential kind) {
  const JobRequest& r = job.request;
  switch (kind) {
    case Credential::user:
      return r.user;
    case Credential::group:
      return r.group;
    case Credential::account:
      return r.account;
    case Credential::qos:
      return r.qos;
    case Credential::queue:
      break;
  }
  return r.queue;
}

bool ignores(const QosConfig& qos, Credential kind) {
  return (kind == Credential::user && qos.ignore_user) ||
         (kind == Credential::group && qos.ignore_group) ||
         (kind == Credential::account && qos.ignore_account) ||
         (kind == Credential::queue && qos.ignore_queue);
}

bool ignores(const QosConfig& qos, Measure measure) {
  return (measure == Measure::jobs && qos.ignore_jobs) ||
         (measure == Measure::procs && qos.ignore_procs) ||
         (measure == Measure::proc_ticks && qos.ignore_proc_ticks);
}

template <class Map, class Key>
void add_if_there(std::vector<const Limits*>& named, const Map& map, const Key& key) {
  if (const auto found = map.find(key); found != map.end()) named.push_back(&found->second);
}

bool has_idle_limits(const LimitsConfig& config) {
  const auto has_idle = [](const auto& of_whom) { return of_whom.second.idle != Limits{}.idle; };
  return config.system.idle != Limits{}.idle ||
         std::any_of(config.of.begin(), config.of.end(), has_idle) ||
         std::any_of(config.within_queue.begin(), config.within_queue.end(), has_idle);
}

}  // namespace

Limiter::Limiter(LimitsConfig config, std::map<std::string, QosConfig> qos)
    : config_(std::move(config)),
      qos_(std::move(qos)),
      active_(!config_.empty()),
      counts_idle_(has_idle_limits(config_)) {
  for (const auto& [key, limits] : config_.of) limited_[static_cast<std::size_t>(key.first)] = true;
  for (const auto& [scope, limits] : config_.within_queue)
    limited_within_[static_cast<std::size_t>(*scope.kind)] = true;
}

SoftHard Limiter::Holding::bound(Measure measure, bool idle) const {
  if (flags != nullptr && ignores(*flags, measure)) return {};
  for (const Limits* limits : named) {
    const SoftHard own = (idle ? limits->idle : limits->active)[at(measure)];
    if (own == SoftHard{}) continue;
    if (instead == nullptr) return own;
    return (idle ? instead->instead_of_idle : instead->instead_of_active)[at(measure)].value_or(
        own);
  }
  return {};
}

void Limiter::add_credential(std::vector<Holding>& all, const Job& job, Credential kind) const {
  const std::string& name = name_of(job, kind);
  if (name.empty() || !limited_[static_cast<std::size_t>(kind)]) return;
  Holding holding{{kind, name, {}}, {}};
  add_if_there(holding.named, config_.of, std::pair{kind, name});
  add_if_there(holding.named, config_.of, std::pair{kind, std::string("default")});
  if (!holding.named.empty()) all.push_back(std::move(holding));
}

void Limiter::add_within_queue(std::vector<Holding>& all, const Job& job, Credential kind) const {
  const std::string& name = name_of(job, kind);
  if (name.empty() || !limited_within_[static_cast<std::size_t>(kind)]) return;
  Holding holding{{kind, name, job.request.queue}, {}};
  for (const std::string& queue : {job.request.queue, std::string("default")})
    for (const std::string& whose : {name, std::string("default")})
      add_if_there(holding.named, config_.within_queue, Scope{kind, whose, queue});
  if (!holding.named.empty()) all.push_back(std::move(holding));
}

// The limits that hold for the job, after the changes that its QOS makes.
std::vector<Limiter::Holding> Limiter::that_hold(const Job& job) const {
  std::vector<Holding> all;
  for (std::size_t kind = 0; kind < kCredentials; ++kind)
    add_credential(all, job, static_cast<Credential>(kind));
  for (std::size_t kind = 0; kind < kCredentials; ++kind)
    add_within_queue(all, job, static_cast<Credential>(kind));
  const auto qos = qos_.find(job.request.qos);
  auto override = config_.of.find({Credential::qos, job.request.qos});
  if (override == config_.of.end()) override = config_.of.find({Credential::qos, "default"});
  for (Holding& holding : all) {
    if (holding.scope.kind == Credential::qos) continue;
    if (override != config_.of.end() && !job.request.qos.empty())
      holding.instead = &override->second;
    if (qos != qos_.end()) holding.flags = &qos->second;
  }
  if (qos != qos_.end())
    std::erase_if(all, [&](const Holding& holding) {
      return ignores(qos->second, *holding.scope.kind) ||
             (!holding.scope.queue.empty() && qos->second.ignore_queue);
    });
  if (config_.system != Limits{}) all.push_back({{}, {&config_.system}});
  return all;
}

void Limiter::Sums::count(const Job& job, int sign) {
  const Amounts added = amounts_of(job, 0);
  for (std::size_t m = 0; m < kMeasures; ++m) amounts[m] += sign * added[m];
  if (job.planned_end == kTimeMax) {
    endless += sign;
    return;
  }
  jobs += sign;
  procs += sign * job.procs;
  ends += sign * Wide{job.planned_end};
  proc_ends += sign * Wide{job.planned_end} * job.procs;
}

Limiter::Amounts Limiter::Sums::held_at(Time now) const {
  Amounts held = amounts;
  held[at(Measure::ticks)] = endless > 0 ? kEndless : static_cast<double>(ends - Wide{now} * jobs);
  held[at(Measure::proc_ticks)] =
      endless > 0 ? kEndless : static_cast<double>(proc_ends - Wide{now} * procs);
  return held;
}

Limiter::Sums Limiter::running(const Scope& scope) const {
  const auto found = running_.find(scope);
  return found == running_.end() ? Sums{} : found->second;
}

// Flags and overrides decide whose limits hold for a job, not for whom it counts.
void Limiter::count(const Job& job, int sign) {
  if (!active()) return;
  const auto add = [&](const Scope& scope) {
    Sums& sums = running_[scope];
    sums.count(job, sign);
    if (sums.jobs + sums.endless == 0) running_.erase(scope);
  };
  for (std::size_t k = 0; k < kCredentials; ++k) {
    const auto kind = static_cast<Credential>(k);
    const std::string& name = name_of(job, kind);
    if (name.empty()) continue;
    if (limited_[k]) add({kind, name, {}});
    if (limited_within_[k]) add({kind, name, job.request.queue});
  }
  if (config_.system != Limits{}) add({});
}

std::optional<Throttle> Limiter::over(const Job& job, Time now, Duration length, bool hard) const {
  if (!active()) return std::nullopt;
  const char* kind = hard ? "hard" : "soft";
  const Amounts more = amounts_of(job, length);
  for (const Holding& holding : that_hold(job)) {
    const Sums sums = running(holding.scope);
    const Amounts used = sums.held_at(now);
    for (std::size_t m = 0; m < kMeasures; ++m) {
      const auto measure = static_cast<Measure>(m);
      const SoftHard bounds = holding.bound(measure, false);
      const std::int64_t bound = hard ? bounds.hard : bounds.soft;
      if (bound == kNoLimit) continue;
      const auto most = static_cast<double>(bound);
      if (used[m] + more[m] <= most * (1 + kRounding)) continue;
      Throttle throttle{reason(holding.scope, measure, used[m], more[m], most, kind), {}};
      if (more[m] <= most) throttle.until = gives_way(sums, measure, now, used[m] + more[m] - most);
      return throttle;
    }
  }
  return std::nullopt;
}

// The latest time at which the sum is less by `by`; nullopt: never. It falls as jobs age.
std::optional<Time> Limiter::gives_way(const Sums& sums, Measure measure, Time now, double by) {
  constexpr double kTooLong = 9e18;
  if (measure != Measure::proc_ticks && measure != Measure::ticks) return std::nullopt;
  const std::int64_t a_tick = measure == Measure::ticks ? sums.jobs : sums.procs;
  const double ticks = std::ceil(by / static_cast<double>(a_tick));
  if (sums.endless > 0 || ticks > kTooLong) return std::nullopt;
  return saturating_add(now, std::max<Duration>(1, static_cast<Duration>(ticks)));
}

std::int64_t Limiter::procs_left(const Job& job, Time now, Duration length, bool hard) const {
  std::int64_t left = kNoLimit;
  const Amounts more = amounts_of(job, length);
  for (const Holding& holding : that_hold(job)) {
    const Amounts used = running(holding.scope).held_at(now);
    for (const Measure measure :
         {Measure::procs, Measure::proc_ticks, Measure::equivalents, Measure::memory}) {
      const SoftHard bounds = holding.bound(measure, false);
      const std::int64_t bound = hard ? bounds.hard : bounds.soft;
      const double each = more[at(measure)] / static_cast<double>(job.procs);
      if (bound == kNoLimit || each <= 0) continue;
      const double room = static_cast<double>(bound) * (1 + kRounding) - used[at(measure)];
      // Endless holders leave no room, and both values may be infinite.
      const bool none = std::isinf(each) || std::isinf(room);
      left = std::min(left,
                      none ? 0 : static_cast<std::int64_t>(std::clamp(room / each, -1e15, 1e15)));
    }
  }
  return left;
}

std::optional<std::string> Limiter::over_idle(const Job& job, Duration length) {
  if (!counts_idle_) return std::nullopt;
  const Amounts more = amounts_of(job, length);
  const std::vector<Holding> all = that_hold(job);
  for (const Holding& holding : all)
    for (std::size_t m = 0; m < kMeasures; ++m) {
      const SoftHard bounds = holding.bound(static_cast<Measure>(m), true);
      if (bounds == SoftHard{}) continue;
      const Amounts& waits = idle_[holding.scope];
      if (waits[m] + more[m] <= static_cast<double>(bounds.hard) * (1 + kRounding)) continue;
      full_.insert(holding.scope);
      return fmt::format(
          "{} has {} jobs with {} processors in front of it in the queue, as many as its idle "
          "limit lets be considered",
          who(holding.scope), waits[at(Measure::jobs)], waits[at(Measure::procs)]);
    }
  for (const Holding& holding : all)
    for (std::size_t m = 0; m < kMeasures; ++m) idle_[holding.scope][m] += more[m];
  return std::nullopt;
}

void Limiter::idle_no_more(const Job& job) {
  if (!counts_idle_) return;
  for (Holding& holding : that_hold(job)) eased_.insert(std::move(holding.scope));
}

bool Limiter::idle_eased() const {
  return std::any_of(full_.begin(), full_.end(),
                     [&](const Scope& scope) { return eased_.contains(scope); });
}

}  // namespace holon::qmanager
