#include "instance/service/service.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "instance/job/change/jobspec_update.hpp"
#include "instance/remote/joining.hpp"
#include "instance/remote/kept_output.hpp"
#include "instance/resources/resources.hpp"
#include "instance/service/rights.hpp"
#include "instance/text.hpp"
#include "instance/tree/gather.hpp"
#include "instance/tree/gone_counts.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

using transport::pack;
using transport::Request;
using transport::unpack;

// How long a request waits for a child that was started and has not said hello yet.
constexpr Duration kChildPatience = 15'000;
constexpr std::size_t kMostIds = 10'000;           // of one request
constexpr std::size_t kCancelsAtOnce = 50;         // in one portion
constexpr std::size_t kLongestReason = 128 << 10;  // bytes, kept with every job that is ended

Status check_ids(const std::vector<std::uint64_t>& ids) {
  if (ids.size() <= kMostIds) return {};
  return fail(Errc::out_of_range,
              fmt::format("{} ids; one request may have {}", ids.size(), kMostIds), "ids");
}

Duration patience_of(Duration asked, Duration configured) {
  return asked > 0 ? asked : configured;
}

}  // namespace

Service::Service(transport::Reactor& reactor, transport::Server& server, Core& core, Hooks hooks)
    : reactor_(reactor),
      server_(server),
      core_(core),
      hooks_(std::move(hooks)),
      owner_(geteuid()),
      gone_jobs_({core.identity, core.agents}),
      pages_(server, core),
      arrays_(core),
      signals_(core.jobs, core.agents, core.after_commit),
      job_changes_(reactor, core.jobs, core.agents, core.after_commit),
      followers_(reactor, core),
      schedule_(reactor, {core.clock, *core.store, core.scheduler, core.gates, core.jobs,
                          core.reservations, core.portions, core.after_commit}),
      queues_(reactor, {*core.store, core.scheduler, core.gates, core.jobs, core.after_commit}),
      policies_(reactor, {core.clock, core.scheduler, core.policies, core.jobs, core.portions,
                          core.after_commit}),
      config_(reactor, {core.jobs, *core.store, core.scheduler, core.after_commit}, hooks_.conf,
              hooks_.begin_again),
      reservations_(
          reactor, {core.clock, *core.store, core.scheduler, core.reservations, core.after_commit}),
      resources_(
          reactor, server,
          {core.clock, *core.store, core.jobs, core.drains, core.children, core.after_commit}),
      provisions_(core.provisions, core.after_commit),
      own_instances_(reactor, core) {
  add_client_requests();
  job_changes_.add_to(dispatcher_);
  schedule_.add_to(dispatcher_);
  queues_.add_to(dispatcher_);
  policies_.add_to(dispatcher_);
  config_.add_to(dispatcher_);
  reservations_.add_to(dispatcher_);
  resources_.add_to(dispatcher_);
  provisions_.add_to(dispatcher_);
  core_.audit.add_to(dispatcher_);
  add_instance_requests();
  core_.children.on_connected = [this](JobId child) { child_connected(child); };
  core_.on_event = [this] { followers_.happened(); };
  core_.on_child_ended = [this](JobId child) { core_.awaited.over(child); };
}

void Service::add_client_requests() {
  dispatcher_.add("submit", [this](const Request& r) { submit(r); });
  dispatcher_.add("submit.graph", [this](const Request& r) { submit_graph(r); });
  dispatcher_.add("jobs", [this](const Request& r) { pages_.list(r); });
  dispatcher_.add("job.tasks", [this](const Request& r) { arrays_.tasks(r); });
  dispatcher_.add("job.info", [this](const Request& r) { job_info(r); });
  dispatcher_.add("job.watch", [this](const Request& r) { core_.watchers.watch(r); });
  dispatcher_.add("events", [this](const Request& r) { followers_.follow(r, viewer_of(r)); });
  dispatcher_.add("job.wait", [this](const Request& r) { core_.watchers.wait(r); });
  dispatcher_.add("job.attach", [this](const Request& r) { core_.outputs.attach(r); });
  dispatcher_.add("job.input", [this](const Request& r) { core_.inputs.take(r); });
  dispatcher_.add("cancel", [this](const Request& r) { cancel(r); });
  dispatcher_.add("job.signal", [this](const Request& r) { signals_.take(r); });
  dispatcher_.add("user.instance", [this](const Request& r) { own_instance(r); });
  dispatcher_.add("tree", [this](const Request& r) { tree(r); });
  dispatcher_.add("status", [this](const Request& r) { status(r); });
  dispatcher_.add("node.invite", [this](const Request& r) { invite(r); });
  dispatcher_.add("node.leave", [this](const Request& r) {
    core_.departures.ask(r, core_.clock.wall(now()), now());
  });
  dispatcher_.add("journal.compact", [this](const Request& r) { compact(r); });
  dispatcher_.add("shutdown", [this](const Request& r) {
    const auto ask = unpack<msg::ShutdownRequest>(r.payload());
    if (!ask) return r.fail(ask.error());
    reply_later(r, msg::Empty{});
    hooks_.shutdown(ask->reason.empty() ? "holon shutdown" : ask->reason);
  });
}

void Service::add_instance_requests() {
  dispatcher_.add("agent.hello", [this](const Request& r) {
    core_.agents.hello(r, now());
    core_.after_commit.add([this] {
      core_.outputs.agent_is_back();
      hooks_.agent_up();
    });
  });
  dispatcher_.add("agent.report", [this](const Request& r) { core_.agents.report(r, now()); });
  dispatcher_.add("agent.fence", [this](const Request& r) { core_.agents.fence(r); });
  dispatcher_.add("agent.files", [this](const Request& r) { tell_files(r, core_); });
  dispatcher_.add("agent.keep", [this](const Request& r) { keep_output(r, core_); });
  dispatcher_.add("hello", [this](const Request& r) { core_.children.hello(r, now()); });
  dispatcher_.add("invitation", [this](const Request& r) { core_.children.invite(r, now()); });
  dispatcher_.add("record", [this](const Request& r) { core_.take_records(r, now()); });
  dispatcher_.add("ending", [this](const Request& r) { core_.children.begins_to_end(r); });
  dispatcher_.add("lease", [this](const Request& r) { lease(r); });
}

template <class Reply>
void Service::reply_later(const Request& request, Reply reply) {
  core_.after_commit.add([request, reply = std::move(reply)] { request.reply(pack(reply)); });
}

// ---- the tree: who answers ----

// What the sender has proved to be (rights.hpp).
unsigned Service::kinds_of(const Request& request) {
  const auto peer = request.peer();
  if (peer.value() == 0) return kParent;  // over our own connection upwards
  const auto& who = request.principal();
  const bool known = who.kind == transport::Principal::Kind::ipc;
  const bool is_user = known && (who.uid == owner_ || who.uid == 0);
  // Agents on other nodes pass on what was asked there, of the owner's processes only.
  unsigned kinds = is_user || is_agent(who) ? unsigned{kOwner} : 0U;
  if (core_.agents.knows(peer)) kinds |= kAgent;
  if (core_.children.knows(peer)) kinds |= kChild;
  return kinds | core_.access.kinds_of(who, now());
}

// Whose jobs alone the sender sees; nullopt: all.
std::optional<std::string> Service::viewer_of(const Request& request) {
  return core_.access.sees_only(request.principal(), kinds_of(request), now());
}

void Service::handle(const Request& request) {
  const bool passed_on = !request.path().empty();
  const unsigned kinds = kinds_of(request);
  const auto path = passed_on ? resolve(core_.identity.path, request.path())
                              : Result<std::string>(core_.identity.path);
  // A child of somebody's own is for them as an instance of their own.
  const unsigned there = path && is_of_own_child(request, *path) ? kinds | kOwner : kinds;
  if (auto may = may_ask(request.topic(), there, passed_on); !may)
    return core_.refusals.refuse(request, may.error(), now());
  if (path && *path == core_.identity.path) {
    const auto left = core_.access.narrow(request, kinds, now());
    if (!left) return refuse(request, left.error());
    if (!*left) return;
  }
  if (is_audited(request.topic())) core_.audit.asked(request, kinds == kParent);
  if (!path) return request.fail(path.error());
  route(request, *path, kinds);
}

void Service::refuse(const Request& request, const Error& why) {
  if (why.code != Errc::denied) return request.fail(why);
  core_.refusals.refuse(request, why, now());
}

bool Service::is_of_own_child(const Request& request, const std::string& path) {
  if (!core_.access.serves_users() || path == core_.identity.path) return false;
  const auto child = child_towards(core_.identity.path, path);
  const std::string user = child ? core_.jobs.user_of(*child) : std::string();
  return !user.empty() && core_.access.may_reach(user, request, 0, now());
}

void Service::route(const Request& request, const std::string& path, unsigned kinds) {
  if (path == core_.identity.path) return dispatcher_(request);
  if (const auto child = child_towards(core_.identity.path, path)) {
    if (auto may = core_.access.may_reach(core_.jobs.user_of(*child), request, kinds, now()); !may)
      return refuse(request, may.error());
    return to_child(*child, request, path);
  }
  if (hooks_.forward_up) return hooks_.forward_up(request, path);
  request.fail({Errc::not_found, fmt::format("there is no instance {}", path), {}});
}

void Service::to_child(JobId child, const Request& request, const std::string& path) {
  if (const auto peer = core_.children.peer(child); peer.value() != 0)
    return server_.forward(peer, request, path);
  const ActiveJob* job = core_.jobs.find(child);
  if (job == nullptr) return answer_for_gone(request, path);
  // One that is ending is expected to have ended, and what it left to be taken over.
  if (!job->submission->is_instance || is_pending(job->life.state)) {
    const char* what =
        job->submission->is_instance ? "has not started yet" : "is a job, not an instance";
    return request.fail(
        {Errc::not_found, fmt::format("{} {}", core_.jobs.path_of(child), what), {}});
  }
  using Outcome = AwaitedChildren::Outcome;
  const auto then = [this, child, request, path](const Result<Outcome>& outcome) {
    if (!outcome) return request.fail(outcome.error());
    if (*outcome == Outcome::connected)
      return server_.forward(core_.children.peer(child), request, path);
    if (*outcome == Outcome::over) return answer_for_gone(request, path);
    request.fail({Errc::disconnected, fmt::format("instance {} does not answer", path), {}});
  };
  core_.awaited.wait(child, kChildPatience, then);
}

void Service::child_connected(JobId child) {
  core_.awaited.connected(child);
  resources_.tell_drains(child);
}

// What can be said of an instance from the records it has left.
void Service::answer_for_gone(const Request& request, const std::string& path) {
  const auto self = core_.record(path);
  if (!self)
    return request.fail({Errc::not_found, fmt::format("there is no instance {}", path), {}});
  if (!self->is_instance)
    return request.fail({Errc::not_found, fmt::format("{} is a job, not an instance", path), {}});
  if (request.topic() == "jobs") return pages_.list_gone(request, path);
  if (of_single_jobs_.count(request.topic()) != 0) return answer_for_gone_jobs(request, path);
  if (request.topic() == "tree" || request.topic() == "status") {
    msg::TreeNode node;
    node.path = path;
    node.name = self->name;
    node.health = "ended";
    return count_gone_jobs(request, std::move(node), core_.journal, core_.portions,
                           core_.after_commit);
  }
  request.fail(
      {Errc::not_found, fmt::format("instance {} has ended ({})", path, self->result), {}});
}

void Service::answer_for_gone_jobs(const Request& request, const std::string& path) {
  // Each of these carries the ids it asks for in the one way or the other; a wait for what is over
  // is over.
  const auto one = unpack<msg::JobInfoRequest>(request.payload());
  const auto many = unpack<msg::WaitRequest>(request.payload());
  if (!one || !many) return request.fail(one ? many.error() : one.error());
  if (auto fits = check_ids(many->ids); !fits) return request.fail(fits.error());
  const bool wants_one = request.topic() == "job.info" || request.topic() == "job.attach";
  msg::WaitReply found;
  for (const auto id : wants_one ? std::vector{one->id} : many->ids) {
    auto record = core_.record(join(path, JobId(id)));
    if (!record)
      return request.fail({Errc::not_found, fmt::format("no job {}", join(path, JobId(id))), {}});
    found.jobs.push_back(std::move(*record));
  }
  if (request.topic() == "job.wait") return reply_later(request, found);
  if (request.topic() == "job.info") return gone_jobs_.info(request, found.jobs.front());
  if (request.topic() == "job.watch") return gone_jobs_.watch(request, std::move(found.jobs));
  const auto files = [this, request, job = found.jobs.front()] {
    core_.outputs.attach_to_files(request, job);
  };
  std::error_code none;
  if (std::filesystem::exists(found.jobs.front().output, none)) return files();
  gone_jobs_.output(request, found.jobs.front(), files);
}

// ---- requests ----

void Service::submit(const Request& request) {
  auto ask = unpack<msg::SubmitRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  if (ask->user.empty()) ask->user = transport::user_of(request.principal());
  if (hooks_.ending())
    return request.fail({Errc::busy, "this instance is ending and takes no more jobs", {}});
  const auto taken = core_.jobs.submit(*ask, now());
  if (!taken)
    return core_.after_commit.add([request, error = taken.error()] { request.fail(error); });
  core_.audit.name_jobs(taken->first_id, taken->count);
  if (ask->is_instance) own_instances_.submitted(JobId(taken->first_id));
  const JobId first(taken->first_id);
  if (core_.jobs.all_taken(first)) return reply_later(request, *taken);
  core_.portions.add(request.peer(), [this, request, first, reply = *taken] {
    if (core_.jobs.take_more(first, now())) return true;
    reply_later(request, reply);
    return false;
  });
}

void Service::own_instance(const Request& request) {
  const bool is_served = (kinds_of(request) & kMember) != 0;
  own_instances_.answer(request, is_served ? viewer_of(request) : std::nullopt);
}

void Service::submit_graph(const Request& request) {
  auto ask = unpack<msg::GraphRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  if (ask->user.empty()) ask->user = transport::user_of(request.principal());
  if (hooks_.ending())
    return request.fail({Errc::busy, "this instance is ending and takes no more jobs", {}});
  auto taken = core_.jobs.submit_graph(*ask, now());
  if (!taken)
    return core_.after_commit.add([request, error = taken.error()] { request.fail(error); });
  const std::uint64_t first = taken->ids.front(), last = taken->ids.back();
  core_.audit.name_jobs(first, last - first + 1);
  core_.portions.add(request.peer(), [this, request, last, reply = std::move(*taken)] {
    const auto next = core_.jobs.next_intake();
    if (next && next->value() <= last) {
      core_.jobs.take_more(*next, now());
      return true;
    }
    reply_later(request, reply);
    return false;
  });
}

void Service::job_info(const Request& request) {
  const auto ask = unpack<msg::JobInfoRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  const JobId id(ask->id);
  auto record = core_.jobs.record(id);
  if (!record) return request.fail(record.error());
  const auto batch = core_.journal.batch_of(id);
  const auto events = core_.journal.events_of(id);
  const auto allocation = core_.journal.allocation(id);
  if (!allocation) return request.fail(allocation.error());
  // Of a job that a damaged journal has lost there is its record alone.
  const bool lost = !batch && batch.error().code == Errc::not_found;
  if (!batch && !lost) return request.fail(batch.error());
  if (!events && !lost) return request.fail(events.error());
  msg::JobInfoReply reply{std::move(*record), lost ? std::string() : batch->jobspec, {}, {}};
  if (events) reply.jobspec = as_updated(reply.jobspec, *events);
  if (events)
    for (const auto& e : *events) reply.eventlog += eventlog_line(core_.jobs.as_shown(e));
  if (*allocation) {
    resource::Allocation shown = **allocation;
    shown.when = {core_.clock.wall(shown.when.begin), core_.clock.wall(shown.when.end)};
    auto R = R_text(core_.store->graph(), shown);
    if (!R) return request.fail(R.error());
    reply.R = std::move(*R);
  }
  reply_later(request, std::move(reply));
}

void Service::cancel(const Request& request) {
  const auto ask = unpack<msg::CancelRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  if (auto fits = check_ids(ask->ids); !fits) return request.fail(fits.error());
  if (ask->reason.size() > kLongestReason)
    return request.fail(
        {Errc::invalid_argument,
         fmt::format("has {} bytes; at most {} are accepted", ask->reason.size(), kLongestReason),
         "reason"});
  msg::CancelReply reply;
  const auto viewer = viewer_of(request);
  if (ask->all)
    for (const auto& [id, job] : core_.jobs.active()) {
      if (is_array_task(job) || (viewer && job.life.user != *viewer)) continue;
      reply.cancelled.push_back(id.value());
    }
  else if (auto sorted = sort_by_life(ask->ids, reply); !sorted)
    return request.fail(sorted.error());
  const auto note = ask->reason.empty() ? std::string("cancelled by a user") : ask->reason;
  const auto step = [this, request, note, reply = std::make_shared<msg::CancelReply>(reply),
                     ids = waiting_first(reply.cancelled),
                     next = std::make_shared<std::size_t>(0)] {
    for (std::size_t i = 0; i < kCancelsAtOnce && *next < ids.size(); ++i)
      core_.jobs.raise(JobId(ids[(*next)++]), "cancel", note, now());
    if (*next < ids.size()) return true;
    reply_later(request, std::move(*reply));
    return false;
  };
  if (step()) core_.portions.add(request.peer(), step);
}

// A running job that ends gives its cores to a waiting one, which may be in a later portion of the
// same request.
std::vector<std::uint64_t> Service::waiting_first(std::vector<std::uint64_t> ids) const {
  std::stable_partition(ids.begin(), ids.end(), [this](std::uint64_t id) {
    const ActiveJob* job = core_.jobs.find(JobId(id));
    return job == nullptr || job->life.state < JobState::run;
  });
  return ids;
}

// Errors: not_found, of one of them.
Status Service::sort_by_life(const std::vector<std::uint64_t>& ids, msg::CancelReply& reply) const {
  for (const auto id : ids) {
    if (core_.jobs.is_active(JobId(id))) {
      reply.cancelled.push_back(id);
      continue;
    }
    auto record = core_.jobs.record(JobId(id));
    if (!record) return tl::unexpected(record.error());
    reply.already_inactive.push_back(id);
  }
  return {};
}

void Service::invite(const Request& request) {
  const auto ask = unpack<msg::InviteRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  auto made = hooks_.invite(*ask);
  if (!made) return request.fail(made.error());
  reply_later(request, msg::InviteReply{std::move(*made)});
}

void Service::compact(const Request& request) {
  constexpr std::int64_t kPagesAtOnce = 500;
  const std::int64_t before = core_.journal.size();
  core_.portions.add(request.peer(), [this, request, before] {
    const auto left = core_.journal.give_back(kPagesAtOnce);
    if (!left) return request.fail(left.error()), false;
    if (*left > 0 && !request.done()) return true;
    core_.after_commit.add([this, request, before] {
      const auto after = core_.journal.shrink_log();
      if (!after) return request.fail(after.error());
      request.reply(pack(msg::CompactReply{before, *after}));
    });
    return false;
  });
}

void Service::status(const Request& request) {
  reply_later(request, core_.node(now()));
}

void Service::tree(const Request& request) {
  const auto ask = unpack<msg::TreeRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  const Duration patience = patience_of(ask->timeout, core_.config.tree_timeout);
  const auto viewer = viewer_of(request);
  const auto is_seen = [this, viewer](JobId child) {
    return !viewer || core_.jobs.user_of(child) == *viewer;
  };
  auto asked = core_.children.connected();
  std::erase_if(asked, [&](const auto& child) { return !is_seen(child.first); });
  gather(server_, asked, {"tree", pack(msg::TreeRequest{patience * 4 / 5}), "", patience},
         [this, request, is_seen](const Answers& answers) {
           msg::TreeNode node = core_.node(now());
           for (const JobId id : core_.children.all()) {
             const ActiveJob* job = core_.jobs.find(id);
             if (job == nullptr || !job->life.holds_resources || !is_seen(id)) continue;
             const auto answer = answers.find(id);
             auto child = answer == answers.end() ? tl::unexpected<Error>(Error{})
                                                  : unpack<msg::TreeNode>(answer->second);
             node.children.push_back(child ? std::move(*child) : core_.silent_child(*job));
           }
           reply_later(request, std::move(node));
         });
}

void Service::lease(const Request& request) {
  const auto lease = unpack<msg::Lease>(request.payload());
  if (!lease) return request.fail(lease.error());
  hooks_.lease(*lease);
  reply_later(request, msg::Empty{});
}

void Service::close(const Error& why) {
  core_.watchers.close(why);
  followers_.close(why);
  core_.outputs.close(why);
  core_.inputs.close(why);
  core_.awaited.close(why);
  core_.departures.close(why);
}

}  // namespace holon::instance
