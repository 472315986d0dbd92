// The part of the JobManager that keeps jobs in DEPEND until their dependencies are settled.
//
// Such a job is in the scheduler from the beginning, held, so that one that can never run is
// refused at once and the job keeps the place of its submission in the queue; it gets its urgency
// when it is let go. Jobs are looked at before the next pass, some in each turn, and never in the
// middle of another job's end: a chain of dependencies may be as long as the queue. A pass waits
// until all have been looked at, so that it sees them as if they had been let go at once; but not
// for ever, since a client may submit more and more of them.
#include <fmt/core.h>

#include <algorithm>

#include "base/check.hpp"
#include "instance/manager/manager.hpp"

namespace holon::instance {

bool JobManager::waits_for_others(const ActiveJob& job) {
  return (!job.submission->dependencies.empty() || job.life.retries > 0) &&
         job.life.state <= JobState::depend;
}

// A number that no job has been given yet is a slip of the finger, not a failed dependency.
Status JobManager::check_dependencies(const Submission& submission) const {
  constexpr std::size_t kMostDependencies = 10'000;
  if (submission.dependencies.size() > kMostDependencies)
    return fail(Errc::out_of_range,
                fmt::format("there are {} dependencies; at most {} are accepted",
                            submission.dependencies.size(), kMostDependencies),
                "/attributes/system/dependencies");
  for (std::size_t i = 0; i < submission.dependencies.size(); ++i) {
    const Dependency& d = submission.dependencies[i];
    const bool names_a_job =
        d.scheme != Dependency::Scheme::singleton && d.scheme != Dependency::Scheme::begin_time;
    if (d.scheme == Dependency::Scheme::aftercorr) {
      if (auto fits = check_counterparts(submission, d, i); !fits) return fits;
      continue;
    }
    if (names_a_job && !d.indices.empty()) {
      if (auto named = tasks_named(d); !named)
        return fail(named.error().code, d.text + ": " + named.error().what,
                    fmt::format("/attributes/system/dependencies/{}", i));
      continue;
    }
    if (!names_a_job || is_known(d.job)) continue;
    return fail(Errc::not_found, fmt::format("{}: there is no job {}", d.text, d.job.value()),
                fmt::format("/attributes/system/dependencies/{}", i));
  }
  if (!submission.dependencies.empty() && submission.wishes.immediate)
    return fail(Errc::invalid_argument, "a job that is to start at once cannot wait for others",
                "/attributes/system/holon/immediate");
  return {};
}

bool JobManager::is_known(JobId id) const {
  if (find(id) != nullptr || is_in_intake(id)) return true;
  const auto result = journal_.result_of(id);
  return (result && *result) || record(id).has_value();
}

// `whole`: the caller needs more than the result, which only the record of an ended job has:
// whether it started, or why it never did.
TargetState JobManager::state_of_target(JobId id, bool whole) const {
  if (const ActiveJob* job = find(id)) return {job->life.started, {}};
  if (is_in_intake(id)) return {};
  const auto result = whole ? Result<std::optional<std::string>>() : journal_.result_of(id);
  if (result && *result && !(*result)->empty()) return {false, **result};
  const auto record = this->record(id);
  if (!record) return {false, "unknown"};
  return {record->t_start != 0, record->result, {}, record->exception == "dependency"};
}

// The last earlier job that is active and has the same user and name. O(active jobs).
const ActiveJob* JobManager::namesake_before(const ActiveJob& job) const {
  for (auto at = jobs_.lower_bound(job.id); at != jobs_.begin();) {
    const ActiveJob& other = (--at)->second;
    if (other.life.user == job.life.user && other.submission->name == job.submission->name)
      return &other;
  }
  return nullptr;
}

namespace {

// Does the dependency need more than the result of the job?
bool asks_for_more(const Dependency& dependency) {
  return dependency.scheme == Dependency::Scheme::after ||
         dependency.scheme == Dependency::Scheme::afternotok;
}

}  // namespace

Standing JobManager::standing_of(const ActiveJob& job, const Dependency& dependency,
                                 Time now) const {
  if (dependency.scheme == Dependency::Scheme::begin_time)
    return judge(dependency, {}, clock_.wall(now), job_text());
  if (!dependency.indices.empty()) return standing_of_tasks(dependency, now);
  if (dependency.scheme != Dependency::Scheme::singleton)
    return judge(dependency, state_of_target(dependency.job, asks_for_more(dependency)), now,
                 job_text());
  const ActiveJob* other = namesake_before(job);
  if (other == nullptr) return {};
  return {Standing::Verdict::open, fmt::format("waits for {}, which has the same name, to end",
                                               job_in_words(other->id, job_text()))};
}

// A job may wait for thousands of jobs, and is looked at as each of them ends: dependencies that
// were met are not judged again.
Standing JobManager::standing_of(const ActiveJob& job, Time now) const {
  constexpr std::size_t kFew = 8;
  if (job.life.retries > 0) return standing_of_retry(job, now);
  const auto& all_of_it = job.submission->dependencies;
  const bool keeps = all_of_it.size() > kFew && find(job.id) != nullptr;
  std::vector<bool>* const met = keeps ? &met_[job.id] : nullptr;
  if (met != nullptr) met->resize(all_of_it.size());
  Standing all;
  for (std::size_t i = 0; i < all_of_it.size(); ++i) {
    if (met != nullptr && (*met)[i]) continue;
    Standing one = standing_of(job, all_of_it[i], now);
    if (one.verdict == Standing::Verdict::impossible) return one;
    const bool lasts = all_of_it[i].scheme != Dependency::Scheme::begin_time &&
                       all_of_it[i].scheme != Dependency::Scheme::singleton;
    if (met != nullptr && lasts && one.verdict == Standing::Verdict::met) (*met)[i] = true;
    if (one.verdict == Standing::Verdict::open && all.verdict == Standing::Verdict::met)
      all = std::move(one);
  }
  return all;
}

std::vector<JobId> JobManager::waits_on(const ActiveJob& job) const {
  std::vector<JobId> targets;
  if (!waits_for_others(job) || job.life.retries > 0) return targets;
  for (const auto& d : job.submission->dependencies) {
    if (d.scheme == Dependency::Scheme::begin_time) continue;
    if (!d.indices.empty())
      targets.push_back(next_awaited(d));
    else if (d.scheme != Dependency::Scheme::singleton)
      targets.push_back(d.job);
    else if (const ActiveJob* other = namesake_before(job))
      targets.push_back(other->id);
  }
  std::erase_if(targets, [this](JobId id) { return !is_active(id); });
  return targets;
}

void JobManager::keep_waiting(const ActiveJob& job) {
  if (job.life.retries > 0) return waiting_.wait_until(job.life.retry_begin, job.id);
  for (const JobId target : waits_on(job)) waiting_.wait_for(target, job.id);
  for (const auto& d : job.submission->dependencies)
    if (d.scheme == Dependency::Scheme::begin_time)
      waiting_.wait_until(clock_.instance(d.at), job.id);
}

// Waiting jobs are looked at in this turn, which finds how long each has to wait by the new clock.
void JobManager::wall_clock_was_set() {
  for (const auto& [id, job] : jobs_)
    if (waits_for_others(job)) waiting_.look_at(id);
}

// Thousands may wait for one job: as many are looked at as fit into some ten milliseconds. What a
// job costs grows with its dependencies, each of which is judged, and has an event as the job is
// let go.
bool JobManager::settle_dependencies(Time now) {
  constexpr std::size_t kAtOnce = 500;     // jobs with few dependencies
  constexpr std::size_t kEqualToAJob = 4;  // dependencies
  settle_counterparts(now);
  waiting_.call_due(now);
  std::size_t cost = 0;
  while (cost < kAtOnce) {
    const auto called = waiting_.next_called();
    if (!called) return false;
    const JobId id = *called;
    ActiveJob* job = find_mutable(id);
    if (job == nullptr || job->life.state != JobState::depend) continue;
    cost += 1 + job->submission->dependencies.size() / kEqualToAJob;
    const Standing standing = standing_of(*job, now);
    if (standing.verdict == Standing::Verdict::open)
      keep_waiting(*job);
    else if (standing.verdict == Standing::Verdict::impossible)
      raise(id, "dependency", standing.text, now);
    else
      let_go(*job, now);
  }
  return waiting_.has_called();
}

void JobManager::let_go(ActiveJob& job, Time now) {
  met_.erase(job.id);
  if (job.life.retries == 0)
    for (const auto& d : job.submission->dependencies)
      post(job, event::DependencyRemove{d.text}, now);
  post(job, event::Depend{}, now);
  post(job, event::Priority{job.life.urgency}, now);
  if (is_array(job))
    hungry_.insert(job.id);
  else if (!unheard_of_.contains(job.id))
    HOLON_CHECK(scheduler_.set_urgency(job.id, job.life.urgency).has_value());
  outside_.changed(job);
  dirty_ = true;
}

}  // namespace holon::instance
