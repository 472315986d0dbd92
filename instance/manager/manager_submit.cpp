// The part of the JobManager that takes new jobs, or says why not.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/check.hpp"
#include "base/text/printable.hpp"
#include "instance/basics/text.hpp"
#include "instance/job/task_words.hpp"
#include "instance/manager/manager.hpp"
#include "instance/request/admission.hpp"
#include "resource/refusal.hpp"
#include "resource/store.hpp"

namespace holon::instance {
namespace {

constexpr std::uint64_t kAtOnce = 500;    // jobs taken in one portion
constexpr std::size_t kLongestKey = 128;  // bytes
constexpr Duration kSecond = 1'000, kMinute = 60'000;

// A limit that fits into what is left also when it is typed a little later.
std::string shorter_limit(Duration left) {
  const Duration unit = left >= 2 * kMinute ? kMinute : kSecond;
  const Duration limit = (unit == kMinute ? left - kMinute / 2 : left * 9 / 10) / unit * unit;
  return limit == 0 ? "" : fmt::format("; a limit of {} would do", duration_text(limit));
}

Status check_array(const Submission& submission) {
  if (!submission.wishes.array) return {};
  const char* const what = submission.wishes.immediate       ? "a job that is to start at once"
                           : !submission.input_tasks.empty() ? "a job that reads from a client"
                                                             : nullptr;
  if (what == nullptr) return {};
  return fail(Errc::unsupported, fmt::format("{} cannot be an array", what),
              "/attributes/system/holon/array");
}

}  // namespace

// What a job without a limit gets: the configured one, where the instance lasts that long. It is
// asked once for each job, and kept with the job's first event: whatever is configured later, and
// however much of the instance's time is left then, a job keeps the limit that it was taken with.
Duration JobManager::default_limit(Time now) const {
  return config_.default_limit <= distance(now, lease_end()) ? config_.default_limit : 0;
}

std::string JobManager::way_to_more_time(Duration missing) const {
  if (end_mover_.path.empty() || missing <= 0) return {};
  const Duration minutes = missing / kMinute + (missing % kMinute == 0 ? 0 : 1);
  return fmt::format("holon update {} -t +{}m{}", end_mover_.path, minutes,
                     end_mover_.by_operator ? " (an operator can)" : "");
}

// A limit that can be moved is the child's own, or that of an instance further up; a task of an
// array has none that can, and an advance reservation none at all.
EndMover JobManager::end_mover_of(const ActiveJob& child) const {
  const Submission& what = *child.submission;
  const Time end = child.life.expiration;
  if (end == 0) return {};
  if (end_by_limit(what, child.life.t_alloc) > end)
    return end == lease_end() ? end_mover_ : EndMover();
  return is_array_task(child) ? EndMover() : EndMover{path_of(child.id), what.wishes.own};
}

// The same as the end of a sentence that has said what is missing.
std::string JobManager::more_time(Duration missing) const {
  const std::string way = way_to_more_time(missing);
  return way.empty() ? way : "; more time for the instance: " + way;
}

// Why a job could not end before the instance does; "": it could.
std::string JobManager::too_late(const Submission& submission, Time now) const {
  if (lease_end() == kTimeMax) return {};
  const Duration left = distance(now, lease_end());
  Duration wait = 0;
  for (const auto& d : submission.dependencies) wait = std::max(wait, clock_.instance(d.at) - now);
  const Duration needed = saturating_add(wait, submission.limit);
  // Time passes until somebody has read this and typed the command.
  const auto more = [&] { return more_time(saturating_add(needed - left, kMinute)); };
  if (wait > 0 && wait >= left)
    return fmt::format("it may begin in {} at the earliest, but this instance ends in {}{}",
                       duration_text(wait), duration_text(left), more());
  if (needed <= left) return {};
  return fmt::format("it asks for {}{}, but this instance ends in {}{}{}",
                     duration_text(submission.limit),
                     wait > 0 ? fmt::format(" beginning in {}", duration_text(wait)) : "",
                     duration_text(left), shorter_limit(left - wait), more());
}

// The jobs that came with this key before; nullopt: none did.
Result<std::optional<SubmitKey>> JobManager::known_submission(const std::string& key) const {
  if (key.empty()) return std::nullopt;
  if (key.size() > kLongestKey)
    return fail(Errc::invalid_argument,
                fmt::format("has {} bytes; at most {} are accepted", key.size(), kLongestKey),
                "key");
  return journal_.jobs_of_key(key);
}

// The earlier answer to this submission, if it came before. Errors: also unsatisfiable: it was
// refused then.
Result<std::optional<msg::SubmitReply>> JobManager::submitted_before(
    const msg::SubmitRequest& request) const {
  const auto known = known_submission(request.key);
  if (!known) return tl::unexpected(known.error());
  if (!*known) return std::nullopt;
  const auto batch = journal_.batch_of((*known)->first);
  if (!batch) return tl::unexpected(batch.error());
  const auto record = this->record((*known)->first);
  const bool has_grown = record && record->tasks > (*known)->count;  // extended, with a new jobspec
  if ((batch->jobspec != request.jobspec && !has_grown) ||
      batch->is_instance != request.is_instance || (*known)->count != request.count)
    return fail(
        Errc::exists,
        fmt::format("another submission, that of job {}, had this key", (*known)->first.value()),
        "key");
  if (record && record->result == "REJECTED") return fail(Errc::unsatisfiable, record->reason);
  if (record && record->tasks > 0)
    return msg::SubmitReply{(*known)->first.value(), 1, (*known)->count};
  return msg::SubmitReply{(*known)->first.value(), (*known)->count, 0};
}

std::string JobManager::group_of(const Submission& submission, const std::string& user) const {
  if (!submission.wishes.group.empty() || !groups_of) return submission.wishes.group;
  const auto& groups = groups_of(user);
  return groups.empty() ? std::string() : groups.front();
}

// Is the user in the group that the jobspec asks for? Not checked where all jobs are one user's.
Status JobManager::check_group(const Submission& submission, const std::string& user) const {
  const std::string& group = submission.wishes.group;
  if (group.empty() || !groups_of) return {};
  const auto& groups = groups_of(user);
  if (std::find(groups.begin(), groups.end(), group) != groups.end()) return {};
  return fail(Errc::denied,
              fmt::format("{} is not in group '{}'; {}'s groups: {}", user, printable(group), user,
                          groups.empty() ? "none" : fmt::format("{}", fmt::join(groups, ", "))),
              "/attributes/system/holon/group");
}

// Checks a jobspec for `count` jobs of this user, whatever runs here now.
Status JobManager::check_request(const Submission& submission, std::uint64_t count,
                                 const std::string& user, bool is_grant) const {
  if (submission.wishes.runs_nothing() != is_grant)
    return fail(Errc::denied, "is not taken from clients; `holon grant ask` asks for more",
                "/attributes/system/holon/grant");
  if (is_grant && (submission.wishes.array || submission.wishes.reservation.value() != 0))
    return fail(Errc::invalid_argument, "a grant is one job, and in no advance reservation",
                "/attributes/system/holon");
  if (count < 1 || count > config_.max_count)
    return fail(Errc::out_of_range, fmt::format("count is {}; accepted are 1 to {} (job.max-count)",
                                                count, config_.max_count));
  if (auto is_in = check_group(submission, user); !is_in) return is_in;
  if (auto sound = check_new(submission, {user, group_of(submission, user)}, config_.scheduler);
      !sound)
    return sound;
  if (const std::string unknown =
          resource::unknown_hosts(store_.graph(), submission.spec->constraints);
      !unknown.empty() && !grows)
    return fail(Errc::unsatisfiable, unknown, "/attributes/system/constraints");
  const auto& array = submission.wishes.array;
  if (array && !array->entries.empty() && array->entries.size() != count)
    return fail(Errc::invalid_argument,
                fmt::format("there are {} entries for {} jobs; as many as jobs are accepted",
                            array->entries.size(), count),
                "/attributes/system/holon/array/entries");
  if (auto sound = check_array(submission); !sound) return sound;
  if (array && !array->indices.empty() && array->indices.count() != count)
    return fail(Errc::invalid_argument,
                fmt::format("there are {} indices for {} tasks; as many as tasks are accepted",
                            array->indices.count(), count),
                "/attributes/system/holon/array/indices");
  return {};
}

Result<msg::SubmitReply> JobManager::submit(const msg::SubmitRequest& request, Time now) {
  return submit_any(request, false, now);
}

Result<msg::SubmitReply> JobManager::submit_grant(const msg::SubmitRequest& request, Time now) {
  return submit_any(request, true, now);
}

Result<qmanager::Scheduler::Chance> JobManager::chance_of_grant(const msg::SubmitRequest& request,
                                                                Time now) const {
  auto made = make_submission(request.jobspec, false);
  if (!made) return tl::unexpected(made.error());
  if (auto sound = check_request(*made, 1, request.user, true); !sound)
    return tl::unexpected(sound.error());
  if (const auto why = too_late(*made, now); !why.empty()) return fail(Errc::unsatisfiable, why);
  ActiveJob job{next_id_, std::make_shared<const Submission>(std::move(*made)), {}, {}};
  job.life.user = request.user;
  job.life.t_submit = now;
  constexpr qmanager::Budget kLookedAt{.jobs = 1'000};
  return scheduler_.chance_of(request_of(job), now, kLookedAt);
}

Result<msg::SubmitReply> JobManager::submit_any(const msg::SubmitRequest& request, bool is_grant,
                                                Time now) {
  if (auto before = submitted_before(request); !before)
    return tl::unexpected(before.error());
  else if (*before)
    return **before;
  if (request.urgency > 31)
    return fail(Errc::invalid_argument,
                fmt::format("urgency is {}; accepted are 0 to 31", request.urgency));
  auto made = make_submission(request.jobspec, request.is_instance);
  if (!made) return tl::unexpected(made.error());
  if (auto sound = check_request(*made, request.count, request.user, is_grant); !sound)
    return tl::unexpected(sound.error());
  const bool array = made->wishes.array.has_value();
  made->first = next_id_;
  made->count = request.count;
  // The limit of its child bounds a grant, and what is planted with the instance lasts as long as
  // that.
  if (!is_grant && !made->wishes.goes_on) set_default_limit(*made, default_limit(now));
  if (const auto why = too_late(*made, now); !why.empty())
    return tl::unexpected(refuse(std::move(*made), request, why, now));
  if (auto sound = check_dependencies(*made); !sound) return tl::unexpected(sound.error());
  const auto submission = std::make_shared<const Submission>(std::move(*made));
  ActiveJob job{submission->first, submission, {}, {}};
  job.life.urgency = request.urgency;
  job.life.user = request.user;
  job.life.t_submit = now;
  if (const auto standing = standing_of(job, now);
      standing.verdict == Standing::Verdict::impossible)
    return tl::unexpected(refuse(*submission, request, standing.text, now));
  if (array) job.id = JobId(job.id.value() + 1);
  // The scheduler looks at the first job only: its answer is that for all equal jobs.
  auto first = scheduler_.submit(request_of(job), now);
  if (!first) return tl::unexpected(not_taken(*submission, first.error()));
  if (*first) return tl::unexpected(refuse(*submission, request, (*first)->reason, now));
  if (array) {
    HOLON_CHECK(scheduler_.withdraw(job.id, now).has_value());
    return accept_array(submission, request, now);
  }
  for (std::uint64_t i = 1; i < std::min(request.count, kAtOnce); ++i) {
    job.id = JobId(submission->first.value() + i);
    const auto next = scheduler_.submit(request_of(job), now);
    if (next && !*next) continue;
    // All jobs or none: a queue may be limited.
    for (std::uint64_t taken = 0; taken < i; ++taken)
      HOLON_CHECK(scheduler_.withdraw(JobId(submission->first.value() + taken), now).has_value());
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
  if (!request.key.empty()) journal_.add_submit_key(request.key, {first, n});
  std::vector<EventBody> bodies = {submit_event(*submission, request.urgency, request.user),
                                   event::Validate{}};
  for (const auto& d : submission->dependencies) bodies.push_back(event::DependencyAdd{d.text});
  const bool waits = !submission->dependencies.empty();
  if (!waits) bodies.insert(bodies.end(), {event::Depend{}, event::Priority{request.urgency}});
  next_id_ = JobId(first.value() + n);
  Intake& intake = begin_intake({submission, {}, {}, 0, {}}, std::move(bodies), now);
  while (intake.taken < std::min(n, kAtOnce)) take_in(intake);
  if (intake.taken == n) intakes_.erase(first);
  return {first.value(), n, 0};
}

// Begins jobs that all have these events; they are made one by one once that is in the journal.
JobManager::Intake& JobManager::begin_intake(Intake intake, std::vector<EventBody> bodies,
                                             Time now) {
  const JobId first = intake.submission->first;
  for (auto& body : bodies) {
    intake.events.push_back({now, std::move(body)});
    journal_.add_event(first, intake.submission->count, intake.events.back());
    intake.life = *apply(intake.life, intake.events.back());
  }
  return intakes_.emplace(first, std::move(intake)).first->second;
}

// Makes the next job of an intake, which the scheduler knows or is about to be told of.
ActiveJob& JobManager::take_in(Intake& intake) {
  const std::uint64_t place = intake.taken++;
  const JobId id(intake.submission->first.value() + place);
  auto submission = intake.submission;
  if (!intake.words.empty()) {
    auto own = with_words(*submission, id, intake.words[place]);
    HOLON_CHECK(own.has_value());  // the graph was checked
    submission = std::make_shared<const Submission>(std::move(*own));
  }
  // Nearly always the greatest id: with the hint the tree is not searched, which is a sixth of this
  // function.
  const auto job =
      jobs_.emplace_hint(jobs_.end(), id, ActiveJob{id, std::move(submission), intake.life, {}});
  count_one(job->second, 1);
  know_grant(job->second);
  dirty_ = true;
  for (const auto& e : intake.events) outside_.happened(id, e);
  outside_.changed(job->second);
  if (intake.life.state == JobState::depend) waiting_.look_at(id);
  return job->second;
}

bool JobManager::take_more(JobId first, Time now) {
  const auto found = intakes_.find(first);
  if (found == intakes_.end()) return false;
  Intake& intake = found->second;
  for (std::uint64_t i = 0; i < kAtOnce && intake.taken < intake.submission->count; ++i) {
    ActiveJob& job = take_in(intake);
    if (job.life.state == JobState::depend && !waits_for_others(job)) advance(job.id, now);
    const auto taken = scheduler_.submit(request_of(job), now);
    if (taken && !*taken) continue;
    // The jobs were accepted, and the queue has been closed since.
    const JobId id = job.id;
    post(job, event::Exception{"alloc", 0, taken ? (*taken)->reason : taken.error().what}, now);
    advance(id, now);
  }
  if (intake.taken < intake.submission->count) return true;
  intakes_.erase(found);
  return false;
}

void JobManager::take_all(Time now) {
  while (!entering_.empty()) enter_graph(entering_.begin()->first, now);
  while (!intakes_.empty()) take_more(intakes_.begin()->first, now);
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
  submission.wishes.array.reset();
  const JobId id = submission.first;
  ActiveJob job{id, std::make_shared<const Submission>(std::move(submission)), {}, {}};
  journal_.add_batch({id, 1, request.jobspec, request.is_instance});
  if (!request.key.empty()) journal_.add_submit_key(request.key, {id, request.count});
  next_id_ = JobId(id.value() + 1);
  post(job, event::Submit{request.urgency, request.user}, now);
  post(job, event::Invalidate{reason}, now);
  end(job, now);
  return {Errc::unsatisfiable, reason, {}};
}

}  // namespace holon::instance
