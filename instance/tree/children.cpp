#include "instance/tree/children.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "instance/agents/agent_admission.hpp"
#include "instance/basics/text.hpp"
#include "transport/codec/codec.hpp"
#include "transport/secret.hpp"

namespace holon::instance {

Children::Children(transport::Server& server, Journal& journal, JobManager& jobs,
                   AfterCommit& after_commit, Refusals& refusals, MakeGrant make_grant,
                   BelongsTo belongs_to)
    : server_(server),
      journal_(journal),
      jobs_(jobs),
      after_commit_(after_commit),
      refusals_(refusals),
      make_grant_(std::move(make_grant)),
      belongs_to_(std::move(belongs_to)) {}

Status Children::recover(Time now) {
  auto known = journal_.children();
  if (!known) return tl::unexpected(known.error());
  for (auto& grant : *known) {
    const JobId job = grant.job;
    children_[job].grant = std::move(grant);
    children_[job].lost = now;
  }
  return {};
}

std::string Children::token(JobId job) {
  Child& child = children_[job];
  if (child.grant.token.empty()) {
    child.grant.job = job;
    child.grant.token = transport::new_secret();
    journal_.put_child(child.grant);
  }
  return child.grant.token;
}

Status Children::admit(const ChildGrant& grant, const msg::Hello& hello) const {
  if (!transport::is_same_secret(hello.token, grant.token))
    return fail(Errc::denied, fmt::format("hello: the token is not that of job {}", hello.job));
  if (hello.epoch != 0 && hello.epoch != grant.epoch)
    return fail(Errc::denied, fmt::format("hello: epoch {} is stale: the grant is at epoch {}",
                                          hello.epoch, grant.epoch));
  return {};
}

void Children::hello(const transport::Request& request, Time now) {
  const auto hello = transport::unpack<msg::Hello>(request.payload());
  if (!hello) return request.fail(hello.error());
  const JobId id(hello->job);
  const ActiveJob* job = jobs_.find(id);
  const auto child = children_.find(id);
  const bool runs = job != nullptr && job->submission->is_instance && job->life.holds_resources;
  if (!runs || child == children_.end())
    return refusals_.refuse(
        request,
        {Errc::denied, fmt::format("hello: job {} is no running child instance", hello->job), {}},
        now);
  if (auto admitted = admit(child->second.grant, *hello); !admitted)
    return refusals_.refuse(request, admitted.error(), now);
  // The agent is about to report the job's processes, and may be slower than they are.
  if (!job->life.parts.front().started) {
    early_.insert_or_assign(id, request);
    return;
  }
  if (!is_of(*job, request.principal()))
    return refusals_.refuse(
        request,
        {Errc::denied, fmt::format("hello: the process is none of job {}", hello->job), {}}, now);
  welcome(request, *hello, *job, now);
}

// Is the process one of the job's? The kernel tells; for a process on another node its agent, which
// has passed on the hello of a process of its owner there, or has said which user it is.
bool Children::is_of(const ActiveJob& job, const transport::Principal& who) const {
  if (who.kind == transport::Principal::Kind::munge)
    return transport::user_of(who) == job.life.user &&
           std::any_of(job.life.parts.begin(), job.life.parts.end(),
                       [&](const Part& part) { return is_vouched_by(who, part.rank); });
  if (!is_agent(who)) return belongs_to_(who.pid, processes_of(job.life));
  const auto& parts = job.life.parts;
  return std::any_of(parts.begin(), parts.end(),
                     [&](const Part& part) { return may_be_agent(who, part.rank); });
}

void Children::tasks_started(JobId job, Time now) {
  const auto early = early_.extract(job);
  if (!early.empty() && !early.mapped().done()) hello(early.mapped(), now);
  invite_some(job, now);
}

void Children::invite(const transport::Request& request, Time now) {
  const auto ask = transport::unpack<msg::InvitationRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  const JobId id(ask->job);
  const ActiveJob* job = jobs_.find(id);
  const auto child = children_.find(id);
  const bool runs = job != nullptr && job->life.leads && job->life.holds_resources;
  if (!runs || child == children_.end() ||
      !transport::is_same_secret(ask->token, child->second.grant.token))
    return refusals_.refuse(
        request,
        {Errc::denied,
         fmt::format("invitation: no process of a child instance {} of several agents", ask->job),
         {}},
        now);
  auto& waiting = child->second.uninvited;
  std::erase_if(waiting, [](const transport::Request& one) { return one.done(); });
  waiting.push_back(request);
  invite_some(id, now);
}

// Invites the job's processes; others wait while the job's processes are not all known.
void Children::invite_some(JobId id, Time now) {
  const ActiveJob* job = jobs_.find(id);
  const auto child = children_.find(id);
  if (job == nullptr || child == children_.end() || child->second.invitation.empty()) return;
  const auto& parts = job->life.parts;
  const bool all_known = std::all_of(
      parts.begin(), parts.end(), [](const Part& part) { return part.started || part.finished; });
  std::vector<transport::Request> later;
  for (const auto& request : std::exchange(child->second.uninvited, {})) {
    if (is_of(*job, request.principal()))
      request.reply(transport::pack(msg::InvitationReply{child->second.invitation}));
    else if (!all_known)
      later.push_back(request);
    else
      refusals_.refuse(
          request,
          {Errc::denied, fmt::format("invitation: the process is none of job {}", id.value()), {}},
          now);
  }
  child->second.uninvited = std::move(later);
}

void Children::welcome(const transport::Request& request, const msg::Hello& hello,
                       const ActiveJob& job, Time now) {
  auto grant = make_grant_(job);
  if (!grant) return request.fail(grant.error());
  const JobId id = job.id;
  Child& child = children_.at(id);
  if (hello.epoch == 0) {
    ++child.grant.epoch;
    on_new(id, now);
  }
  child.grant.uri = hello.uri;
  const auto before = std::exchange(child.peer, request.peer());
  server_.favour(child.peer);
  // The former process says hello again, and learns from its epoch whether it is still the child.
  if (before.value() != 0 && before != child.peer) server_.dismiss(before);
  child.ending = child.told_all = false;
  journal_.put_child(child.grant);
  grant->epoch = child.grant.epoch;
  jobs_.child_is_up(id, hello.uri, now);
  after_commit_.add([this, request, id, grant = std::move(*grant)] {
    request.reply(transport::pack(grant));
    on_connected(id);
  });
  child.invitation = hello.invitation;
  invite_some(id, now);
}

std::string Children::reports_below(transport::PeerId peer) const {
  for (const auto& [id, child] : children_)
    if (child.peer == peer) return jobs_.path_of(id) + "/";
  return {};
}

void Children::begins_to_end(const transport::Request& request) {
  const auto said = transport::unpack<msg::Ending>(request.payload());
  if (!said) return request.fail(said.error());
  for (auto& [id, child] : children_) {
    if (child.peer != request.peer()) continue;
    child.ending = true;
    child.told_all = said->told_all;
  }
  request.reply(transport::pack(msg::Empty{}));
}

bool Children::ending(JobId job) const {
  const auto found = children_.find(job);
  return found != children_.end() && found->second.ending;
}

bool Children::has_told_all(JobId job) const {
  const auto found = children_.find(job);
  return found != children_.end() && found->second.told_all;
}

std::vector<std::string> Children::records(const transport::Request& request, Time now) {
  const auto records = transport::unpack<msg::Records>(request.payload());
  const std::string below = reports_below(request.peer());
  if (!records || below.empty()) {
    request.fail(records
                     ? Error{Errc::denied, "records are taken from a child that has said hello", {}}
                     : records.error());
    return {};
  }
  for (const auto& record : records->jobs) {
    const auto job = job_at(record.path);
    if (job && job->value() == record.id && record.path.starts_with(below)) continue;
    const std::string what = fmt::format("record: {:.200} is not the path of a job {} below {}",
                                         record.path, record.id, below);
    refusals_.refuse(request, {Errc::denied, what, "jobs"}, now);
    return {};
  }
  for (auto& [id, child] : children_)
    if (child.peer == request.peer()) child.told = jobs_.clock().wall(now);
  std::vector<std::string> paths;
  for (const auto& record : records->jobs)
    if (journal_.put_descendant(record)) paths.push_back(record.path);
  after_commit_.add([request] { request.reply(transport::pack(msg::Empty{})); });
  return paths;
}

void Children::peer_lost(transport::PeerId peer, Time now) {
  for (auto& [id, child] : children_)
    if (child.peer == peer) {
      child.peer = transport::PeerId{0};
      child.lost = now;
    }
}

bool Children::may_know_more(JobId job) const {
  const auto found = children_.find(job);
  return found != children_.end() && found->second.grant.epoch != 0 && !found->second.told_all;
}

Duration Children::patience_left(JobId job, Duration patience, Time now) const {
  if (!may_know_more(job) || peer(job).value() != 0) return 0;
  return std::max<Duration>(0, saturating_add(children_.at(job).lost, patience) - now);
}

Time Children::told_at(JobId job) const {
  const auto found = children_.find(job);
  return found == children_.end() ? 0 : found->second.told;
}

std::vector<JobId> Children::all() const {
  std::vector<JobId> ids;
  for (const auto& [id, child] : children_) ids.push_back(id);
  return ids;
}

std::map<JobId, transport::PeerId> Children::connected() const {
  std::map<JobId, transport::PeerId> peers;
  for (const auto& [id, child] : children_)
    if (child.peer.value() != 0) peers.emplace(id, child.peer);
  return peers;
}

transport::PeerId Children::peer(JobId job) const {
  const auto found = children_.find(job);
  return found == children_.end() ? transport::PeerId{0} : found->second.peer;
}

std::optional<JobId> Children::child_at(transport::PeerId peer) const {
  if (peer.value() == 0) return std::nullopt;
  for (const auto& [id, child] : children_)
    if (child.peer == peer) return id;
  return std::nullopt;
}

std::uint64_t Children::epoch_of(JobId job) const {
  const auto found = children_.find(job);
  return found == children_.end() ? 0 : found->second.grant.epoch;
}

void Children::tell(JobId job, const char* topic, std::string payload) {
  if (peer(job).value() != 0)
    server_.call(peer(job), {topic, std::move(payload), "", 0}, [](const Result<std::string>&) {});
}

void Children::tell_lease(JobId job, const msg::Lease& lease) {
  if (peer(job).value() != 0)
    server_.call(peer(job), {"lease", transport::pack(lease), "", 0},
                 [](const Result<std::string>&) {});
}

}  // namespace holon::instance
