#include "instance/users/access.hpp"

#include <fmt/core.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/names.hpp"
#include "config/value.hpp"
#include "instance/request/dependencies.hpp"
#include "instance/users/rights.hpp"
#include "msg/graph.hpp"
#include "msg/instance.hpp"
#include "msg/queue.hpp"
#include "msg/schedule.hpp"
#include "transport/codec/codec.hpp"
#include "transport/codec/parted.hpp"

namespace holon::instance {
namespace {

using transport::Request;

constexpr Duration kNameHolds = 60'000;     // until it is looked up again
constexpr Duration kFailureHolds = 2'000;   // until it is, where it could not be asked for
constexpr std::size_t kMostNames = 10'000;  // that are remembered
constexpr std::int64_t kUsualUrgency = 16;

// The ids in a topic that names jobs. Without ids the topic is about all jobs, here the sender's.
struct Named {
  std::vector<std::uint64_t> ids;
  HOLON_FIELDS(ids)
};
struct NamedOne {
  std::uint64_t id = 0;
  HOLON_FIELDS(id)
};

const std::set<std::string> kOfOneJob = {"job.info", "job.attach", "job.input", "job.extend"};
const std::set<std::string> kOfJobs = {"job.watch", "job.wait", "job.signal", "job.suspend",
                                       "explain"};
// Topics that an operator may send to another user's child: to end it, and to see what it has done.
const std::set<std::string> kOfAnyChild = {"jobs",  "job.info", "tree",      "status",
                                           "stats", "shutdown", "grant.show"};

std::set<std::string> set_of(const std::string& list) {
  const auto found = config::words(list);
  return {found.begin(), found.end()};
}

// "": there is no such user. nullopt: it could not be asked.
std::optional<std::string> look_up(std::uint32_t uid) {
  errno = 0;
  if (const passwd* const entry = getpwuid(uid)) return entry->pw_name;
  return could_not_ask(errno) ? std::nullopt : std::optional(std::string());
}

// A group without a name goes by its number. nullopt: it could not be asked.
std::optional<std::string> name_of_group(gid_t id) {
  errno = 0;
  if (const ::group* const entry = getgrgid(id)) return entry->gr_name;
  return could_not_ask(errno) ? std::nullopt : std::optional(std::to_string(id));
}

// Empty: there is no such user. nullopt: it could not be asked.
std::optional<std::vector<std::string>> look_up_groups(const std::string& user) {
  constexpr int kMostGroups = 65'536;  // of one user, for the kernel
  errno = 0;
  const passwd* const entry = getpwnam(user.c_str());
  if (entry == nullptr && could_not_ask(errno)) return std::nullopt;
  if (entry == nullptr) return std::vector<std::string>();
  const gid_t primary = entry->pw_gid;
  int count = 64;
  std::vector<gid_t> ids(static_cast<std::size_t>(count));
  while (getgrouplist(user.c_str(), primary, ids.data(), &count) < 0 && count <= kMostGroups &&
         static_cast<std::size_t>(count) > ids.size())
    ids.resize(static_cast<std::size_t>(count));
  if (count <= 0) return std::nullopt;  // not even the primary one
  ids.resize(std::min(ids.size(), static_cast<std::size_t>(count)));
  std::erase(ids, primary);
  ids.insert(ids.begin(), primary);
  std::vector<std::string> names;
  for (const gid_t id : ids) {
    auto name = name_of_group(id);
    if (!name) return std::nullopt;
    names.push_back(std::move(*name));
  }
  return names;
}

Status check_urgency(std::int64_t urgency) {
  if (urgency <= kUsualUrgency) return {};
  return fail(Errc::denied, fmt::format("urgency {} is above {}, which is for operators", urgency,
                                        kUsualUrgency));
}

// The jobs that a job waits for. Errors are left to the code that takes the submission.
std::vector<std::uint64_t> waited_for(const std::string& jobspec) {
  std::vector<std::uint64_t> ids;
  // The key may be written with escapes.
  const bool may_have_some =
      jobspec.find("dependencies") != std::string::npos || jobspec.find("\\u") != std::string::npos;
  if (!may_have_some) return ids;
  const auto spec = nlohmann::json::parse(jobspec, nullptr, false);
  const auto system = nlohmann::json::json_pointer("/attributes/system");
  if (!spec.is_object() || !spec.contains(system) || !spec[system].is_object()) return ids;
  const auto all = read_dependencies(spec[system]);
  if (!all) return ids;
  for (const auto& one : *all)
    if (one.job.value() != 0) ids.push_back(one.job.value());
  return ids;
}

// Answers requests that name no job of the sender: without ids they would mean all jobs.
bool is_answered_empty(const Request& request) {
  const bool waits = request.topic() == "job.wait";
  if (!waits && request.topic() != "explain") return false;
  const auto named = transport::unpack<Named>(request.payload());
  if (!named || !named->ids.empty()) return false;
  request.reply(waits ? transport::pack(msg::WaitReply{}) : transport::pack(msg::ExplainReply{}));
  return true;
}

}  // namespace

Access::Access(bool serves_users, const config::Config& config, const JobManager& jobs)
    : serves_users_(serves_users),
      config_(config.access),
      per_user_(config.per_user),
      jobs_(jobs),
      owner_(geteuid()),
      operators_(set_of(config.access.operators)),
      users_(set_of(config.access.users)),
      everybody_(users_.contains("*")) {}

const std::string& Access::name_of(std::uint32_t uid, Time now) {
  if (names_.size() >= kMostNames) names_.clear();
  Known& known = names_[uid];
  if (known.holds_until > now) return known.name;
  const auto name = look_up(uid);
  known = {name.value_or(""), saturating_add(now, name ? kNameHolds : kFailureHolds)};
  return known.name;
}

const std::vector<std::string>& Access::groups_of(const std::string& user, Time now) {
  if (groups_.size() >= kMostNames) groups_.clear();
  KnownGroups& known = groups_[user];
  if (known.holds_until > now) return known.names;
  auto names = look_up_groups(user);
  const Duration term = names ? kNameHolds : kFailureHolds;
  known = {std::move(names).value_or(std::vector<std::string>()), saturating_add(now, term)};
  return known.names;
}

unsigned Access::kinds_of(const transport::Principal& who, Time now) {
  using Kind = transport::Principal::Kind;
  if (!serves_users_ || (who.kind != Kind::ipc && who.kind != Kind::munge)) return 0;
  const std::string& name = name_of(who.uid, now);
  if (name.empty()) return kVisitor;
  unsigned kinds = kVisitor;
  if (operators_.contains(name)) kinds |= kOperator;
  const bool is_person = who.uid >= config_.least_uid && who.uid != owner_ && who.uid != 0;
  if (is_person && (everybody_ || users_.contains(name) || operators_.contains(name)))
    kinds |= kMember;
  return kinds;
}

bool Access::is_restricted(unsigned kinds) const {
  return serves_users_ && (kinds & (kOwner | kParent | kOperator)) == 0;
}

Result<bool> Access::narrow(const Request& request, unsigned kinds, Time now) {
  if (!serves_users_ || (kinds & kParent) != 0) return true;
  const std::string name = name_of(request.principal().uid, now);
  if (request.topic() == "submit") {
    const auto may = narrow_submit(request, kinds, name);
    return may ? Result<bool>(true) : tl::unexpected<Error>(may.error());
  }
  if (request.topic() == "submit.graph") {
    const auto may = narrow_graph(request, kinds, name);
    return may ? Result<bool>(true) : tl::unexpected<Error>(may.error());
  }
  if (request.topic() == "record") {
    const auto told = as_own_records(request, name, now);
    return told ? Result<bool>(true) : tl::unexpected<Error>(told.error());
  }
  if (!is_restricted(kinds)) return true;
  if (auto may = narrow_restricted(request, name); !may) return tl::unexpected<Error>(may.error());
  return !is_answered_empty(request);
}

Status Access::narrow_restricted(const Request& request, const std::string& name) {
  const std::string& topic = request.topic();
  if (topic == "jobs") return narrow_list(request, name);
  if (topic == "cancel") return narrow_cancel(request, name);
  if (topic == "urgency") return narrow_urgency(request, name);
  if (topic == "job.update") return narrow_update(request, name);
  if (topic == "job.tasks") return narrow_tasks(request, name);
  if (kOfOneJob.contains(topic)) {
    const auto one = transport::unpack<NamedOne>(request.payload());
    return one ? are_own({one->id}, name) : tl::unexpected<Error>(one.error());
  }
  return kOfJobs.contains(topic) ? only_own(request, name) : Status();
}

// The user of a submission is its sender, as the kernel says. Operators submit for others, too, but
// nobody for users whose tasks are never started.
Status Access::settle_user(std::string& user, unsigned kinds, const std::string& name) const {
  if (user.empty()) user = name;
  const bool may_name = (kinds & (kOwner | kOperator)) != 0;
  if (user != name && !may_name)
    return fail(Errc::denied,
                fmt::format("the submission names user {:.100}, and is {}'s by the kernel's word",
                            user, name));
  errno = 0;
  const passwd* const whose = getpwnam(user.c_str());
  if (whose == nullptr && could_not_ask(errno))
    return system_error(fmt::format("user {:.100} could not be asked for", user));
  if (whose == nullptr)
    return fail(Errc::denied, fmt::format("there is no user {:.100} on this machine", user));
  if (whose->pw_uid == 0 || whose->pw_uid == owner_ || whose->pw_uid < config_.least_uid)
    return fail(Errc::denied, fmt::format("jobs are not run as {}", user));
  if (is_restricted(kinds) && per_user_.is_set())
    return fail(Errc::denied,
                "each user has an instance of their own here, and submits to that: without -i");
  return {};
}

Status Access::narrow_submit(const Request& request, unsigned kinds, const std::string& name) {
  auto ask = transport::unpack<msg::SubmitRequest>(request.payload());
  if (!ask) return tl::unexpected<Error>(ask.error());
  if (auto settled = settle_user(ask->user, kinds, name); !settled) return settled;
  if (is_restricted(kinds))
    if (auto usual = check_urgency(ask->urgency); !usual) return usual;
  // A job that waits for another learns how it ended.
  if (is_restricted(kinds))
    if (auto own = are_own(waited_for(ask->jobspec), name); !own) return own;
  if (!ask->key.empty()) ask->key = ask->user + "/" + ask->key;
  request.rewrite(transport::pack(*ask));
  return {};
}

// A graph may have a hundred thousand tasks: they stay as they are packed.
Status Access::narrow_graph(const Request& request, unsigned kinds, const std::string& name) {
  auto parted = transport::take_out(request.payload(), "tasks");
  if (!parted) return tl::unexpected<Error>(parted.error());
  auto ask = transport::unpack<msg::GraphRequest>(parted->rest);
  if (!ask) return tl::unexpected<Error>(ask.error());
  if (auto settled = settle_user(ask->user, kinds, name); !settled) return settled;
  if (is_restricted(kinds))
    for (const auto& spec : ask->specs) {
      if (auto usual = check_urgency(spec.urgency); !usual) return usual;
      if (auto own = are_own(waited_for(spec.jobspec), name); !own) return own;
    }
  if (!ask->key.empty()) ask->key = ask->user + "/" + ask->key;
  parted->rest = transport::take_out(transport::pack(*ask), "tasks")->rest;
  request.rewrite(transport::put_back(*parted, "tasks"));
  return {};
}

Status Access::narrow_list(const Request& request, const std::string& name) {
  auto ask = transport::unpack<msg::JobsRequest>(request.payload());
  if (!ask) return tl::unexpected<Error>(ask.error());
  if (!ask->filter.user.empty() && ask->filter.user != name)
    return fail(Errc::denied, "jobs of others are listed for operators only");
  ask->filter.user = name;
  request.rewrite(transport::pack(*ask));
  return {};
}

Status Access::narrow_cancel(const Request& request, const std::string& name) {
  const auto ask = transport::unpack<msg::CancelRequest>(request.payload());
  if (!ask) return tl::unexpected<Error>(ask.error());
  if (ask->all) return {};  // all that the sender sees
  const auto numbers = Idset::parse(ask->numbers);
  if (!numbers) return fail(numbers.error().code, numbers.error().what, "numbers");
  const auto runs = jobs_.runs_of(*numbers);
  if (!runs) return tl::unexpected<Error>(runs.error());
  std::vector<std::uint64_t> ids = ask->ids;
  for (const auto& run : *runs) {
    if (run.array.value() != 0)
      ids.push_back(run.array.value());
    else
      for (const auto id : run.numbers.ids()) ids.push_back(id);
  }
  return are_own(ids, name);
}

Status Access::narrow_urgency(const Request& request, const std::string& name) {
  const auto ask = transport::unpack<msg::UrgencyRequest>(request.payload());
  if (!ask) return tl::unexpected<Error>(ask.error());
  if (auto usual = check_urgency(ask->urgency); !usual) return usual;
  return are_own(ask->ids, name);
}

Status Access::narrow_update(const Request& request, const std::string& name) {
  const auto ask = transport::unpack<msg::UpdateRequest>(request.payload());
  if (!ask) return tl::unexpected<Error>(ask.error());
  if (auto usual = check_urgency(ask->urgency); !usual) return usual;
  if (auto own = are_own(ask->ids, name); !own) return own;
  const bool is_of_own = std::any_of(ask->ids.begin(), ask->ids.end(), [this](std::uint64_t id) {
    const ActiveJob* const job = jobs_.find(JobId(id));
    return job != nullptr && job->submission->wishes.own;
  });
  if (is_of_own && ask->elastic >= 0)
    return fail(Errc::denied,
                "how far the instance of a user grows by itself says the configuration "
                "(per-user.most), and operators",
                "elastic");
  if (is_of_own && (ask->limit >= 0 || ask->extend > 0))
    return fail(Errc::denied,
                "how long the instance of a user lasts says the configuration (per-user.limit), "
                "and operators; its user can make it shorter (-t -5m)",
                "limit");
  return {};
}

Status Access::narrow_tasks(const Request& request, const std::string& name) {
  const auto ask = transport::unpack<msg::TasksRequest>(request.payload());
  return ask ? are_own({ask->array}, name) : tl::unexpected<Error>(ask.error());
}

// Records from a child get its user and one of that user's groups, whatever names they have.
Status Access::as_own_records(const Request& request, const std::string& name, Time now) {
  auto told = transport::unpack<msg::Records>(request.payload());
  if (!told) return tl::unexpected<Error>(told.error());
  const auto& groups = groups_of(name, now);
  for (auto& record : told->jobs) {
    record.user = name;
    const bool is_in = std::find(groups.begin(), groups.end(), record.group) != groups.end();
    if (!is_in) record.group = groups.empty() ? std::string() : groups.front();
  }
  request.rewrite(transport::pack(*told));
  return {};
}

Status Access::only_own(const Request& request, const std::string& name) {
  const auto named = transport::unpack<Named>(request.payload());
  if (!named) return tl::unexpected<Error>(named.error());
  if (!named->ids.empty()) return are_own(named->ids, name);
  if (request.topic() == "job.wait")
    request.rewrite(transport::pack(msg::WaitRequest{own_jobs(name)}));
  else if (request.topic() == "explain") {
    const auto ask = transport::unpack<msg::ExplainRequest>(request.payload());
    if (!ask) return tl::unexpected<Error>(ask.error());
    msg::ExplainRequest own;
    for (const auto id : own_jobs(name))
      if (id > ask->after && own.ids.size() < msg::kMaxExplained) own.ids.push_back(id);
    request.rewrite(transport::pack(own));
  } else if (request.topic() == "job.watch") {
    return fail(Errc::denied, "events of all jobs are for operators; name yours");
  }
  return {};
}

std::vector<std::uint64_t> Access::own_jobs(const std::string& name) const {
  std::vector<std::uint64_t> ids;
  for (const auto& [id, job] : jobs_.active())
    if (job.life.user == name && !is_array_task(job)) ids.push_back(id.value());
  return ids;
}

// Jobs that do not exist are left to the code that handles the request.
Status Access::are_own(const std::vector<std::uint64_t>& ids, const std::string& name) const {
  for (const auto id : ids) {
    const ActiveJob* const job = jobs_.find(JobId(id));
    if (job != nullptr && job->life.user == name) continue;
    const auto record = job != nullptr ? jobs_.record_of(*job) : jobs_.record(JobId(id));
    if (!record && record.error().code == Errc::not_found) continue;
    if (!record) return tl::unexpected<Error>(record.error());
    if (record->user != name)
      return fail(Errc::denied, fmt::format("job {} is another user's", id));
  }
  return {};
}

Status Access::may_reach(const std::string& user_of_child, const Request& request, unsigned kinds,
                         Time now) {
  if (!serves_users_ || (kinds & kParent) != 0) return {};
  if (user_of_child == name_of(request.principal().uid, now)) return {};
  if ((kinds & (kOwner | kOperator)) != 0 && kOfAnyChild.contains(request.topic())) return {};
  return fail(Errc::denied, fmt::format("{} of instance {}: it is another user's", request.topic(),
                                        request.path()));
}

std::optional<std::string> Access::sees_only(const transport::Principal& who, unsigned kinds,
                                             Time now) {
  if (!is_restricted(kinds)) return std::nullopt;
  return name_of(who.uid, now);
}

}  // namespace holon::instance
