// explain.cpp - what keeps a job from running, and the least that would have to change for it to
// start now.
//
// Every answer is asked of the machine with its plan, reservations included: the question is the
// one a pass would ask, so that what is proposed here would really start.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "qmanager/reason.hpp"
#include "qmanager/scheduler.hpp"

namespace holon::qmanager {

namespace {

constexpr std::size_t kNamedJobs = 10;

// The largest value in [1, most] for which `fits`, which holds for smaller ones too; 0 if for none.
template <class Fits>
std::int64_t largest(std::int64_t most, Fits fits) {
  std::int64_t good = 0;
  while (good < most) {
    const std::int64_t middle = good + (most - good + 1) / 2;
    if (fits(middle))
      good = middle;
    else
      most = middle - 1;
  }
  return good;
}

class Explainer {
 public:
  Explainer(Scheduler::State& state, const Job& job, Time now) : s_(state), job_(job), now_(now) {}

  std::vector<Change> changes() {
    std::vector<Change> all;
    const Queue& queue = s_.queues().of(job_);
    const bool in_order =
        queue.started && (queue.policy.backfill || queue.walk.blocked_by == job_.request.id);
    const Duration length = s_.queues().length_of(job_);
    // A job that fits as it is waits for something other than resources.
    if (in_order && !is_kept_back(queue) && !fits(job_.request, length) &&
        !s_.accounts().limiter->over(job_, now_, length, false)) {
      shorter(all);
      smaller(all);
    } else {
      elsewhere(all);
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Change& a, const Change& b) { return a.cost < b.cost; });
    return all;
  }

 private:
  // The rules or the depth of the queue keep the job waiting, whatever it asked for.
  bool is_kept_back(const Queue& queue) const {
    switch (job_.why) {
      case Why::not_considered:
        return queue.is_at_depth(job_.pools);
      case Why::idle_limit:
      case Why::backfill:
      case Why::chunk:
      case Why::policy:
        return true;
      default:
        return false;
    }
  }

  bool fits(const JobRequest& request, Duration length) {
    return length > 0 && s_.plan().machine->earliest(request, {now_, now_, length}) == now_;
  }

  void shorter(std::vector<Change>& all) {
    const Duration length = s_.queues().length_of(job_);
    const Duration most = length == kTimeMax ? s_.plan().machine->horizon().end - now_ : length;
    const Duration offset = s_.queues().of(job_).config.duration_offset;
    const Duration fit = largest(most - 1, [&](Duration d) { return fits(job_.request, d); });
    if (fit <= offset) return;
    all.push_back(
        {Change::Kind::limit,
         fit - offset,
         {},
         1.0 - static_cast<double>(fit) / static_cast<double>(most),
         fmt::format("a time limit of {} or less", s_.config().length_text(fit - offset))});
  }

  // Asks for fewer of what the request counts first: nodes, slots, or processors on a flat machine.
  void smaller(std::vector<Change>& all) {
    const resource::Jobspec* spec = job_.request.spec.get();
    if (spec != nullptr && (spec->resources.size() != 1 || spec->resources.front().count.min < 2))
      return;
    const std::int64_t asked = spec != nullptr ? spec->resources.front().count.min : job_.procs;
    const std::string unit = spec != nullptr ? spec->resources.front().type : "processor";
    const std::int64_t fit = largest(asked - 1, [&](std::int64_t n) {
      return fits(with_count(n), s_.queues().length_of(job_));
    });
    if (fit == 0) return;
    all.push_back({Change::Kind::size,
                   fit,
                   {},
                   1.0 - static_cast<double>(fit) / static_cast<double>(asked),
                   fmt::format("{} {}{} instead of {}", fit, unit, fit == 1 ? "" : "s", asked)});
  }

  JobRequest with_count(std::int64_t count) const {
    JobRequest request = job_.request;
    if (!request.spec) {
      request.procs = count;
      return request;
    }
    auto spec = std::make_shared<resource::Jobspec>(*request.spec);
    resource::Count& top = spec->resources.front().count;
    top.min = top.max = count;
    top.values.clear();
    request.spec = std::move(spec);
    request.procs = s_.plan().machine->procs_of(request);
    return request;
  }

  // The order of the queue or a limit keeps the job waiting: proposes a queue where it would start.
  void elsewhere(std::vector<Change>& all) {
    if (!fits(job_.request, s_.queues().length_of(job_))) return;
    for (std::size_t i = 0; i < s_.queues().all.size(); ++i) {
      const Queue& other = s_.queues().all[i];
      const bool open = other.enabled && other.started &&
                        (other.policy.backfill || other.pending.empty()) &&
                        !other.is_at_depth(job_.pools) &&
                        other.config.access.admits(job_.request.user, job_.request.group);
      Job moved = job_;
      moved.queue = i;
      moved.request.queue = other.name;
      if (i == job_.queue || !open ||
          s_.accounts().limiter->over(moved, now_, s_.queues().length_of(moved), false))
        continue;
      all.push_back({Change::Kind::queue, 0, other.name, 0, "queue " + other.name});
    }
  }

  Scheduler::State& s_;
  const Job& job_;
  Time now_;
};

// The planned start of a job for which enough processors are free, but not where it needs them.
std::optional<Time> start_of(Scheduler::State& s, const Job& job, Time now) {
  if (job.reserved) return job.planned;
  return s.plan().machine->earliest(job.request, {now, now, s.queues().length_of(job)});
}

// The jobs that hold or have reserved what the job waits for. Where processors are in use: running
// jobs in the order of their ends, until they free enough processors; where the number of free
// processors is not what the job lacks, those that end before the job is to start.
std::vector<JobId> in_the_way(Scheduler::State& s, const Job& job, Time now) {
  Cause cause = cause_of(s, job, now);
  std::vector<JobId> jobs = std::move(cause.who);
  if (jobs.size() > kNamedJobs) jobs.resize(kNamedJobs);
  std::int64_t missing = cause.in_use ? job.procs - s.plan().machine->free_procs(now) : 0;
  const bool elsewhere = cause.in_use && missing <= 0;
  const auto until = elsewhere ? start_of(s, job, now) : std::nullopt;
  for (auto at = s.plan().running->begin();
       at != s.plan().running->end() && jobs.size() < kNamedJobs &&
       (missing > 0 || (elsewhere && (!until || at->first <= *until)));
       ++at) {
    jobs.push_back(at->second);
    missing -= std::as_const(s.jobs()).find(at->second)->procs;
  }
  const JobId front = job.because_of;
  if (front.value() != 0 && std::as_const(s.jobs()).find(front) != nullptr &&
      std::find(jobs.begin(), jobs.end(), front) == jobs.end())
    jobs.push_back(front);
  return jobs;
}

// False: the job now has other units reserved, or none.
bool reserve_again(Scheduler::State& s, Job& job, Time now, const Units& reserved) {
  const JobId id = job.request.id;
  const Machine::Outcome again =
      s.plan().machine->reserve(job.request, {now, *job.planned, s.queues().length_of(job)});
  return std::holds_alternative<resource::Allocation>(again) &&
         s.plan().machine->units_of(id).allocation == reserved.allocation;
}

}  // namespace

Result<Explanation> Scheduler::explain(JobId id, Time now) const {
  if (Status waits = check_waits(id); !waits) return tl::unexpected(waits.error());
  const Scheduler& fork = asked(now);
  State& s = *fork.state_;
  if (const Scheduler* inner = s.advances().within(id)) {
    const Advance& advance = s.advances().all.at(s.advances().of_job->at(id));
    Result<Outlook> waiting = fork.outlook_here(id);
    if (!waiting) return tl::unexpected(waiting.error());
    if (now >= advance.request.when.begin) {
      Result<Explanation> explained = inner->explain(id, now);
      if (!explained) return explained;
      explained->kind = waiting->kind;
      explained->reason = std::move(waiting->reason);
      explained->in_the_way.insert(explained->in_the_way.begin(), advance.intruders.begin(),
                                   advance.intruders.end());
      return explained;
    }
    Explanation explanation;
    explanation.kind = waiting->kind;
    explanation.reason = std::move(waiting->reason);
    explanation.position = waiting->position;
    explanation.pending =
        state_->advances().within(id)->pending();  // a fork does not count its jobs
    return explanation;
  }
  Result<Outlook> outlook = fork.outlook_here(id);
  if (!outlook) return tl::unexpected(outlook.error());
  Job& job = *s.jobs().find(id);
  const Queue& queue = s.queues().of(job);
  Explanation explanation{outlook->kind,
                          std::move(outlook->reason),
                          outlook->planned_start,
                          outlook->position,
                          queue.walk.considered_in_all(),
                          queue.pending.size(),
                          {},
                          {}};
  explanation.length = s.queues().length_of(job);
  if (job.place != Job::Place::pending) return explanation;
  look_at(s.config(), id);
  explanation.in_the_way = in_the_way(s, job, now);
  // The job's own reservation must not be in its way. If already due, it waits for down units.
  const bool later = job.reserved && *job.planned > now;
  const Units reserved = later ? s.plan().machine->units_of(id) : Units();
  if (later) s.plan().machine->release(id, now);
  if (!job.reserved)
    explanation.room_at =
        s.plan().machine->earliest(job.request, {now, now, s.queues().length_of(job)});
  explanation.has_no_room = !job.reserved && !explanation.room_at;
  if (explanation.room_at == now) explanation.room_at = std::nullopt;
  explanation.changes = Explainer(s, job, now).changes();
  look_at(s.config(), JobId());
  if (later && !reserve_again(s, job, now, reserved)) state_->whole = {};
  return explanation;
}

}  // namespace holon::qmanager
