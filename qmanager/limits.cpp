#include "qmanager/limits.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/core.h>

#include "qmanager/job.hpp"

namespace holon::qmanager {

namespace {

using Key = std::pair<Credential, std::string>;

std::array<Key, 5> credentials(const Job& job) {
  const JobRequest& r = job.request;
  return {{{Credential::user, r.user},
           {Credential::group, r.group},
           {Credential::account, r.account},
           {Credential::qos, r.qos},
           {Credential::queue, r.queue}}};
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::optional<SoftHard> soft_hard(const std::string& text) {
  const std::size_t comma = text.find(',');
  const auto soft = number(std::string_view(text).substr(0, comma));
  const auto hard =
      comma == std::string::npos ? soft : number(std::string_view(text).substr(comma + 1));
  if (!soft || !hard) return std::nullopt;
  return SoftHard{*soft, std::max(*soft, *hard)};
}

std::int64_t scaled(std::int64_t value, std::int64_t by) {
  return value > kNoLimit / by ? kNoLimit : value * by;
}

std::string who(const Key& key) {
  return fmt::format("{} {}", kCredentialNames[static_cast<std::size_t>(key.first)], key.second);
}

}  // namespace

Status LimitsConfig::set(const std::string& credential, const std::string& name,
                         const std::string& key, const std::string& value,
                         std::int64_t ticks_per_second) {
  const auto kind = std::find(kCredentialNames.begin(), kCredentialNames.end(), credential);
  if (kind == kCredentialNames.end())
    return fail(
        Errc::invalid_argument,
        fmt::format("\"{}\" has no limits; accepted: user, group, account, qos, queue", credential),
        "limits");
  const auto bounds = soft_hard(value);
  if (!bounds)
    return fail(Errc::invalid_argument,
                fmt::format("\"{}\" is neither a number nor SOFT,HARD", value),
                fmt::format("limits.{}.{}.{}", credential, name, key));
  Limits& limits = of[{static_cast<Credential>(kind - kCredentialNames.begin()), name}];
  const SoftHard in_ticks{scaled(bounds->soft, ticks_per_second),
                          scaled(bounds->hard, ticks_per_second)};
  const bool of_qos = credential == "qos";
  if (key == "max-job")
    limits.jobs = *bounds;
  else if (key == "max-proc")
    limits.procs = *bounds;
  else if (key == "max-ps")
    limits.proc_ticks = in_ticks;
  else if (key == "max-ijob")
    limits.idle_jobs = bounds->hard;
  else if (key == "max-iproc")
    limits.idle_procs = bounds->hard;
  else if (of_qos && key == "omax-job")
    limits.instead_of_jobs = *bounds;
  else if (of_qos && key == "omax-proc")
    limits.instead_of_procs = *bounds;
  else if (of_qos && key == "omax-ps")
    limits.instead_of_proc_ticks = in_ticks;
  else
    return fail(
        Errc::invalid_argument,
        fmt::format("\"{}\" is no limit; accepted: max-job, max-proc, max-ps, max-ijob, max-iproc, "
                    "and of a qos omax-job, omax-proc, omax-ps",
                    key),
        "limits");
  return {};
}

const Limits* Limiter::limits_of(const Key& key) const {
  if (key.second.empty()) return nullptr;
  auto found = config_.of.find(key);
  if (found == config_.of.end()) found = config_.of.find({key.first, "default"});
  return found == config_.of.end() ? nullptr : &found->second;
}

void Limiter::count(const Job& job, std::int64_t sign) {
  if (!active()) return;
  for (const Key& key : credentials(job)) {
    if (limits_of(key) == nullptr) continue;
    Usage& usage = running_[key];
    usage.jobs += sign;
    usage.procs += sign * job.procs;
    usage.proc_ends += static_cast<double>(sign * job.procs) * static_cast<double>(job.planned_end);
    if (usage.jobs == 0) running_.erase(key);
  }
}

std::optional<Limits> Limiter::that_hold(const Key& key, const Job& job) const {
  const Limits* found = limits_of(key);
  if (found == nullptr) return std::nullopt;
  Limits limits = *found;
  if (key.first == Credential::qos) return limits;
  const auto replace = [](SoftHard& bound, const std::optional<SoftHard>& instead) {
    if (bound != SoftHard{} && instead) bound = *instead;
  };
  if (const Limits* of_qos = limits_of({Credential::qos, job.request.qos})) {
    replace(limits.jobs, of_qos->instead_of_jobs);
    replace(limits.procs, of_qos->instead_of_procs);
    replace(limits.proc_ticks, of_qos->instead_of_proc_ticks);
  }
  const auto at = qos_.find(job.request.qos);
  if (at == qos_.end()) return limits;
  const QosConfig& qos = at->second;
  const bool ignored = (key.first == Credential::user && qos.ignore_user) ||
                       (key.first == Credential::group && qos.ignore_group) ||
                       (key.first == Credential::account && qos.ignore_account) ||
                       (key.first == Credential::queue && qos.ignore_queue);
  if (ignored) return std::nullopt;
  if (qos.ignore_jobs) limits.jobs = {}, limits.idle_jobs = kNoLimit;
  if (qos.ignore_procs) limits.procs = {}, limits.idle_procs = kNoLimit;
  if (qos.ignore_proc_ticks) limits.proc_ticks = {};
  return limits;
}

std::optional<Throttle> Limiter::over(const Job& job, Time now, Duration length, bool hard) const {
  if (!active()) return std::nullopt;
  for (const Key& key : credentials(job)) {
    const auto limits = that_hold(key, job);
    if (!limits) continue;
    const auto found = running_.find(key);
    const Usage usage = found == running_.end() ? Usage{} : found->second;
    const auto bound = [&](const SoftHard& b) { return hard ? b.hard : b.soft; };
    const char* const kind = hard ? "hard" : "soft";
    if (usage.jobs + 1 > bound(limits->jobs))
      return Throttle{fmt::format("{} runs {} jobs, the {} limit is {}", who(key), usage.jobs, kind,
                                  bound(limits->jobs)),
                      {}};
    if (usage.procs + job.procs > bound(limits->procs))
      return Throttle{
          fmt::format("{} uses {} processors, with {} more the {} limit of {} is passed", who(key),
                      usage.procs, job.procs, kind, bound(limits->procs)),
          {}};
    if (bound(limits->proc_ticks) == kNoLimit) continue;
    const auto most = static_cast<double>(bound(limits->proc_ticks));
    const double added = static_cast<double>(job.procs) * static_cast<double>(length);
    const auto running = static_cast<double>(usage.procs);
    if (usage.proc_ends - running * static_cast<double>(now) + added <= most) continue;
    Throttle throttle{
        fmt::format("{} would hold more processor-time than its {} limit", who(key), kind), {}};
    // What runs holds less every tick: no later than this there is room, if there ever is.
    if (added <= most)
      throttle.until = std::max(
          now + 1, static_cast<Time>(std::ceil((usage.proc_ends + added - most) / running)));
    return throttle;
  }
  return std::nullopt;
}

std::int64_t Limiter::procs_left(const Job& job, Time now, Duration length, bool hard) const {
  std::int64_t left = kNoLimit;
  for (const Key& key : credentials(job)) {
    const auto limits = that_hold(key, job);
    if (!limits) continue;
    const auto found = running_.find(key);
    const Usage usage = found == running_.end() ? Usage{} : found->second;
    const std::int64_t procs = hard ? limits->procs.hard : limits->procs.soft;
    if (procs != kNoLimit) left = std::min(left, procs - usage.procs);
    const std::int64_t ticks = hard ? limits->proc_ticks.hard : limits->proc_ticks.soft;
    if (ticks == kNoLimit) continue;
    const double held =
        usage.proc_ends - static_cast<double>(usage.procs) * static_cast<double>(now);
    const double room = (static_cast<double>(ticks) - held) / static_cast<double>(length);
    left = std::min(left, static_cast<std::int64_t>(std::clamp(room, -1e15, 1e15)));
  }
  return left;
}

std::optional<std::string> Limiter::over_idle(const Job& job) {
  if (!active()) return std::nullopt;
  for (const Key& key : credentials(job)) {
    const auto limits = that_hold(key, job);
    if (!limits) continue;
    const Usage& usage = idle_[key];
    if (usage.jobs + 1 > limits->idle_jobs || usage.procs + job.procs > limits->idle_procs)
      return fmt::format(
          "{} has {} jobs with {} processors in front of it in the queue, as many as its idle "
          "limit lets be considered",
          who(key), usage.jobs, usage.procs);
  }
  for (const Key& key : credentials(job)) {
    if (limits_of(key) == nullptr) continue;
    Usage& usage = idle_[key];
    ++usage.jobs;
    usage.procs += job.procs;
  }
  return std::nullopt;
}

}  // namespace holon::qmanager
