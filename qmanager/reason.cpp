#include "qmanager/reason.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace holon::qmanager {

std::string_view name_of(WaitKind kind) {
  switch (kind) {
    case WaitKind::untried:
      return "untried";
    case WaitKind::held:
      return "held";
    case WaitKind::outage:
      return "outage";
    case WaitKind::limit:
      return "limit";
    case WaitKind::resources:
      return "resources";
    case WaitKind::pool:
      return "pool";
    case WaitKind::reservation:
      return "reservation";
    case WaitKind::planned:
      return "planned";
    case WaitKind::order:
      return "order";
    case WaitKind::depth:
      return "depth";
    case WaitKind::policy:
      return "policy";
    case WaitKind::chunk:
      return "chunk";
    case WaitKind::lease:
      return "lease";
    case WaitKind::stopped:
      return "stopped";
    case WaitKind::preemption:
      return "preemption";
    case WaitKind::advance:
      return "advance";
  }
  return "";
}

namespace {

constexpr std::size_t kNamed = 3;

std::string behind(const SchedulerConfig& config, const Job& job) {
  if (job.because_of.value() == 0) return {};
  return fmt::format("; {} is in front", job_in_words(job.because_of, config.job_text));
}

// " that ask for matlab": what the job is counted with against the depth of its queue.
std::string alike_in_pools(const Queues& queues, PoolSet pools) {
  for (const auto& [names, set] : queues.pool_sets)
    if (set == pools) return fmt::format(" that ask for {}", fmt::join(names, " and "));
  return queues.pool_sets.empty() ? "" : " that ask for no licence or pool";
}

std::string time_text(const SchedulerConfig& config, Time when, Time now) {
  return config.show_time ? config.show_time(when, now) : std::to_string(when);
}

// The parts that an obstacle is made of; Plan keeps the obstacle once found.
using ObstacleParts = Parts<const SchedulerConfig, Plan, const Queues, const Advances>;

class Diagnosis {
 public:
  Diagnosis(ObstacleParts s, const Job& job, Time now) : s_(s), job_(job), now_(now) {}

  // The cause, in use or reserved for others; nullopt: nothing that the job needs is.
  std::optional<Cause> cause() {
    const Obstacle& obstacle = find();
    if (obstacle.shortage) return lacks(*obstacle.shortage);
    const Duration length = s_.queues().length_of(job_);
    if (!obstacle.until || distance(now_, *obstacle.until) >= length) return std::nullopt;
    // The job's own reservation is later because of reservations before it.
    if (job_.reserved && *job_.planned <= *obstacle.until) return std::nullopt;
    return reserved_from(*obstacle.until, obstacle.leaves);
  }

 private:
  // Room for jobs of a shape only shrinks as they get longer, and does so where a reservation
  // begins: halving finds the first reservation in the way.
  const Obstacle& find() {
    Obstacle& known = s_.plan().obstacles[job_.shape];
    if (known.version == s_.plan().version) return known;
    known = {s_.plan().version, shortage_until(saturating_add(now_, 1)), std::nullopt, {}};
    if (!known.shortage) {
      const std::vector<Time> begins = reservations();
      const auto first = std::partition_point(begins.begin(), begins.end(), [&](Time begin) {
        return !shortage_until(saturating_add(begin, 1));
      });
      if (first != begins.end()) {
        known.until = *first;
        known.leaves = leaving_at(*first);
      }
    }
    return known;
  }

  std::optional<Shortage> shortage_until(Time end) const {
    return s_.plan().machine->shortage(job_.request, {now_, end});
  }

  // Begins of reservations for others and times at which nodes leave, or what is lent goes back,
  // ascending.
  std::vector<Time> reservations() const {
    std::vector<Time> begins;
    for (const auto& [begin, id] : *s_.plan().reservations)
      if (begin > now_ && (begins.empty() || begins.back() != begin)) begins.push_back(begin);
    for (const auto& [begin, id] : *s_.plan().lent)
      if (begin > now_) begins.push_back(begin);
    for (const auto& [id, advance] : s_.advances().all)
      if (advance.request.when.begin > now_) begins.push_back(advance.request.when.begin);
    for (const Leaving& leaving : s_.plan().machine->leaving(now_)) begins.push_back(leaving.when);
    std::sort(begins.begin(), begins.end());
    begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
    return begins;
  }

  Cause lacks(const Shortage& shortage) const {
    const bool is_pool = !shortage.holders.empty();
    Cause cause{is_pool ? WaitKind::pool : WaitKind::resources, shortage.text, {}, !is_pool};
    std::string list;
    for (const auto& [id, amount] : shortage.holders) {
      if (cause.who.size() < kNamed)
        list += fmt::format("{}{} has {}", list.empty() ? "" : ", ", name(id), amount);
      cause.who.push_back(id);
    }
    if (cause.who.size() > kNamed) list += fmt::format(" and {} more", cause.who.size() - kNamed);
    if (!list.empty()) cause.text += " (" + list + ")";
    if (cause.in_use)
      for (const auto& [id, advance] : s_.advances().all) {
        if (advance.request.when.begin > now_) continue;
        cause.text += fmt::format("; {} has {}", name(id), s_.plan().machine->procs_held(id));
        cause.who.push_back(id);
      }
    cause.text += behind(s_.config(), job_);
    return cause;
  }

  // What leaves at `when`; empty: nothing.
  std::string leaving_at(Time when) const {
    for (const Leaving& leaving : s_.plan().machine->leaving(now_))
      if (leaving.when == when) return leaving.what;
    return {};
  }

  // Says who has what the job needs, or that it is gone by then.
  static std::string taken(const std::string& leaves, const std::string& whom) {
    const std::string leave = leaves.empty() ? "" : leaves + " gone";
    if (whom.empty() && !leave.empty()) return leave;
    return "reserved for " + whom + (leave.empty() ? "" : ", and " + leave);
  }

  Cause reserved_from(Time when, const std::string& leaves) const {
    Cause cause;
    cause.kind = WaitKind::reservation;
    std::string whom;
    for (auto at = s_.plan().reservations->lower_bound({when, JobId{}});
         at != s_.plan().reservations->end() && at->first == when; ++at)
      add(cause, whom, at->second);
    for (const auto& [id, advance] : s_.advances().all)
      if (advance.request.when.begin == when) add(cause, whom, id);
    for (const auto& [begin, id] : *s_.plan().lent)
      if (begin == when) add(cause, whom, id, ", which has lent it");
    if (cause.who.size() > kNamed) whom += fmt::format(" and {} more", cause.who.size() - kNamed);
    const auto missing = shortage_until(saturating_add(when, 1));
    const bool pool = missing && !missing->holders.empty();
    const bool endless = s_.queues().length_of(job_) == kTimeMax;
    cause.text =
        fmt::format("what it needs is free, but from {} on {}{}{}", time(when), taken(leaves, whom),
                    endless ? ", and it has no time limit to end before that"
                            : ", before its time limit would end",
                    pool ? ": until then " + missing->text : "");
    return cause;
  }

  void add(Cause& cause, std::string& list, JobId id, const char* how = "") const {
    if (id == job_.request.id) return;
    if (cause.who.size() < kNamed) list += (list.empty() ? "" : ", ") + name(id) + how;
    cause.who.push_back(id);
  }

  std::string name(JobId id) const {
    const auto advance = s_.advances().all.find(id);
    if (advance == s_.advances().all.end()) return job_in_words(id, s_.config().job_text);
    const AdvanceRequest& request = advance->second.request;
    const std::string called = request.name.empty() ? "" : fmt::format(" ({})", request.name);
    return fmt::format("advance reservation {}{} from {} to {}", id.value(), called,
                       time(request.when.begin), time(request.when.end));
  }

  std::string time(Time when) const { return time_text(s_.config(), when, now_); }

  ObstacleParts s_;
  const Job& job_;
  Time now_;
};

// That nothing is up that could serve the job.
std::string outage_in_words(Parts<const SchedulerConfig, const Plan> s, const JobRequest& job) {
  const std::string outage = told_outage(s);
  const bool all = outage.starts_with("all ") || outage.starts_with("its only ");
  if (all) return outage;
  const std::string awaited = s.config().awaited ? s.config().awaited(job) : "";
  if (outage.empty() && !awaited.empty()) return "it needs more than is here, and " + awaited;
  return "what could serve it is down or drained" + (outage.empty() ? "" : ": " + outage) +
         (awaited.empty() ? "" : "; " + awaited);
}

std::string beyond_the_lease(Parts<const SchedulerConfig, const Plan, const Queues> s,
                             const Job& job, Time now) {
  const Time end = s.plan().machine->horizon().end;
  return fmt::format(
      "it would end after the lease of these resources, at {} (asks for {}, {} left)",
      time_text(s.config(), end, now), s.config().length_text(s.queues().length_of(job)),
      s.config().length_text(distance(now, end)));
}

// What the last pass found against the job, whatever is free; nullopt: nothing of that kind.
std::optional<Cause> found_by_pass(Parts<const SchedulerConfig, const Plan, const Queues> s,
                                   const Job& job, Time now) {
  const Queue& queue = s.queues().of(job);
  switch (job.why) {
    case Why::held:
      return Cause{WaitKind::held, "held: its urgency is 0", {}};
    case Why::blocked:
      return Cause{WaitKind::outage, outage_in_words(s, job.request), {}};
    case Why::limit:
    case Why::idle_limit:
      return Cause{WaitKind::limit, job.detail, {}};
    case Why::backfill:
      return Cause{WaitKind::order,
                   "jobs of its QOS start in the order of the queue only" + behind(s.config(), job),
                   {}};
    case Why::policy:
      return Cause{WaitKind::policy,
                   (job.detail.empty() ? fmt::format("{} lets it not overtake", queue.config.policy)
                                       : job.detail) +
                       behind(s.config(), job),
                   {}};
    case Why::chunk:
      return Cause{WaitKind::chunk,
                   fmt::format("freed processors are kept for jobs of {} or more for a while",
                               queue.config.chunk_size),
                   {}};
    case Why::lease:
      return Cause{WaitKind::lease, beyond_the_lease(s, job, now), {}};
    default:
      return std::nullopt;
  }
}

// The queue's rule that keeps the job back, whatever is free; nullopt: none does.
std::optional<Cause> rule_against(Parts<const SchedulerConfig, const Plan, const Queues> s,
                                  const Job& job, Time now) {
  if (auto found = found_by_pass(s, job, now)) return found;
  const Queue& queue = s.queues().of(job);
  if (!queue.started)
    return Cause{WaitKind::stopped, fmt::format("queue {} is stopped", queue.name), {}};
  const JobId first = queue.walk.blocked_by;
  if (first.value() != 0 && first != job.request.id && !queue.policy.backfill)
    return Cause{WaitKind::order,
                 fmt::format("first come, first served: {} in front of it waits",
                             job_in_words(first, s.config().job_text)),
                 {}};
  if (job.why == Why::not_considered && queue.is_at_depth(job.pools))
    return Cause{
        WaitKind::depth,
        fmt::format("behind the first {} in line{}, and only these are tried (queue.depth = {})",
                    queue.walk.considered.at(job.pools), alike_in_pools(s.queues(), job.pools),
                    queue.config.queue_depth),
        {}};
  return std::nullopt;
}

}  // namespace

std::string told_outage(Parts<const SchedulerConfig, const Plan> s) {
  const std::string outage = s.plan().machine->outage();
  if (outage.empty() || !s.config().show_drains) return outage;
  const std::string drains = s.config().show_drains();
  return drains.empty() ? outage : outage + ": " + drains;
}

namespace {

Cause makes_room(const SchedulerConfig& config, const Claim& claim, const Job& job, Time now) {
  Cause cause{WaitKind::preemption, {}, claim.victims};
  const std::string when =
      job.reserved ? ", by " + time_text(config, *job.planned, now) + " at the latest" : "";
  cause.text =
      fmt::format("{} {} preempted for it{}", jobs_in_words(claim.victims, kNamed, config.job_text),
                  claim.victims.size() == 1 ? "is" : "are", when);
  return cause;
}

Cause cause_without_policy(
    Parts<const SchedulerConfig, Plan, const Queues, const Advances, const Preemption> s,
    const Job& job, Time now) {
  if (const Claim* const claim = s.preemption().of(job.request.id))
    return makes_room(s.config(), *claim, job, now);
  if (auto rule = rule_against(s, job, now)) return std::move(*rule);
  if (auto cause = Diagnosis(s, job, now).cause()) return std::move(*cause);
  if (job.reserved) return {WaitKind::planned, "planned", {}};
  return {WaitKind::untried, "the scheduler has not tried it yet", {}};
}

}  // namespace

// The cause, with what the policy of the job's queue has said of the job.
Cause cause_of(Parts<const SchedulerConfig, Plan, const Queues, const Advances, const Preemption> s,
               const Job& job, Time now) {
  Cause cause = cause_without_policy(s, job, now);
  if (s.queues().of(job).hooks == nullptr) return cause;
  const auto add = [&](const std::string& said) {
    if (!said.empty()) cause.text += "; " + said;
  };
  if (job.policy_word) add(job.policy_word->reserve_reason);
  if (const Rank* const rank = job.rank()) add(rank->reason);
  return cause;
}

}  // namespace holon::qmanager
