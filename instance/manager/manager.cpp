// One event, one function: post() journals it, folds it into the state and tells Outside; advance()
// then does what the new state asks for, until only the outside world can go on (RFC 21's split of
// update and action).
#include "instance/manager/manager.hpp"

#include <fmt/core.h>

#include "base/check.hpp"
#include "instance/basics/text.hpp"
#include "instance/request/placement.hpp"
#include "qmanager/selection.hpp"
#include "resource/store.hpp"

namespace holon::instance {
namespace {

// Jobs that one pass may look at before requests are served again: as many as take it so long.
constexpr std::uint16_t kFewest = 64, kMost = 4096;
constexpr std::int64_t kLongPass = 20'000, kShortPass = 8'000;  // us
// A pass whose jobs all keep their places is short, and the next one may have to plan all of them.
constexpr std::int64_t kPlannedAs = 32;
constexpr int kMostPassesLeftOut = 20;

// Why an agent ended a job of its own accord.
std::string note_of(const TasksEnded& how) {
  if (!how.what.empty()) return how.what;
  if (how.reason == "killed") return "its agent was told to stop";
  if (how.reason == "orphaned") return "its agent had no broker for too long";
  return {};
}

// A child that has lost an agent continues: how the agent ended is not how the job did.
event::Finish how_of_led(const TasksEnded& how) {
  return {0, how.finish.cpu_ms, how.finish.max_rss_kb};
}

// A child watches its lease itself, and may have ended before the agent's timer runs out.
bool was_ended_by_its_lease(const ActiveJob& job, const TasksEnded& how) {
  return job.submission->is_instance && how.reason == "exit" && job.life.expiration != 0 &&
         how.when >= job.life.expiration;
}

}  // namespace

JobManager::JobManager(Journal& journal, const InstanceClock& clock, qmanager::Scheduler& scheduler,
                       const QueueGates& gates, const resource::ResourceStore& store,
                       const NodesOfAgents& nodes_of_agents, Outside& outside,
                       const config::Config& config, std::string path, std::string output_directory)
    : journal_(journal),
      clock_(clock),
      scheduler_(scheduler),
      gates_(gates),
      store_(store),
      nodes_of_agents_(nodes_of_agents),
      outside_(outside),
      config_(config),
      path_(std::move(path)),
      output_directory_(std::move(output_directory)) {}

JobManager::~JobManager() = default;

Time JobManager::lease_end() const {
  return store_.options().horizon.end;
}

std::string JobManager::path_of(JobId id) const {
  return join(path_, id);
}

std::string JobManager::shown_path(JobId id) const {
  return join(path_, label_of(id));
}

JobText JobManager::job_text() const {
  return [this](JobId id) { return label_of(id); };
}

ActiveJob* JobManager::find_mutable(JobId id) {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

const ActiveJob* JobManager::find(JobId id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

qmanager::JobRequest JobManager::request_of(const ActiveJob& job) const {
  qmanager::JobRequest request;
  request.id = job.id;
  request.queue = job.submission->queue;
  request.user = job.life.user;
  request.urgency = waits_for_others(job) ? qmanager::kUrgencyHold : job.life.urgency;
  request.submitted = job.life.t_submit;
  request.limit = job.submission->limit;
  request.spec = job.submission->spec;
  const SchedulingOptions& wishes = job.submission->wishes;
  request.group = group_of(*job.submission, job.life.user);
  request.account = wishes.account;
  request.qos = wishes.qos;
  request.consumes = wishes.consumes;
  request.attributes = job.submission->attributes;
  request.slots = wishes.slots;
  // A pattern of environments has been replaced by the one that was chosen.
  request.environment = job.life.environment.empty() ? wishes.environment : job.life.environment;
  request.advance = wishes.reservation;
  request.reserve = wishes.reserve;
  request.immediate = wishes.immediate && job.life.retries == 0;
  request.preemptible = wishes.preemptible;
  request.checkpoints = wishes.checkpoint_signal != 0;
  return request;
}

void JobManager::skip_ids(JobId last) {
  next_id_ = std::max(next_id_, JobId(last.value() + 1));
}

// ---- events ----

void JobManager::post(ActiveJob& job, EventBody body, Time when) {
  const Event e{when, std::move(body)};
  auto next = apply(job.life, e);
  HOLON_CHECK(next.has_value());
  const bool is_counted = job.life.submitted;
  const JobKind from = kind_of(job.life);
  job.life = std::move(*next);
  if (is_array_task(job))
    journal_.add_task_event(job.id, e);
  else
    journal_.add_event(job.id, 1, e);
  if (is_counted)
    count(job, from);
  else
    count_one(job, 1);
  outside_.happened(job.id, e);
}

void JobManager::advance(JobId id, Time now) {
  while (ActiveJob* job = find_mutable(id)) {
    switch (next_step(job->life)) {
      case Step::validate:
        post(*job, event::Validate{}, now);
        break;
      case Step::depend:
        if (waits_for_others(*job)) return;  // settle_dependencies() lets it go
        post(*job, event::Depend{}, now);
        break;
      case Step::priority:
        post(*job, event::Priority{job->life.urgency}, now);
        break;
      case Step::release:
        free(*job, now);
        break;
      case Step::clean:
        if (const auto array = arrays_.find(id); array != arrays_.end() && !job->life.finished)
          return;  // not all its tasks are over
        // The journal of a child that goes on stays the truth about its jobs: nothing is taken
        // over.
        if (const bool goes_on = job->submission->wishes.goes_on && runs_again(*job);
            !goes_on && !outside_.may_end(*job))
          return outside_.changed(*job);
        outside_.run_is_over(*job);
        if (runs_again(*job)) return requeue(*job, now);
        post(*job, event::Clean{}, now);
        end(*job, now);
        return;
      case Step::start:
        outside_.start_tasks(*job);
        return;
      case Step::kill:
        outside_.kill_tasks(*job);
        return;
      case Step::enqueue:
      case Step::watch:
      case Step::none:
        return;
    }
  }
}

void JobManager::free(ActiveJob& job, Time now) {
  post(job, event::Release{}, now);
  post(job, event::Free{}, now);
  // After a stop of the whole instance the job's resources were never taken again.
  if (job.allocation) HOLON_CHECK(scheduler_.finish(job.id, now).has_value());
  job.allocation.reset();
  holding_.erase(job.id);
  dirty_ = true;
}

void JobManager::end(ActiveJob& job, Time now) {
  if (is_array_task(job)) return end_task(job, now);
  const auto record = record_of(job);
  journal_.add_inactive(record);
  outside_.changed(job);
  outside_.ended(record);
  arrays_.erase(JobId(record.id));
  met_.erase(JobId(record.id));
  forget_grant(job);
  jobs_.erase(JobId(record.id));
  waiting_.happened(JobId(record.id));
  let_back(JobId(record.id));
}

// ---- scheduling ----

void JobManager::resources_changed() {
  scheduler_.resources_changed();
  for (const auto& [id, array] : arrays_) hungry_.insert(id);
  dirty_ = true;
}

void JobManager::schedule(Time now) {
  if (paused_) return;
  end_preempted(now);
  if (settle_dependencies(now) && passes_left_out_++ < kMostPassesLeftOut) {
    dirty_ = true;
    return;
  }
  passes_left_out_ = 0;
  if (!dirty_ && !(wake_ && *wake_ <= now)) return;
  feed_arrays(now);
  const auto before = monotonic_us();
  const auto pass = scheduler_.step(now, {budget_, kPlannedAs});
  const auto took = monotonic_us() - before;
  passes_.add(took);
  if (took > kLongPass)
    budget_ = std::max<std::uint16_t>(budget_ / 2, kFewest);
  else if (took < kShortPass && pass.more)
    budget_ = std::min<std::uint16_t>(budget_ * 2, kMost);
  dirty_ = pass.more;
  wake_ = pass.wake;
  carry_out(pass.decisions, now);
  look_for_hungry_arrays();
}

void JobManager::carry_out(const std::vector<qmanager::Decision>& decisions, Time now) {
  for (const auto& decision : decisions) apply_decision(decision, now);
}

std::optional<Time> JobManager::next_turn(Time now) const {
  if (paused_) return std::nullopt;
  if (dirty_) return now;
  std::optional<Time> next = wake_;
  const auto at = [&next](Time t) { next = next ? std::min(*next, t) : t; };
  if (const auto called = waiting_.next()) at(*called);
  if (!preempted_.empty()) at(preempted_.begin()->first);
  return next;
}

void JobManager::apply_decision(const qmanager::Decision& decision, Time now) {
  if (const auto* s = std::get_if<qmanager::Start>(&decision)) {
    start(*s, now);
  } else if (const auto* reject = std::get_if<qmanager::Reject>(&decision)) {
    ActiveJob* job = find_mutable(reject->job);
    HOLON_CHECK(job != nullptr);
    post(*job, event::Exception{"alloc", 0, reject->reason}, now);
    advance(reject->job, now);
  } else if (const auto* given = std::get_if<qmanager::Preempt>(&decision)) {
    preempt(*given, now);
  }
  // Reserve and Wait change only outlook(), which is asked when somebody looks at the job.
}

// When a job's own limit ends it. A child's limit is its lease, and it plans with all of it.
Time JobManager::end_by_limit(const Submission& what, Time t_alloc) const {
  if (what.limit == 0) return kTimeMax;
  const Time limit = saturating_add(t_alloc, what.limit);
  return what.is_instance || what.wishes.lends ? limit : saturating_add(limit, config_.max_overrun);
}

// When the instance is over, or the job's advance reservation in it, or the child whose grant it
// is.
Time JobManager::end_around(const Submission& what) const {
  if (const ActiveJob* const child = find(what.wishes.grant_to))
    return child->life.expiration == 0 ? lease_end() : child->life.expiration;
  if (what.wishes.reservation.value() == 0) return lease_end();
  const auto reservation = journal_.allocation(what.wishes.reservation);
  return reservation && *reservation ? std::min(lease_end(), (*reservation)->when.end)
                                     : lease_end();
}

// When a job that holds resources is ended: by its limit, with its reservation or with the
// instance. The scheduler may plan another end (queue.default-duration, queue.duration-offset,
// job.max-overrun).
Time JobManager::end_of(const ActiveJob& job, Time t_alloc) const {
  return std::min(end_around(*job.submission), end_by_limit(*job.submission, t_alloc));
}

void JobManager::start(const qmanager::Start& decision, Time now) {
  ActiveJob* job = find_mutable(decision.job);
  HOLON_CHECK(job != nullptr);
  give(*job, decision, now);
  if (is_array_task(*job)) begin_array(*job, now);
  advance(decision.job, now);
}

// The job has what the scheduler holds for it.
void JobManager::give(ActiveJob& job, const qmanager::Start& decision, Time now) {
  const Time end = end_of(job, now);
  const auto nodes = nodes_of(store_.graph(), decision.allocation);
  const auto where = summarize(nodes);
  journal_.add_allocation(decision.allocation);
  job.allocation = decision.allocation;
  holding_.insert(job.id);
  auto ranks = ranks_for(*job.submission, nodes, where.held.cores);
  const bool leads = job.submission->is_instance && ranks.size() > 1;
  post(job,
       event::Alloc{std::string(qmanager::word_of(decision.selection)),
                    end == kTimeMax ? 0 : end,
                    {where.nodelist, where.held.nodes, where.held.cores, where.held.gpus},
                    decision.environment,
                    std::move(ranks),
                    leads},
       now);
  outside_.changed(job);
}

// A child instance has a process with each agent that has some of its nodes.
std::vector<std::uint32_t> JobManager::ranks_for(const Submission& what,
                                                 const std::vector<PlacedNode>& nodes,
                                                 std::int64_t cores) const {
  if (what.wishes.runs_nothing()) return {};
  if (what.is_instance) return nodes_of_agents_.agents_of(nodes);
  return nodes_of_agents_.agents_for(nodes, tasks_of(what, cores), slot_shape(what));
}

void JobManager::lease_changed(Time old_end, Time now) {
  for (const JobId id : holding_) {
    ActiveJob& job = jobs_.at(id);
    const Time planned = job.allocation->when.end;
    const Time end = planned == old_end ? end_of(job, job.life.t_alloc) : planned;
    move_end(job, std::min(end, lease_end()), now);
  }
  resources_changed();
}

// Moves the end of a job to that of what it ends with; `plan`: when the scheduler plans that.
void JobManager::move_end(ActiveJob& job, Time plan, Time now) {
  const bool is_grant = job.submission->wishes.grant_to.value() != 0;
  // A grant may have kept an end that is nearer than that of its child.
  const Time its_end = end_of(job, job.life.t_alloc);
  const Time end = is_grant ? std::min(its_end, plan) : its_end;
  const Time expiration = end == kTimeMax ? 0 : end;
  if (plan == job.allocation->when.end && expiration == job.life.expiration) return;
  job.allocation->when.end = plan;
  journal_.add_allocation(*job.allocation);
  post(job, event::ResourceUpdate{expiration}, now);
  // An advance reservation in the way is overrun when the time comes.
  static_cast<void>(scheduler_.set_end(job.id, plan, now));
  outside_.limit_changed(job);
}

// What a child has beyond its own to its end follows that end, and none of it outlives the child.
void JobManager::child_end_moved(const ActiveJob& child, Time old_end, Time now) {
  const auto grants = grants_.find(child.id);
  if (grants == grants_.end()) return;
  for (const JobId id : grants->second) {
    ActiveJob& grant = jobs_.at(id);
    if (!grant.life.holds_resources) continue;
    const Time planned = grant.allocation->when.end, end = end_of(grant, grant.life.t_alloc);
    const Time plan = planned == old_end ? end : std::min(planned, end);
    // What is reserved for others behind it begins in time: it keeps the end that it has.
    if (plan <= planned || scheduler_.set_end(id, plan, now)) move_end(grant, plan, now);
  }
}

Result<ActiveJob*> JobManager::find_active(JobId id) {
  if (ActiveJob* const job = find_mutable(id)) return job;
  const auto known = record(id);
  if (!known) return tl::unexpected(known.error());
  return fail(Errc::denied, fmt::format("job {} is over: {}", shown_path(id), known->result));
}

Status JobManager::set_urgency(JobId id, std::uint32_t urgency, Time now) {
  ActiveJob* job = find_mutable(id);
  if (JobArray* const array = array_with(id); job == nullptr && array != nullptr &&
                                              array->waiting.contains(id.value()) &&
                                              may_queue(*array)) {
    take_task(*array, id, now);
    job = find_mutable(id);
  }
  if (job == nullptr) {
    const auto found = find_active(id);
    if (!found) return tl::unexpected(found.error());
    job = *found;
  }
  if (is_array(*job)) return set_urgency_of_array(*job, urgency, now), Status();
  if (job->life.state > JobState::sched)
    return fail(Errc::denied, fmt::format("job {} has started already", shown_path(id)));
  let_back(id);
  const bool unheard_of = unheard_of_.erase(id) != 0;
  const bool changes = job->life.urgency != urgency;
  if (changes && job->life.state == JobState::sched && !unheard_of)
    if (auto moved = scheduler_.set_urgency(id, urgency); !moved) return moved;
  if (changes) change_urgency(*job, urgency, now);
  if (unheard_of) enqueue(*job, now);
  return {};
}

void JobManager::change_urgency(ActiveJob& job, std::uint32_t urgency, Time now) {
  post(job, event::Urgency{urgency}, now);
  if (job.life.state == JobState::sched) post(job, event::Priority{urgency}, now);
  outside_.changed(job);
  dirty_ = true;
}

// ---- what the world reports ----

void JobManager::raise(JobId id, const std::string& type, const std::string& note, Time now) {
  ActiveJob* job = find_mutable(id);
  if (job == nullptr) {
    JobArray* const array = array_with(id);
    if (array == nullptr || !array->holds_back(id)) return;
    end_waiting(*array, id, id, {type, 0, note}, now);
    return settle_array(array->id, now);
  }
  if (is_array(*job)) return raise_array(*job, {type, 0, note}, now);
  const bool queued = job->life.state == JobState::sched || job->life.state == JobState::depend;
  const bool was_ending = job->life.state == JobState::cleanup;
  // A cancel keeps a job that is already ending from running again.
  const bool may_run_again = job->submission->wishes.requeue > 0 || job->life.preemption.requeue;
  const bool ends_retries = is_cancel(type) && may_run_again;
  if (!was_ending || (ends_retries && !job->life.cancelled))
    post(*job, event::Exception{type, 0, note}, now);
  if (queued) {
    if (unheard_of_.erase(id) == 0) HOLON_CHECK(scheduler_.cancel(id, now).has_value());
    dirty_ = true;
  }
  if (!was_ending) outside_.changed(*job);
  advance(id, now);
}

void JobManager::tasks_started(JobId id, std::uint32_t rank,
                               const std::vector<event::Process>& processes, Time when) {
  ActiveJob* job = find_mutable(id);
  if (job == nullptr || !job->life.holds_resources || job->life.finished) return;
  const Part* part = part_of(job->life, rank);
  if (part == nullptr || part->started || part->finished) return;  // told again after a reconnect
  if (job->life.started) return post(*job, event::RankStart{processes, rank}, when);
  post(*job, event::Start{processes, rank}, when);
  outside_.changed(*job);
  waiting_.happened(id);
}

// A job's own limit gives its tasks all of that time from their start. The end of the instance or
// reservation is the same for all: it counts from the allocation.
Duration JobManager::time_limit_of(const ActiveJob& job) const {
  const Lifecycle& life = job.life;
  if (life.expiration == 0) return 0;
  const bool is_own = end_by_limit(*job.submission, life.t_alloc) <= life.expiration;
  const Time since = life.started && !is_own ? life.t_start : life.t_alloc;
  return std::max<Duration>(1, life.expiration - since);
}

// Which end was reached by a job that its agent ended in time.
std::string JobManager::limit_note(const ActiveJob& job) const {
  const Submission& what = *job.submission;
  const Time own = end_by_limit(what, job.life.t_alloc);
  if (own <= job.life.expiration || job.life.expiration == 0) return "its time limit was reached";
  if (what.wishes.reservation.value() == 0 || job.life.expiration == lease_end())
    return "the time of its instance is over";
  return fmt::format("advance reservation {}, in which it ran, is over",
                     what.wishes.reservation.value());
}

void JobManager::tasks_ended(JobId id, std::uint32_t rank, const TasksEnded& how, Time now) {
  ActiveJob* job = find_mutable(id);
  if (job == nullptr || next_step(job->life, rank) == Step::none) return;
  if (is_led(job->life, rank))
    return end_part(*job, {rank, how.reason, how_of_led(how)}, how.when, now);
  if (job->life.state == JobState::run) {
    if (how.reason == "timeout" || was_ended_by_its_lease(*job, how))
      post(*job, event::Exception{"timeout", 0, limit_note(*job)}, how.when);
    else if (how.reason != "exit")
      post(*job,
           event::Exception{how.reason == "lost" ? "node-failure" : how.reason, 0, note_of(how)},
           how.when);
  } else if (how.reason == "lost" && job->life.exception == "abort") {
    post(*job, event::Exception{"node-failure", 0, note_of(how)}, how.when);
  }
  end_part(*job, {rank, how.reason, how.finish}, how.when, now);
}

void JobManager::never_started(JobId id, std::uint32_t rank, Time now) {
  ActiveJob* job = find_mutable(id);
  if (job == nullptr || next_step(job->life, rank) != Step::kill) return;
  end_part(*job, {rank, "never", {}}, now, now);
}

// The end of a job's only part is the job's. The ends of several parts are each journalled; the job
// ends with the last, and once a part has failed, or the leading one is over, the others are ended.
void JobManager::end_part(ActiveJob& job, const event::RankFinish& end, Time when, Time now) {
  auto parts = job.life.parts;
  if (parts.size() > 1) {
    post(job, end, when);
    parts = job.life.parts;
  } else {
    parts.front().how = end.how;
    parts.front().never = end.reason == "never";
  }
  if (!others_are_over(job.life, end.rank)) {
    if (job.life.state != JobState::cleanup && next_step(job.life) != Step::kill) return;
    outside_.changed(job);
    return advance(job.id, now);
  }
  for (const Part& part : parts) when = std::max(when, part.t_finish);
  auto whole = whole_of(parts);
  if (whole) whole->cpu_ms += job.life.gone_cpu_ms;
  if (whole && whole->status != 0) note_given_place(job, when);
  if (whole)
    post(job, *whole, when);
  else
    free(job, now);
  advance(job.id, now);
}

void JobManager::child_is_up(JobId id, const std::string& uri, Time now) {
  ActiveJob* job = find_mutable(id);
  if (job == nullptr || !job->life.holds_resources || job->life.child_uri == uri) return;
  post(*job, event::Instance{uri}, now);
  outside_.changed(*job);
}

// ---- grants ----

void JobManager::know_grant(const ActiveJob& job) {
  const JobId child = job.submission->wishes.grant_to;
  if (child.value() != 0) grants_[child].insert(job.id);
  if (job.submission->wishes.lends) lending_.insert(job.id);
}

void JobManager::forget_grant(const ActiveJob& job) {
  lending_.erase(job.id);
  const auto of_child = grants_.find(job.submission->wishes.grant_to);
  if (of_child == grants_.end()) return;
  of_child->second.erase(job.id);
  if (of_child->second.empty()) grants_.erase(of_child);
}

void JobManager::grant_begins(JobId grant, Time now) {
  ActiveJob* job = find_mutable(grant);
  if (job == nullptr || !job->life.holds_resources || job->life.started) return;
  post(*job, event::Start{}, now);
  outside_.changed(*job);
}

void JobManager::grant_ends(JobId grant, const std::string& why, Time now) {
  ActiveJob* job = find_mutable(grant);
  if (job == nullptr || !job->life.holds_resources || job->life.finished) return;
  if (!why.empty() && job->life.state == JobState::run)
    post(*job, event::Exception{"instance", 0, why}, now);
  post(*job, event::Finish{}, now);
  advance(grant, now);
}

void JobManager::note_grant(JobId child, EventBody what, Time now) {
  ActiveJob* job = find_mutable(child);
  if (job == nullptr || !apply(job->life, {now, what})) return;
  post(*job, std::move(what), now);
  outside_.changed(*job);
  outside_.start_tasks(*job);  // agents of the child on nodes that came with it
}

}  // namespace holon::instance
