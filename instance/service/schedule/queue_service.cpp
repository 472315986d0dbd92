#include "instance/service/schedule/queue_service.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "resource/graph/graph.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

using transport::pack;
using transport::Request;
using transport::unpack;

constexpr std::size_t kMostChanged = 10'000;  // ids of one request

}  // namespace

void QueueService::add_to(transport::Dispatcher& dispatcher) {
  dispatcher.add("urgency", [this](const Request& r) { urgency(r); });
  dispatcher.add("queue.gate", [this](const Request& r) { gate(r); });
  dispatcher.add("stats", [this](const Request& r) { stats(r); });
}

void QueueService::urgency(const Request& request) {
  const auto ask = unpack<msg::UrgencyRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  if (ask->urgency > qmanager::kUrgencyExpedite)
    return request.fail({Errc::invalid_argument,
                         fmt::format("urgency is {}; accepted are 0 to 31", ask->urgency),
                         "urgency"});
  if (ask->ids.size() > kMostChanged)
    return request.fail(
        {Errc::out_of_range,
         fmt::format("{} ids; one request may have {}", ask->ids.size(), kMostChanged), "ids"});
  // All jobs or none: check first.
  for (const auto id : ask->ids) {
    const ActiveJob* job = uses_.jobs.find(JobId(id));
    if (job != nullptr && (job->life.state <= JobState::sched || is_array(*job))) continue;
    if (job == nullptr && uses_.jobs.is_active(JobId(id))) continue;
    return request.fail(uses_.jobs.set_urgency(JobId(id), ask->urgency, reactor_.now()).error());
  }
  for (const auto id : ask->ids)
    if (auto set = uses_.jobs.set_urgency(JobId(id), ask->urgency, reactor_.now()); !set)
      return request.fail(set.error());
  uses_.after_commit.add([request] { request.reply(pack(msg::Empty{})); });
}

void QueueService::gate(const Request& request) {
  const auto ask = unpack<msg::GateRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  if (ask->gate != "submit" && ask->gate != "start")
    return request.fail(
        {Errc::invalid_argument,
         fmt::format("there is no gate '{}'; accepted are submit and start", ask->gate), "gate"});
  const auto gate = ask->gate == "submit" ? QueueGates::Gate::submit : QueueGates::Gate::start;
  std::vector<std::string> names = {ask->queue};
  if (ask->queue.empty()) {
    names.clear();
    for (const auto& queue : uses_.scheduler.queues()) names.push_back(queue.name);
  }
  for (const auto& name : names)
    if (auto set = uses_.gates.set(name, gate, ask->open, ask->reason); !set)
      return request.fail(set.error());
  uses_.jobs.look_again();
  uses_.after_commit.add([request] { request.reply(pack(msg::Empty{})); });
}

msg::QueueInfo QueueService::info_of(const qmanager::QueueStatus& queue) const {
  const auto& config = uses_.scheduler.config();
  const auto own = config.queues.find(queue.name);
  msg::QueueInfo info;
  info.name = queue.name;
  info.policy = queue.policy;
  info.enabled = queue.enabled;
  info.started = queue.started;
  info.disabled_because = uses_.gates.reason(queue.name, QueueGates::Gate::submit);
  info.stopped_because = uses_.gates.reason(queue.name, QueueGates::Gate::start);
  if (queue.hooks) {
    info.base = queue.hooks->base;
    info.trouble = queue.hooks->trouble;
    info.troubles = queue.hooks->troubles;
    info.given_up = queue.hooks->given_up;
  }
  info.depth = own == config.queues.end() ? config.defaults.queue_depth : own->second.queue_depth;
  info.pending = static_cast<std::int64_t>(queue.pending);
  info.held = static_cast<std::int64_t>(queue.held);
  info.blocked = static_cast<std::int64_t>(queue.blocked);
  info.reserved = static_cast<std::int64_t>(queue.reserved);
  info.running = static_cast<std::int64_t>(queue.running);
  info.considered = queue.considered;
  info.submitted = queue.counts.submitted;
  info.begun = queue.counts.started;
  info.backfilled = queue.counts.backfilled;
  info.finished = queue.counts.finished;
  info.cancelled = queue.counts.cancelled;
  info.rejected = queue.counts.rejected;
  info.reprioritized = queue.counts.reprioritized;
  info.preempted = queue.counts.preempted;
  return info;
}

void QueueService::stats(const Request& request) {
  msg::StatsReply reply;
  auto held = uses_.jobs.held_back();
  for (const auto& queue : uses_.scheduler.queues()) {
    reply.queues.push_back(info_of(queue));
    // Tasks count here, whether the scheduler has been given them or not.
    auto& info = reply.queues.back();
    const auto& tasks = held[queue.name];
    info.pending += tasks.waiting;
    info.submitted += tasks.waiting + tasks.cancelled;
    info.cancelled += tasks.cancelled;
  }
  const PassTimes& times = uses_.jobs.pass_times();
  reply.passes = times.passes;
  reply.last_us = times.last;
  reply.mean_us = times.passes == 0 ? 0 : times.sum / times.passes;
  reply.longest_us = times.longest;
  reply.vertices = static_cast<std::int64_t>(uses_.store.graph().in_preorder().size());
  uses_.after_commit.add([request, reply = std::move(reply)] { request.reply(pack(reply)); });
}

}  // namespace holon::instance
