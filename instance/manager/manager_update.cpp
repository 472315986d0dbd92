// The part of the JobManager that changes what jobs ask for (`holon update`).
//
// A request changes all of its jobs or none: each is checked first; then the scheduler takes them
// one by one, and what it has taken is taken back if it refuses one; only then is anything written.
// A changed job has a submission of its own, made of its batch's jobspec and all its updates, which
// the journal has as events: a restart makes the same one.
#include <fmt/core.h>

#include <set>
#include <utility>

#include "base/check.hpp"
#include "instance/basics/text.hpp"
#include "instance/job/jobspec_update.hpp"
#include "instance/manager/manager.hpp"
#include "instance/request/submission.hpp"

namespace holon::instance {
namespace {

bool changes_schedule(const event::JobspecUpdate& update) {
  return update.limit || update.queue || update.nodes || update.slots;
}

bool changes_nothing(const event::JobspecUpdate& update) {
  return update == event::JobspecUpdate();
}

// Errors: invalid_argument (it is no instance, or what it begins with cannot be that).
Result<std::int64_t> cores_to_begin_with(const msg::UpdateRequest& ask, const ActiveJob& job,
                                         const std::string& path) {
  const auto wrong = [](std::string what) {
    return fail(Errc::invalid_argument, std::move(what), "elastic");
  };
  if (!job.submission->is_instance) return wrong(fmt::format("job {} is no instance", path));
  const Totals& totals = job.submission->totals;
  const std::int64_t has = job.life.place.cores > 0 ? job.life.place.cores : totals.cores;
  const std::int64_t least = ask.elastic_least > 0 ? ask.elastic_least : has;
  if (least == has) return least;
  if (job.life.state == JobState::run)
    return wrong(fmt::format(
        "job {} has begun with {} cores; the most it can have is changed alone", path, has));
  if (totals.cores != totals.slots)
    return wrong(
        fmt::format("job {} has {} slots of several cores; their number (slots) is what "
                    "can be changed",
                    path, totals.slots));
  return least;
}

// Errors: invalid_argument.
Result<event::JobspecUpdate> update_of(const msg::UpdateRequest& ask, const ActiveJob& job,
                                       const std::string& path) {
  event::JobspecUpdate update;
  if (ask.limit >= 0) update.limit = ask.limit;
  if (ask.extend != 0) {
    const Duration before = job.submission->limit;
    if (before + ask.extend <= 0)
      return fail(Errc::invalid_argument,
                  fmt::format("job {} has a limit of {}: {} less is none", path,
                              duration_text(before), duration_text(-ask.extend)),
                  "extend");
    update.limit = before + ask.extend;
    if (*update.limit > kLongestLimit)
      return fail(Errc::invalid_argument,
                  fmt::format("job {} would have a limit of {}; up to {} is accepted", path,
                              duration_text(*update.limit), duration_text(kLongestLimit)),
                  "extend");
  }
  if (!ask.name.empty()) update.name = ask.name;
  if (!ask.queue.empty()) update.queue = ask.queue;
  if (ask.nodes > 0) update.nodes = ask.nodes;
  if (ask.slots > 0) update.slots = ask.slots;
  if (ask.elastic < 0) return update;
  const auto begins = cores_to_begin_with(ask, job, path);
  if (!begins) return tl::unexpected(begins.error());
  if (ask.elastic > 0 && ask.elastic <= *begins)
    return fail(
        Errc::invalid_argument,
        fmt::format("job {} begins with {} cores, and {} are not more", path, *begins, ask.elastic),
        "elastic");
  update.elastic = ask.elastic;
  if (ask.elastic_least > 0 && *begins != job.submission->totals.cores) update.slots = *begins;
  return update;
}

}  // namespace

Result<std::shared_ptr<const Submission>> JobManager::remade(const ActiveJob& job,
                                                             const event::JobspecUpdate& update) {
  const auto batch = journal_.batch_of(job.id);
  if (!batch) return tl::unexpected(batch.error());
  const auto jobspec = with_update(batch->jobspec, update);
  if (!jobspec) return tl::unexpected(jobspec.error());
  auto made = kept_submission(*jobspec, batch->is_instance);
  if (!made) return tl::unexpected(made.error());
  made->first = batch->first;
  made->count = batch->count;
  if (!update.limit) set_default_limit(*made, job.life.default_limit);
  return std::make_shared<const Submission>(std::move(*made));
}

Status JobManager::restore_updates() {
  Remade known;
  Updates last;  // jobs changed by one request share the merged updates
  for (auto& [id, job] : jobs_) {
    if (job.life.updates.all == nullptr) continue;
    if (!(job.life.updates == last)) known.clear();
    last = job.life.updates;
    auto& made = known[job.submission.get()];
    if (made == nullptr) {
      auto again = remade(job, *job.life.updates.all);
      if (!again) return tl::unexpected(condemn(id, again.error()));
      made = std::move(*again);
    }
    job.submission = made;
  }
  return {};
}

Status JobManager::may_change(const ActiveJob& job, const msg::UpdateRequest& ask) const {
  const std::string path = shown_path(job.id);
  if (job.life.state > JobState::run)
    return fail(Errc::denied, fmt::format("job {} is being ended", path));
  const bool is_more =
      !ask.name.empty() || !ask.queue.empty() || ask.urgency >= 0 || ask.nodes > 0 || ask.slots > 0;
  if (job.life.state == JobState::run && is_more)
    return fail(Errc::denied,
                fmt::format("job {} has started already: only its limit can be changed{}", path,
                            job.submission->is_instance ? ", and how elastic it is" : ""));
  if (job.submission->wishes.grant_to.value() != 0)
    return fail(Errc::denied, fmt::format("job {} is a grant, which is what was asked for", path));
  if (job.submission->wishes.lends)
    return fail(Errc::denied, fmt::format("job {} is what was lent to the instance above", path));
  if (is_aside(job.id))
    return fail(Errc::denied,
                fmt::format("the broker has set job {0} aside; `holon urgency {0} {1}` lets it try "
                            "again",
                            label_of(job.id), qmanager::kUrgencyDefault));
  return {};
}

// Only a limit of its own can be moved by so much. The limit may be set all the same.
Status JobManager::has_own_limit(const ActiveJob& job, Duration extend, Time now) const {
  if (extend == 0 || job.submission->limit != 0) return {};
  const std::string path = shown_path(job.id);
  const Time end = end_around(*job.submission);
  if (end == kTimeMax)
    return fail(Errc::invalid_argument,
                fmt::format("job {} has no time limit that could be moved", path), "extend");
  const bool ends_here = end == lease_end();
  return fail(
      Errc::invalid_argument,
      fmt::format("job {} has no time limit of its own: it ends with {}, in {}{}", path,
                  ends_here ? "its instance" : "its reservation", duration_text(distance(now, end)),
                  ends_here && extend > 0 ? more_time(extend) : ""),
      "extend");
}

Status JobManager::fits_in_time(const ActiveJob& job, const Submission& submission,
                                Time now) const {
  const std::string path = shown_path(job.id);
  if (job.life.state != JobState::run) {
    const std::string why = too_late(submission, now);
    return why.empty() ? Status() : fail(Errc::unsatisfiable, fmt::format("job {}: {}", path, why));
  }
  // Its agents have begun to end it, and no word of theirs has come yet. They count the own limit
  // of tasks from their start, which may have been late.
  const bool counts_from_start = job.life.started && !job.submission->is_instance;
  const Time ended_at = counts_from_start ? saturating_add(job.life.t_start, time_limit_of(job))
                                          : job.life.expiration;
  if (job.life.expiration != 0 && ended_at <= now)
    return fail(Errc::denied,
                fmt::format("job {} has reached its limit, and is being ended", path));
  if (submission.limit == 0) return {};  // ends with the instance or reservation
  const Time end = saturating_add(job.life.t_alloc, submission.limit);
  if (end <= now)
    return fail(
        Errc::invalid_argument,
        fmt::format("job {} has had its resources for {} already: a limit of {} is over", path,
                    duration_text(now - job.life.t_alloc), duration_text(submission.limit)),
        "limit");
  const Time latest = end_around(submission);
  if (end <= latest) return {};
  const bool ends_here = latest == lease_end();
  return fail(
      Errc::unsatisfiable,
      fmt::format("job {}: {} ends in {}; the longest limit it can have is {}{}", path,
                  ends_here ? "its instance" : "the reservation in which it runs",
                  duration_text(distance(now, latest)), duration_text(latest - job.life.t_alloc),
                  ends_here ? more_time(end - latest) : ""),
      "limit");
}

Result<JobManager::Change> JobManager::planned_change(JobId id, const msg::UpdateRequest& ask,
                                                      Remade& known, Time now) {
  const auto job = find_active(id);
  if (!job) return tl::unexpected(job.error());
  if (auto may = may_change(**job, ask); !may) return tl::unexpected(may.error());
  if (auto has = has_own_limit(**job, ask.extend, now); !has) return tl::unexpected(has.error());
  auto update = update_of(ask, **job, shown_path(id));
  if (!update) return tl::unexpected(update.error());
  if (update->limit == Duration{0}) update->limit = default_limit(now);
  Change change{*job, *update, (*job)->submission};
  if (changes_nothing(*update)) return change;
  auto& made = known[change.submission.get()];
  if (made == nullptr) {
    auto again = remade(**job, *merged((*job)->life.updates, *update).all);
    if (!again)
      return fail(again.error().code, fmt::format("job {}: {}", shown_path(id), again.error().what),
                  again.error().where);
    made = std::move(*again);
  }
  change.submission = made;
  if (auto fits = fits_in_time(**job, *made, now); !fits) return tl::unexpected(fits.error());
  return change;
}

Status JobManager::take_change(Change& change, Time now) {
  if (!changes_schedule(change.update)) return {};
  ActiveJob& job = *change.job;
  if (job.life.state == JobState::run) {
    const auto end = scheduler_.set_limit(job.id, change.submission->limit, now);
    if (!end) return tl::unexpected(end.error());
    change.planned_end = *end;
    return {};
  }
  ActiveJob changed = job;
  changed.submission = change.submission;
  const auto taken = scheduler_.replace(request_of(changed), now);
  if (!taken) return tl::unexpected(not_taken(*change.submission, taken.error()));
  if (!*taken) return {};
  return fail(Errc::unsatisfiable, fmt::format("job {}: {}", shown_path(job.id), (*taken)->reason));
}

// The scheduler takes the old request again: nothing has happened in between.
void JobManager::take_back(const Change& change, Time now) {
  if (!changes_schedule(change.update)) return;
  const ActiveJob& job = *change.job;
  if (job.life.state == JobState::run) {
    static_cast<void>(scheduler_.set_limit(job.id, job.submission->limit, now));
    return;
  }
  qmanager::JobRequest request = request_of(job);
  request.admitted = true;
  const auto taken = scheduler_.replace(std::move(request), now);
  HOLON_CHECK(taken && !*taken);
}

void JobManager::write_change(const Change& change, Time now) {
  ActiveJob& job = *change.job;
  if (changes_nothing(change.update)) return;
  const bool was_called_otherwise = job.submission->name != change.submission->name;
  count_one(job, -1);  // the queue may change
  job.submission = change.submission;
  count_one(job, 1);
  post(job, change.update, now);
  if (job.life.state == JobState::run && change.update.limit) {
    const Time end = end_of(job, job.life.t_alloc);
    const Time planned = std::exchange(job.allocation->when.end, change.planned_end);
    journal_.add_allocation(*job.allocation);
    post(job, event::ResourceUpdate{end == kTimeMax ? 0 : end}, now);
    child_end_moved(job, planned, now);
  }
  if (job.life.state == JobState::run) outside_.limit_changed(job);
  // Others may have waited for a job of the old name, and this job for others of that name.
  if (was_called_otherwise) waiting_.happened(job.id);
  if (was_called_otherwise && waits_for_others(job)) waiting_.look_at(job.id);
  outside_.changed(job);
  dirty_ = true;
}

Status JobManager::update(const msg::UpdateRequest& ask, Time now) {
  if (auto sound = check_update(ask); !sound) return sound;
  Remade known;
  std::vector<Change> changes;
  for (const auto id : std::set<std::uint64_t>(ask.ids.begin(), ask.ids.end())) {
    if (array_with(JobId(id)) != nullptr)
      return fail(Errc::unsupported,
                  fmt::format("job {} is an array, or a task of one: urgency alone can be changed "
                              "(holon urgency)",
                              shown_path(JobId(id))));
    auto change = planned_change(JobId(id), ask, known, now);
    if (!change) return tl::unexpected(change.error());
    changes.push_back(std::move(*change));
  }
  dirty_ = true;  // the scheduler is told something, whatever comes of it
  for (std::size_t i = 0; i < changes.size(); ++i) {
    auto taken = take_change(changes[i], now);
    if (taken) continue;
    while (i-- > 0) take_back(changes[i], now);
    return taken;
  }
  for (const Change& change : changes) {
    write_change(change, now);
    if (ask.urgency >= 0)
      HOLON_CHECK(
          set_urgency(change.job->id, static_cast<std::uint32_t>(ask.urgency), now).has_value());
  }
  return {};
}

}  // namespace holon::instance
