// The request "priority": every pending job's place and what it comes from, as Maui's diagnose -p.
#include <fmt/core.h>

#include <algorithm>

#include "instance/service/schedule_service.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

std::string set_by(const qmanager::SchedulerConfig& config, const ActiveJob& job, bool fixed) {
  if (job.life.urgency == qmanager::kUrgencyHold) return "held: urgency 0";
  if (job.life.urgency == qmanager::kUrgencyExpedite) return "expedited: urgency 31";
  if (!fixed) return config.priority.active() ? "" : "urgency";
  return fmt::format("NTR of QOS {}", job.submission->wishes.qos);
}

}  // namespace

Result<msg::Prioritized> ScheduleService::prioritized(JobId id) const {
  const ActiveJob* job = core_.jobs.find(id);
  if (job == nullptr) {
    const auto known = core_.jobs.record(id);
    if (!known) return tl::unexpected(known.error());
    return fail(Errc::not_found, fmt::format("job {} is over: {}", known->path, known->result));
  }
  const auto breakdown = core_.scheduler.priority(id, now());
  if (!breakdown) return tl::unexpected(breakdown.error());
  msg::Prioritized about;
  about.id = id.value();
  about.path = core_.jobs.path_of(id);
  about.name = job->submission->name;
  about.user = job->life.user;
  const auto& config = core_.scheduler.config();
  about.queue = job->submission->queue.empty() ? config.default_queue : job->submission->queue;
  about.state = name_of(job->life.state);
  about.urgency = job->life.urgency;
  about.priority = breakdown->priority;
  about.set_by = set_by(config, *job, breakdown->fixed);
  for (const auto& part : breakdown->parts)
    about.parts.push_back({part.factor, part.value, part.weight, part.points});
  return about;
}

void ScheduleService::priority(const transport::Request& request) {
  const auto ask = transport::unpack<msg::PriorityRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  msg::PriorityReply reply;
  std::vector<JobId> ids;
  for (const auto id : ask->ids) ids.push_back(JobId(id));
  for (const auto& [id, job] : core_.jobs.active()) {
    if (job.life.state != JobState::sched) continue;
    ++reply.pending;
    if (ask->ids.empty()) ids.push_back(id);
  }
  for (const JobId id : ids) {
    auto about = prioritized(id);
    if (!about) return request.fail(about.error());
    reply.jobs.push_back(std::move(*about));
  }
  // By id where it is equal, which is the order of submission.
  std::stable_sort(reply.jobs.begin(), reply.jobs.end(),
                   [](const auto& a, const auto& b) { return a.priority > b.priority; });
  const std::uint64_t most =
      ask->limit == 0 ? msg::kMaxPriorities : std::min(ask->limit, msg::kMaxPriorities);
  if (reply.jobs.size() > most) reply.jobs.resize(most);
  core_.after_commit.add(
      [request, reply = std::move(reply)] { request.reply(transport::pack(reply)); });
}

}  // namespace holon::instance
