// The request "priority": every pending job's place and what it is made of, as Maui's diagnose -p.
#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "instance/service/schedule/schedule_service.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

constexpr std::size_t kRankedAtOnce = 200;   // jobs in one portion
constexpr std::size_t kMostRanked = 10'000;  // ids of one request

std::string set_by(const qmanager::SchedulerConfig& config, const ActiveJob& job,
                   const qmanager::PriorityBreakdown& breakdown) {
  if (job.life.urgency == qmanager::kUrgencyHold) return "held: urgency 0";
  if (job.life.urgency == qmanager::kUrgencyExpedite) return "expedited: urgency 31";
  const bool summed = config.priority.active() || !breakdown.parts.empty();
  if (!breakdown.fixed) return summed ? "" : "urgency";
  return fmt::format("NTR of QOS {}", job.submission->wishes.qos);
}

}  // namespace

Result<msg::Prioritized> ScheduleService::prioritized(JobId id) const {
  const ActiveJob* job = uses_.jobs.find(id);
  if (job == nullptr) {
    const auto known = uses_.jobs.record(id);
    if (!known) return tl::unexpected(known.error());
    return fail(Errc::not_found,
                fmt::format("job {} is over: {}", uses_.jobs.shown_path(id), known->result));
  }
  const auto breakdown = uses_.scheduler.priority(id, now());
  if (!breakdown) return tl::unexpected(breakdown.error());
  msg::Prioritized about;
  about.id = id.value();
  about.path = uses_.jobs.shown_path(id);
  about.name = job->submission->name;
  about.user = job->life.user;
  const auto& config = uses_.scheduler.config();
  about.queue = job->submission->queue.empty() ? config.default_queue : job->submission->queue;
  about.state = name_of(job->life.state);
  about.urgency = job->life.urgency;
  about.priority = breakdown->priority;
  about.set_by = set_by(config, *job, *breakdown);
  for (const auto& part : breakdown->parts)
    about.parts.push_back({part.factor, part.value, part.weight, part.points});
  return about;
}

// Ranks the waiting jobs, some at a time: there may be a million.
struct ScheduleService::Ranking {
  transport::Request request;
  bool all = true;  // not only the named ones
  std::size_t most = 0;
  JobId after{0};  // the last job looked at
  msg::PriorityReply reply;

  // Equal priorities are in the order of ids, which is that of submission.
  void keep_the_first() {
    std::stable_sort(reply.jobs.begin(), reply.jobs.end(),
                     [](const auto& a, const auto& b) { return a.priority > b.priority; });
    if (reply.jobs.size() > most) reply.jobs.resize(most);
  }
};

void ScheduleService::priority(const transport::Request& request) {
  const auto ask = transport::unpack<msg::PriorityRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  const auto ranking = std::make_shared<Ranking>();
  ranking->request = request;
  ranking->all = ask->ids.empty();
  ranking->most = ask->limit == 0 ? msg::kMaxPriorities : std::min(ask->limit, msg::kMaxPriorities);
  if (ask->ids.size() > kMostRanked)
    return request.fail(
        {Errc::out_of_range,
         fmt::format("{} ids; one request may have {}", ask->ids.size(), kMostRanked), "ids"});
  for (const auto id : ask->ids) {
    auto about = prioritized(JobId(id));
    if (!about) return request.fail(about.error());
    ranking->reply.jobs.push_back(std::move(*about));
  }
  const auto step = [this, ranking] { return rank_some(*ranking); };
  if (step()) uses_.portions.add(request, step);
}

bool ScheduleService::rank_some(Ranking& ranking) {
  if (ranking.request.done()) return false;
  const auto& active = uses_.jobs.active();
  auto job = active.upper_bound(ranking.after);
  for (std::size_t n = 0; n < kRankedAtOnce && job != active.end(); ++n, ++job) {
    ranking.after = job->first;
    if (job->second.life.state != JobState::sched) continue;
    ++ranking.reply.pending;
    if (!ranking.all) continue;
    if (auto about = prioritized(job->first)) ranking.reply.jobs.push_back(std::move(*about));
  }
  if (job != active.end()) {
    if (ranking.reply.jobs.size() > 2 * ranking.most) ranking.keep_the_first();
    return true;
  }
  ranking.keep_the_first();
  uses_.after_commit.add([request = ranking.request, reply = std::move(ranking.reply)] {
    request.reply(transport::pack(reply));
  });
  return false;
}

}  // namespace holon::instance
