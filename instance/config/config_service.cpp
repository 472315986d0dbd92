// Before another configuration is taken, its effect on the present jobs is found out: a scheduler
// with it takes each of them as that of the next broker will.
#include "instance/config/config_service.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "config/policies.hpp"
#include "instance/config/kept_files.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

using config::ConfItem;
using config::Effective;
using transport::pack;
using transport::Request;

// Keys that supervisor, agents and connections follow from their beginning on, or that resources
// were made with.
constexpr const char* kOfTheStart[] = {"resource.",
                                       "batch.",
                                       "launch.",
                                       "policies.",
                                       "instance.address",
                                       "instance.joinable",
                                       "instance.quorum",
                                       "instance.gather-timeout",
                                       "instance.heartbeat",
                                       "instance.peer-timeout",
                                       "instance.watchdog",
                                       "instance.orphan-timeout",
                                       "job.tracking",
                                       "instance.shutdown-timeout",
                                       "journal.sync"};

bool is_of_the_start(const std::string& key) {
  return std::any_of(std::begin(kOfTheStart), std::end(kOfTheStart),
                     [&](const char* name) { return key.starts_with(name); });
}

// Values that are set, by key, without defaults.
std::map<std::string, std::string> values_of(const std::vector<Effective>& all) {
  std::map<std::string, std::string> values;
  for (const Effective& one : all)
    if (one.source != "default") values[one.key] = one.value;
  return values;
}

std::vector<msg::ConfigChange> changes_between(const std::vector<Effective>& before,
                                               const std::vector<Effective>& after) {
  const auto old = values_of(before), next = values_of(after);
  std::vector<msg::ConfigChange> changes;
  for (const auto& [key, value] : old)
    if (const auto found = next.find(key); found == next.end() || found->second != value)
      changes.push_back({key, value, found == next.end() ? "" : found->second});
  for (const auto& [key, value] : next)
    if (!old.contains(key)) changes.push_back({key, "", value});
  std::sort(changes.begin(), changes.end(),
            [](const auto& a, const auto& b) { return a.key < b.key; });
  return changes;
}

// The line that sets a key; "": none does.
std::string source_of(const std::string& key, const std::vector<Effective>& all) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Effective& one) { return one.key == key; });
  return found == all.end() || found->source == "default" ? "" : found->source;
}

// "'2s'"; for a key that nobody sets its default: "'1s' by default".
std::string shown(const std::string& key, const std::string& value) {
  if (!value.empty()) return fmt::format("'{}'", value);
  const auto& keys = config::config_keys();
  const auto known =
      std::find_if(keys.begin(), keys.end(), [&](const auto& one) { return one.name == key; });
  return known == keys.end() || known->standard.empty()
             ? "not set"
             : fmt::format("'{}' by default", known->standard);
}

// Inserts in the order of keys; replaces a value of the same key.
void put(std::vector<Effective>& all, const Effective& one) {
  const auto place =
      std::lower_bound(all.begin(), all.end(), one,
                       [](const Effective& a, const Effective& b) { return a.key < b.key; });
  if (place != all.end() && place->key == one.key)
    *place = one;
  else
    all.insert(place, one);
}

bool is_asked_for(const std::string& key, const std::string& asked) {
  return asked.empty() || key == asked || key.starts_with(asked + ".");
}

}  // namespace

void ConfigService::add_to(transport::Dispatcher& dispatcher) {
  dispatcher.add("config.get", [this](const Request& r) { get(r); });
  dispatcher.add("config.reload", [this](const Request& r) { reload(r); });
}

// Policies that somebody has set while the instance runs replace those of the configuration.
void ConfigService::put_live_policies(std::vector<Effective>& all) const {
  const bool has_queues = std::any_of(all.begin(), all.end(), [](const Effective& one) {
    return one.key.starts_with("queues.") || one.key.ends_with("-per-queue");
  });
  for (const auto& queue : uses_.scheduler.queues()) {
    if (!uses_.policies.is_set_live(queue.name)) continue;
    const Effective live{has_queues ? fmt::format("queues.{}.policy", queue.name) : "queue.policy",
                         queue.policy, "holon policy"};
    put(all, live);
  }
}

void ConfigService::get(const Request& request) const {
  const auto ask = transport::unpack<msg::ConfigRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  const auto items = kept_items(words_);
  auto all = items ? config::effective(*items) : tl::unexpected(items.error());
  if (!all) return request.fail(all.error());
  put_live_policies(*all);
  for (const Effective& one : told_) put(*all, one);
  msg::ConfigReply reply;
  for (const Effective& one : *all)
    if (is_asked_for(one.key, ask->key)) reply.values.push_back({one.key, one.value, one.source});
  if (reply.values.empty())
    return request.fail(
        {Errc::not_found,
         fmt::format("nothing sets '{}', and it is no key with a default", ask->key), "key"});
  request.reply(pack(reply));
}

Status ConfigService::may_change(const std::vector<msg::ConfigChange>& changes,
                                 const std::vector<Effective>& after) const {
  for (const auto& change : changes) {
    if (!is_of_the_start(change.key)) continue;
    const std::string source = source_of(change.key, after);
    return fail(Errc::denied,
                fmt::format("is {}, and is to be {}: only the next start of the instance can "
                            "change it; nothing was changed",
                            shown(change.key, change.before), shown(change.key, change.after)),
                source.empty() ? change.key : source + ": " + change.key);
  }
  return {};
}

// Would a scheduler with it take all jobs? Those in advance reservations need only their queue.
Status ConfigService::try_out(const config::Config& next) const {
  resource::ResourceStore store = uses_.store.clone();
  for (const JobId id : uses_.jobs.holding())
    if (auto released = store.release(id); !released) return released;
  qmanager::SchedulerConfig settings = next.scheduler;
  settings.tell_waits = false;
  settings.awaited = uses_.scheduler.config().awaited;
  settings.job_text = uses_.scheduler.config().job_text;
  auto scheduler = qmanager::Scheduler::create(std::move(settings), store);
  if (!scheduler) return tl::unexpected(scheduler.error());
  const auto refused = [&](JobId id, const std::string& why) {
    return fail(Errc::denied, fmt::format("{}; nothing was changed", why),
                "job " + uses_.jobs.shown_path(id));
  };
  const Time now = reactor_.now();
  for (const auto& [id, job] : uses_.jobs.active()) {
    const std::string& queue = job.submission->queue;
    const auto& queues = scheduler->config().queues;
    if (!queue.empty() && !queues.contains(queue))
      return refused(id, fmt::format("there would be no queue \"{}\" for it", queue));
    if (is_array(job) || job.submission->wishes.reservation.value() != 0) continue;
    qmanager::JobRequest request = uses_.jobs.request_of(job);
    request.admitted = true;
    if (job.allocation) {
      if (auto held = scheduler->recover(std::move(request), *job.allocation); !held)
        return refused(id, held.error().what);
    } else if (job.life.state <= JobState::sched) {
      const auto taken = scheduler->submit(std::move(request), now);
      if (!taken) return refused(id, taken.error().what);
      if (*taken) return refused(id, (*taken)->reason);
    }
  }
  return {};
}

void ConfigService::reload(const Request& request) {
  const auto kept = kept_items(words_);
  const auto before = kept ? config::effective(*kept) : tl::unexpected(kept.error());
  if (!before) return request.fail(before.error());
  const auto items = read_again(words_);
  if (!items) return request.fail(items.error());
  const auto after = config::effective(*items);
  if (!after) return request.fail(after.error());
  const auto next = config::config_of(*items);
  if (!next) return request.fail(next.error());
  msg::ReloadReply reply{changes_between(*before, *after)};
  if (auto may = may_change(reply.changes, *after); !may) return request.fail(may.error());
  const auto old = config::config_of(*kept);
  if (old && config::policies_as_toml(*old) != config::policies_as_toml(*next))
    return request.fail({Errc::denied,
                         "a policy in Lua is taken by holon policy load, or by the next start of "
                         "the instance; nothing was changed",
                         "queue.policy"});
  if (reply.changes.empty()) return request.reply(pack(reply));
  if (auto fits = try_out(*next); !fits) return request.fail(fits.error());
  if (auto written = keep_again(words_, *items); !written) return request.fail(written.error());
  uses_.after_commit.add([this, request, reply] {
    request.reply(pack(reply));
    begin_again_();
  });
}

}  // namespace holon::instance
