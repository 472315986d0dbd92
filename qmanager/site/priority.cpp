#include "qmanager/site/priority.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "qmanager/job.hpp"

namespace holon::qmanager {

namespace {

constexpr double kLargestPriority = 4e18;  // fits an int64 with room for what is set by hand

std::optional<double> real_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<FairshareTarget> parse_target(std::string_view text) {
  using enum FairshareTarget::Kind;
  FairshareTarget::Kind kind = target;
  if (text.ends_with('+')) kind = floor;
  if (text.ends_with('-')) kind = ceiling;
  if (kind != target) text.remove_suffix(1);
  const auto percent = real_number(text);
  if (!percent || *percent < 0 || *percent > 100) return std::nullopt;
  return FairshareTarget{*percent, kind};
}

template <std::size_t N>
std::optional<std::size_t> index_in(const std::array<const char*, N>& names,
                                    std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? std::nullopt : std::optional<std::size_t>(found - names.begin());
}

double capped(double value, double cap) {
  return cap > 0 ? std::clamp(value, -cap, cap) : value;
}

// An exponent of -2 applied to the distance from a target.
double nearness(double missing) {
  constexpr double kReached = 1e-4;
  return std::pow(std::max(kReached, missing), -2);
}

// The parts of the sum for one job.
class Evaluation {
 public:
  Evaluation(const PriorityConfig& config, const Fairshare& fairshare, const Job& job,
             Duration length, Time now)
      : config_(config),
        fairshare_(fairshare),
        job_(job),
        unlimited_(length == kTimeMax),
        limit_(unlimited_ ? 0 : in_seconds(length)),
        ran_(runs(job) ? in_seconds(distance(job.started, now)) : 0),
        waited_(in_seconds(job.waited(runs(job) ? job.started : now))) {}

  double value(Factor factor) const {
    switch (component_of(factor)) {
      case Component::service:
      case Component::target:
        return of_waiting(factor);
      case Component::resource:
        return of_request(factor);
      case Component::usage:
        return runs(job_) ? of_run(factor) : 0;
      case Component::credential:
      case Component::fairshare:
        break;
    }
    return of_credentials(factor);
  }

  double weight(Factor factor) const {
    const double own = config_.factors[static_cast<std::size_t>(factor)].weight;
    if (factor == Factor::queue_time) return own + extra(config_.qos_queue_time);
    return factor == Factor::xfactor ? own + extra(config_.qos_xfactor) : own;
  }

 private:
  static bool runs(const Job& job) { return job.place == Job::Place::running; }

  double xfactor() const {
    const double least = std::max(1e-9, std::max(limit_, in_seconds(config_.least_limit)));
    return unlimited_ ? 1 : 1 + waited_ / least;
  }

  double of_waiting(Factor factor) const {
    const std::string& qos = job_.request.qos;
    if (factor == Factor::queue_time) return waited_ / 60;
    if (factor == Factor::xfactor) return xfactor();
    if (factor == Factor::bypass) return static_cast<double>(job_.bypassed);
    if (factor == Factor::urgency)
      return static_cast<double>(job_.request.urgency) - kUrgencyDefault;
    const bool time = factor == Factor::target_queue_time;
    const auto& targets = time ? config_.qos_queue_time_target : config_.qos_xfactor_target;
    const auto target = targets.find(qos);
    return target == targets.end() ? 0 : nearness(target->second - (time ? waited_ : xfactor()));
  }

  double of_request(Factor factor) const {
    const auto procs = static_cast<double>(job_.procs);
    const Demand& demand = job_.demand;
    switch (factor) {
      case Factor::nodes:
        return static_cast<double>(demand.nodes);
      case Factor::memory:
        return static_cast<double>(demand.memory);
      case Factor::swap:
        return static_cast<double>(demand.swap);
      case Factor::disk:
        return static_cast<double>(demand.disk);
      case Factor::equivalents:
        return demand.equivalents;
      case Factor::proc_seconds:
        return procs * limit_;
      case Factor::wall_time:
        return limit_;
      default:
        return procs;
    }
  }

  double of_run(Factor factor) const {
    const auto procs = static_cast<double>(job_.procs);
    if (factor == Factor::consumed) return procs * ran_;
    if (factor == Factor::remaining) return procs * std::max(0.0, limit_ - ran_);
    if (factor == Factor::percent) return limit_ > 0 ? 100 * ran_ / limit_ : 0;
    return ran_;
  }

  double of_credentials(Factor factor) const {
    const JobRequest& r = job_.request;
    switch (factor) {
      case Factor::user:
        return given(Credential::user, r.user);
      case Factor::group:
        return given(Credential::group, r.group);
      case Factor::account:
        return given(Credential::account, r.account);
      case Factor::qos:
        return given(Credential::qos, r.qos);
      case Factor::queue:
        return given(Credential::queue, r.queue);
      case Factor::fs_user:
        return fairshare_.below_target(Credential::user, r.user);
      case Factor::fs_group:
        return fairshare_.below_target(Credential::group, r.group);
      case Factor::fs_account:
        return fairshare_.below_target(Credential::account, r.account);
      case Factor::fs_qos:
        return fairshare_.below_target(Credential::qos, r.qos);
      case Factor::fs_queue:
        return fairshare_.below_target(Credential::queue, r.queue);
      default:
        return 0;
    }
  }

  double in_seconds(Duration ticks) const {
    return static_cast<double>(ticks) / static_cast<double>(config_.ticks_per_second);
  }
  double given(Credential kind, const std::string& name) const {
    if (name.empty()) return 0;
    auto found = config_.of.find({kind, name});
    if (found == config_.of.end()) found = config_.of.find({kind, "default"});
    return found == config_.of.end() ? 0 : found->second;
  }
  double extra(const std::map<std::string, double>& by_qos) const {
    const auto found = by_qos.find(job_.request.qos);
    return found == by_qos.end() ? 0 : found->second;
  }

  const PriorityConfig& config_;
  const Fairshare& fairshare_;
  const Job& job_;
  bool unlimited_;
  double limit_;  // seconds; 0 without one
  double ran_;
  double waited_;
};

}  // namespace

Component component_of(Factor factor) {
  if (factor <= Factor::urgency) return Component::service;
  if (factor <= Factor::target_xfactor) return Component::target;
  if (factor <= Factor::wall_time) return Component::resource;
  if (factor <= Factor::execution_time) return Component::usage;
  return factor <= Factor::queue ? Component::credential : Component::fairshare;
}

bool PriorityConfig::active() const {
  return !qos_queue_time.empty() || !qos_xfactor.empty() ||
         std::any_of(factors.begin(), factors.end(), [](const Weight& w) { return w.weight != 0; });
}

bool PriorityConfig::ages() const {
  if (!qos_queue_time.empty() || !qos_xfactor.empty()) return true;
  for (std::size_t i = 0; i < kFactors; ++i) {
    if (factors[i].weight == 0) continue;
    const auto factor = static_cast<Factor>(i);
    const Component component = component_of(factor);
    if ((component == Component::service && factor != Factor::urgency) ||
        component == Component::target || component == Component::fairshare)
      return true;
  }
  return false;
}

Status PriorityConfig::set(const std::string& key, const std::string& value) {
  const auto refuse = [&](const std::string& what) {
    return fail(Errc::invalid_argument, what, "priority." + key);
  };
  const auto as_number = real_number(value);
  const std::size_t dot = key.find('.');
  if (dot == std::string::npos) {
    const std::size_t dash = key.rfind('-');
    const std::string name = key.substr(0, dash);
    const std::string what = dash == std::string::npos ? "" : key.substr(dash + 1);
    const auto factor = index_in(kFactorNames, name);
    const auto component = index_in(kComponentNames, name);
    if ((!factor && !component) || (what != "weight" && what != "cap"))
      return refuse(fmt::format(
          "\"{}\" is no key; accepted: FACTOR-weight and FACTOR-cap with FACTOR one of {}, {}", key,
          fmt::join(kFactorNames, ", "), fmt::join(kComponentNames, ", ")));
    if (!as_number || (what == "cap" && *as_number < 0))
      return refuse(fmt::format("\"{}\" is no {}", value, what));
    Weight& weight = factor ? factors[*factor] : components[*component];
    (what == "weight" ? weight.weight : weight.cap) = *as_number;
    return {};
  }
  const std::size_t last = key.rfind('.');
  const auto kind = index_in(kCredentialNames, key.substr(0, dot));
  if (!kind || last == dot)
    return refuse(
        "accepted: KIND.NAME.priority, .fstarget, and for a qos .qtweight, .xfweight, .qttarget, "
        ".xftarget; "
        "KIND is user, group, account, qos or queue");
  const std::pair of_whom{static_cast<Credential>(*kind), key.substr(dot + 1, last - dot - 1)};
  const std::string what = key.substr(last + 1);
  if (what == "fstarget") {
    const auto target = parse_target(value);
    if (!target) return refuse(fmt::format("\"{}\" is no percentage like 20, 20+ or 20-", value));
    fairshare.targets[of_whom] = *target;
    return {};
  }
  if (!as_number) return refuse(fmt::format("\"{}\" is no number", value));
  if (what == "priority") {
    of[of_whom] = *as_number;
    return {};
  }
  const std::pair<const char*, std::map<std::string, double> PriorityConfig::*> of_qos[] = {
      {"qtweight", &PriorityConfig::qos_queue_time},
      {"xfweight", &PriorityConfig::qos_xfactor},
      {"qttarget", &PriorityConfig::qos_queue_time_target},
      {"xftarget", &PriorityConfig::qos_xfactor_target}};
  const auto known = std::find_if(std::begin(of_qos), std::end(of_qos),
                                  [&](const auto& each) { return what == each.first; });
  if (known == std::end(of_qos) || of_whom.first != Credential::qos)
    return refuse(
        fmt::format("\"{}\" is not one of priority, fstarget, and for a qos qtweight, "
                    "xfweight, qttarget, xftarget",
                    what));
  (this->*(known->second))[of_whom.second] = *as_number;
  return {};
}

PriorityBreakdown priority_of(const PriorityConfig& config, const Fairshare& fairshare,
                              const Job& job, Duration length, Time now) {
  PriorityBreakdown result;
  result.computed = now;
  const Evaluation evaluation(config, fairshare, job, length, now);
  std::array<double, kComponents> sums{};
  for (std::size_t i = 0; i < kFactors; ++i) {
    const auto factor = static_cast<Factor>(i);
    const auto component = static_cast<std::size_t>(component_of(factor));
    const double weight = evaluation.weight(factor);
    if (weight == 0 || config.components[component].weight == 0) continue;
    const double value = capped(evaluation.value(factor), config.factors[i].cap);
    sums[component] += weight * value;
    const double whole = weight * config.components[component].weight;
    result.parts.push_back({kFactorNames[i], value, whole, whole * value});
  }
  double sum = 0;
  for (std::size_t c = 0; c < kComponents; ++c) {
    const Weight& component = config.components[c];
    const double cut = capped(sums[c], component.cap);
    sum += component.weight * cut;
    if (cut != sums[c])
      result.parts.push_back({fmt::format("{}-cap", kComponentNames[c]), cut - sums[c],
                              component.weight, component.weight * (cut - sums[c])});
  }
  result.priority = std::llround(std::clamp(sum, -kLargestPriority, kLargestPriority));
  return result;
}

}  // namespace holon::qmanager
