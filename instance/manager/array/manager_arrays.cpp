// The part of the JobManager that keeps arrays (job/array.hpp): it takes tasks out of their ranges
// and gives them to the scheduler, and packs them into rows when they are over. What an array does
// as a whole is here, too: begin, be cancelled, end.
#include <fmt/core.h>

#include <algorithm>

#include "base/check.hpp"
#include "instance/job/array.hpp"
#include "instance/job/ended.hpp"
#include "instance/job/no_array.hpp"
#include "instance/manager/manager.hpp"
#include "instance/request/submission.hpp"
#include "resource/store.hpp"

namespace holon::instance {
namespace {

// How many tasks may run side by side where their request does not say how many could.
constexpr std::int64_t kUnknown = 1024;

std::int64_t times_in(std::int64_t all, std::int64_t one) {
  return one > 0 ? all / one : INT64_MAX;
}

}  // namespace

JobArray* JobManager::array_with(JobId job) {
  auto behind = arrays_.upper_bound(job);
  if (behind == arrays_.begin()) return nullptr;
  JobArray& array = std::prev(behind)->second;
  return array.contains(job) ? &array : nullptr;
}

const JobArray* JobManager::array_with(JobId job) const {
  return const_cast<JobManager*>(this)->array_with(job);
}

std::string JobManager::label_of(JobId id) const {
  const auto within = [id](const Submission& array) {
    const auto index = array_index(array, id);
    return index ? fmt::format("{}.{}", array.first.value(), *index) : std::to_string(id.value());
  };
  if (const JobArray* const array = array_with(id)) return within(*array->submission);
  if (find(id) != nullptr) return std::to_string(id.value());
  const auto over = over_array(id);
  return over && *over ? within(*(*over)->submission) : std::to_string(id.value());
}

bool JobManager::is_active(JobId id) const {
  if (find(id) != nullptr || is_in_intake(id)) return true;
  const JobArray* const array = array_with(id);
  return array != nullptr && array->holds_back(id);
}

// ---- to the scheduler ----

// Enough tasks are queued that a pass decides as if all were: those that could start in it, and
// those that it looks at behind them.
std::uint64_t JobManager::window_of(const JobArray& array) const {
  const Totals& one = array.submission->totals;
  const std::int64_t fit =
      std::min({times_in(store_.total("core"), one.cores), times_in(store_.total("gpu"), one.gpus),
                times_in(store_.total("node"), one.cores > 0 ? 0 : one.nodes)});
  const auto& config = scheduler_.config();
  const std::string& name =
      array.submission->queue.empty() ? config.default_queue : array.submission->queue;
  const auto queue = config.queues.find(name);
  const auto& settings = queue == config.queues.end() ? config.defaults : queue->second;
  const std::int64_t depth = std::min(settings.queue_depth, settings.max_queue_depth);
  return static_cast<std::uint64_t>((fit == INT64_MAX ? kUnknown : fit) + depth + 1);
}

bool JobManager::may_queue(const JobArray& array) const {
  const JobState state = jobs_.at(array.id).life.state;
  return state == JobState::sched || state == JobState::run;
}

// Has the array a waiting task, and may it have more active ones?
bool JobManager::has_room(const JobArray& array) {
  const std::uint64_t most = array.submission->wishes.array->max_running;
  return !array.waiting.empty() && (most == 0 || array.active < most);
}

void JobManager::feed_arrays(Time now) {
  for (const JobId id : std::exchange(hungry_, {})) {
    const auto found = arrays_.find(id);
    if (found == arrays_.end() || paused_ || !may_queue(found->second)) continue;
    const std::uint64_t window = window_of(found->second);
    // The array may be over once one of its tasks is refused.
    for (JobArray* array = &found->second;
         array != nullptr && array->queued < window && has_room(*array); array = array_with(id))
      take_task(*array, JobId(array->waiting.first()), now);
  }
}

// A pass that has started all queued tasks of an array may start more.
void JobManager::look_for_hungry_arrays() {
  for (const JobId id : hungry_)
    if (const JobArray* const array = array_with(id);
        array != nullptr && array->queued == 0 && has_room(*array) && may_queue(*array))
      dirty_ = true;
}

// The task may be over at once: the scheduler may refuse it.
void JobManager::take_task(JobArray& array, JobId id, Time now) {
  array.waiting.erase(id.value());
  ++array.active;
  ++array.queued;
  const Lifecycle& whole = jobs_.at(array.id).life;
  const auto job = jobs_.emplace(id, ActiveJob{id, array.submission, fresh_task(whole), {}}).first;
  enqueue(job->second, now);
}

// Counts a task whose state has changed.
void JobManager::count_task(const ActiveJob& job, bool was_queued) {
  JobArray& array = arrays_.at(array_of(job));
  const bool is_queued = job.life.state == JobState::sched;
  if (was_queued == is_queued) return;
  array.queued += is_queued ? 1 : std::uint64_t(-1);
  hungry_.insert(array.id);
}

// ---- submission ----

msg::SubmitReply JobManager::accept_array(const std::shared_ptr<const Submission>& submission,
                                          const msg::SubmitRequest& request, Time now) {
  const JobId id = submission->first;
  const std::uint64_t n = submission->count;
  const bool open = submission->wishes.array->open;
  const std::uint64_t room = n + (open ? kRoomOfOpen : 0);
  journal_.add_batch({id, room + 1, request.jobspec, request.is_instance});
  journal_.add_array(id, n);
  if (!request.key.empty()) journal_.add_submit_key(request.key, {id, n});
  next_id_ = std::max(next_id_, JobId(id.value() + room + 1));
  JobArray& array = arrays_[id];
  array.id = id;
  array.open = open;
  array.room = room;
  array.submission = submission;
  array.waiting.insert(id.value() + 1, id.value() + n);
  block_tasks(array);
  ActiveJob& job = jobs_.emplace_hint(jobs_.end(), id, ActiveJob{id, submission, {}, {}})->second;
  post(job, submit_event(*submission, request.urgency, request.user), now);
  post(job, event::Validate{}, now);
  for (const auto& d : submission->dependencies) post(job, event::DependencyAdd{d.text}, now);
  count_held_back(array, held_kind(array), static_cast<std::int64_t>(n));
  outside_.changed(job);
  if (submission->dependencies.empty())
    advance(id, now);
  else
    waiting_.look_at(id);
  hungry_.insert(id);
  dirty_ = true;
  return {id.value(), 1, n};
}

// ---- ends ----

// A task that is over leaves a row.
void JobManager::end_task(ActiveJob& job, Time now) {
  const JobId id = job.id;
  const auto record = record_of(job);
  journal_.add_ended_tasks({id, 1, pack_ended(job.life)}, record.result);
  const JobId whole = array_of(job);
  JobArray& array = arrays_.at(whole);
  array.add_ended(job.life, 1);
  --array.active;
  hungry_.insert(array.id);
  outside_.changed(job);
  outside_.ended(record);
  jobs_.erase(id);
  waiting_.happened(id);
  let_back(id);
  tell_counterparts(whole, id, id, record.result);
  stop_failing(array, now);
  settle_array(whole, now);
}

// Cancels the other tasks once more have failed than may (max_fails).
void JobManager::stop_failing(const JobArray& array, Time now) {
  const auto& most = array.submission->wishes.array->max_fails;
  ActiveJob& job = jobs_.at(array.id);
  if (!most || array.failed <= *most || job.life.state == JobState::cleanup) return;
  raise_array(job,
              {"max-fails", 0,
               *most == 0 ? "one of its tasks failed, and none may"
                          : fmt::format("{} of its tasks failed, and {} may", array.failed, *most)},
              now);
}

void JobManager::end_waiting(JobArray& array, JobId first, JobId last, const event::Exception& why,
                             Time now) {
  Idset these;
  these.insert(first.value(), last.value());
  end_waiting(array, these, why, now);
}

// Ends tasks that the scheduler has not been given. All leave `waiting` and `blocked` at once:
// range by range, those behind would be moved each time.
void JobManager::end_waiting(JobArray& array, const Idset& these, const event::Exception& why,
                             Time now) {
  if (these.empty()) return;
  Lifecycle life = fresh_task(jobs_.at(array.id).life);
  const std::vector<Event> events = {{now, why}, {now, event::Clean{}}};
  for (const Event& event : events) {
    auto next = apply(life, event);
    HOLON_CHECK(next.has_value());
    life = std::move(*next);
  }
  for (Idset* const held : {&array.waiting, &array.blocked}) remove_ids(*held, these);
  for (const auto& range : these.ranges())
    end_range(array, JobId(range.first), JobId(range.last), life, events);
}

void JobManager::end_range(JobArray& array, JobId first, JobId last, const Lifecycle& life,
                           const std::vector<Event>& events) {
  const std::uint64_t n = last.value() - first.value() + 1;
  const std::string result = result_of(life);
  array.add_ended(life, n);
  journal_.add_ended_tasks({first, n, pack_ended(life)}, result);
  const auto count = static_cast<std::int64_t>(n);
  const auto owner = owner_of(jobs_.at(array.id));
  counts_.add(first, owner, held_kind(array), -count);
  counts_.add(first, owner, kind_of_result(result), count);
  cancelled_unheard_[queue_of(*array.submission)] += count;
  outside_.ended_unstarted(first, last, events);
  waiting_.happened(first, last);
  tell_counterparts(array.id, first, last, result);
}

// ---- by ranges of numbers ----

Result<JobManager::NumberRun> JobManager::run_at(JobId at) const {
  if (const JobArray* array = array_with(at); array != nullptr && at != array->id)
    return NumberRun{{}, JobId(array->id.value() + array->count()), array->id};
  if (find(at) != nullptr) return NumberRun{{}, at};
  const auto over = over_array(at);
  if (!over) return tl::unexpected(over.error());
  if (!*over) return NumberRun{{}, at};
  const ActiveJob& ended = **over;
  return NumberRun{{}, JobId(ended.id.value() + ended.submission->count), ended.id, true};
}

Result<std::vector<JobManager::NumberRun>> JobManager::runs_of(const Idset& numbers) const {
  constexpr std::size_t kMostOver = 10'000;
  std::vector<NumberRun> runs;
  std::size_t over = 0;
  // Active jobs that are no arrays and no tasks: thousands of them are one run.
  const auto is_job = [this](JobId id) { return find(id) != nullptr && array_with(id) == nullptr; };
  for (const auto& range : numbers.ranges())
    for (JobId at(range.first); at.value() <= range.last;) {
      if (is_job(at)) {
        if (runs.empty() || !is_job(runs.back().last)) runs.push_back({{}, at});
        runs.back().numbers.insert(at.value());
        runs.back().last = at;
        at = JobId(at.value() + 1);
        continue;
      }
      if (runs.empty() || runs.back().last < at) {
        auto run = run_at(at);
        if (!run) return tl::unexpected(run.error());
        if (run->array.value() == 0 && find(at) == nullptr && ++over > kMostOver)
          return fail(Errc::out_of_range,
                      fmt::format("names more than {} jobs that are not active", kMostOver),
                      "numbers");
        runs.push_back(std::move(*run));
      }
      const JobId last = std::min(runs.back().last, JobId(range.last));
      runs.back().numbers.insert(at.value(), last.value());
      at = JobId(last.value() + 1);
    }
  return runs;
}

Idset JobManager::held_of(JobId array, const Idset& tasks) const {
  const auto found = arrays_.find(array);
  if (found == arrays_.end()) return {};
  const Idset known = without(without(tasks, found->second.waiting), found->second.blocked);
  return without(tasks, known);
}

void JobManager::cancel_held(JobId array, const Idset& these, const std::string& note, Time now) {
  const auto found = arrays_.find(array);
  if (found == arrays_.end() || these.empty()) return;
  end_waiting(found->second, held_of(array, these), {"cancel", 0, note}, now);
  settle_array(array, now);
}

// Ends an array whose last task is over, at the time when that task was: the broker may have heard
// of it later.
void JobManager::settle_array(JobId id, Time now) {
  const auto found = arrays_.find(id);
  if (found == arrays_.end()) return;
  const JobArray& array = found->second;
  ActiveJob& job = jobs_.at(id);
  if (!array.is_over() || job.life.finished) return;
  const Time over = std::clamp(array.latest, std::min(job.life.t_start, now), now);
  post(job, event::ArrayFinish{array.status, array.cpu_ms, array.max_rss_kb}, over);
  advance(id, now);
}

void JobManager::begin_array(const ActiveJob& task, Time now) {
  ActiveJob& array = jobs_.at(array_of(task));
  if (array.life.state != JobState::sched) return;
  post(array, event::ArrayStart{}, now);
  outside_.changed(array);
  waiting_.happened(array.id);
}

// The tasks that wait go first: one that runs and ends would give its cores to them.
void JobManager::raise_array(ActiveJob& job, const event::Exception& why, Time now) {
  if (job.life.state == JobState::cleanup) return;
  const JobId id = job.id;
  post(job, why, now);
  outside_.changed(job);
  JobArray& array = arrays_.at(id);
  array.open = false;
  array.latest = now;
  const event::Exception theirs{why.type == "max-fails" ? "others-failed" : why.type, 0, why.note};
  for (const Idset& held : {array.waiting, array.blocked})  // copies
    end_waiting(array, held, theirs, now);
  std::vector<JobId> tasks;
  const JobId last(id.value() + array.count());
  for (auto task = jobs_.upper_bound(id); task != jobs_.end() && task->first <= last; ++task)
    tasks.push_back(task->first);
  std::stable_partition(tasks.begin(), tasks.end(),
                        [this](JobId task) { return is_pending(jobs_.at(task).life.state); });
  for (const JobId task : tasks) raise(task, theirs.type, theirs.note, now);
  settle_array(id, now);
}

void JobManager::set_urgency_of_array(ActiveJob& job, std::uint32_t urgency, Time now) {
  if (job.life.urgency == urgency) return;
  const JobId id = job.id;
  post(job, event::Urgency{urgency}, now);
  outside_.changed(job);
  std::vector<JobId> tasks;
  const JobId last(id.value() + arrays_.at(id).count());
  for (auto task = jobs_.upper_bound(id); task != jobs_.end() && task->first <= last; ++task)
    if (is_pending(task->second.life.state)) tasks.push_back(task->first);
  for (const JobId task : tasks) static_cast<void>(set_urgency(task, urgency, now));
  hungry_.insert(id);
  dirty_ = true;
}

// ---- records ----

void JobManager::add_tasks(const ActiveJob& job, msg::JobRecord& record) const {
  const auto found = arrays_.find(job.id);
  if (found == arrays_.end()) return;
  const JobArray& array = found->second;
  std::uint64_t running = 0;
  JobId first_queued(0);
  const JobId last(job.id.value() + array.count());
  for (auto task = jobs_.upper_bound(job.id); task != jobs_.end() && task->first <= last; ++task) {
    if (!is_pending(task->second.life.state))
      ++running;
    else if (first_queued.value() == 0)
      first_queued = task->first;
  }
  record.tasks_running = running;
  record.tasks_pending = array.waiting.count() + array.blocked.count() + array.active - running;
  array.show_ended(record);
  record.tasks_open = array.open;
  if (array.open && array.waiting.empty() && array.blocked.empty() && array.active == 0) {
    record.reason =
        fmt::format("`holon submit --into {0}` gives it more tasks, `holon close {0}` lets it end",
                    job.id.value());
    record.waits_for = "tasks";
  }
  if (array.waiting.empty() && array.active == 0 && !array.blocked.empty()) {
    record.reason = wait_of_blocked(array, JobId(array.blocked.first()));
    record.waits_for = "dependency";
  }
  // Until a task has begun, the array waits for what its first queued task waits for.
  if (job.life.state != JobState::sched || first_queued.value() == 0) return;
  const auto first = record_of(jobs_.at(first_queued));
  record.reason = first.reason;
  record.waits_for = first.waits_for;
  record.t_estimate = first.t_estimate;
}

Result<msg::JobRecord> JobManager::record_of_task(const JobArray& array, JobId id) const {
  const Lifecycle& shared = jobs_.at(array.id).life;
  if (array.holds_back(id)) {
    ActiveJob task{id, array.submission, fresh_task(shared), {}};
    if (shared.state == JobState::depend) task.life.state = JobState::depend;
    auto record = record_of(task);
    if (array.blocked.contains(id.value()) && shared.state != JobState::depend) {
      record.reason = wait_of_blocked(array, id);
      record.waits_for = "dependency";
    }
    if (record.reason.empty()) {
      record.reason = "waits for its turn in its array";
      record.waits_for = "array";
    }
    return record;
  }
  const auto ended = journal_.ended_task(id);
  if (!ended) return tl::unexpected(ended.error());
  if (!*ended) return fail(Errc::not_found, fmt::format("no job {}", shown_path(id)));
  auto life = unpack_ended((*ended)->life, shared);
  if (!life) return tl::unexpected(life.error());
  return record_of({id, array.submission, std::move(*life), {}});
}

// The record of a task whose array is over.
Result<msg::JobRecord> JobManager::record_of_ended_task(JobId id) const {
  const auto none = [&] { return fail(Errc::not_found, fmt::format("no job {}", shown_path(id))); };
  const auto ended = journal_.ended_task(id);
  if (!ended) return tl::unexpected(ended.error());
  if (!*ended) return none();
  const auto over = over_array(id);
  if (!over) return tl::unexpected(over.error());
  if (!*over) return none();
  auto life = unpack_ended((*ended)->life, (*over)->life);
  if (!life) return tl::unexpected(life.error());
  return record_of({id, (*over)->submission, std::move(*life), {}});
}

const ActiveJob& JobManager::representative_task(const ActiveJob& job) const {
  const auto found = arrays_.find(job.id);
  if (found == arrays_.end() || job.life.state != JobState::sched) return job;
  const JobId last(job.id.value() + found->second.count());
  for (auto task = jobs_.upper_bound(job.id); task != jobs_.end() && task->first <= last; ++task)
    if (task->second.life.state == JobState::sched) return task->second;
  return job;
}

Result<ArrayShape> JobManager::shape_of_array(JobId id) const {
  const auto shape = [](const Submission& of) {
    ArrayShape made{of.first, of.count, {}};
    made.array.first = of.wishes.array->first;
    made.array.step = of.wishes.array->step;
    made.array.indices = of.wishes.array->indices;
    return made;
  };
  if (const auto array = arrays_.find(id); array != arrays_.end())
    return shape(*array->second.submission);
  const auto known = record(id);
  if (!known) return tl::unexpected(known.error());
  if (known->tasks == 0) return fail(Errc::invalid_argument, about_no_array(*known));
  const auto over = over_array(JobId(id.value() + 1));
  if (!over) return tl::unexpected(over.error());
  if (!*over) return fail(Errc::not_found, fmt::format("no job {}", shown_path(id)));
  return shape(*(*over)->submission);
}

Result<Idset> JobManager::tasks_with_result(JobId first, std::uint64_t count,
                                            const std::string& results) const {
  const std::string list = "," + results + ",";
  const auto is_wanted = [&list](const std::string& word) {
    return !word.empty() && list.find("," + word + ",") != std::string::npos;
  };
  // What ended a task is in its life, which is opened only where that is asked for.
  const bool asks_what_ended =
      std::any_of(results.begin(), results.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  const auto ended_by = [&](const EndedTasks& tasks) {
    const auto life = unpack_ended(tasks.life, Lifecycle());
    return life ? life->exception : std::string();
  };
  Idset found;
  const auto read =
      journal_.each_ended(first, count, [&](const EndedTasks& tasks, const std::string& how) {
        if (is_wanted(how) || (asks_what_ended && is_wanted(ended_by(tasks))))
          found.insert(tasks.first.value(), tasks.first.value() + tasks.count - 1);
      });
  if (!read) return tl::unexpected(read.error());
  return found;
}

JobId JobManager::next_task(JobId after, bool all) const {
  const JobArray* const array = array_with(after);
  if (array == nullptr) {
    // Where the array itself is over, so are all its tasks.
    if (!all) return JobId(0);
    const JobId next(after.value() + 1);
    const auto over = over_array(next);
    return over && *over ? next : JobId(0);
  }
  const JobId last(array->id.value() + array->count());
  if (after >= last) return JobId(0);
  if (all) return JobId(after.value() + 1);
  JobId next(0);
  for (const Idset* held : {&array->waiting, &array->blocked})
    for (const auto& range : held->ranges()) {
      if (range.last <= after.value()) continue;
      const JobId first(std::max(range.first, after.value() + 1));
      if (next.value() == 0 || first < next) next = first;
      break;
    }
  const auto job = jobs_.upper_bound(after);
  if (job != jobs_.end() && job->first <= last && (next.value() == 0 || job->first < next))
    next = job->first;
  return next;
}

// ---- after a restart ----

// Past use by array tasks counts for fairshare as that of jobs does.
Status JobManager::charge_past_tasks(const ActiveJob& array, Time since) {
  return journal_.each_ended(JobId(array.id.value() + 1), array.submission->count,
                             [&](const EndedTasks& tasks, const std::string&) {
                               const auto life = unpack_ended(tasks.life, array.life);
                               if (!life || life->t_alloc == 0 || life->t_finish <= since) return;
                               const ActiveJob task{tasks.first, array.submission, *life, {}};
                               scheduler_.charge_past(request_of(task), life->place.cores,
                                                      {life->t_alloc, life->t_finish});
                             });
}

Status JobManager::charge_past_arrays(Time since) {
  for (const auto& [id, array] : arrays_)
    if (auto charged = charge_past_tasks(jobs_.at(id), since); !charged) return charged;
  const auto over = journal_.arrays_over();
  if (!over) return tl::unexpected(over.error());
  for (const JobId id : *over) {
    const auto array = over_array(JobId(id.value() + 1));
    if (!array) return tl::unexpected(array.error());
    if (!*array || (*array)->life.t_inactive <= since) continue;
    if (auto charged = charge_past_tasks(**array, since); !charged) return charged;
  }
  return {};
}

Status JobManager::restore_array(JobArray& array, std::set<JobId>& torn) {
  const JobId first = array.first();
  const ActiveJob& whole = jobs_.at(array.id);
  array.open = array.submission->wishes.array->open && !whole.life.closed &&
               whole.life.state < JobState::cleanup;
  array.waiting.insert(first.value(), first.value() + array.count() - 1);
  Status sound;
  const auto read =
      journal_.each_ended(first, array.count(), [&](const EndedTasks& tasks, const std::string&) {
        const auto life = unpack_ended(tasks.life, whole.life);
        if (!life && sound)
          sound = fail(life.error().code,
                       fmt::format("job {}: {}", label_of(tasks.first), life.error().what));
        if (!life) return;
        remove_range(array.waiting, tasks.first.value(), tasks.first.value() + tasks.count - 1);
        array.add_ended(*life, tasks.count);
        last_heard_ = std::max(last_heard_, life->t_inactive);
      });
  if (!read) return read;
  auto runs = journal_.runs_of(first, array.count());
  if (!runs) return tl::unexpected(runs.error());
  for (auto& run : *runs) {
    if (!array.waiting.erase(run.id.value())) continue;
    ++array.active;
    ActiveJob& job =
        jobs_.emplace(run.id, ActiveJob{run.id, array.submission, fresh_task(whole.life), {}})
            .first->second;
    for (const Event& event : run.events) {
      last_heard_ = std::max(last_heard_, event.time);
      auto next = apply(job.life, event);
      if (next) {
        job.life = std::move(*next);
        continue;
      }
      torn.insert(run.id);
      if (sound)
        sound = fail(next.error().code,
                     fmt::format("job {}: {}", label_of(run.id), next.error().what), "journal");
    }
    array.queued += job.life.state == JobState::sched;
  }
  block_tasks(array);
  hungry_.insert(array.id);
  return sound;
}

}  // namespace holon::instance
