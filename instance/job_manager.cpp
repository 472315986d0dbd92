// One event, one function: post() journals it, folds it into the state and tells Outside; advance()
// then does what the new state asks for until it asks for something only the outside world can give
// (RFC 21's split of update and action).
#include "instance/job_manager.hpp"

#include <fmt/core.h>
#include <signal.h>

#include "base/check.hpp"
#include "instance/clock.hpp"
#include "instance/placement.hpp"
#include "instance/text.hpp"
#include "resource/store.hpp"

namespace holon::instance {
namespace {

// What one pass may look at before requests are served again.
constexpr qmanager::Budget kPass{4096};

// A misspelt licence would otherwise be refused as a job that can never run, without saying what
// there is.
Status check_licenses(const std::vector<qmanager::Consumes>& consumes,
                      const qmanager::SchedulerConfig& config) {
  auto pools = config.pools;
  pools.insert(config.defaults.pools.begin(), config.defaults.pools.end());
  for (const auto& [name, queue] : config.queues)
    pools.insert(queue.pools.begin(), queue.pools.end());
  for (const auto& use : consumes) {
    if (pools.contains(use.pool)) continue;
    std::string known;
    for (const auto& [name, amount] : pools) known += (known.empty() ? "" : ", ") + name;
    return fail(Errc::not_found,
                fmt::format("there is no license '{}' here; {}", use.pool,
                            known.empty() ? "there are none (pools.NAME)" : "there are " + known),
                "license");
  }
  return {};
}

bool is_pending(JobState state) {
  return state <= JobState::sched;
}

}  // namespace

JobManager::JobManager(Journal& journal, qmanager::Scheduler& scheduler, const QueueGates& gates,
                       const resource::ResourceStore& store, Outside& outside, const Config& config,
                       std::string path, std::string output_directory)
    : journal_(journal),
      scheduler_(scheduler),
      gates_(gates),
      store_(store),
      outside_(outside),
      config_(config),
      path_(std::move(path)),
      output_directory_(std::move(output_directory)) {}

JobManager::~JobManager() = default;

std::string JobManager::path_of(JobId id) const {
  return join(path_, id);
}

ActiveJob* JobManager::find_mutable(JobId id) {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

const ActiveJob* JobManager::find(JobId id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

// ---- submit ----

Result<msg::SubmitReply> JobManager::submit(const msg::SubmitRequest& request, Time now,
                                            Time lease_end) {
  if (request.count < 1 || request.count > config_.max_count)
    return fail(Errc::out_of_range, fmt::format("count is {}; accepted are 1 to {} (job.max-count)",
                                                request.count, config_.max_count));
  if (request.urgency > 31)
    return fail(Errc::invalid_argument,
                fmt::format("urgency is {}; accepted are 0 to 31", request.urgency));
  auto made = make_submission(request.jobspec, request.is_instance);
  if (!made) return tl::unexpected(made.error());
  if (auto known = check_licenses(made->wishes.consumes, config_.scheduler); !known)
    return tl::unexpected(known.error());
  made->first = next_id_;
  made->count = request.count;
  if (made->limit == 0) made->limit = config_.default_limit;
  if (made->limit > 0 && lease_end != kTimeMax && made->limit > lease_end - now)
    return tl::unexpected(
        refuse(std::move(*made), request,
               fmt::format("it asks for {}, but this instance ends in {}",
                           duration_text(made->limit), duration_text(lease_end - now)),
               now));
  if (auto sound = check_dependencies(*made); !sound) return tl::unexpected(sound.error());
  const auto submission = std::make_shared<const Submission>(std::move(*made));
  ActiveJob job{submission->first, submission, {}, {}, {}, {}};
  job.life.urgency = request.urgency;
  job.life.user = request.user;
  job.life.t_submit = now;
  if (const auto standing = standing_of(job, now);
      standing.verdict == Standing::Verdict::impossible)
    return tl::unexpected(refuse(*submission, request, standing.text, now));
  // The scheduler looks at the first one only: what it says of one of equal jobs it says of all.
  auto first = scheduler_.submit(request_of(job), now);
  if (!first) return tl::unexpected(not_taken(*submission, first.error()));
  if (*first) return tl::unexpected(refuse(*submission, request, (*first)->reason, now));
  for (std::uint64_t i = 1; i < request.count; ++i) {
    job.id = JobId(submission->first.value() + i);
    const auto next = scheduler_.submit(request_of(job), now);
    if (next && !*next) continue;
    // All or none: a queue may take only so many.
    for (std::uint64_t taken = 0; taken < i; ++taken)
      HOLON_CHECK(scheduler_.cancel(JobId(submission->first.value() + taken), now).has_value());
    if (!next) return tl::unexpected(next.error());
    return tl::unexpected(refuse(*submission, request, (*next)->reason, now));
  }
  return accept(submission, request, now);
}

msg::SubmitReply JobManager::accept(const std::shared_ptr<const Submission>& submission,
                                    const msg::SubmitRequest& request, Time now) {
  const JobId first = submission->first;
  const std::uint64_t n = submission->count;
  journal_.add_batch({first, n, request.jobspec, request.is_instance});
  std::vector<EventBody> bodies = {event::Submit{request.urgency, request.user}, event::Validate{}};
  for (const auto& d : submission->dependencies) bodies.push_back(event::DependencyAdd{d.text});
  const bool waits = !submission->dependencies.empty();
  if (!waits) bodies.insert(bodies.end(), {event::Depend{}, event::Priority{request.urgency}});
  Lifecycle life;
  for (const auto& body : bodies) {
    const Event e{now, body};
    journal_.add_event(first, n, e);
    life = *apply(life, e);
    for (std::uint64_t i = 0; i < n; ++i) outside_.happened(JobId(first.value() + i), e);
  }
  for (std::uint64_t i = 0; i < n; ++i) {
    const JobId id(first.value() + i);
    const auto job =
        jobs_.emplace_hint(jobs_.end(), id, ActiveJob{id, submission, life, {}, {}, {}});
    outside_.changed(job->second);
    if (waits) waiting_.look_at(id);
  }
  next_id_ = JobId(first.value() + n);
  counts_.pending += static_cast<std::int64_t>(n);
  dirty_ = true;
  return {first.value(), n};
}

// The scheduler does not know why somebody closed a queue.
Error JobManager::not_taken(const Submission& submission, Error error) const {
  if (error.code != Errc::denied) return error;
  const auto& queue =
      submission.queue.empty() ? scheduler_.config().default_queue : submission.queue;
  const auto reason = gates_.reason(queue, QueueGates::Gate::submit);
  if (!reason.empty()) error.what += ": " + reason;
  return error;
}

// A refusal is one INACTIVE record, however many jobs were asked for.
Error JobManager::refuse(Submission submission, const msg::SubmitRequest& request,
                         const std::string& reason, Time now) {
  submission.count = 1;
  const JobId id = submission.first;
  ActiveJob job{id, std::make_shared<const Submission>(std::move(submission)), {}, {}, {}, {}};
  journal_.add_batch({id, 1, request.jobspec, request.is_instance});
  next_id_ = JobId(id.value() + 1);
  counts_.pending += 1;
  post(job, event::Submit{request.urgency, request.user}, now);
  post(job, event::Invalidate{reason}, now);
  end(job);
  return {Errc::unsatisfiable, reason, {}};
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
  const Wishes& wishes = job.submission->wishes;
  request.group = wishes.group;
  request.account = wishes.account;
  request.qos = wishes.qos;
  request.consumes = wishes.consumes;
  request.slots = wishes.slots;
  request.environment = wishes.environment;
  request.advance = wishes.reservation;
  request.reserve = wishes.reserve;
  request.immediate = wishes.immediate;
  return request;
}

JobId JobManager::take_id() {
  const JobId id = next_id_;
  next_id_ = JobId(id.value() + 1);
  return id;
}

void JobManager::skip_ids(JobId last) {
  next_id_ = std::max(next_id_, JobId(last.value() + 1));
}

// ---- events ----

void JobManager::count(const ActiveJob& job, JobState from) {
  const JobState to = job.life.state;
  const auto column = [this](JobState s) -> std::int64_t& {
    return is_pending(s)             ? counts_.pending
           : s == JobState::inactive ? counts_.inactive
                                     : counts_.running;
  };
  --column(from);
  ++column(to);
  if (to == JobState::inactive && from != to && result_of(job.life) != "COMPLETED")
    ++counts_.failed;
}

void JobManager::post(ActiveJob& job, EventBody body, Time when) {
  const Event e{when, std::move(body)};
  auto next = apply(job.life, e);
  HOLON_CHECK(next.has_value());
  const JobState from = job.life.state;
  job.life = std::move(*next);
  journal_.add_event(job.id, 1, e);
  count(job, from);
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
        post(*job, event::Clean{}, now);
        end(*job);
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
  // After a stop of the whole instance what a job held was never taken again.
  if (job.allocation) HOLON_CHECK(scheduler_.finish(job.id, now).has_value());
  job.allocation.reset();
  dirty_ = true;
}

void JobManager::end(ActiveJob& job) {
  const auto record = record_of(job);
  journal_.add_inactive(record);
  outside_.changed(job);
  outside_.ended(record);
  jobs_.erase(JobId(record.id));
  waiting_.happened(JobId(record.id));
}

// ---- scheduling ----

void JobManager::resources_changed() {
  scheduler_.resources_changed();
  dirty_ = true;
}

void JobManager::schedule(Time now) {
  if (paused_) return;
  settle_dependencies(now);
  if (!dirty_ && !(wake_ && *wake_ <= now)) return;
  const auto before = monotonic_us();
  const auto pass = scheduler_.step(now, kPass);
  passes_.add(monotonic_us() - before);
  dirty_ = pass.more;
  wake_ = pass.wake;
  for (const auto& decision : pass.decisions) apply_decision(decision, now);
}

std::optional<Time> JobManager::next_turn(Time now) const {
  if (paused_) return std::nullopt;
  if (dirty_) return now;
  const auto called = waiting_.next();
  return wake_ && called ? std::min(*wake_, *called) : wake_ ? wake_ : called;
}

void JobManager::apply_decision(const qmanager::Decision& decision, Time now) {
  if (const auto* s = std::get_if<qmanager::Start>(&decision)) {
    start(*s, now);
  } else if (const auto* reject = std::get_if<qmanager::Reject>(&decision)) {
    ActiveJob* job = find_mutable(reject->job);
    HOLON_CHECK(job != nullptr);
    post(*job, event::Exception{"alloc", 0, reject->reason}, now);
    advance(reject->job, now);
  }
  // Reserve and Wait change what outlook() answers; it is asked when somebody looks at the job.
}

void JobManager::set_allocation(ActiveJob& job, resource::Allocation allocation) {
  const auto where = summarize(store_.graph(), allocation);
  job.nodelist = where.nodelist;
  job.held = where.held;
  job.allocation = std::move(allocation);
}

void JobManager::start(const qmanager::Start& decision, Time now) {
  ActiveJob* job = find_mutable(decision.job);
  HOLON_CHECK(job != nullptr);
  constexpr const char* kNames[] = {"immediate", "backfill", "reserved"};
  const Time end = decision.allocation.when.end;
  journal_.add_allocation(decision.allocation);
  set_allocation(*job, decision.allocation);
  post(*job, event::Alloc{kNames[static_cast<int>(decision.selection)], end == kTimeMax ? 0 : end},
       now);
  outside_.changed(*job);
  advance(decision.job, now);
}

void JobManager::lease_changed(Time end, Time now) {
  for (auto& [id, job] : jobs_) {
    if (!job.allocation) continue;
    const Time limit = job.submission->limit;
    const Time wanted = limit == 0 ? end : std::min(end, saturating_add(job.life.t_alloc, limit));
    if (wanted == job.allocation->when.end) continue;
    job.allocation->when.end = wanted;
    journal_.add_allocation(*job.allocation);
    post(job, event::ResourceUpdate{wanted == kTimeMax ? 0 : wanted}, now);
    outside_.limit_changed(job);
  }
  resources_changed();
}

Status JobManager::set_urgency(JobId id, std::uint32_t urgency, Time now) {
  ActiveJob* job = find_mutable(id);
  if (job == nullptr) {
    auto known = record(id);
    if (!known) return tl::unexpected(known.error());
    return fail(Errc::denied, fmt::format("job {} is over: {}", path_of(id), known->result));
  }
  if (job->life.state > JobState::sched)
    return fail(Errc::denied, fmt::format("job {} has started already", path_of(id)));
  if (job->life.urgency == urgency) return {};
  const bool queued = job->life.state == JobState::sched;
  if (queued)
    if (auto moved = scheduler_.set_urgency(id, urgency); !moved) return moved;
  post(*job, event::Urgency{urgency}, now);
  if (queued) post(*job, event::Priority{urgency}, now);
  outside_.changed(*job);
  dirty_ = true;
  return {};
}

// ---- what the world reports ----

void JobManager::raise(JobId id, const std::string& type, const std::string& note, Time now) {
  ActiveJob* job = find_mutable(id);
  if (job == nullptr) return;
  const bool queued = job->life.state == JobState::sched || job->life.state == JobState::depend;
  const bool was_ending = job->life.state == JobState::cleanup;
  if (!was_ending) post(*job, event::Exception{type, 0, note}, now);
  if (queued) {
    HOLON_CHECK(scheduler_.cancel(id, now).has_value());
    dirty_ = true;
  }
  if (!was_ending) outside_.changed(*job);
  advance(id, now);
}

void JobManager::tasks_started(JobId id, const std::vector<event::Process>& processes, Time when) {
  ActiveJob* job = find_mutable(id);
  if (job == nullptr || job->life.started || job->life.finished)
    return;  // told again after a reconnect
  if (!job->life.holds_resources) return;
  post(*job, event::Start{processes}, when);
  outside_.changed(*job);
  waiting_.happened(id);
}

void JobManager::tasks_ended(JobId id, const TasksEnded& how, Time now) {
  ActiveJob* job = find_mutable(id);
  if (job == nullptr || job->life.finished || !job->life.holds_resources) return;
  if (job->life.state == JobState::run) {
    if (how.reason == "timeout")
      post(*job, event::Exception{"timeout", 0, "its time limit was reached"}, how.when);
    else if (how.reason != "exit")
      post(*job, event::Exception{how.reason == "lost" ? "node-failure" : how.reason, 0, how.what},
           how.when);
  }
  post(*job, how.finish, how.when);
  advance(id, now);
}

void JobManager::never_started(JobId id, Time now) {
  ActiveJob* job = find_mutable(id);
  if (job == nullptr || next_step(job->life) != Step::kill) return;
  free(*job, now);
  advance(id, now);
}

void JobManager::child_is_up(JobId id, const std::string& uri, Time now) {
  ActiveJob* job = find_mutable(id);
  if (job == nullptr || !job->life.holds_resources || job->life.child_uri == uri) return;
  post(*job, event::Instance{uri}, now);
  outside_.changed(*job);
}

// ---- recovery ----

Status JobManager::recover(Time now, bool fresh) {
  auto next = journal_.next_id();
  auto batches = journal_.active_batches();
  auto ended = journal_.inactive_counts();
  if (!next) return tl::unexpected(next.error());
  if (!batches) return tl::unexpected(batches.error());
  if (!ended) return tl::unexpected(ended.error());
  next_id_ = std::max(next_id_, *next);  // reservations have numbers, too
  for (const auto& [result, n] : *ended) {
    counts_.inactive += n;
    if (result != "COMPLETED") counts_.failed += n;
  }
  if (auto loaded = load(*batches); !loaded) return loaded;
  std::vector<JobId> ids;
  for (const auto& [id, job] : jobs_) ids.push_back(id);
  // Those that hold resources first: the queue is planned around them.
  for (const JobId id : ids)
    if (fresh)
      lose_interrupted(jobs_.at(id), now);
    else if (auto held = restore_allocation(jobs_.at(id)); !held)
      return held;
  for (const JobId id : ids)
    if (ActiveJob* job = find_mutable(id); job != nullptr && !job->life.holds_resources)
      enqueue_recovered(*job, now);
  dirty_ = true;
  return {};
}

Status JobManager::load(const std::vector<Batch>& batches) {
  for (const auto& batch : batches) {
    auto made = make_submission(batch.jobspec, batch.is_instance);
    if (!made) return tl::unexpected(made.error());
    made->first = batch.first;
    made->count = batch.count;
    if (made->limit == 0) made->limit = config_.default_limit;
    const auto submission = std::make_shared<const Submission>(std::move(*made));
    const auto gone = journal_.inactive_ids(batch.first, batch.count);
    if (!gone) return tl::unexpected(gone.error());
    auto skip = gone->begin();
    for (std::uint64_t i = 0; i < batch.count; ++i) {
      const JobId id(batch.first.value() + i);
      if (skip != gone->end() && *skip == id)
        ++skip;
      else
        jobs_.emplace_hint(jobs_.end(), id, ActiveJob{id, submission, {}, {}, {}, {}});
    }
  }
  Status sound;
  const auto replayed = journal_.replay([&](JobId first, std::uint64_t n, const Event& e) {
    for (auto job = jobs_.lower_bound(first);
         job != jobs_.end() && job->first.value() < first.value() + n; ++job) {
      auto next = apply(job->second.life, e);
      if (next)
        job->second.life = std::move(*next);
      else if (sound)
        sound = fail(next.error().code,
                     fmt::format("job {}: {}", job->first.value(), next.error().what), "journal");
    }
  });
  if (!replayed) return replayed;
  for (const auto& [id, job] : jobs_)
    ++(is_pending(job.life.state) ? counts_.pending : counts_.running);
  return sound;
}

Status JobManager::restore_allocation(ActiveJob& job) {
  if (!job.life.holds_resources) return {};
  auto allocation = journal_.allocation(job.id);
  if (!allocation) return tl::unexpected(allocation.error());
  if (!*allocation)
    return fail(Errc::not_found,
                fmt::format("job {} holds resources, but which is not recorded", job.id.value()),
                "journal");
  if (auto held = scheduler_.recover(request_of(job), **allocation); !held) return held;
  set_allocation(job, std::move(**allocation));
  return {};
}

void JobManager::lose_interrupted(ActiveJob& job, Time now) {
  if (!job.life.holds_resources) return;
  orphans_.insert(orphans_.end(), job.life.processes.begin(), job.life.processes.end());
  const JobId id = job.id;
  if (job.life.finished) return advance(id, now);
  tasks_ended(id, {"lost", "the instance was stopped while the job ran", {SIGKILL, 0, 0}, now},
              now);
}

void JobManager::enqueue_recovered(ActiveJob& job, Time now) {
  const JobId id = job.id;
  advance(id, now);  // what was interrupted between two events of one turn cannot be, but costs
                     // nothing to finish
  ActiveJob* still = find_mutable(id);
  if (still == nullptr || still->life.state > JobState::sched) return;
  const auto taken = scheduler_.submit(request_of(*still), now);
  if (still->life.state == JobState::depend) waiting_.look_at(id);
  if (taken && !*taken) return;
  post(*still, event::Exception{"alloc", 0, taken ? (*taken)->reason : taken.error().what}, now);
  advance(id, now);
}

}  // namespace holon::instance
