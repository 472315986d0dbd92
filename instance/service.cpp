#include "instance/service.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "instance/gather.hpp"
#include "instance/resources.hpp"
#include "instance/text.hpp"
#include "transport/codec.hpp"

namespace holon::instance {
namespace {

using transport::pack;
using transport::Request;
using transport::unpack;

// How long a request waits for a child that was started and has not said hello yet.
constexpr Duration kChildPatience = 15'000;

void sort_by_path(std::vector<msg::JobRecord>& records) {
  std::sort(records.begin(), records.end(),
            [](const auto& a, const auto& b) { return path_before(a.path, b.path); });
}

Duration patience_of(Duration asked, Duration configured) {
  return asked > 0 ? asked : configured;
}

// Keeps the newest `limit` ones.
void cut(std::vector<msg::JobRecord>& records, std::uint64_t limit) {
  if (limit == 0 || records.size() <= limit) return;
  std::nth_element(records.begin(), records.begin() + std::ptrdiff_t(limit), records.end(),
                   [](const auto& a, const auto& b) {
                     return a.t_submit != b.t_submit ? a.t_submit > b.t_submit
                                                     : path_before(b.path, a.path);
                   });
  records.resize(limit);
}

}  // namespace

Service::Service(transport::Reactor& reactor, transport::Server& server, Core& core, Hooks hooks)
    : reactor_(reactor),
      server_(server),
      core_(core),
      hooks_(std::move(hooks)),
      schedule_(reactor, core),
      queues_(reactor, core),
      reservations_(reactor, core),
      resources_(reactor, server, core) {
  add_client_requests();
  schedule_.add_to(dispatcher_);
  queues_.add_to(dispatcher_);
  reservations_.add_to(dispatcher_);
  resources_.add_to(dispatcher_);
  add_instance_requests();
  core_.children.on_connected = [this](JobId child) { child_connected(child); };
  core_.on_child_ended = [this](JobId child) { child_ended(child); };
}

void Service::add_client_requests() {
  dispatcher_.add("submit", [this](const Request& r) { submit(r); });
  dispatcher_.add("jobs", [this](const Request& r) { list_jobs(r); });
  dispatcher_.add("job.info", [this](const Request& r) { job_info(r); });
  dispatcher_.add("job.watch", [this](const Request& r) { core_.watchers.watch(r); });
  dispatcher_.add("job.wait", [this](const Request& r) { core_.watchers.wait(r); });
  dispatcher_.add("job.attach", [this](const Request& r) { core_.outputs.attach(r); });
  dispatcher_.add("cancel", [this](const Request& r) { cancel(r); });
  dispatcher_.add("tree", [this](const Request& r) { tree(r); });
  dispatcher_.add("status", [this](const Request& r) { status(r); });
  dispatcher_.add("shutdown", [this](const Request& r) {
    const auto ask = unpack<msg::ShutdownRequest>(r.payload());
    if (!ask) return r.fail(ask.error());
    reply_later(r, msg::Empty{});
    hooks_.shutdown(ask->reason.empty() ? "holon shutdown" : ask->reason);
  });
}

void Service::add_instance_requests() {
  dispatcher_.add("agent.hello", [this](const Request& r) {
    core_.agent.hello(r, now());
    core_.after_commit.add([this] {
      core_.outputs.agent_is_back();
      if (core_.agent.connected()) hooks_.agent_up();
    });
  });
  dispatcher_.add("agent.report", [this](const Request& r) { core_.agent.report(r, now()); });
  dispatcher_.add("hello", [this](const Request& r) { core_.children.hello(r, now()); });
  dispatcher_.add("record", [this](const Request& r) { core_.take_records(r, now()); });
  dispatcher_.add("ending", [this](const Request& r) { core_.children.begins_to_end(r); });
  dispatcher_.add("lease", [this](const Request& r) { lease(r); });
}

template <class Reply>
void Service::reply_later(const Request& request, Reply reply) {
  core_.after_commit.add([request, reply = std::move(reply)] { request.reply(pack(reply)); });
}

// ---- the tree: who answers ----

void Service::handle(const Request& request) {
  if (request.path().empty()) return dispatcher_(request);
  // What neighbours say to each other is said over their own connection, never through a third.
  if (neighbours_.count(request.topic()) != 0)
    return request.fail({Errc::denied, request.topic() + " is not passed on", {}});
  const auto path = resolve(core_.identity.path, request.path());
  if (!path) return request.fail(path.error());
  route(request, *path);
}

void Service::route(const Request& request, const std::string& path) {
  if (path == core_.identity.path) return dispatcher_(request);
  if (const auto child = child_towards(core_.identity.path, path))
    return to_child(*child, request, path);
  if (hooks_.forward_up) return hooks_.forward_up(request, path);
  request.fail({Errc::not_found, fmt::format("there is no instance {}", path), {}});
}

void Service::to_child(JobId child, const Request& request, const std::string& path) {
  if (const auto peer = core_.children.peer(child); peer.value() != 0)
    return server_.forward(peer, request, path);
  const ActiveJob* job = core_.jobs.find(child);
  if (job == nullptr) return answer_for_gone(request, path);
  if (!job->submission->is_instance || !job->life.holds_resources) {
    const char* what =
        job->submission->is_instance ? "has not started yet" : "is a job, not an instance";
    return request.fail(
        {Errc::not_found, fmt::format("{} {}", core_.jobs.path_of(child), what), {}});
  }
  waiting_.push_front({child, request, path, {}});
  auto& entry = waiting_.front();
  entry.timeout = reactor_.after(kChildPatience, [this, at = waiting_.begin()] {
    at->request.fail(
        {Errc::disconnected, fmt::format("instance {} does not answer", at->path), {}});
    auto timeout = std::move(at->timeout);  // outlives this call
    waiting_.erase(at);
  });
}

void Service::child_connected(JobId child) {
  const auto peer = core_.children.peer(child);
  for (const auto& w : waiting_)
    if (w.child == child) server_.forward(peer, w.request, w.path);
  waiting_.remove_if([child](const Waiting& w) { return w.child == child; });
  resources_.tell_drains(child);
}

void Service::child_ended(JobId child) {
  for (const auto& w : waiting_)
    if (w.child == child) answer_for_gone(w.request, w.path);
  waiting_.remove_if([child](const Waiting& w) { return w.child == child; });
}

// What can be said of an instance from the records it has left.
void Service::answer_for_gone(const Request& request, const std::string& path) {
  const auto self = core_.record(path);
  if (!self || !self->is_instance)
    return request.fail({Errc::not_found, fmt::format("there is no instance {}", path), {}});
  const auto below = core_.journal.descendants(path + "/");
  if (!below) return request.fail(below.error());
  // Its own jobs, and those of its children where all below is asked for.
  const auto own = [&](const msg::JobRecord& r) {
    return r.path.find('/', path.size() + 1) == std::string::npos;
  };
  if (request.topic() == "jobs") {
    const auto ask = unpack<msg::JobsRequest>(request.payload());
    if (!ask) return request.fail(ask.error());
    msg::JobsReply reply;
    const std::set<std::uint64_t> ids(ask->ids.begin(), ask->ids.end());
    for (const auto& r : *below)
      if ((ask->recursive || own(r)) && ask->all && (ids.empty() || ids.count(r.id) != 0))
        reply.jobs.push_back(r);
    cut(reply.jobs, ask->limit);
    sort_by_path(reply.jobs);
    return reply_later(request, reply);
  }
  if (request.topic() == "job.info" || request.topic() == "job.wait") {
    // Both carry the ids they ask for; a wait for what is over is over.
    const auto info = unpack<msg::JobInfoRequest>(request.payload());
    const auto wait = unpack<msg::WaitRequest>(request.payload());
    if (!info || !wait) return request.fail(info ? wait.error() : info.error());
    const bool one = request.topic() == "job.info";
    msg::WaitReply found;
    for (const auto id : one ? std::vector{info->id} : wait->ids) {
      auto record = core_.record(join(path, JobId(id)));
      if (!record)
        return request.fail({Errc::not_found, fmt::format("no job {}", join(path, JobId(id))), {}});
      found.jobs.push_back(std::move(*record));
    }
    if (!one) return reply_later(request, found);
    return reply_later(request, msg::JobInfoReply{found.jobs.front(), {}, {}, {}});
  }
  if (request.topic() == "tree" || request.topic() == "status") {
    msg::TreeNode node;
    node.path = path;
    node.name = self->name;
    node.health = "ended";
    for (const auto& r : *below) {
      if (!own(r)) continue;
      ++node.inactive;
      node.failed += r.result != "COMPLETED";
    }
    return reply_later(request, node);
  }
  request.fail(
      {Errc::not_found, fmt::format("instance {} has ended ({})", path, self->result), {}});
}

// ---- requests ----

void Service::submit(const Request& request) {
  const auto ask = unpack<msg::SubmitRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  if (hooks_.ending())
    return request.fail({Errc::busy, "this instance is ending and takes no more jobs", {}});
  auto taken = core_.jobs.submit(*ask, now());
  if (taken) return reply_later(request, *taken);
  core_.after_commit.add([request, error = taken.error()] { request.fail(error); });
}

Result<std::vector<msg::JobRecord>> Service::local_jobs(const msg::JobsRequest& ask) const {
  std::vector<msg::JobRecord> records;
  if (!ask.ids.empty()) {
    for (const auto id : ask.ids) {
      auto record = core_.jobs.record(JobId(id));
      if (!record) return tl::unexpected(record.error());
      records.push_back(std::move(*record));
    }
    return records;
  }
  if (ask.all) {
    auto inactive = core_.journal.inactive_jobs(ask.limit);
    if (!inactive) return inactive;
    records = std::move(*inactive);
  }
  // The newest first, so that a limit spares the work for the rest.
  const auto& active = core_.jobs.active();
  std::uint64_t n = 0;
  for (auto job = active.rbegin(); job != active.rend() && (ask.limit == 0 || n < ask.limit);
       ++job, ++n)
    records.push_back(core_.jobs.record_of(job->second));
  return records;
}

// Is it one of these jobs, or below one? No ids: all are.
bool Service::is_wanted(const std::string& path, const std::vector<std::uint64_t>& ids) const {
  return ids.empty() || std::any_of(ids.begin(), ids.end(), [&](std::uint64_t id) {
           const std::string top = core_.jobs.path_of(JobId(id));
           return path == top || path.starts_with(top + "/");
         });
}

void Service::list_jobs(const Request& request) {
  auto ask = unpack<msg::JobsRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  auto local = local_jobs(*ask);
  if (!local) return request.fail(local.error());
  std::map<std::string, msg::JobRecord> by_path;
  for (auto& record : *local) by_path.emplace(record.path, std::move(record));
  const auto finish = [this, request, limit = ask->limit,
                       ids = ask->ids](std::map<std::string, msg::JobRecord> all) {
    msg::JobsReply reply;
    for (auto& [path, record] : all)
      if (is_wanted(path, ids)) reply.jobs.push_back(std::move(record));
    cut(reply.jobs, limit);
    sort_by_path(reply.jobs);
    reply_later(request, std::move(reply));
  };
  if (!ask->recursive) return finish(std::move(by_path));

  // Children that answer know best; what is said of the others was sent up before.
  const Duration patience = patience_of(ask->timeout, core_.config.tree_timeout);
  ask->timeout = patience * 4 / 5;
  ask->ids.clear();
  gather(server_, core_.children.connected(), {"jobs", pack(*ask), "", patience},
         [this, finish, all = ask->all, by_path](const Answers& answers) mutable {
           std::set<std::string> live;
           for (const auto& [child, bytes] : answers) {
             auto reply = unpack<msg::JobsReply>(bytes);
             if (!reply) continue;
             live.insert(core_.jobs.path_of(child) + "/");
             for (auto& record : reply->jobs)
               by_path.insert_or_assign(record.path, std::move(record));
           }
           auto known = core_.journal.descendants("");
           for (auto& record : known ? *known : std::vector<msg::JobRecord>{}) {
             const auto end = record.path.find('/', core_.jobs.path_of(JobId(1)).rfind('/') + 1);
             const bool answered = live.count(record.path.substr(0, end + 1)) != 0;
             if (!answered && (all || record.state != "INACTIVE"))
               by_path.emplace(record.path, std::move(record));
           }
           finish(std::move(by_path));
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
  msg::CancelReply reply;
  std::vector<std::uint64_t> ids = ask->ids;
  if (ask->all) {
    ids.clear();
    for (const auto& [id, job] : core_.jobs.active()) ids.push_back(id.value());
  }
  for (const auto id : ids) {
    if (core_.jobs.find(JobId(id)) != nullptr) {
      reply.cancelled.push_back(id);
      continue;
    }
    auto record = core_.jobs.record(JobId(id));
    if (!record) return request.fail(record.error());
    reply.already_inactive.push_back(id);
  }
  const std::string note = ask->reason.empty() ? "cancelled by a user" : ask->reason;
  for (const auto id : reply.cancelled) core_.jobs.raise(JobId(id), "cancel", note, now());
  reply_later(request, std::move(reply));
}

void Service::status(const Request& request) {
  reply_later(request, core_.node(now()));
}

void Service::tree(const Request& request) {
  const auto ask = unpack<msg::TreeRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  const Duration patience = patience_of(ask->timeout, core_.config.tree_timeout);
  gather(server_, core_.children.connected(),
         {"tree", pack(msg::TreeRequest{patience * 4 / 5}), "", patience},
         [this, request](const Answers& answers) {
           msg::TreeNode node = core_.node(now());
           for (const JobId id : core_.children.all()) {
             const ActiveJob* job = core_.jobs.find(id);
             if (job == nullptr || !job->life.holds_resources) continue;
             const auto answer = answers.find(id);
             auto child = answer == answers.end() ? tl::unexpected<Error>(Error{})
                                                  : unpack<msg::TreeNode>(answer->second);
             node.children.push_back(child ? std::move(*child) : core_.silent_child(*job));
           }
           reply_later(request, std::move(node));
         });
}

void Service::lease(const Request& request) {
  if (request.peer().value() != 0)  // a request over our own connection upwards has no peer number
    return request.fail({Errc::denied, "a lease comes from the parent", {}});
  const auto lease = unpack<msg::Lease>(request.payload());
  if (!lease) return request.fail(lease.error());
  hooks_.lease(*lease);
  reply_later(request, msg::Empty{});
}

void Service::close(const Error& why) {
  core_.watchers.close(why);
  core_.outputs.close(why);
  for (const auto& w : waiting_) w.request.fail(why);
  waiting_.clear();
}

}  // namespace holon::instance
