// A TOML file and a KEY=VALUE come down to the same thing: a list of (dotted key, scalar, place).
// One table says for each key what it accepts and how it is set, so that checking, help and
// documentation cannot drift apart.
#include "config/config.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <toml++/toml.h>
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "base/duration.hpp"
#include "base/text/similar.hpp"
#include "base/whole_file.hpp"
#include "config/policies.hpp"
#include "config/scheduler.hpp"
#include "config/toml_bounds.hpp"
#include "config/value.hpp"

namespace holon::config {
namespace {

// Checks HL:LL[,HL:LL...]; the types' meaning is known once there is a graph.
std::optional<std::string> prune_filters(const Value& v) {
  auto list = text(v);
  if (!list) return std::nullopt;
  std::string_view rest = *list;
  for (bool more = true; more;) {
    const auto comma = rest.find(',');
    const auto part = rest.substr(0, comma);
    const auto colon = part.find(':');
    const auto is_blank = [](std::string_view word) {
      return word.find_first_not_of(" \t\r") == std::string_view::npos;
    };
    if (colon == std::string_view::npos || is_blank(part.substr(0, colon)) ||
        is_blank(part.substr(colon + 1)))
      return std::nullopt;
    more = comma != std::string_view::npos;
    if (more) rest.remove_prefix(comma + 1);
  }
  return list;
}

// ---- the table ----

std::optional<Duration> within(std::optional<Duration> length, Duration least, Duration most) {
  return length && *length >= least && *length <= most ? length : std::nullopt;
}

constexpr std::string_view kPolicies = "policies.";
constexpr std::string_view kPolicyText = "the text of a policy in Lua";

bool store_text(std::string& target, const Value& value) {
  const auto found = text(value);
  if (found) target = *found;
  return found.has_value();
}

using Setter = bool (*)(Config&, const Value&);
struct Key {
  std::string_view name, accepts, standard;
  Setter set;
};
constexpr Key kKeys[] = {
    {"policy.keep-promises", "true or false", "true",
     [](Config& c, const Value& v) { return store(c.scheduler.keep_promises, yes_or_no(v)); }},
    {"queue.default", "the name of a queue", "default",
     [](Config& c, const Value& v) { return store(c.scheduler.default_queue, text(v)); }},
    {"resource.match-policy",
     "first, high, low, lonode, hinode, lonodex, hinodex, firstnodex or locality", "first",
     [](Config& c, const Value& v) {
       return store(c.match_policy, one_of(v, {"first", "high", "low", "lonode", "hinode",
                                               "lonodex", "hinodex", "firstnodex", "locality"}));
     }},
    {"resource.prune-filters", "a list like ALL:core,ALL:node", "ALL:core,ALL:node,ALL:gpu",
     [](Config& c, const Value& v) { return store(c.prune_filters, prune_filters(v)); }},
    {"resource.cgroup-limits", "true or false", "true",
     [](Config& c, const Value& v) { return store(c.heeds_cgroups, yes_or_no(v)); }},
    {"batch.system", "auto, none, slurm, pbs, lsf, oar, grid-engine, flux or holon", "auto",
     [](Config& c, const Value& v) {
       return store(c.batch_system, one_of(v, {"auto", "none", "slurm", "pbs", "lsf", "oar",
                                               "grid-engine", "flux", "holon"}));
     }},
    {"batch.follow-walltime", "true or false", "true",
     [](Config& c, const Value& v) { return store(c.follow_walltime, yes_or_no(v)); }},
    {"batch.interval", "a duration from 1s to 30s", "20s",
     [](Config& c, const Value& v) {
       return store(c.walltime_interval, within(duration(v), 1'000, 30'000));
     }},
    {"batch.margin", kDuration, "30s",
     [](Config& c, const Value& v) { return store(c.walltime_margin, duration(v)); }},
    {"job.grace", kDuration, "5s",
     [](Config& c, const Value& v) { return store(c.grace, duration(v)); }},
    {"job.default-limit", kDuration, "0",
     [](Config& c, const Value& v) { return store(c.default_limit, duration(v)); }},
    {"job.max-overrun", kDuration, "0",
     [](Config& c, const Value& v) { return store(c.max_overrun, duration(v)); }},
    {"job.max-count", "a number from 1 to 10000000", "1000000",
     [](Config& c, const Value& v) { return store(c.max_count, whole(v, 1, 10'000'000)); }},
    {"job.tracking", "auto, cgroup or process", "auto",
     [](Config& c, const Value& v) {
       const auto name = one_of(v, {"auto", "cgroup", "process"});
       if (name)
         c.tracking = *name == "cgroup"    ? TrackingKind::cgroup
                      : *name == "process" ? TrackingKind::process
                                           : TrackingKind::automatic;
       return name.has_value();
     }},
    {"access.users", "user names, or * for everybody", "*",
     [](Config& c, const Value& v) { return store(c.access.users, text(v)); }},
    {"access.operators", "user names", "none",
     [](Config& c, const Value& v) { return store(c.access.operators, text(v)); }},
    {"access.least-uid", "a user id from 1 on", "1000",
     [](Config& c, const Value& v) {
       return store(c.access.least_uid, whole(v, 1, 2'000'000'000));
     }},
    {"access.no-new-privileges", "true or false", "true",
     [](Config& c, const Value& v) { return store(c.access.no_new_privileges, yes_or_no(v)); }},
    {"access.munge", "true or false", "false",
     [](Config& c, const Value& v) { return store(c.access.munge, yes_or_no(v)); }},
    {"access.port", "a port, 0 for any that is free", "0",
     [](Config& c, const Value& v) { return store(c.access.port, whole(v, 0, 65'535)); }},
    {"access.munge-socket", "the name of a socket", "libmunge's",
     [](Config& c, const Value& v) { return store(c.access.munge_socket, text(v)); }},
    {"per-user.cores", "a number of cores from 1 on", "none",
     [](Config& c, const Value& v) { return store(c.per_user.cores, whole(v, 1, 1'000'000'000)); }},
    {"per-user.nodes", "a number of nodes from 1 on", "none",
     [](Config& c, const Value& v) { return store(c.per_user.nodes, whole(v, 1, 1'000'000)); }},
    {"per-user.share", "a number from 0 to 1", "none",
     [](Config& c, const Value& v) { return store(c.per_user.share, share(v)); }},
    {"per-user.cores-of", "USER=CORES, as often as needed", "none",
     [](Config& c, const Value& v) {
       const auto list = text(v);
       if (!list) return false;
       for (const std::string& word : words(*list))
         if (cores_of_user(word, word.substr(0, word.find('='))) == 0) return false;
       return store(c.per_user.cores_of, list);
     }},
    {"per-user.most", "a number of cores from 1 on", "none",
     [](Config& c, const Value& v) { return store(c.per_user.most, whole(v, 1, 1'000'000'000)); }},
    {"per-user.policy", "as queue.policy; a file by its absolute name", "fcfs",
     [](Config& c, const Value& v) {
       const auto policy = text(v);
       if (!policy || (qmanager::is_policy_file(*policy) && policy->front() != '/')) return false;
       return store(c.per_user.policy, policy);
     }},
    {"per-user.idle", kDuration, "10m",
     [](Config& c, const Value& v) { return store(c.per_user.idle, duration(v)); }},
    {"per-user.limit", kDuration, "none",
     [](Config& c, const Value& v) { return store(c.per_user.limit, duration(v)); }},
    {"grant.max", "a number of cores from 1 on", "none",
     [](Config& c, const Value& v) { return store(c.grant_max, whole(v, 1, 1'000'000'000)); }},
    {"grant.idle", kDuration, "30s",
     [](Config& c, const Value& v) { return store(c.grant_idle, duration(v)); }},
    {"grant.hold", kDuration, "1m",
     [](Config& c, const Value& v) { return store(c.grant_hold, duration(v)); }},
    {"grant.fence-timeout", "0 for never, or a duration of 1s and more", "0",
     [](Config& c, const Value& v) {
       const auto length = duration(v);
       return store(c.grant_fence, length == 0 ? length : within(length, 1'000, kTimeMax));
     }},
    {"job.mpi", "auto, pmi1, pmi2, pmix or none", "auto",
     [](Config& c, const Value& v) {
       return store(c.mpi, one_of(v, {"auto", "pmi1", "pmi2", "pmix", "none"}));
     }},
    {"job.prolog", "a line for the shell", "none",
     [](Config& c, const Value& v) { return store(c.prolog, text(v)); }},
    {"job.epilog", "a line for the shell", "none",
     [](Config& c, const Value& v) { return store(c.epilog, text(v)); }},
    {"job.hook-timeout", kDuration, "60s",
     [](Config& c, const Value& v) { return store(c.hook_timeout, duration(v)); }},
    {"job.output-limit", "a number of bytes, 512K, 10M, 2G or 1T, 0 for none", "0",
     [](Config& c, const Value& v) { return store(c.output_limit, bytes(v)); }},
    {"job.keep-memory", "true or false", "true",
     [](Config& c, const Value& v) { return store(c.keep_memory, yes_or_no(v)); }},
    // Clients and agents give a sign of life each second and wait for ours for 20.
    {"instance.heartbeat", "a duration from 10ms to 5s", "1s",
     [](Config& c, const Value& v) { return store(c.heartbeat, within(duration(v), 10, 5'000)); }},
    {"instance.peer-timeout", "a duration of 3s and more, and of 3 heartbeats at least", "20s",
     [](Config& c, const Value& v) {
       return store(c.peer_timeout, within(duration(v), 3'000, kTimeMax));
     }},
    {"instance.idle-timeout", kDuration, "0",
     [](Config& c, const Value& v) { return store(c.idle_timeout, duration(v)); }},
    {"instance.gather-timeout", kDuration, "60s",
     [](Config& c, const Value& v) { return store(c.gather_timeout, duration(v)); }},
    {"instance.joinable", "true or false", "false",
     [](Config& c, const Value& v) { return store(c.joinable, yes_or_no(v)); }},
    {"instance.quorum", "a number of nodes, 0 for all of them", "0",
     [](Config& c, const Value& v) { return store(c.quorum, whole(v, 0, 1'000'000)); }},
    {"instance.rejoin-timeout", kDuration, "2m",
     [](Config& c, const Value& v) { return store(c.rejoin_timeout, duration(v)); }},
    {"instance.address", "an IPv4 address of this machine, or nothing for all of them", "none",
     [](Config& c, const Value& v) { return store(c.address, text(v)); }},
    {"launch.ssh", "the name of a program", "ssh",
     [](Config& c, const Value& v) { return store(c.ssh, text(v)); }},
    {"instance.orphan-timeout", kDuration, "1h",
     [](Config& c, const Value& v) { return store(c.orphan_timeout, duration(v)); }},
    // Not 0: with one stuck child nobody would get an answer.
    {"instance.tree-timeout", "a duration of 1ms and more", "2s",
     [](Config& c, const Value& v) {
       return store(c.tree_timeout, within(duration(v), 1, kTimeMax));
     }},
    {"instance.record-interval", kDuration, "200ms",
     [](Config& c, const Value& v) { return store(c.record_interval, duration(v)); }},
    {"instance.shutdown-timeout", kDuration, "30s",
     [](Config& c, const Value& v) { return store(c.shutdown_timeout, duration(v)); }},
    {"instance.watchdog", "0, or a duration of 1s and more, like 60s", "60s",
     [](Config& c, const Value& v) {
       const auto patience = duration(v);
       return store(c.watchdog,
                    patience && (*patience == 0 || *patience >= 1'000) ? patience : std::nullopt);
     }},
    {"instance.monitor", "true or false", "false",
     [](Config& c, const Value& v) { return store(c.monitor, yes_or_no(v)); }},
    {"journal.audit", "a number of requests, 0 for none", "10000",
     [](Config& c, const Value& v) { return store(c.keep_audit, whole(v, 0, 10'000'000)); }},
    {"journal.keep", "a number of jobs, 0 for all", "1000000",
     [](Config& c, const Value& v) { return store(c.keep, whole(v, 0, 1'000'000'000)); }},
    {"journal.keep-age", kDuration, "0",
     [](Config& c, const Value& v) { return store(c.keep_age, duration(v)); }},
    {"journal.sync", "normal or full", "normal",
     [](Config& c, const Value& v) {
       const auto name = one_of(v, {"normal", "full"});
       if (name) c.sync = *name == "full" ? Sync::full : Sync::normal;
       return name.has_value();
     }},
};

}  // namespace

tl::unexpected<Error> unknown_key(const Setting& s) {
  if (s.key == "instance.state-dir")  // `holon config get` shows it beside the keys
    return fail(Errc::invalid_argument,
                "no key of the configuration; `holon start --state-dir DIR` says it", s.where);
  const auto& keys = config_keys();
  const auto table_of = [](const std::string& key) { return key.substr(0, key.find('.')); };
  const auto nearest =
      std::min_element(keys.begin(), keys.end(), [&](const auto& a, const auto& b) {
        return edit_distance(a.name, s.key) < edit_distance(b.name, s.key);
      });
  const auto distance = edit_distance(nearest->name, s.key);
  constexpr std::size_t kTypingMistake = 2;
  if (distance <= kTypingMistake)
    return fail(Errc::invalid_argument,
                fmt::format("unknown key '{}'; did you mean '{}'?", s.key, nearest->name), s.where);
  const bool is_near = distance <= 1 + nearest->name.size() / 3;
  // The keys of the same table, or of the nearest key's; else the tables: all keys are too many to
  // help.
  std::string table = table_of(s.key);
  const auto is_in_table = [&](const auto& key) { return table_of(key.name) == table; };
  if (is_near && std::none_of(keys.begin(), keys.end(), is_in_table))
    table = table_of(nearest->name);
  std::set<std::string> accepted;
  for (const auto& key : keys)
    if (is_in_table(key)) accepted.insert(key.name);
  const bool tables_only = accepted.empty();
  for (const auto& key : keys)
    if (tables_only) accepted.insert(table_of(key.name) + ". ...");
  return fail(Errc::invalid_argument,
              fmt::format("unknown key '{}';{} accepted are {}", s.key,
                          is_near ? fmt::format(" did you mean '{}'?", nearest->name) : "",
                          fmt::join(accepted, ", ")),
              s.where);
}

namespace {

Status set(Config& c, const Setting& s) {
  for (const auto& k : kKeys) {
    if (k.name != s.key) continue;
    if (!k.set(c, s.value)) return misfit(s, k.accepts);
    return {};
  }
  if (s.key.starts_with(kPolicies)) {
    const std::string name = s.key.substr(kPolicies.size());
    if (!qmanager::is_policy_file(name)) return unknown_key(s);
    if (!store_text(c.policies[name], s.value)) return misfit(s, kPolicyText);
    return {};
  }
  return set_scheduler_key(c.scheduler, s);
}

// ---- reading ----

std::optional<Value> scalar_of(const toml::node& node) {
  if (const auto* v = node.as_integer()) return Value{v->get()};
  if (const auto* v = node.as_floating_point()) return Value{v->get()};
  if (const auto* v = node.as_boolean()) return Value{v->get()};
  if (const auto* v = node.as_string()) return Value{v->get()};
  return std::nullopt;
}

// A list of words counts as the words with commas between them.
std::optional<std::string> list_of(const toml::node& node) {
  const auto* array = node.as_array();
  if (array == nullptr || array->empty()) return std::nullopt;
  std::string all;
  for (const auto& element : *array) {
    const auto* word = element.as_string();
    if (word == nullptr) return std::nullopt;
    all += (all.empty() ? "" : ",") + word->get();
  }
  return all;
}

Status flatten(const toml::table& table, const std::string& prefix, const std::string& file,
               std::vector<Setting>& out) {
  for (const auto& [key, node] : table) {
    const std::string name = prefix + std::string(key.str());
    const std::string where = fmt::format("{}:{}", file, node.source().begin.line);
    if (const auto* sub = node.as_table()) {
      if (auto done = flatten(*sub, name + ".", file, out); !done) return done;
    } else if (auto list = list_of(node)) {
      out.push_back({name, Value{std::move(*list)}, where});
    } else if (auto value = scalar_of(node)) {
      out.push_back({name, std::move(*value), where});
    } else if (node.is_array_of_tables()) {
      return fail(
          Errc::invalid_argument,
          fmt::format("'{0}' is a list of tables, [[{0}]]; accepted is one table, [{0}]", name),
          where);
    } else {
      return fail(Errc::invalid_argument,
                  fmt::format("'{}' must be a number, a string or true/false", name), where);
    }
  }
  return {};
}

// A table makes a queue, whether anything stands in it or not.
Status make_queues(qmanager::SchedulerConfig& scheduler, const toml::table& table,
                   const std::string& file) {
  const toml::node* node = table.get("queues");
  if (node == nullptr) return {};
  const std::string where = fmt::format("{}:{}", file, node->source().begin.line);
  if (!node->is_table())
    return fail(Errc::invalid_argument, "'queues' is a table of queues: [queues.NAME]", where);
  for (const auto& [name, queue] : *node->as_table())
    if (queue.is_table()) scheduler.queues.try_emplace(std::string(name.str()), scheduler.defaults);
  return {};
}

// The value of KEY=VALUE: what TOML makes of it, or the bare words as a string.
Value parse_value(const std::string& word) {
  const std::string text = "v = " + word;
  if (!check_toml(text, "")) return Value{word};
  try {
    const auto table = toml::parse(text);
    if (table.size() == 1)
      if (auto value = scalar_of(*table.get("v"))) return *value;
  } catch (const toml::parse_error&) {
    // not TOML: policy=easy without quotes is what people type
  }
  return Value{word};
}

// The settings of single queues come after all others: a queue inherits the [queue] settings of any
// item, whether it stands before or behind the item that names the queue.
enum class Part { shared, queues };

Part part_of(const Setting& s) {
  const bool is_of_one = s.key.starts_with("queues.") || s.key.ends_with("-per-queue");
  return is_of_one ? Part::queues : Part::shared;
}

Result<toml::table> table_of_file(std::string_view text, const std::string& file) {
  if (auto bounded = check_toml(text, file); !bounded) return tl::unexpected(bounded.error());
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& e) {
    return fail(Errc::invalid_argument, std::string(e.description()),
                fmt::format("{}:{}", file, e.source().begin.line));
  }
}

Status apply_table(Config& config, const toml::table& table, const std::string& file, Part part) {
  std::vector<Setting> settings;
  if (auto done = flatten(table, "", file, settings); !done) return done;
  if (part == Part::queues)
    if (auto done = make_queues(config.scheduler, table, file); !done) return done;
  for (const Setting& s : settings)
    if (part_of(s) == part)
      if (auto done = set(config, s); !done) return done;
  return {};
}

Status apply_item(Config& config, const ConfItem& read, Part part) {
  const std::string& item = read.word;
  if (is_conf_file(item)) {
    const auto table = table_of_file(read.text, item);
    return table ? apply_table(config, *table, item, part) : tl::unexpected(table.error());
  }
  const auto equals = item.find('=');
  const std::string key = item.substr(0, equals), value = item.substr(equals + 1);
  const Setting s{key, key.starts_with(kPolicies) ? Value{value} : parse_value(value),
                  "--conf " + key};
  return part_of(s) == part ? set(config, s) : Status();
}

// Refuses two sizes: which of them counts is nothing to guess.
Status check_sizes(const PerUserConfig& c, const std::vector<ConfItem>& items) {
  std::vector<std::string> set;
  if (c.cores > 0) set.emplace_back("per-user.cores");
  if (c.nodes > 0) set.emplace_back("per-user.nodes");
  if (c.share > 0) set.emplace_back("per-user.share");
  if (c.most > 0 && !c.is_set())
    return fail(Errc::invalid_argument,
                "says how much more than its part an instance of a user may have; what the part is "
                "says per-user.cores, per-user.nodes, per-user.share or per-user.cores-of",
                place_of(items, "per-user.most"));
  if (c.most > 0 && c.cores >= c.most)
    return fail(Errc::invalid_argument,
                fmt::format("is {}; more than the part of each user is accepted, which is {} "
                            "(per-user.cores)",
                            c.most, c.cores),
                place_of(items, "per-user.most"));
  if (set.size() < 2) return {};
  return fail(Errc::invalid_argument,
              fmt::format("{} is set, too ({}); one of them says how much each user gets", set[0],
                          place_of(items, set[0])),
              place_of(items, set[1]));
}

Status check_whole(const Config& c) {
  const auto& s = c.scheduler;
  if (!s.queues.empty() && s.queues.count(s.default_queue) == 0) {
    std::vector<std::string> names;
    for (const auto& [name, queue] : s.queues) names.push_back(name);
    const std::string list = fmt::format("{}", fmt::join(names, ", "));
    return fail(Errc::invalid_argument,
                s.default_queue == "default"
                    ? fmt::format("with [queues.{}] there, say which queue is the default: "
                                  "[queue] default = \"{}\"",
                                  names.front(), names.front()) +
                          (names.size() == 1 ? "" : fmt::format(", or another of {}", list))
                    : fmt::format("there is no queue '{}'; name one of {}", s.default_queue, list),
                "queue.default");
  }
  if (c.peer_timeout >= 3 * c.heartbeat) return {};
  const auto text = [](Duration ms) { return format_duration(static_cast<double>(ms) / 1000); };
  return fail(Errc::invalid_argument,
              fmt::format("{} is less than three heartbeats of {} (instance.heartbeat)",
                          text(c.peer_timeout), text(c.heartbeat)),
              "instance.peer-timeout");
}

}  // namespace

bool is_conf_file(const std::string& item) {
  const auto equals = item.find('=');
  return equals == std::string::npos || item.find('/') < equals;
}

const std::string& Config::default_policy() const {
  const auto found = scheduler.queues.find(scheduler.default_queue);
  return found == scheduler.queues.end() ? scheduler.defaults.policy : found->second.policy;
}

const std::vector<ConfigKey>& config_keys() {
  static const std::vector<ConfigKey> keys = [] {
    std::vector<ConfigKey> all = scheduler_keys();
    all.push_back({"policies.NAME.lua", kPolicyText});
    for (const auto& k : kKeys) all.push_back({std::string(k.name), k.accepts, k.standard});
    return all;
  }();
  return keys;
}

Status apply_toml(Config& config, std::string_view text, const std::string& file) {
  const auto table = table_of_file(text, file);
  if (!table) return tl::unexpected(table.error());
  Config next = config;
  for (const Part part : {Part::shared, Part::queues})
    if (auto done = apply_table(next, *table, file, part); !done) return done;
  config = std::move(next);
  return {};
}

Result<std::vector<ConfItem>> read_conf(const std::vector<std::string>& words) {
  std::vector<ConfItem> items;
  for (const auto& word : words) {
    auto& item = items.emplace_back(ConfItem{word, {}});
    if (!is_conf_file(word)) continue;
    auto text = read_whole_file(word, kLargestToml);
    if (!text)
      return fail(Errc::invalid_argument,
                  (text.error().code == Errc::not_found ? "no such file" : text.error().what) +
                      "; accepted are the name of a TOML file, or KEY=VALUE",
                  fmt::format("--conf {}", word));
    item.text = std::move(*text);
  }
  return items;
}

Result<Config> load_config(const std::vector<std::string>& words, const Config& defaults) {
  const auto items = read_conf(words);
  return items ? config_of(*items, defaults) : tl::unexpected(items.error());
}

Result<Config> config_of(const std::vector<ConfItem>& items, const Config& defaults) {
  Config config = defaults;
  for (const Part part : {Part::shared, Part::queues})
    for (const auto& item : items)
      if (auto done = apply_item(config, item, part); !done) return tl::unexpected(done.error());
  if (auto whole_is_sound = check_whole(config); !whole_is_sound)
    return tl::unexpected(whole_is_sound.error());
  if (auto one_size = check_sizes(config.per_user, items); !one_size)
    return tl::unexpected(one_size.error());
  if (auto read = add_policies(config); !read) return tl::unexpected(read.error());
  return config;
}

namespace {

Status add_settings(const ConfItem& item, std::vector<Setting>& all) {
  if (is_conf_file(item.word)) {
    // The text was read once already, and was right.
    const toml::table table = toml::parse(item.text, item.word);
    // A queue may be there without any settings.
    if (const auto* queues = table.get_as<toml::table>("queues"))
      for (const auto& [name, node] : *queues)
        if (const auto* queue = node.as_table(); queue != nullptr && queue->empty())
          all.push_back({"queues." + std::string(name.str()), Value{std::string("as [queue]")},
                         fmt::format("{}:{}", item.word, node.source().begin.line)});
    return flatten(table, "", item.word, all);
  }
  const auto equals = item.word.find('=');
  const std::string key = item.word.substr(0, equals), value = item.word.substr(equals + 1);
  all.push_back({key, key.starts_with(kPolicies) ? Value{value} : parse_value(value), "--conf"});
  return {};
}

}  // namespace

std::string place_of(const std::vector<ConfItem>& items, const std::string& key) {
  std::string place = key;
  std::vector<Setting> settings;
  for (const auto& item : items)
    if (!add_settings(item, settings)) return place;
  for (const Setting& s : settings)
    if (s.key == key) place = s.where == "--conf" ? "--conf " + key : s.where + ": " + key;
  return place;
}

Result<std::vector<Effective>> effective(const std::vector<ConfItem>& items) {
  if (auto sound = config_of(items); !sound) return tl::unexpected(sound.error());
  std::map<std::string, Effective> all;
  for (const auto& key : config_keys())
    if (!key.standard.empty()) all[key.name] = {key.name, std::string(key.standard), "default"};
  std::vector<Setting> settings;
  for (const auto& item : items)
    if (auto added = add_settings(item, settings); !added) return tl::unexpected(added.error());
  for (const Setting& s : settings)
    all[s.key] = {s.key, text(s.value).value_or(s.value.text()), s.where};
  std::vector<Effective> list;
  for (auto& [key, value] : all) list.push_back(std::move(value));
  return list;
}

Result<Duration> parse_duration_ms(std::string_view text) {
  const auto seconds = parse_duration(text);
  if (seconds && *seconds < 1e12) return std::llround(*seconds * 1000);
  return fail(Errc::invalid_argument,
              fmt::format("'{}' is no duration: accepted are 250ms, 30s, 5m, 2h, 1d", text));
}

}  // namespace holon::config
