// A TOML file and a KEY=VALUE come down to the same thing: a list of (dotted key, scalar, place).
// One table says for each key what it accepts and how it is set, so that checking, help and
// documentation cannot drift apart.
#include "instance/config.hpp"

#include <fmt/core.h>

#include <toml++/toml.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <numeric>
#include <optional>
#include <sstream>
#include <variant>

namespace holon::instance {
namespace {

struct Value {
  std::variant<std::int64_t, double, bool, std::string> scalar;

  std::string text() const {
    if (const auto* s = std::get_if<std::string>(&scalar)) return fmt::format("\"{}\"", *s);
    if (const auto* i = std::get_if<std::int64_t>(&scalar)) return std::to_string(*i);
    if (const auto* d = std::get_if<double>(&scalar)) return fmt::format("{}", *d);
    return std::get<bool>(scalar) ? "true" : "false";
  }
};

struct Setting {
  std::string key;
  Value value;
  std::string where;
};

// ---- converters: nullopt when the value does not fit ----

std::optional<std::int64_t> whole(const Value& v, std::int64_t low, std::int64_t high) {
  const auto* i = std::get_if<std::int64_t>(&v.scalar);
  if (i == nullptr || *i < low || *i > high) return std::nullopt;
  return *i;
}

std::optional<Duration> duration(const Value& v) {
  if (const auto* s = std::get_if<std::string>(&v.scalar)) {
    const auto parsed = parse_duration_ms(*s);
    return parsed ? std::optional(*parsed) : std::nullopt;
  }
  double seconds = -1;
  if (const auto* i = std::get_if<std::int64_t>(&v.scalar)) seconds = static_cast<double>(*i);
  if (const auto* d = std::get_if<double>(&v.scalar)) seconds = *d;
  if (!(seconds >= 0 && seconds < 1e12)) return std::nullopt;
  return std::llround(seconds * 1000);
}

std::optional<std::string> text(const Value& v) {
  const auto* s = std::get_if<std::string>(&v.scalar);
  return s != nullptr && !s->empty() ? std::optional(*s) : std::nullopt;
}

std::optional<std::string> one_of(const Value& v,
                                  std::initializer_list<std::string_view> accepted) {
  auto s = text(v);
  if (s && std::find(accepted.begin(), accepted.end(), *s) != accepted.end()) return s;
  return std::nullopt;
}

template <class T, class Found>
bool store(T& target, const Found& found) {
  if (found) target = static_cast<T>(*found);
  return found.has_value();
}

std::optional<double> share(const Value& v) {
  double number = -1;
  if (const auto* i = std::get_if<std::int64_t>(&v.scalar)) number = static_cast<double>(*i);
  if (const auto* d = std::get_if<double>(&v.scalar)) number = *d;
  return number >= 0 && number <= 1 ? std::optional(number) : std::nullopt;
}

// ---- the table ----

constexpr std::string_view kDuration = "a duration: \"250ms\", \"30s\", \"5m\", \"2h\", or seconds";

using QueueSetter = bool (*)(qmanager::QueueConfig&, const Value&);
struct QueueKey {
  std::string_view name, accepts;
  QueueSetter set;
};
constexpr QueueKey kQueueKeys[] = {
    {"policy", "fcfs, easy, hybrid[:N], conservative[:N] or conservative-rebuild[:N]",
     [](auto& q, const Value& v) {
       const auto name = text(v);
       return name && qmanager::parse_policy(*name) && store(q.policy, name);
     }},
    {"depth", "a number from 1 to 1000000",
     [](auto& q, const Value& v) { return store(q.queue_depth, whole(v, 1, 1'000'000)); }},
    {"reservation-depth", "a number from 1 to 100000",
     [](auto& q, const Value& v) { return store(q.reservation_depth, whole(v, 1, 100'000)); }},
    {"max-reservation-depth", "a number from 1 to 100000",
     [](auto& q, const Value& v) { return store(q.max_reservation_depth, whole(v, 1, 100'000)); }},
    {"max-reservation", "a number from 0 to 100000",
     [](auto& q, const Value& v) { return store(q.max_reservation, whole(v, 0, 100'000)); }},
    {"backfill", "firstfit, bestfit, greedy or none",
     [](auto& q, const Value& v) {
       const auto name = one_of(v, {"firstfit", "bestfit", "greedy", "none"});
       if (name) q.backfill = *qmanager::parse_backfill(*name);
       return name.has_value();
     }},
    {"backfill-metric", "procs, seconds or procseconds",
     [](auto& q, const Value& v) {
       const auto name = one_of(v, {"procs", "seconds", "procseconds"});
       if (name) q.backfill_metric = *qmanager::parse_metric(*name);
       return name.has_value();
     }},
    {"backfill-depth", "a number from 0 (all) to 1000000",
     [](auto& q, const Value& v) { return store(q.backfill_depth, whole(v, 0, 1'000'000)); }},
    {"chunk-size", "a number of processors, 0 for off",
     [](auto& q, const Value& v) { return store(q.chunk_size, whole(v, 0, 1'000'000'000)); }},
    {"chunk-duration", kDuration,
     [](auto& q, const Value& v) { return store(q.chunk_duration, duration(v)); }},
    {"default-duration", kDuration,
     [](auto& q, const Value& v) { return store(q.default_duration, duration(v)); }},
    {"duration-offset", kDuration,
     [](auto& q, const Value& v) { return store(q.duration_offset, duration(v)); }},
};

using Setter = bool (*)(Config&, const Value&);
struct Key {
  std::string_view name, accepts;
  Setter set;
};
constexpr Key kKeys[] = {
    {"queue.default", "the name of a queue",
     [](Config& c, const Value& v) { return store(c.scheduler.default_queue, text(v)); }},
    {"resource.match-policy",
     "first, high, low, lonode, hinode, lonodex, hinodex, firstnodex or locality",
     [](Config& c, const Value& v) {
       return store(c.match_policy, one_of(v, {"first", "high", "low", "lonode", "hinode",
                                               "lonodex", "hinodex", "firstnodex", "locality"}));
     }},
    {"resource.prune-filters", "a list like ALL:core,ALL:node",
     [](Config& c, const Value& v) { return store(c.prune_filters, text(v)); }},
    {"job.grace", kDuration, [](Config& c, const Value& v) { return store(c.grace, duration(v)); }},
    {"job.default-limit", kDuration,
     [](Config& c, const Value& v) { return store(c.default_limit, duration(v)); }},
    {"job.max-count", "a number from 1 to 10000000",
     [](Config& c, const Value& v) { return store(c.max_count, whole(v, 1, 10'000'000)); }},
    {"instance.heartbeat", kDuration,
     [](Config& c, const Value& v) { return store(c.heartbeat, duration(v)); }},
    {"instance.peer-timeout", kDuration,
     [](Config& c, const Value& v) { return store(c.peer_timeout, duration(v)); }},
    {"instance.orphan-timeout", kDuration,
     [](Config& c, const Value& v) { return store(c.orphan_timeout, duration(v)); }},
    {"instance.tree-timeout", kDuration,
     [](Config& c, const Value& v) { return store(c.tree_timeout, duration(v)); }},
    {"instance.record-interval", kDuration,
     [](Config& c, const Value& v) { return store(c.record_interval, duration(v)); }},
    {"instance.shutdown-timeout", kDuration,
     [](Config& c, const Value& v) { return store(c.shutdown_timeout, duration(v)); }},
    {"journal.sync", "normal or full",
     [](Config& c, const Value& v) {
       const auto name = one_of(v, {"normal", "full"});
       if (name) c.sync = *name == "full" ? Journal::Sync::full : Journal::Sync::normal;
       return name.has_value();
     }},
};

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

tl::unexpected<Error> unknown_key(const Setting& s) {
  const auto& keys = config_keys();
  const auto nearest =
      std::min_element(keys.begin(), keys.end(), [&](const auto& a, const auto& b) {
        return edit_distance(a.name, s.key) < edit_distance(b.name, s.key);
      });
  // Those of the same table; all tables have too many to be of help.
  const std::string table = s.key.substr(0, s.key.find('.') + 1);
  std::string all;
  for (const auto& k : keys)
    if (table.empty() || k.name.starts_with(table) ||
        nearest->name.substr(0, nearest->name.find('.')) == k.name.substr(0, k.name.find('.')))
      all += fmt::format("{}{}", all.empty() ? "" : ", ", k.name);
  return fail(Errc::invalid_argument,
              fmt::format("unknown key '{}'; did you mean '{}'? accepted are {}", s.key,
                          nearest->name, all),
              s.where);
}

tl::unexpected<Error> misfit(const Setting& s, std::string_view accepts) {
  return fail(Errc::invalid_argument,
              fmt::format("{} = {} does not fit: accepted is {}", s.key, s.value.text(), accepts),
              s.where);
}

// Words with commas or blanks between them.
std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> all;
  for (std::size_t at = text.find_first_not_of(", "); at < text.size();
       at = text.find_first_not_of(", ", at)) {
    const std::size_t end = std::min(text.find_first_of(", ", at), text.size());
    all.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return all;
}

// Maui's RESERVATIONDEPTH[X] and RESERVATIONQOSLIST[X]: "reservation-depth.X".
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

// "queue.policy" sets the defaults, which queues named later inherit; "queues.NAME.policy" one
// queue.
Status set_queue_key(const Setting& s, std::string_view name, qmanager::QueueConfig& queue) {
  if (name.starts_with("reservation-depth.") || name.starts_with("reservation-qos-list."))
    return set_bucket(s, name, queue);
  for (const auto& k : kQueueKeys) {
    if (k.name != name) continue;
    if (!k.set(queue, s.value)) return misfit(s, k.accepts);
    return {};
  }
  return unknown_key(s);
}

// "limits.user.ann.max-job" = 8 or "2,8" (soft, hard).
Status set_limit(Config& c, const Setting& s) {
  const std::string key = s.key;
  const auto kind = key.find('.', 7);
  const auto last = key.rfind('.');
  if (kind == std::string::npos || last <= kind) return unknown_key(s);
  constexpr std::int64_t kTicksPerSecond = 1000;
  Status set = c.scheduler.limits.set(key.substr(7, kind - 7),
                                      key.substr(kind + 1, last - kind - 1), key.substr(last + 1),
                                      text(s.value).value_or(s.value.text()), kTicksPerSecond);
  if (!set) return fail(set.error().code, set.error().what, s.where);
  return {};
}

// "fairshare.interval" and the other keys of it.
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

// "priority.queuetime-weight", "priority.user.ann.fstarget"; what the scheduler does not know by
// these names is a matter of the instance.
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
  const Status set = priority.set(name, text(s.value).value_or(s.value.text()));
  if (!set) return fail(set.error().code, set.error().what, s.where);
  return {};
}

// "qos.NAME.flags" = "RESERVEALWAYS:NOBF".
Status set_qos(Config& c, const Setting& s) {
  const auto dot = s.key.rfind('.');
  if (dot <= 4 || s.key.substr(dot + 1) != "flags") return unknown_key(s);
  const auto flags = text(s.value);
  if (!flags) return misfit(s, "flags like \"RESERVEALWAYS:NOBF\"");
  const Status set = c.scheduler.qos[s.key.substr(4, dot - 4)].set_flags(*flags);
  if (!set) return fail(set.error().code, set.error().what, s.where);
  return {};
}

// "queue.policy" sets the defaults, which queues named later inherit; "queues.NAME.policy" one
// queue.
Status set(Config& c, const Setting& s) {
  for (const auto& k : kKeys) {
    if (k.name != s.key) continue;
    if (!k.set(c, s.value)) return misfit(s, k.accepts);
    return {};
  }
  const std::string_view key = s.key;
  if (key.starts_with("queue.")) return set_queue_key(s, key.substr(6), c.scheduler.defaults);
  if (key.starts_with("limits.")) return set_limit(c, s);
  if (key.starts_with("priority.")) return set_priority(c.scheduler.priority, s);
  if (key.starts_with("fairshare.")) return set_fairshare(c.scheduler.priority.fairshare, s);
  if (key.starts_with("qos.")) return set_qos(c, s);
  if (key.starts_with("pools.")) {
    if (!store(c.scheduler.pools[std::string(key.substr(6))], whole(s.value, 0, 1'000'000'000)))
      return misfit(s, "a number of units");
    return {};
  }
  if (key.starts_with("queues.")) {
    const auto dot = key.find('.', 7);
    if (dot > 7 && dot != std::string_view::npos) {
      const std::string name(key.substr(7, dot - 7));
      auto queue = c.scheduler.queues.try_emplace(name, c.scheduler.defaults).first->second;
      if (auto done = set_queue_key(s, key.substr(dot + 1), queue); !done) return done;
      c.scheduler.queues[name] = queue;
      return {};
    }
  }
  return unknown_key(s);
}

// ---- reading ----

std::optional<Value> scalar_of(const toml::node& node) {
  if (const auto* v = node.as_integer()) return Value{v->get()};
  if (const auto* v = node.as_floating_point()) return Value{v->get()};
  if (const auto* v = node.as_boolean()) return Value{v->get()};
  if (const auto* v = node.as_string()) return Value{v->get()};
  return std::nullopt;
}

Status flatten(const toml::table& table, const std::string& prefix, const std::string& file,
               std::vector<Setting>& out) {
  for (const auto& [key, node] : table) {
    const std::string name = prefix + std::string(key.str());
    const std::string where = fmt::format("{}:{}", file, node.source().begin.line);
    if (const auto* sub = node.as_table()) {
      if (auto done = flatten(*sub, name + ".", file, out); !done) return done;
    } else if (auto value = scalar_of(node)) {
      out.push_back({name, std::move(*value), where});
    } else {
      return fail(Errc::invalid_argument,
                  fmt::format("'{}' must be a number, a string or true/false", name), where);
    }
  }
  return {};
}

// The value of KEY=VALUE: what TOML makes of it, or the bare words as a string.
Value parse_value(const std::string& word) {
  try {
    const auto table = toml::parse("v = " + word);
    if (table.size() == 1)
      if (auto value = scalar_of(*table.get("v"))) return *value;
  } catch (const toml::parse_error&) {
    // not TOML: policy=easy without quotes is what people type
  }
  return Value{word};
}

Status apply_file(Config& config, const std::string& name) {
  std::ifstream in(name);
  if (!in)
    return fail(Errc::not_found, "no such file; accepted are the name of a TOML file, or KEY=VALUE",
                fmt::format("--conf {}", name));
  std::ostringstream text;
  text << in.rdbuf();
  return apply_toml(config, text.str(), name);
}

Status apply_item(Config& config, const std::string& item) {
  const auto equals = item.find('=');
  if (equals == std::string::npos || item.find('/') < equals) return apply_file(config, item);
  const std::string key = item.substr(0, equals);
  return set(config, {key, parse_value(item.substr(equals + 1)), "--conf " + key});
}

Status check_whole(const Config& c) {
  const auto& s = c.scheduler;
  if (!s.queues.empty() && s.queues.count(s.default_queue) == 0 && s.default_queue != "default")
    return fail(Errc::invalid_argument,
                fmt::format("there is no queue '{}' in [queues]", s.default_queue),
                "queue.default");
  return {};
}

}  // namespace

const std::string& Config::default_policy() const {
  const auto found = scheduler.queues.find(scheduler.default_queue);
  return found == scheduler.queues.end() ? scheduler.defaults.policy : found->second.policy;
}

const std::vector<ConfigKey>& config_keys() {
  static const std::vector<ConfigKey> keys = [] {
    std::vector<ConfigKey> all = {
        {"queue.reservation-depth.X", "a number from 0 to 100000"},
        {"queue.reservation-qos-list.X", "names of QOS, or ALL"},
        {"limits.KIND.NAME.LIMIT", "a number, or SOFT,HARD"},
        {"qos.NAME.flags", "flags like RESERVEALWAYS:NOBF"},
        {"priority.FACTOR-weight", "a number"},
        {"priority.FACTOR-cap", "a number"},
        {"priority.COMPONENT-weight", "a number"},
        {"priority.COMPONENT-cap", "a number"},
        {"priority.KIND.NAME.priority", "a number"},
        {"priority.KIND.NAME.fstarget", "a percentage like 20, 20+ or 20-"},
        {"priority.qos.NAME.qtweight", "a number"},
        {"priority.xfminwclimit", kDuration},
        {"priority.accrual", "always, queuepolicy or fullpolicy"},
        {"priority.interval", kDuration},
        {"fairshare.interval", kDuration},
        {"fairshare.depth", "a number from 1 to 1000"},
        {"fairshare.decay", "a number from 0 to 1"},
        {"pools.NAME", "a number of units"},
    };
    for (const auto& k : kQueueKeys) {
      all.push_back({fmt::format("queue.{}", k.name), k.accepts});
      all.push_back({fmt::format("queues.NAME.{}", k.name), k.accepts});
    }
    for (const auto& k : kKeys) all.push_back({std::string(k.name), k.accepts});
    return all;
  }();
  return keys;
}

Status apply_toml(Config& config, std::string_view text, const std::string& file) {
  try {
    const toml::table table = toml::parse(text, file);
    std::vector<Setting> settings;
    if (auto done = flatten(table, "", file, settings); !done) return done;
    // [queues.*] inherit from [queue], wherever in the file it stands.
    std::stable_partition(settings.begin(), settings.end(),
                          [](const Setting& s) { return !s.key.starts_with("queues."); });
    Config next = config;
    for (const auto& s : settings)
      if (auto done = set(next, s); !done) return done;
    config = std::move(next);
    return {};
  } catch (const toml::parse_error& e) {
    return fail(Errc::invalid_argument, std::string(e.description()),
                fmt::format("{}:{}", file, e.source().begin.line));
  }
}

Result<Config> load_config(const std::vector<std::string>& items) {
  Config config;
  for (const auto& item : items)
    if (auto done = apply_item(config, item); !done) return tl::unexpected(done.error());
  if (auto whole_is_sound = check_whole(config); !whole_is_sound)
    return tl::unexpected(whole_is_sound.error());
  return config;
}

Result<Duration> parse_duration_ms(std::string_view text) {
  struct Unit {
    std::string_view name;
    double ms;
  };
  constexpr Unit kUnits[] = {{"ms", 1},    {"s", 1e3},    {"m", 6e4},
                             {"h", 3.6e6}, {"d", 8.64e7}, {"", 1e3}};
  double number = 0;
  const auto [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view suffix(rest, std::size_t(text.data() + text.size() - rest));
  for (const auto& unit : kUnits)
    if (problem == std::errc() && suffix == unit.name && number >= 0 && number * unit.ms < 1e15)
      return std::llround(number * unit.ms);
  return fail(Errc::invalid_argument,
              fmt::format("'{}' is no duration: accepted are 250ms, 30s, 5m, 2h, 1d", text));
}

}  // namespace holon::instance
