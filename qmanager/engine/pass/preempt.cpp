// Preemption: a job that cannot start takes the place of jobs that were submitted as
// preemptible.
//
// Who may: jobs of a queue whose configuration says so (preempt.mode), in queue order, as far as
// the walk has looked at them. A preemptible job takes nobody's place, so that no two can drive
// each other out for ever. What is reserved for jobs that are not preemptible stands.
//
// Whose place: the least urgent first, among those the one that started last, for it loses the
// least work. As many are given up, in this order, as make room for the job by the end of the
// grace; then, from the most valuable on, those are spared without whom there is room too. So none
// that is preempted could have been spared; that no other set has fewer jobs is not guaranteed.
//
// A job that is preempted keeps its resources until it has ended. What it leaves is the claim of
// the job it was ended for, which is served before any other one is looked at.
#include "qmanager/engine/pass/preempt.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

namespace holon::qmanager {

namespace {

// The latest time at which a job preempted now has ended.
Time end_of_preempted(const Job& victim, const PreemptRule& rule, Time now) {
  const Duration grace = victim.request.checkpoints ? std::max<Duration>(1, rule.grace) : 1;
  const Time end = saturating_add(now, grace);
  return victim.planned_end > now ? std::min(victim.planned_end, end) : end;
}

// Ends candidates on a copy of the machine, and revives them, to try which ends make room.
class Trial {
 public:
  Trial(Parts<const Jobs, const Plan, const Queues> state, const Job& job, Time now)
      : job_(job),
        rule_(state.queues().of(job).config.preempt),
        now_(now),
        length_(state.queues().length_of(job)),
        machine_(state.plan().machine->clone()) {
    for (const auto& [when, id] : *state.plan().reservations) {
      const Job& reserved = *state.jobs().find(id);
      if (id == job.request.id || is_preemptible(state, reserved)) machine_->release(id, now);
    }
  }

  bool fits() {
    const Time by = saturating_add(now_, std::max<Duration>(1, rule_.grace));
    const auto at = machine_->earliest(job_.request, {now_, now_, length_});
    return at && *at <= by;
  }
  void end(const Job& victim) { end_at(victim, end_of_preempted(victim, rule_, now_)); }
  // The job's start once these have ended: at once, or, where they checkpoint, with the grace.
  Time start_without(const std::vector<const Job*>& victims) {
    for (const Job* const victim : victims)
      if (!victim->request.checkpoints) {
        machine_->release(victim->request.id, now_);
        end_lent_by(*machine_, *victim, now_, now_);
      }
    return machine_->earliest(job_.request, {now_, now_, length_}).value_or(now_);
  }
  void let_live(const Job& victim) { end_at(victim, victim.planned_end); }

 private:
  void end_at(const Job& victim, Time end) {
    static_cast<void>(machine_->set_end(victim.request.id, end));
    end_lent_by(*machine_, victim, end, now_);
  }

  const Job& job_;
  const PreemptRule& rule_;
  Time now_;
  Duration length_;
  std::unique_ptr<Machine> machine_;
};

// The preemptible jobs in the order in which they are given up.
std::vector<const Job*> candidates(Parts<const Jobs, const Preemption> state) {
  std::vector<const Job*> all;
  for (const JobId id : *state.preemption().candidates) all.push_back(state.jobs().find(id));
  std::sort(all.begin(), all.end(), [](const Job* a, const Job* b) {
    return std::tuple(a->request.urgency, b->started, b->request.id) <
           std::tuple(b->request.urgency, a->started, a->request.id);
  });
  return all;
}

// How a job gets room.
struct Room {
  // Jobs whose ends let it start by the end of its queue's grace, in the order in which they are
  // given up; none of them can be spared. Empty: no jobs would do, or none are needed.
  std::vector<JobId> victims;
  Time start = 0;  // its earliest start, if victims that do not checkpoint end as late as they may
};

// Asks a copy of the machine: O(r log r) for r jobs that run and are preemptible, and two questions
// for each that is chosen.
Room room_for(Parts<const Jobs, const Plan, const Queues, const Preemption> state, const Job& job,
              Time now) {
  const std::vector<const Job*> all = candidates(state);
  Trial trial(state, job, now);
  if (trial.fits()) return {};
  for (const Job* const victim : all) trial.end(*victim);
  if (!trial.fits()) return {};
  // Halving finds the shortest beginning of the list that makes enough room.
  std::size_t ended = all.size(), enough = all.size(), too_few = 0;
  while (enough - too_few > 1) {
    const std::size_t middle = too_few + (enough - too_few) / 2;
    for (; ended > middle; --ended) trial.let_live(*all[ended - 1]);
    for (; ended < middle; ++ended) trial.end(*all[ended]);
    (trial.fits() ? enough : too_few) = middle;
  }
  for (; ended > enough; --ended) trial.let_live(*all[ended - 1]);
  for (; ended < enough; ++ended) trial.end(*all[ended]);
  std::vector<const Job*> chosen{all[enough - 1]};
  for (std::size_t i = enough - 1; i-- > 0;) {
    trial.let_live(*all[i]);
    if (trial.fits()) continue;
    trial.end(*all[i]);
    chosen.push_back(all[i]);
  }
  std::reverse(chosen.begin(), chosen.end());
  Room room{{}, trial.start_without(chosen)};
  for (const Job* const victim : chosen) room.victims.push_back(victim->request.id);
  return room;
}

// A job that starts at once or not at all cannot wait for the ends of others.
bool may_preempt(Parts<const Plan, const Queues, const Preemption> s, const Job& job, Time now) {
  const bool lacks_units =
      job.why == Why::resources || job.why == Why::reservations || job.why == Why::reserved;
  const bool was_refused = job.no_room_at == s.plan().version && now < job.no_room_until;
  return lacks_units && !is_preemptible(s, job) && !job.request.immediate && !was_refused &&
         s.preemption().of(job.request.id) == nullptr;
}

// Jobs of the queue that the walk has left waiting and that may preempt, in queue order.
std::vector<JobId> who_may_preempt(Parts<const Jobs, const Plan, const Queues, const Preemption> s,
                                   const Queue& queue, Time now) {
  std::vector<JobId> waiting;
  const auto& last = queue.walk.last;
  for (std::size_t slot = queue.pending.front(); last && slot < queue.pending.slots(); ++slot) {
    const Job* const listed = queue.pending.at(slot);
    if (listed == nullptr) continue;
    if (*last < queue.pending.key_at(slot)) break;
    if (may_preempt(s, s.jobs().seen(*listed), now)) waiting.push_back(listed->request.id);
  }
  return waiting;
}

// An unchanged plan gives another answer only when now + grace, as time goes on, reaches the next
// planned end.
Time more_room_at(Parts<const Jobs, const Plan> s, const PreemptRule& rule, Time now) {
  const Duration grace = std::max<Duration>(1, rule.grace);
  const Time reached = saturating_add(now, grace);
  Time end = kTimeMax;
  if (const auto next = s.plan().running->upper_bound({reached, JobId{UINT64_MAX}});
      next != s.plan().running->end())
    end = next->first;
  for (const auto& [when, id] : *s.plan().reservations)
    if (const Time planned = s.jobs().find(id)->planned_end; planned > reached)
      end = std::min(end, planned);
  return end == kTimeMax ? kTimeMax : end - grace;
}

// Gives back the reservations of the job and of those whose places may be taken.
void give_back_reservations(Parts<Jobs, Plan, Queues> s, JobId job, Time now) {
  std::vector<JobId> in_the_way;
  for (const auto& [when, id] : *s.plan().reservations)
    if (id == job || is_preemptible(s, *s.jobs().find(id))) in_the_way.push_back(id);
  for (const JobId id : in_the_way) unreserve(s, *s.jobs().find(id), now);
}

// A victim that checkpoints has the grace; any other runs on until the job can start.
void give_way(Job& victim, const Job& job, const PreemptRule& rule, Time start, Time now,
              Deciding& deciding) {
  const Time last = victim.request.checkpoints ? saturating_add(now, rule.grace) : start;
  deciding.preempt(victim, job, last,
                   std::min(victim.planned_end, std::max(last, saturating_add(now, 1))));
}

void preempt_for(PreemptParts s, Job& job, Time now, Deciding& deciding, Trying& trying) {
  look_at(s.config(), job.request.id);
  trying.reserve_for_the_entitled();  // so that others keep what is reserved for them
  if (job.place != Job::Place::pending) return;
  const PreemptRule& rule = s.queues().of(job).config.preempt;
  const Room room = room_for(s, job, now);
  if (room.victims.empty()) {
    job.no_room_at = s.plan().version;
    job.no_room_until = more_room_at(s, rule, now);
    return;
  }
  give_back_reservations(s, job.request.id, now);
  for (const JobId id : room.victims)
    give_way(*s.jobs().find(id), job, rule, room.start, now, deciding);
  s.preemption().claims.push_back({job.request.id, room.victims});
  trying.reserve(job, now);
  s.progress().released = true;
  freed(s);
}

// False: the job waits for no victim's end any more.
bool serve(PreemptParts s, Claim& claim, Time now, Trying& trying) {
  Job* const job = s.jobs().find(claim.job);
  if (job == nullptr || job->place != Job::Place::pending || !s.queues().of(*job).started)
    return false;
  std::erase_if(claim.victims, [&](JobId id) {
    const Job* const victim = std::as_const(s.jobs()).find(id);
    return victim == nullptr || victim->preempted_for != claim.job;
  });
  const Duration length = s.queues().length_of(*job);
  const bool outlives_the_lease =
      length != kTimeMax && saturating_add(now, length) > s.plan().machine->horizon().end;
  if (outlives_the_lease || s.accounts().limiter->over(*job, now, length, false)) return false;
  Time not_before = now;
  if (job->reserved) {
    if (*job->planned <= now) return !claim.victims.empty();  // it is due
    const auto earlier = s.plan().machine->earlier_start(job->request, now);
    if (!earlier) return !claim.victims.empty();
    not_before = *earlier;
    unreserve(s, *job, now);
  }
  return trying.reserve(*job, not_before) == Tried::reserved && !claim.victims.empty();
}

}  // namespace

void serve_claims(PreemptParts s, Time now, Deciding& deciding) {
  if (s.preemption().claims.empty()) return;
  Trying trying(s, now, deciding);
  std::vector<Claim> claims = std::exchange(s.preemption().claims, {});
  for (Claim& claim : claims)
    if (serve(s, claim, now, trying)) s.preemption().claims.push_back(std::move(claim));
}

std::optional<Time> make_room(PreemptParts s, Time now, Deciding& deciding, Trying& trying) {
  std::optional<Time> again;
  for (const Queue& queue : s.queues().all) {
    const bool preempts = queue.started && queue.config.preempt.mode != PreemptMode::off;
    if (!preempts || s.preemption().candidates->empty()) continue;
    for (const JobId id : who_may_preempt(s, queue, now)) {
      Job& job = *s.jobs().find(id);
      preempt_for(s, job, now, deciding, trying);
      const bool refused = job.no_room_at == s.plan().version && job.no_room_until > now;
      if (refused && job.no_room_until != kTimeMax && (!again || job.no_room_until < *again))
        again = job.no_room_until;
    }
  }
  return again;
}

// ---- after a restart

Status Scheduler::recover_preemption(JobId id, JobId for_job, Time end, Time now) {
  State& s = change();
  if (Scheduler* const inner = s.advances().within(id))
    return inner->recover_preemption(id, for_job, end, now);
  Job* const job = s.jobs().find(id);
  if (job == nullptr || job->place != Job::Place::running)
    return fail(Errc::not_found, job_in_words(id, s.config().job_text) + " is not running");
  if (auto moved = set_end(id, std::min(end, job->planned_end), now); !moved) return moved;
  job->preempted_for = for_job;
  s.preemption().no_candidate(id);
  auto& claims = s.preemption().claims;
  const auto known = std::find_if(claims.begin(), claims.end(),
                                  [for_job](const Claim& claim) { return claim.job == for_job; });
  if (known == claims.end())
    claims.push_back({for_job, {id}});
  else
    known->victims.push_back(id);
  return {};
}

}  // namespace holon::qmanager
