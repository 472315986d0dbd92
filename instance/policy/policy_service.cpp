#include "instance/policy/policy_service.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "policy/program.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

using transport::pack;
using transport::unpack;

// What a what-if may take of a turn for each of its halves, in microseconds. A pass is not
// interrupted, and may come on top.
constexpr std::int64_t kWhatIf = 30'000;
constexpr std::size_t kMostAsked = 10'000;  // of one request
// Each waiting job gets a place anew, which no look at the time interrupts: some 20 ms.
constexpr std::size_t kMostWaiting = 20'000;

// A function that returns true once so much time has passed.
std::function<bool()> time_is_over_after(std::int64_t microseconds) {
  return [until = monotonic_us() + microseconds] { return monotonic_us() >= until; };
}

}  // namespace

void PolicyService::add_to(transport::Dispatcher& dispatcher) {
  dispatcher.add("policy.load", [this](const transport::Request& r) { load(r); });
  dispatcher.add("policy.disable", [this](const transport::Request& r) { disable(r); });
  dispatcher.add("policy.show", [this](const transport::Request& r) { show(r); });
  dispatcher.add("policy.what-if", [this](const transport::Request& r) { what_if(r); });
}

Result<qmanager::QueueStatus> PolicyService::queue_named(const std::string& name) const {
  const auto queues = uses_.scheduler.queues();
  const std::string& wanted = name.empty() ? uses_.scheduler.config().default_queue : name;
  std::string known;
  for (const auto& queue : queues) {
    if (queue.name == wanted) return queue;
    known += (known.empty() ? "" : ", ") + queue.name;
  }
  return fail(Errc::not_found,
              fmt::format("{}; there {} {}",
                          wanted.empty() ? "a queue must be named: there is no default queue"
                                         : fmt::format("there is no queue \"{}\"", wanted),
                          queues.size() == 1 ? "is" : "are", known),
              "queue");
}

void PolicyService::load(const transport::Request& request) {
  const auto ask = unpack<msg::PolicyLoadRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  const auto queue = queue_named(ask->queue);
  if (!queue) return request.fail(queue.error());
  const Status loaded = uses_.policies.load(queue->name, {ask->policy, ask->text}, reactor_.now());
  if (!loaded) return request.fail(loaded.error());
  uses_.jobs.look_again();
  uses_.after_commit.add([request] { request.reply(pack(msg::Empty{})); });
}

void PolicyService::disable(const transport::Request& request) {
  const auto ask = unpack<msg::PolicyDisableRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  const auto queue = queue_named(ask->queue);
  if (!queue) return request.fail(queue.error());
  auto policy = uses_.policies.disable(queue->name, reactor_.now());
  if (!policy) return request.fail(policy.error());
  uses_.jobs.look_again();
  const msg::PolicyDisableReply reply{queue->name, std::move(*policy)};
  uses_.after_commit.add([request, reply] { request.reply(pack(reply)); });
}

void PolicyService::show(const transport::Request& request) {
  const auto ask = unpack<msg::PolicyShowRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  const auto queue = queue_named(ask->queue);
  if (!queue) return request.fail(queue.error());
  msg::PolicyShown shown;
  shown.queue = queue->name;
  shown.policy = queue->policy;
  shown.configured = uses_.policies.configured(queue->name);
  shown.set_live = uses_.policies.is_set_live(queue->name);
  if (queue->hooks) {
    shown.text = uses_.policies.text_of(queue->name);
    shown.base = queue->hooks->base;
    shown.calls = queue->hooks->calls;
    shown.troubles = queue->hooks->troubles;
    shown.trouble = queue->hooks->trouble;
    shown.given_up = queue->hooks->given_up;
    shown.kept = static_cast<std::int64_t>(uses_.scheduler.policy_state(queue->name).size());
    if (const auto what = policy::describe(queue->policy, shown.text))
      for (const auto& function : what->functions)
        shown.functions.push_back({function.name, function.line});
  }
  uses_.after_commit.add([request, shown = std::move(shown)] { request.reply(pack(shown)); });
}

// ---- what would be

// Done in portions, so that many requests do not keep others waiting.
void PolicyService::what_if(const transport::Request& request) {
  auto ask = unpack<msg::WhatIfRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  if (ask->ids.size() > kMostAsked)
    return request.fail(
        {Errc::out_of_range,
         fmt::format("{} ids; one request may have {}", ask->ids.size(), kMostAsked), "ids"});
  uses_.portions.add(request, [this, request, ask = std::move(*ask)] {
    if (!request.done()) answer_what_if(request, ask);
    return false;
  });
}

namespace {

// The jobs of the request: those named, or all that wait for resources.
Result<std::vector<JobId>> jobs_asked(const JobManager& jobs,
                                      const std::vector<std::uint64_t>& ids) {
  std::vector<JobId> all;
  for (const auto id : ids) {
    const ActiveJob* const job = jobs.find(JobId(id));
    if (job == nullptr || job->life.state > JobState::sched)
      return fail(Errc::not_found, fmt::format("job {} does not wait", jobs.label_of(JobId(id))),
                  "ids");
    all.push_back(JobId(id));
  }
  if (ids.empty())
    for (const auto& [id, job] : jobs.active())
      if (job.life.state == JobState::sched) all.push_back(id);
  return all;
}

// The job's start; 0: it is not within what was looked at.
Time start_in(const qmanager::Scheduler::Starts& starts, JobId id) {
  const auto found = starts.find(id);
  return found == starts.end() ? 0 : found->second;
}

}  // namespace

msg::WhatIfStart PolicyService::about(JobId id, Time as_it_is, Time then) const {
  const ActiveJob& job = *uses_.jobs.find(id);
  msg::WhatIfStart start;
  start.id = id.value();
  start.path = uses_.jobs.shown_path(id);
  start.name = job.submission->name;
  start.user = job.life.user;
  start.queue = job.submission->queue.empty() ? uses_.scheduler.config().default_queue
                                              : job.submission->queue;
  if (as_it_is != 0) start.t_now = uses_.clock.wall(as_it_is);
  if (then != 0) start.t_then = uses_.clock.wall(then);
  return start;
}

void PolicyService::answer_what_if(const transport::Request& request,
                                   const msg::WhatIfRequest& ask) const {
  const Time now = reactor_.now();
  const auto queue = queue_named(ask.queue);
  if (!queue) return request.fail(queue.error());
  if (queue->pending > kMostWaiting)
    return request.fail({Errc::out_of_range,
                         fmt::format("{} jobs wait in queue {}; with more than {} it is not worked "
                                     "out what would be",
                                     queue->pending, queue->name, kMostWaiting),
                         "queue"});
  const auto ids = jobs_asked(uses_.jobs, ask.ids);
  if (!ids) return request.fail(ids.error());
  auto program = program_of({ask.policy, ask.text});
  if (!program) return request.fail(program.error());
  const auto then = uses_.scheduler.forecast_with(queue->name, ask.policy, std::move(*program), now,
                                                  time_is_over_after(kWhatIf));
  if (!then) return request.fail(then.error());
  const auto as_it_is = uses_.scheduler.forecast(now, time_is_over_after(kWhatIf));
  msg::WhatIfReply reply;
  reply.queue = queue->name;
  reply.policy = queue->policy;
  reply.now = uses_.clock.wall(now);
  if (!then->asked.trouble.empty()) reply.trouble = in_words(then->asked);
  for (const JobId id : *ids) {
    const Time before = start_in(as_it_is, id), after = start_in(then->starts, id);
    if (before == after) {
      ++(before == 0 ? reply.unknown : reply.same);
      continue;
    }
    reply.jobs.push_back(about(id, before, after));
  }
  uses_.after_commit.add([request, reply = std::move(reply)] { request.reply(pack(reply)); });
}

}  // namespace holon::instance
