#include "instance/service/schedule/schedule_service.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "instance/basics/text.hpp"
#include "instance/request/placement.hpp"
#include "instance/users/hiding.hpp"
#include "resource/graph/graph.hpp"
#include "transport/codec/codec.hpp"
#include "transport/principal.hpp"

namespace holon::instance {
namespace {

using transport::pack;
using transport::Request;
using transport::unpack;

// Spans in one part of a plan: some 100 KiB without vertices.
constexpr std::size_t kSpansInPart = 512;
// A shorter limit than this is no advice.
constexpr Duration kShortestLimit = 1'000;
// Until somebody has read an advice and followed it.
constexpr Duration kToType = 60'000;

// The scheduler counts in ticks; a person wants seconds, and the option to type.
std::optional<msg::Remedy> remedy_of(const qmanager::Change& change) {
  using Kind = qmanager::Change::Kind;
  switch (change.kind) {
    case Kind::limit: {
      const Duration limit = change.value / 1000 * 1000;
      if (limit < kShortestLimit) return std::nullopt;
      return msg::Remedy{"limit",
                         limit,
                         {},
                         change.cost,
                         fmt::format("a time limit of {} or less", duration_text(limit))};
    }
    case Kind::size:
      return msg::Remedy{"size", change.value, {}, change.cost, change.text};
    case Kind::queue:
      return msg::Remedy{"queue", 0, change.queue, change.cost,
                         fmt::format("queue {}", change.queue)};
  }
  return std::nullopt;
}

// Everybody may know that something is in the way, and for how long; but not what it is, nor where
// it runs.
void hide_others(msg::Explained& about, const std::string& viewer, const Hiding& hiding) {
  about.reason = hiding.reason(about.reason);
  for (auto& other : about.in_the_way) {
    if (other.user == viewer) continue;
    other.id = 0;
    other.path = "";
    other.name = "of another user";
    other.user = "";
    other.nodelist = "";
  }
}

}  // namespace

void ScheduleService::add_to(transport::Dispatcher& dispatcher) {
  dispatcher.add("explain", [this](const Request& r) { explain(r); });
  dispatcher.add("plan", [this](const Request& r) { plan(r); });
  dispatcher.add("windows", [this](const Request& r) { windows(r); });
  dispatcher.add("priority", [this](const Request& r) { priority(r); });
}

// ---- explain ----

void ScheduleService::explain(const Request& request) {
  const auto ask = unpack<msg::ExplainRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  if (ask->ids.size() > msg::kMaxExplained)
    return request.fail({Errc::out_of_range,
                         fmt::format("{} jobs at once; at most {} are accepted", ask->ids.size(),
                                     msg::kMaxExplained),
                         "ids"});
  std::vector<JobId> ids;
  for (const auto id : ask->ids) ids.push_back(JobId(id));
  msg::ExplainReply reply;
  const auto viewer = viewer_of(request);
  const Hiding hiding = Hiding::from(viewer, uses_.jobs);
  const std::string asks = transport::user_of(request.principal());
  if (ids.empty()) {
    const auto most =
        ask->limit == 0 ? msg::kMaxExplained : std::min(ask->limit, msg::kMaxExplained);
    const auto& active = uses_.jobs.active();
    for (auto job = active.upper_bound(JobId(ask->after)); job != active.end() && !reply.more;
         ++job) {
      if (job->second.life.state > JobState::sched || is_array_task(job->second)) continue;
      reply.more = ids.size() == most;
      if (!reply.more) ids.push_back(job->first);
    }
  }
  for (const JobId id : ids) {
    auto about = explained(id);
    if (!about) return request.fail(about.error());
    if (viewer) hide_others(*about, *viewer, hiding);
    for (auto& other : about->in_the_way)
      other.is_instance = other.is_instance && other.user == asks;
    reply.jobs.push_back(std::move(*about));
  }
  uses_.after_commit.add([request, reply = std::move(reply)] { request.reply(pack(reply)); });
}

Result<msg::Explained> ScheduleService::explained(JobId id) {
  const auto record = uses_.jobs.record(id);
  if (!record) return tl::unexpected(record.error());
  msg::Explained about;
  about.id = record->id;
  about.path = uses_.jobs.shown_path(id);
  about.name = record->name;
  about.user = record->user;
  about.queue = record->queue;
  about.state = record->state;
  about.reason = record->reason;
  about.waits_for = record->waits_for;
  about.resources = record->resources;
  about.limit = record->limit;
  if (record->state == "INACTIVE")
    about.reason = fmt::format("it is over: {}{}", record->result,
                               record->reason.empty() ? "" : ", " + record->reason);
  else if (record->state == "CLEANUP")
    about.reason = record->reason.empty() ? "it is ending" : "it is ending: " + record->reason;
  else if (record->t_alloc > 0)
    about.reason = "it has what it needs: " + record->nodelist;
  else
    about.t_planned = record->t_estimate;
  if (const ActiveJob* job = uses_.jobs.find(id);
      job != nullptr && job->life.state <= JobState::sched)
    add_cause(uses_.jobs.representative_task(*job), about);
  return about;
}

void ScheduleService::add_cause(const ActiveJob& job, msg::Explained& about) {
  if (job.life.urgency == qmanager::kUrgencyHold)
    about.remedies.push_back({"urgency",
                              qmanager::kUrgencyDefault,
                              {},
                              0,
                              fmt::format("holon urgency {} {}", uses_.jobs.label_of(job.id),
                                          qmanager::kUrgencyDefault)});
  const bool stopped = uses_.gates.closed(about.queue, QueueGates::Gate::start);
  if (stopped)
    about.remedies.push_back({"gate", 0, about.queue, 0, "holon queue start " + about.queue});
  for (const JobId other : uses_.jobs.waits_on(job)) about.in_the_way.push_back(obstacle(other));
  const auto why = uses_.scheduler.explain(job.id, now());
  if (!why) return;
  about.position = why->position;
  about.considered = why->considered;
  about.pending = why->pending;
  // If the job waits for something other than resources, its record says for what.
  if (job.life.state != JobState::sched || stopped || uses_.jobs.is_aside(job.id)) return;
  about.reason = why->reason;
  about.waits_for = name_of(why->kind);
  about.t_planned = uses_.clock.wall(why->planned_start.value_or(0));
  about.t_room = uses_.clock.wall(why->room_at.value_or(0));
  for (const JobId other : why->in_the_way) {
    about.in_the_way.push_back(obstacle(other));
    const ActiveJob* const holds = uses_.jobs.find(other);
    if (const std::string late = holds == nullptr ? "" : late_word(*holds); !late.empty())
      about.reason += "; " + late;
  }
  for (const auto& change : why->changes)
    if (auto remedy = remedy_of(change)) about.remedies.push_back(std::move(*remedy));
  add_more_time(*why, about);
}

// More time for the instance helps a job that is longer than what is left, and one for which there
// is no room until then, unless it waits for jobs that end with the instance whenever that is.
void ScheduleService::add_more_time(const qmanager::Explanation& why, msg::Explained& about) const {
  const Time end = uses_.store.options().horizon.end;
  if (end == kTimeMax) return;
  const bool is_too_long = why.kind == qmanager::WaitKind::lease;
  // As it is planned, which may be longer than its limit (queue.duration-offset).
  const Duration length = why.length == kTimeMax ? 0 : why.length;
  if (!is_too_long && (!why.has_no_room || saturating_add(now(), length) > end)) return;
  if (!is_too_long)
    about.reason += fmt::format(
        "; nor is there room for it before the lease of these resources ends, at {} ({} left)",
        time_text(uses_.clock.wall(end), uses_.clock.wall(now())),
        duration_text(distance(now(), end)));
  Time begin = is_too_long ? saturating_add(now(), kToType) : end;
  for (const JobId id : why.in_the_way) {
    const ActiveJob* const other = uses_.jobs.find(id);
    if (is_too_long || other == nullptr || other->life.t_alloc == 0) continue;
    if (other->submission->limit == 0) return;
    begin = std::max(begin, saturating_add(other->life.t_alloc, other->submission->limit));
  }
  if (length == 0) return;
  const Duration missing = saturating_add(begin, length) - end;
  if (const std::string way = uses_.jobs.way_to_more_time(missing); !way.empty())
    about.remedies.push_back({"lease", missing, {}, 0, way});
}

msg::Obstacle ScheduleService::obstacle(JobId id) const {
  msg::Obstacle obstacle;
  obstacle.id = id.value();
  const ActiveJob* job = uses_.jobs.find(id);
  if (job == nullptr) {
    for (const auto& advance : uses_.scheduler.advances()) {
      if (advance.request.resources.id != id) continue;
      obstacle.kind = "advance";
      obstacle.name = advance.request.name;
      obstacle.user = advance.request.resources.user;
      obstacle.nodelist = summarize(uses_.store.graph(), advance.allocation).nodelist;
      obstacle.from = uses_.clock.wall(advance.request.when.begin);
      obstacle.until = uses_.clock.wall(advance.request.when.end);
    }
    return obstacle;
  }
  obstacle.path = uses_.jobs.shown_path(id);
  obstacle.name = job->submission->name;
  obstacle.user = job->life.user;
  obstacle.state = name_of(job->life.state);
  obstacle.nodelist = job->life.place.nodelist;
  obstacle.until = uses_.clock.wall(job->life.expiration);
  obstacle.is_instance = job->submission->is_instance && job->life.state == JobState::run;
  if (const auto& told = job->life.preemption; told.by != 0) {
    obstacle.kind = "preempted";
    obstacle.until = uses_.clock.wall(told.end);
  }
  return obstacle;
}

// ---- plan ----

void ScheduleService::plan(const Request& request) {
  const auto ask = unpack<msg::PlanRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  struct Telling {
    std::vector<qmanager::PlannedSpan> spans;  // as planned when it was asked
    std::size_t next = 0;
    std::int64_t now = 0;
  };
  const auto telling =
      std::make_shared<Telling>(Telling{uses_.scheduler.plan(now()), 0, uses_.clock.wall(now())});
  const auto step = [this, request, telling, vertices = ask->vertices] {
    if (request.done()) return false;
    msg::PlanPart part;
    part.now = telling->now;
    const std::size_t end = std::min(telling->spans.size(), telling->next + kSpansInPart);
    for (; telling->next < end; ++telling->next)
      part.spans.push_back(span(telling->spans[telling->next], vertices));
    const bool more = end < telling->spans.size();
    uses_.after_commit.add([request, more, bytes = pack(part)] {
      request.send(bytes);
      if (!more) request.end();
    });
    return more;
  };
  if (step()) uses_.portions.add(request, step);
}

msg::Span ScheduleService::span(const qmanager::PlannedSpan& planned, bool vertices) const {
  msg::Span span;
  span.id = planned.job.value();
  span.path = uses_.jobs.shown_path(planned.job);
  span.queue = planned.queue;
  span.kind = planned.advance ? "advance" : planned.reserved ? "reservation" : "allocation";
  if (planned.advance) span.name = uses_.reservations.name_of(planned.job);
  span.begin = uses_.clock.wall(planned.when.begin);
  span.end = planned.when.end == kTimeMax ? 0 : uses_.clock.wall(planned.when.end);
  if (const ActiveJob* job = uses_.jobs.find(planned.job)) {
    span.name = job->submission->name;
    span.user = job->life.user;
  }
  for (const auto& use : planned.consumes) span.pools[use.pool] += use.amount;
  const auto& graph = uses_.store.graph();
  const auto where = summarize(graph, planned.allocation);
  span.nodelist = where.nodelist;
  span.nodes = where.held.nodes;
  span.gpus = where.held.gpus;
  // A reservation of single cores is only a number until it starts.
  span.cores = planned.allocation.shares.empty() ? planned.procs : where.held.cores;
  if (!vertices) return span;
  for (const auto& share : planned.allocation.shares) {
    const auto v = graph.find_uniq(share.uniq_id);
    if (v && (share.amount > 0 || share.exclusive))
      span.vertices.push_back({graph.path(*v), share.amount, share.exclusive});
  }
  return span;
}

// ---- windows ----

void ScheduleService::windows(const Request& request) {
  msg::WindowsReply reply;
  reply.now = uses_.clock.wall(now());
  reply.cores = uses_.store.total("core");
  for (const auto& window : uses_.scheduler.windows(now()))
    if (window.procs > 0)
      reply.windows.push_back({window.procs, window.length == kTimeMax ? 0 : window.length});
  const Hiding hiding = Hiding::from(viewer_of(request), uses_.jobs);
  for (const auto& [queue, reason] : uses_.scheduler.closed_queues(now()))
    reply.closed.push_back({queue, hiding.reason(reason)});
  uses_.after_commit.add([request, reply = std::move(reply)] { request.reply(pack(reply)); });
}

}  // namespace holon::instance
