#include "instance/per_user/own_instances.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "instance/basics/text.hpp"
#include "instance/per_user/own_failures.hpp"
#include "instance/users/hiding.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

// How long a user waits for an own instance that is not up yet.
constexpr Duration kOwnPatience = 15'000, kMostPatience = 60'000;

Duration patience_of(const msg::OwnInstanceRequest& ask) {
  return ask.patience > 0 ? std::min<Duration>(ask.patience, kMostPatience) : kOwnPatience;
}

std::int64_t cores_for(const config::PerUserConfig& per_user, const std::string& user,
                       std::int64_t all_cores) {
  if (const auto own = config::cores_of_user(per_user.cores_of, user); own > 0)
    return static_cast<std::int64_t>(own);
  if (per_user.share > 0)
    return std::max<std::int64_t>(
        1, std::llround(std::floor(per_user.share * static_cast<double>(all_cores))));
  return static_cast<std::int64_t>(per_user.cores);
}

std::vector<std::string> command_of(const std::string& binary,
                                    const config::PerUserConfig& per_user) {
  std::vector<std::string> command = {binary, "start", "--grant", "--bg", "--own-policy"};
  const auto configure = [&command](const std::string& item) {
    command.insert(command.end(), {"--conf", item});
  };
  if (!per_user.policy.empty()) configure("queue.policy=" + per_user.policy);
  if (per_user.most > 0) configure(fmt::format("grant.max={}", per_user.most));
  configure(fmt::format("instance.idle-timeout={}ms", per_user.idle));
  return command;
}

}  // namespace

void OwnInstances::reply_with(const transport::Request& request, const std::string& path) const {
  request.reply(transport::pack(msg::OwnInstanceReply{path, uses_.identity.serves_users}));
}

void OwnInstances::answer(const transport::Request& request,
                          const std::optional<std::string>& user) {
  const auto ask = transport::unpack<msg::OwnInstanceRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  if (!user) return reply_with(request, "");
  const auto own = find(*user);
  if (!ask->make) return reply_with(request, own && !is_waiting(*own) ? path_of(*own) : "");
  if (own && can_be_asked(*own)) return when_up(*own, request, patience_of(*ask));
  if (!uses_.config.per_user.is_set()) return reply_with(request, "");
  const auto made = make(*user);
  if (!made) return request.fail(made.error());
  when_up(*made, request, patience_of(*ask));
}

// Finds a user's instance; those of earlier brokers that have ended are not looked for.
std::optional<JobId> OwnInstances::find(const std::string& user) {
  if (!known_) {
    known_.emplace();
    for (const auto& [id, job] : uses_.jobs.active()) submitted(id);
  }
  const auto found = known_->find(user);
  return found == known_->end() ? std::nullopt : std::optional(found->second.id);
}

void OwnInstances::submitted(JobId id) {
  const ActiveJob* const job = uses_.jobs.find(id);
  if (!known_ || job == nullptr || !job->submission->is_instance || !job->submission->wishes.own)
    return;
  Own& own = (*known_)[job->life.user];
  if (own.id != id) own = {id, 0};
}

// Does the instance wait for its resources? It has nothing to tell until then.
bool OwnInstances::is_waiting(JobId id) const {
  const ActiveJob* const job = uses_.jobs.find(id);
  return job != nullptr && is_pending(job->life.state);
}

bool OwnInstances::can_be_asked(JobId id) const {
  const ActiveJob* const job = uses_.jobs.find(id);
  return job != nullptr && job->life.state <= JobState::run && !uses_.children.ending(id);
}

Result<std::string> OwnInstances::jobspec_for(const std::string& user) const {
  const config::PerUserConfig& per_user = uses_.config.per_user;
  resource::JobShape shape;
  const bool has_own_size = config::cores_of_user(per_user.cores_of, user) > 0;
  if (per_user.nodes > 0 && !has_own_size) {
    shape.nodes = shape.tasks = static_cast<std::int64_t>(per_user.nodes);
    shape.exclusive = true;
  } else {
    shape.tasks = cores_for(per_user, user, uses_.node.self(reactor_.now()).cores);
  }
  if (shape.tasks == 0)
    return fail(Errc::denied,
                fmt::format("no part of this instance is {}'s (per-user.cores-of)", user));
  shape.duration_seconds = static_cast<double>(per_user.limit) / 1000;
  shape.command = command_of(uses_.identity.binary, per_user);
  shape.name = user;
  shape.cwd = "/";
  shape.inherit_environment = false;
  auto spec = resource::jobspec_for(std::move(shape));
  if (!spec) return tl::unexpected(spec.error());
  auto text = nlohmann::ordered_json::parse(resource::write_jobspec(*spec));
  text["attributes"]["system"]["holon"]["own"] = true;
  return text.dump();
}

// How many of the user's instances before the next one have failed in a row. Errors: system (the
// last one has failed just now).
Result<unsigned> OwnInstances::failures_before(const std::string& user) const {
  const auto last = known_->find(user);
  if (last == known_->end()) return 0U;
  const auto record = uses_.jobs.record(last->second.id);
  if (!record) return 0U;
  const Time now = uses_.jobs.clock().wall(reactor_.now());
  const OwnFailures failures = failures_with(*record, last->second.failures, now);
  if (failures.next == 0) return failures.in_a_row;
  return fail(Errc::system, fmt::format("{}; another one is made from {} on",
                                        how_it_failed(*record, Hiding::from(user, uses_.jobs)),
                                        time_text(failures.next, now)));
}

Result<JobId> OwnInstances::make(const std::string& user) {
  const auto failures = failures_before(user);
  if (!failures) return tl::unexpected(failures.error());
  auto jobspec = jobspec_for(user);
  if (!jobspec) return tl::unexpected(jobspec.error());
  msg::SubmitRequest ask;
  ask.jobspec = std::move(*jobspec);
  ask.user = user;
  ask.is_instance = true;
  const auto taken = uses_.jobs.submit(ask, reactor_.now());
  if (!taken) return tl::unexpected(taken.error());
  const JobId id(taken->first_id);
  (*known_)[user] = {id, *failures};
  return id;
}

void OwnInstances::when_up(JobId id, const transport::Request& request, Duration patience) {
  const std::string path = path_of(id);
  if (uses_.children.peer(id).value() != 0) return reply_with(request, path);
  using Outcome = WaitingForChild::Outcome;
  uses_.awaited.wait(id, patience, [this, id, request, path](const Result<Outcome>& outcome) {
    if (!outcome) return request.fail(outcome.error());
    if (*outcome == Outcome::connected) return reply_with(request, path);
    request.fail(why_not_up(id, *outcome == Outcome::over));
  });
}

Error OwnInstances::why_not_up(JobId id, bool is_over) const {
  const std::string path = path_of(id);
  auto record = uses_.jobs.record(id);
  if (!record) return record.error();
  const Hiding hiding = Hiding::from(record->user, uses_.jobs);
  // Not "disconnected": the client would ask again, and another instance would be made.
  if (is_over) return {Errc::system, how_it_failed(std::move(*record), hiding), {}};
  const std::string why = hiding.reason(record->reason);
  return {Errc::busy,
          fmt::format("{}, the instance of your own, {}{}", path,
                      why.empty() ? "is not up yet" : "waits: ", why),
          {}};
}

}  // namespace holon::instance
