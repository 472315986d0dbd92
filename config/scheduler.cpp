// One table says for each key of a queue what it accepts and how it is set; the other tables have
// names of the user's own in their keys.
#include "config/scheduler.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

#include <fmt/core.h>

namespace holon::config {
namespace {

// Fluxion's string forms: "NAME=NUMBER,...", each number within `most` of its name.
struct Param {
  std::string_view name;
  std::int64_t most;
  std::int64_t qmanager::QueueConfig::*target;
};

// Sets the values that `params` names; false: an unknown name, or a number that does not fit.
template <std::size_t N>
bool set_params(qmanager::QueueConfig& queue, const Value& value, const Param (&params)[N]) {
  const auto list = text(value);
  if (!list) return false;
  qmanager::QueueConfig next = queue;
  for (const std::string& word : words(*list)) {
    const std::size_t equals = word.find('=');
    std::int64_t number = 0;
    const char* const digits = word.data() + std::min(equals + 1, word.size());
    const auto [end, problem] = std::from_chars(digits, word.data() + word.size(), number);
    const auto param = std::find_if(std::begin(params), std::end(params), [&](const Param& known) {
      return known.name == std::string_view(word).substr(0, equals);
    });
    if (equals == std::string::npos || param == std::end(params) || problem != std::errc() ||
        end != word.data() + word.size() || number < 1 || number > param->most)
      return false;
    next.*(param->target) = number;
  }
  queue = next;
  return true;
}

bool set_queue_params(qmanager::QueueConfig& queue, const Value& value) {
  constexpr Param kParams[] = {
      {"queue-depth", 1'000'000, &qmanager::QueueConfig::queue_depth},
      {"max-queue-depth", 1'000'000, &qmanager::QueueConfig::max_queue_depth}};
  return set_params(queue, value, kParams);
}

bool set_policy_params(qmanager::QueueConfig& queue, const Value& value) {
  constexpr Param kParams[] = {
      {"reservation-depth", 100'000, &qmanager::QueueConfig::reservation_depth},
      {"max-reservation-depth", 100'000, &qmanager::QueueConfig::max_reservation_depth}};
  return set_params(queue, value, kParams);
}

constexpr std::string_view kUsers = "names of users and @GROUPs, like \"ann,@physics\"";

// A name that nobody can have would shut out, or let in, others than its writer meant.
bool is_user_or_group(std::string_view word) {
  if (word.starts_with('@')) word.remove_prefix(1);
  return !word.empty() && std::none_of(word.begin(), word.end(), [](unsigned char c) {
    return c <= ' ' || c == 0x7f ||
           std::string_view("[]\"'*?@:").find(char(c)) != std::string_view::npos;
  });
}

bool set_list(std::vector<std::string>& target, const Value& value) {
  const auto list = text(value);
  if (!list) return false;
  const auto names = words(*list);
  if (names.empty() || !std::all_of(names.begin(), names.end(), is_user_or_group)) return false;
  target = names;
  return true;
}

using QueueSetter = bool (*)(qmanager::QueueConfig&, const Value&);
struct QueueKey {
  std::string_view name, accepts, standard;
  QueueSetter set;
};
constexpr QueueKey kQueueKeys[] = {
    {"policy", "fcfs, easy, hybrid[:N], conservative[:N], conservative-rebuild[:N] or FILE.lua",
     "fcfs",
     [](auto& q, const Value& v) {
       const auto name = text(v);
       return name && (qmanager::is_policy_file(*name) || qmanager::parse_policy(*name)) &&
              store(q.policy, name);
     }},
    {"depth", "a number from 1 to 1000000", "32",
     [](auto& q, const Value& v) { return store(q.queue_depth, whole(v, 1, 1'000'000)); }},
    {"reservation-depth", "a number from 1 to 100000", "64",
     [](auto& q, const Value& v) { return store(q.reservation_depth, whole(v, 1, 100'000)); }},
    {"max-reservation-depth", "a number from 1 to 100000", "100000",
     [](auto& q, const Value& v) { return store(q.max_reservation_depth, whole(v, 1, 100'000)); }},
    {"max-reservation", "a number from 0 to 100000", "none",
     [](auto& q, const Value& v) { return store(q.max_reservation, whole(v, 0, 100'000)); }},
    {"backfill", "queueorder, firstfit, bestfit, greedy or none", "queueorder",
     [](auto& q, const Value& v) {
       const auto name = text(v);
       return name && store(q.backfill, qmanager::parse_backfill(*name));
     }},
    {"backfill-metric", "procs, seconds, procseconds, pe or peseconds", "procs",
     [](auto& q, const Value& v) {
       const auto name = text(v);
       return name && store(q.backfill_metric, qmanager::parse_metric(*name));
     }},
    {"backfill-max-schedules", "a number from 1 to 1000000", "10000",
     [](auto& q, const Value& v) {
       return store(q.backfill_max_schedules, whole(v, 1, 1'000'000));
     }},
    {"reservation-policy", "currenthighest, highest or never", "the policy's own",
     [](auto& q, const Value& v) {
       const auto name = text(v);
       return name && store(q.reservation_policy, qmanager::parse_reservation_policy(*name));
     }},
    {"reservation-threshold-type", "none, bypass, queuetime or xfactor", "none",
     [](auto& q, const Value& v) {
       const auto name = text(v);
       return name && store(q.threshold.type, qmanager::parse_threshold(*name));
     }},
    {"reservation-threshold-value", "a number, or a duration", "0",
     [](auto& q, const Value& v) {
       const auto length = duration(v);
       if (length) q.threshold.value = static_cast<double>(*length) / 1000;
       return length.has_value();
     }},
    {"reservation-retry-time", kDuration, "0",
     [](auto& q, const Value& v) { return store(q.reservation_retry, duration(v)); }},
    {"preempt.mode", "off, cancel or requeue", "off",
     [](auto& q, const Value& v) {
       const auto name = text(v);
       return name && store(q.preempt.mode, qmanager::parse_preempt_mode(*name));
     }},
    {"preempt.grace", kDuration, "30s",
     [](auto& q, const Value& v) { return store(q.preempt.grace, duration(v)); }},
    {"preemptible", "true or false", "false",
     [](auto& q, const Value& v) { return store(q.preemptible, yes_or_no(v)); }},
    {"backfill-depth", "a number from 0 (all) to 1000000", "0",
     [](auto& q, const Value& v) { return store(q.backfill_depth, whole(v, 0, 1'000'000)); }},
    {"chunk-size", "a number of processors, 0 for off", "0",
     [](auto& q, const Value& v) { return store(q.chunk_size, whole(v, 0, 1'000'000'000)); }},
    {"chunk-duration", kDuration, "0",
     [](auto& q, const Value& v) { return store(q.chunk_duration, duration(v)); }},
    {"default-duration", kDuration, "0",
     [](auto& q, const Value& v) { return store(q.default_duration, duration(v)); }},
    {"duration-offset", kDuration, "0",
     [](auto& q, const Value& v) { return store(q.duration_offset, duration(v)); }},
    {"requires", "names of properties, like \"fast,gpu\"", "none",
     [](auto& q, const Value& v) { return set_list(q.properties, v); }},
    {"users", kUsers, "everybody",
     [](auto& q, const Value& v) { return set_list(q.access.users, v); }},
    {"xusers", kUsers, "nobody",
     [](auto& q, const Value& v) { return set_list(q.access.xusers, v); }},
    {"slots", "a number of slots", "none",
     [](auto& q, const Value& v) { return store(q.slots, whole(v, 0, 1'000'000'000)); }},
    {"queue-params", "queue-depth=N,max-queue-depth=N", "", &set_queue_params},
    {"policy-params", "reservation-depth=N,max-reservation-depth=N", "", &set_policy_params},
};

// Sets Maui's RESERVATIONDEPTH[X] and RESERVATIONQOSLIST[X]: "reservation-depth.X".
Status set_bucket(const Setting& s, std::string_view name, qmanager::QueueConfig& queue) {
  constexpr int kMostBuckets = 64;
  const std::string_view digits = name.substr(name.find('.') + 1);
  int number = -1;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (problem != std::errc() || end != digits.data() + digits.size() || number < 0 ||
      number >= kMostBuckets)
    return unknown_key(s);
  qmanager::ReservationBucket& bucket = queue.buckets[number];
  if (name.starts_with("reservation-depth.")) {
    if (!store(bucket.depth, whole(s.value, 0, 100'000)))
      return misfit(s, "a number from 0 to 100000");
    return {};
  }
  const auto list = text(s.value);
  if (!list) return misfit(s, "names of QOS like \"hi,low\", or ALL");
  bucket.qos = *list == "ALL" ? std::vector<std::string>{} : words(*list);
  return {};
}

// Sets `name`, "policy" of "queue.policy", which all queues inherit, or of "queues.NAME.policy".
Status set_queue_key(const Setting& s, std::string_view name, qmanager::QueueConfig& queue) {
  if (name.starts_with("reservation-depth.") || name.starts_with("reservation-qos-list."))
    return set_bucket(s, name, queue);
  if (name.starts_with("pools.")) {
    if (!store(queue.pools[std::string(name.substr(6))], whole(s.value, 0, 1'000'000'000)))
      return misfit(s, "a number of units");
    return {};
  }
  for (const auto& k : kQueueKeys) {
    if (k.name != name) continue;
    if (!k.set(queue, s.value)) return misfit(s, k.accepts);
    return {};
  }
  return unknown_key(s);
}

// Reads "2h,8h" to ms, for limits that are times; nullopt: no durations.
std::optional<std::string> times_in_ms(const Value& value) {
  const auto list = text(value);
  if (!list) {
    const auto one = duration(value);
    return one ? std::optional(std::to_string(*one)) : std::nullopt;
  }
  std::string all;
  for (const std::string& word : words(*list)) {
    const auto one = parse_duration_ms(word);
    if (!one) return std::nullopt;
    all += fmt::format("{}{}", all.empty() ? "" : ",", *one);
  }
  return all;
}

// Sets "limits.user.ann.max-job" = 8 or "2,8" (soft, hard).
Status set_limit(qmanager::SchedulerConfig& scheduler, const Setting& s) {
  constexpr std::int64_t kTicksPerSecond = 1000;
  const auto last = s.key.rfind('.');
  if (last < 7) return unknown_key(s);
  const std::string whose = s.key.substr(7, last - 7);
  const std::string key = s.key.substr(last + 1);
  Status set;
  if (key.ends_with("max-wc") || key.ends_with("max-iwc") || key == "max-job-walltime") {
    const auto times = times_in_ms(s.value);
    if (!times) return misfit(s, "a duration, or two: \"2h,8h\"");
    set = scheduler.limits.set(whose, key, *times, 1);
  } else {
    set = scheduler.limits.set(whose, key, text(s.value).value_or(s.value.text()), kTicksPerSecond);
  }
  if (!set) return fail(set.error().code, set.error().what, s.where);
  return {};
}

// Sets "fairshare.interval" and the other fairshare keys.
Status set_fairshare(qmanager::FairshareConfig& fairshare, const Setting& s) {
  const std::string name = s.key.substr(10);
  if (name == "interval") {
    const auto interval = duration(s.value);
    if (!interval || *interval < 1) return misfit(s, kDuration);
    fairshare.interval = *interval;
  } else if (name == "depth") {
    if (!store(fairshare.depth, whole(s.value, 1, 1000)))
      return misfit(s, "a number of intervals from 1 to 1000");
  } else if (name == "decay") {
    if (!store(fairshare.decay, share(s.value))) return misfit(s, "a number from 0 to 1");
  } else {
    return unknown_key(s);
  }
  return {};
}

// Sets "priority.queuetime-weight", "priority.user.ann.fstarget"; names that the scheduler does not
// know are the instance's.
Status set_priority(qmanager::PriorityConfig& priority, const Setting& s) {
  const std::string name = s.key.substr(9);
  if (name == "accrual") {
    const auto word = one_of(s.value, {"always", "queuepolicy", "fullpolicy"});
    if (!word) return misfit(s, "always, queuepolicy or fullpolicy");
    priority.accrual = *word == "always"        ? qmanager::Accrual::always
                       : *word == "queuepolicy" ? qmanager::Accrual::queue_policy
                                                : qmanager::Accrual::full_policy;
    return {};
  }
  if (name == "interval" || name == "xfminwclimit") {
    const auto length = duration(s.value);
    if (!length || (name == "interval" && *length < 1)) return misfit(s, kDuration);
    (name == "interval" ? priority.interval : priority.least_limit) = *length;
    return {};
  }
  std::string value = text(s.value).value_or(s.value.text());
  if (name.ends_with(".qttarget")) {
    const auto length = duration(s.value);
    if (!length) return misfit(s, kDuration);
    value = fmt::format("{}", static_cast<double>(*length) / 1000);
  }
  const Status set = priority.set(name, value);
  if (!set) return fail(set.error().code, set.error().what, s.where);
  return {};
}

// Sets Fluxion's per-queue strings: "batch:easy debug:fcfs" is queues.batch.policy=easy, ...
Status set_each_queue(qmanager::SchedulerConfig& scheduler, const Setting& s,
                      std::string_view key) {
  const auto list = text(s.value);
  if (!list) return misfit(s, "QUEUE:VALUE QUEUE:VALUE ...");
  std::istringstream entries(*list);
  for (std::string entry; entries >> entry;) {
    const std::size_t colon = entry.find(':');
    if (colon == 0 || colon == std::string::npos) return misfit(s, "QUEUE:VALUE QUEUE:VALUE ...");
    const Setting one{s.key, Value{entry.substr(colon + 1)}, s.where};
    qmanager::QueueConfig queue =
        scheduler.queues.try_emplace(entry.substr(0, colon), scheduler.defaults).first->second;
    if (auto done = set_queue_key(one, key, queue); !done) return done;
    scheduler.queues[entry.substr(0, colon)] = queue;
  }
  return {};
}

// Sets "users" or "xusers" of what not everybody may use.
Status set_access(qmanager::AccessList& access, const Setting& s, std::string_view name) {
  if (name != "users" && name != "xusers") return unknown_key(s);
  if (!set_list(name == "users" ? access.users : access.xusers, s.value)) return misfit(s, kUsers);
  return {};
}

// Sets "environments.NAME.rule", "environments.NAME.slots", ... of Grid Engine's environments.
Status set_environment(qmanager::SchedulerConfig& scheduler, const Setting& s) {
  const auto dot = s.key.rfind('.');
  if (dot <= 13) return unknown_key(s);
  qmanager::ParallelEnvironment environment = scheduler.environments[s.key.substr(13, dot - 13)];
  const std::string name = s.key.substr(dot + 1);
  if (name == "slots") {
    if (!store(environment.slots, whole(s.value, 0, 1'000'000'000)))
      return misfit(s, "a number of slots");
  } else if (name == "rule") {
    const auto rule = qmanager::parse_allocation_rule(text(s.value).value_or(s.value.text()));
    if (!rule) return fail(rule.error().code, rule.error().what, s.where);
    environment.rule = *rule;
  } else if (auto set = set_access(environment.access, s, name); !set) {
    return set;
  }
  scheduler.environments[s.key.substr(13, dot - 13)] = environment;
  return {};
}

// Sets "qos.NAME.flags" = "RESERVEALWAYS:NOBF", "qos.NAME.users" = "ann,@physics".
Status set_qos(qmanager::SchedulerConfig& scheduler, const Setting& s) {
  const auto dot = s.key.rfind('.');
  if (dot <= 4) return unknown_key(s);
  const std::string name = s.key.substr(dot + 1);
  qmanager::QosConfig qos = scheduler.qos[s.key.substr(4, dot - 4)];
  Status set;
  if (name == "flags") {
    const auto flags = text(s.value);
    if (!flags) return misfit(s, "flags like \"RESERVEALWAYS:NOBF\"");
    set = qos.set_flags(*flags);
    if (!set) return fail(set.error().code, set.error().what, s.where);
  } else if (set = set_access(qos.access, s, name); !set) {
    return set;
  }
  scheduler.qos[s.key.substr(4, dot - 4)] = qos;
  return {};
}

// Sets "accounts.NAME.users", "accounts.NAME.xusers".
Status set_account(qmanager::SchedulerConfig& scheduler, const Setting& s) {
  constexpr std::size_t kName = 9;
  const auto dot = s.key.rfind('.');
  if (dot <= kName) return unknown_key(s);
  qmanager::AccessList access = scheduler.accounts[s.key.substr(kName, dot - kName)];
  if (auto set = set_access(access, s, s.key.substr(dot + 1)); !set) return set;
  scheduler.accounts[s.key.substr(kName, dot - kName)] = access;
  return {};
}

}  // namespace

Status set_scheduler_key(qmanager::SchedulerConfig& scheduler, const Setting& s) {
  const std::string_view key = s.key;
  for (const char* each : {"policy", "queue-params", "policy-params"})
    if (key == fmt::format("queue.{}-per-queue", each)) return set_each_queue(scheduler, s, each);
  if (key.starts_with("environments.")) return set_environment(scheduler, s);
  if (key.starts_with("queue.")) {
    Status set = set_queue_key(s, key.substr(6), scheduler.defaults);
    // The bound is for all queues together, as in Grid Engine, and for each queue by itself.
    if (set && key == "queue.max-reservation")
      scheduler.max_reservation = scheduler.defaults.max_reservation;
    return set;
  }
  if (key.starts_with("limits.")) return set_limit(scheduler, s);
  if (key.starts_with("priority.")) return set_priority(scheduler.priority, s);
  if (key.starts_with("fairshare.")) return set_fairshare(scheduler.priority.fairshare, s);
  if (key.starts_with("qos.")) return set_qos(scheduler, s);
  if (key.starts_with("accounts.")) return set_account(scheduler, s);
  if (key.starts_with("pools.")) {
    if (!store(scheduler.pools[std::string(key.substr(6))], whole(s.value, 0, 1'000'000'000)))
      return misfit(s, "a number of units");
    return {};
  }
  if (key.starts_with("queues.")) {
    const auto dot = key.find('.', 7);
    if (dot > 7 && dot != std::string_view::npos) {
      const std::string name(key.substr(7, dot - 7));
      auto queue = scheduler.queues.try_emplace(name, scheduler.defaults).first->second;
      if (auto done = set_queue_key(s, key.substr(dot + 1), queue); !done) return done;
      scheduler.queues[name] = queue;
      return {};
    }
  }
  return unknown_key(s);
}

std::vector<ConfigKey> scheduler_keys() {
  std::vector<ConfigKey> all = {
      {"queue.reservation-depth.X", "a number from 0 to 100000"},
      {"queue.reservation-qos-list.X", "names of QOS, or ALL"},
      {"limits.KIND.NAME.LIMIT", "a number, or SOFT,HARD"},
      {"limits.queue.NAME.KIND.NAME.LIMIT", "a number, or SOFT,HARD"},
      {"limits.system.LIMIT", "a number, or SOFT,HARD"},
      {"limits.system.max-proc-per-job", "a number of processors"},
      {"limits.system.max-procsecond-per-job", "a number of processor-seconds"},
      {"limits.system.max-job-walltime", kDuration},
      {"qos.NAME.flags", "flags like RESERVEALWAYS:NOBF"},
      {"qos.NAME.users", kUsers},
      {"qos.NAME.xusers", kUsers},
      {"accounts.NAME.users", kUsers},
      {"accounts.NAME.xusers", kUsers},
      {"priority.FACTOR-weight", "a number"},
      {"priority.FACTOR-cap", "a number"},
      {"priority.COMPONENT-weight", "a number"},
      {"priority.COMPONENT-cap", "a number"},
      {"priority.KIND.NAME.priority", "a number"},
      {"priority.KIND.NAME.fstarget", "a percentage like 20, 20+ or 20-"},
      {"priority.qos.NAME.qtweight", "a number"},
      {"priority.qos.NAME.xfweight", "a number"},
      {"priority.qos.NAME.qttarget", kDuration},
      {"priority.qos.NAME.xftarget", "a number"},
      {"priority.xfminwclimit", kDuration},
      {"priority.accrual", "always, queuepolicy or fullpolicy"},
      {"priority.interval", kDuration},
      {"fairshare.interval", kDuration},
      {"fairshare.depth", "a number from 1 to 1000"},
      {"fairshare.decay", "a number from 0 to 1"},
      {"pools.NAME", "a number of units"},
      {"queue.pools.NAME", "a number of units"},
      {"queue.policy-per-queue", "QUEUE:POLICY ..."},
      {"queue.queue-params-per-queue", "QUEUE:queue-depth=N ..."},
      {"queue.policy-params-per-queue", "QUEUE:reservation-depth=N ..."},
      {"environments.NAME.rule", "a number, $pe_slots, $fill_up or $round_robin"},
      {"environments.NAME.slots", "a number of slots"},
      {"environments.NAME.users", kUsers},
      {"environments.NAME.xusers", kUsers},
  };
  for (const auto& k : kQueueKeys) {
    all.push_back({fmt::format("queue.{}", k.name), k.accepts, k.standard});
    all.push_back({fmt::format("queues.NAME.{}", k.name), k.accepts});
  }
  return all;
}

}  // namespace holon::config
