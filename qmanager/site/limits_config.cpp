#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "qmanager/site/limits.hpp"

namespace holon::qmanager {

namespace {

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

std::optional<Credential> credential(std::string_view name) {
  const auto kind = std::find(kCredentialNames.begin(), kCredentialNames.end(), name);
  if (kind == kCredentialNames.end()) return std::nullopt;
  return static_cast<Credential>(kind - kCredentialNames.begin());
}

bool in_ticks(std::size_t measure) {
  const auto m = static_cast<Measure>(measure);
  return m == Measure::proc_ticks || m == Measure::ticks;
}

// "fast.user.ann": a credential within the queue "fast".
std::optional<Scope> within_queue(std::string_view name) {
  for (const Credential kind :
       {Credential::user, Credential::group, Credential::account, Credential::qos}) {
    const std::string word = fmt::format(".{}.", kCredentialNames[static_cast<std::size_t>(kind)]);
    const std::size_t at = name.find(word);
    if (at == std::string_view::npos || at == 0 || at + word.size() == name.size()) continue;
    return Scope{kind, std::string(name.substr(at + word.size())), std::string(name.substr(0, at))};
  }
  return std::nullopt;
}

// The limits that `whose` names, made if they are not there; nullptr: it names nobody.
Limits* limits_of(LimitsConfig& config, const std::string& whose) {
  if (whose == "system") return &config.system;
  const std::size_t dot = whose.find('.');
  const auto kind = credential(std::string_view(whose).substr(0, dot));
  if (!kind || dot == std::string::npos || dot + 1 == whose.size()) return nullptr;
  const std::string name = whose.substr(dot + 1);
  if (*kind == Credential::queue)
    if (auto scope = within_queue(name)) return &config.within_queue[*scope];
  return &config.of[{*kind, name}];
}

// Sets the limit named by the key ("max-ijob"); false: no such limit.
bool set_limit(Limits& limits, std::string_view key, SoftHard bounds, std::int64_t per_second,
               bool of_qos) {
  for (std::size_t m = 0; m < kMeasures; ++m) {
    if (!key.ends_with(kMeasureNames[m])) continue;
    const std::string_view form =
        key.substr(0, key.size() - std::string_view(kMeasureNames[m]).size());
    const std::int64_t by = in_ticks(m) ? per_second : 1;
    const SoftHard set{scaled(bounds.soft, by), scaled(bounds.hard, by)};
    if (form == "max-")
      limits.active[m] = set;
    else if (form == "max-i")
      limits.idle[m] = {set.hard, set.hard};
    else if (form == "omax-" && of_qos)
      limits.instead_of_active[m] = set;
    else if (form == "omax-i" && of_qos)
      limits.instead_of_idle[m] = SoftHard{set.hard, set.hard};
    else
      continue;
    return true;
  }
  return false;
}

}  // namespace

Status LimitsConfig::set(const std::string& whose, const std::string& key, const std::string& value,
                         std::int64_t ticks_per_second) {
  const auto refuse = [&](const std::string& what) {
    return fail(Errc::invalid_argument, what, fmt::format("limits.{}.{}", whose, key));
  };
  const auto bounds = soft_hard(value);
  if (!bounds) return refuse(fmt::format("\"{}\" is neither a number nor SOFT,HARD", value));
  if (whose == "system") {
    const std::pair<const char*, std::int64_t LimitsConfig::*> of_a_job[] = {
        {"max-proc-per-job", &LimitsConfig::job_procs},
        {"max-procsecond-per-job", &LimitsConfig::job_proc_ticks},
        {"max-job-walltime", &LimitsConfig::job_ticks}};
    for (const auto& [name, most] : of_a_job)
      if (key == name) {
        this->*most = scaled(bounds->hard, most == &LimitsConfig::job_procs ? 1 : ticks_per_second);
        return {};
      }
  }
  LimitsConfig next = *this;
  Limits* const limits = limits_of(next, whose);
  if (limits == nullptr)
    return refuse(fmt::format(
        "\"{}\" has no limits; accepted: user.NAME, group.NAME, account.NAME, qos.NAME, "
        "queue.NAME, queue.NAME.user.NAME (or .group., .account., .qos.), system",
        whose));
  if (!set_limit(*limits, key, *bounds, ticks_per_second, whose.starts_with("qos.")))
    return refuse(fmt::format(
        "\"{}\" is no limit; accepted: max-job, max-proc, max-node, max-ps, max-wc, max-pe, "
        "max-mem, the idle forms max-ijob, ..., of a qos omax-job, ..., omax-ijob, ..., and of "
        "system max-proc-per-job, max-procsecond-per-job, max-job-walltime",
        key));
  *this = std::move(next);
  return {};
}

void LimitsConfig::lengthen_ticks(std::int64_t by) {
  const auto divide = [by](std::int64_t& most) {
    if (most != kNoLimit) most /= by;
  };
  const auto divide_all = [&](Limits& limits) {
    for (std::size_t m = 0; m < kMeasures; ++m) {
      if (!in_ticks(m)) continue;
      for (SoftHard* bounds : {&limits.active[m], &limits.idle[m]})
        divide(bounds->soft), divide(bounds->hard);
      for (auto* bounds : {&limits.instead_of_active[m], &limits.instead_of_idle[m]})
        if (*bounds) divide((*bounds)->soft), divide((*bounds)->hard);
    }
  };
  for (auto& [key, limits] : of) divide_all(limits);
  for (auto& [key, limits] : within_queue) divide_all(limits);
  divide_all(system);
  divide(job_proc_ticks);
  divide(job_ticks);
}

std::optional<std::string> LimitsConfig::refuses(std::int64_t procs, Duration length) const {
  if (procs > job_procs)
    return fmt::format("asks for {} processors; a job may have {} at most", procs, job_procs);
  if (job_ticks == kNoLimit && job_proc_ticks == kNoLimit) return std::nullopt;
  if (length == kTimeMax)
    return "asks for no time limit, and there is a bound on that of a single job";
  if (length > job_ticks) return "its time limit is longer than a single job's may be";
  if (static_cast<double>(procs) * static_cast<double>(length) >
      static_cast<double>(job_proc_ticks))
    return "asks for more processor-time than a single job may have";
  return std::nullopt;
}

}  // namespace holon::qmanager
