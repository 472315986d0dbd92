// The part of the JobManager that reads the journal: every event is folded again, and each job is
// continued. O(events since the oldest active batch was submitted).
#include <fmt/core.h>
#include <signal.h>

#include <algorithm>

#include "instance/job/ended.hpp"
#include "instance/journal/damage/missing.hpp"
#include "instance/manager/manager.hpp"
#include "instance/request/submission.hpp"

namespace holon::instance {
namespace {

constexpr std::uint64_t kMostLost = 100'000;  // jobs of a lost end of the journal that are recorded

}  // namespace

Status JobManager::recover(const Beginning& beginning, Time now) {
  auto next = journal_.next_id();
  auto batches = journal_.active_batches();
  auto ended = journal_.inactive_counts();
  if (!next) return tl::unexpected(next.error());
  if (!batches) return tl::unexpected(batches.error());
  if (!ended) return tl::unexpected(ended.error());
  next_id_ = std::max(next_id_, *next);  // reservations have numbers, too
  for (const auto& [result, n] : *ended) counts_.add_ended(kind_of_result(result), n);
  last_heard_ = beginning.last_lived;
  if (auto loaded = load(*batches, beginning, now); !loaded) return loaded;
  if (auto restored = restore_aside(); !restored) return restored;
  if (beginning.suspect) set_aside(beginning.suspect->job, now);
  record_lost(now);
  if (auto charged = charge_past_use(now); !charged) return charged;
  // Jobs that hold resources come first: the queue is planned around them.
  recovering_ = true;
  if (auto taken = take_up_running(beginning, now); !taken) return taken;
  recovering_ = false;
  for (const JobId id : active_ids()) {
    beginning.at(id);
    if (ActiveJob* job = find_mutable(id); job != nullptr && !job->life.holds_resources)
      enqueue_recovered(*job, now);
  }
  if (auto restored = restore_graphs(beginning, now); !restored) return restored;
  beginning.at(JobId());
  dirty_ = true;
  return {};
}

std::vector<JobId> JobManager::active_ids() const {
  std::vector<JobId> ids;
  ids.reserve(jobs_.size());
  for (const auto& [id, job] : jobs_) ids.push_back(id);
  return ids;
}

Status JobManager::take_up_running(const Beginning& beginning, Time now) {
  for (const JobId id : active_ids()) {
    beginning.at(id);
    ActiveJob& job = jobs_.at(id);
    if (beginning.fresh)
      lose_interrupted(job, now);
    else if (beginning.suspect == Suspect{id, true})
      lose_suspect(job, now);
    else if (auto held = restore_allocation(job, now); !held)
      if (auto lost = lose_unreadable(job, held.error(), now); !lost) return lost;
  }
  return {};
}

Error JobManager::condemn(JobId id, const Error& why) {
  return journal_.condemn({why.code, fmt::format("job {}: {}", label_of(id), to_string(why)), {}});
}

// The submitters were told these numbers: a record under each says what is known.
void JobManager::record_lost(Time now) {
  std::uint64_t left = kMostLost;
  for (const LostNumbers& what : journal_.lost()) {
    auto id = static_cast<std::uint64_t>(what.numbers.first);
    const auto stop = static_cast<std::uint64_t>(what.numbers.second);
    for (; id < stop && left > 0; ++id, --left) {
      const auto of_array = static_cast<std::uint64_t>(what.array);
      journal_.add_inactive(lost_record(path_, id, clock_.wall(now), of_array));
      if (!what.is_array) counts_.add_ended(JobKind::failed, 1);
    }
    if (id < stop) journal_.leave_unused(JobId(id), JobId(stop));
    skip_ids(JobId(stop - 1));
  }
}

Status JobManager::load(const std::vector<Batch>& batches, const Beginning& beginning, Time now) {
  for (const auto& batch : batches) {
    beginning.at(batch.first);
    auto made = kept_submission(batch.jobspec, batch.is_instance);
    if (!made) return tl::unexpected(condemn(batch.first, made.error()));
    made->first = batch.first;
    made->count = batch.count;
    const auto tasks = journal_.tasks_of_array(batch.first);
    if (!tasks) return tl::unexpected(tasks.error());
    if (!*tasks) made->wishes.array.reset();
    if (*tasks) made->count = **tasks;
    const auto submission = std::make_shared<const Submission>(std::move(*made));
    if (*tasks) {
      jobs_.emplace_hint(jobs_.end(), batch.first, ActiveJob{batch.first, submission, {}, {}});
      JobArray& array = arrays_[batch.first];
      array.id = batch.first;
      array.submission = submission;
      array.room = batch.count - 1;
      continue;
    }
    const auto gone = journal_.inactive_ids(batch.first, batch.count);
    if (!gone) return tl::unexpected(gone.error());
    const auto words = journal_.words_of(batch.first, batch.count);
    if (!words) return tl::unexpected(condemn(batch.first, words.error()));
    auto skip = gone->begin();
    auto own = words->begin();
    for (std::uint64_t i = 0; i < batch.count; ++i) {
      const JobId id(batch.first.value() + i);
      while (own != words->end() && own->first < id) ++own;
      if (skip != gone->end() && *skip == id) {
        ++skip;
        continue;
      }
      auto its = submission;
      if (own != words->end() && own->first == id) {
        auto with = with_words(*submission, id, own->second);
        if (!with) return tl::unexpected(condemn(id, with.error()));
        its = std::make_shared<const Submission>(std::move(*with));
      }
      jobs_.emplace_hint(jobs_.end(), id, ActiveJob{id, std::move(its), {}, {}});
    }
  }
  Status sound;
  std::set<JobId> torn;
  const auto replayed = journal_.replay([&](JobId first, std::uint64_t n, const Event& e) {
    last_heard_ = std::max(last_heard_, e.time);
    for (auto job = jobs_.lower_bound(first);
         job != jobs_.end() && job->first.value() < first.value() + n; ++job) {
      beginning.at(job->first);
      auto next = apply(job->second.life, e);
      if (next) {
        job->second.life = std::move(*next);
        continue;
      }
      torn.insert(job->first);
      if (sound)
        sound = fail(next.error().code,
                     fmt::format("job {}: {}", label_of(job->first), next.error().what), "journal");
    }
  });
  if (!replayed && replayed.error().code == Errc::invalid_argument)
    return tl::unexpected(journal_.condemn(replayed.error()));
  if (!replayed) return replayed;
  restore_default_limits();
  for (auto& [id, array] : arrays_)
    if (auto restored = restore_array(array, torn); !restored && sound) sound = restored;
  if (journal_.rebuilt())
    sound = close_torn(torn, now);
  else if (!sound)
    return tl::unexpected(journal_.condemn(sound.error()));
  if (!sound) return sound;
  if (auto updated = restore_updates(); !updated) return updated;
  count_recovered();
  return {};
}

// Jobs that asked for no limit have the one that they were taken with, whatever is configured now.
void JobManager::restore_default_limits() {
  using Shared = std::shared_ptr<const Submission>;
  std::map<Shared, Shared> limited;  // equal jobs share one
  const auto with_limit = [&](const Shared& shared, Duration limit) {
    Shared& its = limited[shared];
    if (its == nullptr) {
      Submission own = *shared;
      set_default_limit(own, limit);
      its = std::make_shared<const Submission>(std::move(own));
    }
    return its;
  };
  for (auto& [id, job] : jobs_) {
    if (job.life.default_limit == 0) continue;
    job.submission = with_limit(job.submission, job.life.default_limit);
    if (const auto array = arrays_.find(id); array != arrays_.end())
      array->second.submission = job.submission;
  }
}

void JobManager::count_recovered() {
  for (const auto& [id, job] : jobs_) {
    count_one(job, 1);
    know_grant(job);
  }
  for (const auto& [id, array] : arrays_)
    count_held_back(array, held_kind(array),
                    static_cast<std::int64_t>(array.waiting.count() + array.blocked.count()));
}

// In a damaged journal what is left of a job may make no sense, and what its tasks do is unknown:
// such a job is over. The record of a job that was over before is made again.
Status JobManager::close_torn(const std::set<JobId>& torn, Time now) {
  for (auto job = jobs_.begin(); job != jobs_.end();) {
    const bool is_task = is_array_task(job->second);
    if (is_task && !arrays_.contains(array_of(job->second))) {
      job = jobs_.erase(job);  // its array is over
      continue;
    }
    const auto& life = job->second.life;
    bool is_torn = torn.contains(job->first) || life.t_submit == 0;
    if (!is_torn && life.holds_resources) {
      const auto held = journal_.allocation(job->first);
      if (!held) return tl::unexpected(held.error());
      is_torn = !*held;
    }
    if (!is_torn && life.state != JobState::inactive) {
      ++job;
      continue;
    }
    auto record = record_of(job->second);
    if (is_torn) {
      record.state = "INACTIVE";
      record.result = "FAILED";
      record.reason = "the journal was damaged: what became of it is not known";
      record.t_inactive = clock_.wall(now);
      if (record.t_alloc != 0 && record.t_finish == 0)
        record.t_finish =
            std::max({clock_.wall(std::min(last_heard_, now)), record.t_alloc, record.t_start});
      record.pids.clear();
    }
    if (is_task) {
      give_up_task(job->second, record.reason, now);
      job = jobs_.erase(job);
      continue;
    }
    journal_.add_inactive(record);
    if (arrays_.erase(job->first) == 0) counts_.add_ended(kind_of_result(record.result), 1);
    job = jobs_.erase(job);
  }
  return {};
}

// Gives up a task of which the damaged journal has no sense left.
void JobManager::give_up_task(const ActiveJob& job, const std::string& why, Time now) {
  Lifecycle life = job.life;
  life.state = JobState::inactive;
  life.t_inactive = now;
  if (life.exception.empty()) life.exception = "lost";
  life.note = why;
  JobArray& array = arrays_.at(array_of(job));
  array.add_ended(life, 1);
  --array.active;
  array.queued -= job.life.state == JobState::sched;
  journal_.add_ended_tasks({job.id, 1, pack_ended(life)}, result_of(life));
  counts_.add_ended(kind_of_result(result_of(life)), 1);
}

Status JobManager::restore_allocation(ActiveJob& job, Time now) {
  if (!job.life.holds_resources) return {};
  auto allocation = journal_.allocation(job.id);
  if (!allocation) return tl::unexpected(allocation.error());
  if (!*allocation) return fail(Errc::not_found, "it holds resources, but which is not recorded");
  const auto lent = job.submission->is_instance ? lent_by(job.id) : std::vector<Lent>();
  job.allocation = std::move(**allocation);
  const auto parts = parts_of(*job.allocation, lent);
  const Status held =
      scheduler_.recover(request_of(job), lent.empty() ? *job.allocation : parts.rest);
  if (!held) job.allocation.reset();
  if (!held) return held;
  if (!lent.empty())
    if (auto kept = scheduler_.set_lent(job.id, parts, now); !kept) return kept;
  holding_.insert(job.id);
  return restore_preemption(job, now);
}

// Ends a job here; all processes that may run of it are noted to be ended.
void JobManager::lose(ActiveJob& job, const TasksEnded& how, Time now) {
  std::vector<std::uint32_t> ranks;
  for (const Part& part : job.life.parts) {
    ranks.push_back(part.rank);
    auto& left = orphans_[part.rank];
    left.insert(left.end(), part.processes.begin(), part.processes.end());
  }
  const JobId id = job.id;
  if (job.life.finished) return advance(id, now);
  if (ranks.empty()) return grant_ends(id, how.what, now);
  for (const std::uint32_t rank : ranks) tasks_ended(id, rank, how, now);
}

void JobManager::lose_interrupted(ActiveJob& job, Time now) {
  if (!job.life.holds_resources) return;
  // Nobody knows when it was stopped: it was there when the last event, or its clock, was written.
  const Time until = std::min(last_heard_, now);
  if (!job.life.finished)
    scheduler_.charge_past(request_of(job), job.life.place.cores, {job.life.t_alloc, until});
  lose(job, {"lost", "the instance was stopped while the job ran", {SIGKILL, 0, 0}, until}, now);
}

// The suspect's processes are ended before anything else gets its cores.
void JobManager::lose_suspect(ActiveJob& job, Time now) {
  if (!job.life.holds_resources) return;
  lose(job,
       {"lost",
        "the broker failed twice in a row as it took this job up again",
        {SIGKILL, 0, 0},
        now},
       now);
}

// A damaged journal is repaired before another broker begins on it: a job that makes no sense even
// then is given up.
Status JobManager::lose_unreadable(ActiveJob& job, const Error& why, Time now) {
  if (why.code == Errc::system) return tl::unexpected(why);
  if (!journal_.rebuilt()) return tl::unexpected(condemn(job.id, why));
  lose(job, {"lost", "the journal was damaged: what it held is not known", {SIGKILL, 0, 0}, now},
       now);
  return {};
}

// Fairshare goes on where the broker before this one left it.
Status JobManager::charge_past_use(Time now) {
  const auto since = scheduler_.counts_use_since(now);
  if (!since) return {};
  if (auto charged = charge_past_arrays(*since); !charged) return charged;
  return journal_.ended_after(*since, [&](const msg::JobRecord& record) {
    qmanager::JobRequest job;
    job.user = record.user;
    job.group = record.group;
    job.account = record.account;
    job.qos = record.qos;
    job.queue = record.queue;
    const Time end = record.t_finish > 0 ? record.t_finish : record.t_inactive;
    scheduler_.charge_past(job, record.ncores,
                           {clock_.instance(record.t_alloc), clock_.instance(end)});
  });
}

void JobManager::enqueue_recovered(ActiveJob& job, Time now) {
  const JobId id = job.id;
  advance(id, now);  // what was interrupted between two events of one turn cannot be, but costs
                     // nothing to finish
  ActiveJob* still = find_mutable(id);
  if (still != nullptr && is_array(*still)) {
    if (still->life.state == JobState::depend) waiting_.look_at(id);
    return settle_array(id, now);
  }
  if (still == nullptr || still->life.state > JobState::sched) return;
  if (still->life.state == JobState::depend) waiting_.look_at(id);
  if (is_aside(id))
    unheard_of_.insert(id);
  else
    enqueue(*still, now);
}

// A job that the scheduler refuses is over.
void JobManager::enqueue(ActiveJob& job, Time now) {
  const JobId id = job.id;
  qmanager::JobRequest request = request_of(job);
  request.admitted = true;  // its submitter was told that it is taken
  const auto taken = scheduler_.submit(std::move(request), now);
  dirty_ = true;
  if (taken && !*taken) return;
  post(job, event::Exception{"alloc", 0, taken ? (*taken)->reason : taken.error().what}, now);
  advance(id, now);
}

}  // namespace holon::instance
