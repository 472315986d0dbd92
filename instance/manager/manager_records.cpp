// The part of the JobManager that makes the records of jobs, as listings show them.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "instance/basics/text.hpp"
#include "instance/manager/manager.hpp"
#include "launch/streams/output.hpp"
#include "msg/grant_command.hpp"

namespace holon::instance {

namespace {

Totals held_by(const Lifecycle& life) {
  return {life.place.nodes, life.place.cores, life.place.gpus, 0};
}

}  // namespace

msg::JobRecord record_of_job(const ActiveJob& job, const std::string& path,
                             const std::string& output_directory, const InstanceClock& clock) {
  const auto& life = job.life;
  const auto& what = *job.submission;
  const bool placed = life.t_alloc != 0;
  const Totals totals = placed ? held_by(life) : what.totals;
  msg::JobRecord r;
  r.path = join(path, job.id);
  r.id = job.id.value();
  r.name = with_words_of(what, job.id, what.name);
  r.user = life.user;
  r.group = what.wishes.group;
  r.account = what.wishes.account;
  r.qos = what.wishes.qos;
  r.queue = what.queue;
  r.urgency = life.urgency;
  r.retries = life.retries;
  r.preemptions = life.preemptions + (life.exception == "preempt" ? 1 : 0);
  r.state = name_of(life.state);
  r.result = result_of(life);
  r.exit_code = exit_code_of(life);
  r.reason = life.note;
  r.exception = life.exception;
  r.command = what.command;
  r.nodelist = life.place.nodelist;
  r.resources = placed ? describe(totals) : what.resources;
  r.nnodes = totals.nodes;
  r.ncores = totals.cores;
  r.ngpus = totals.gpus;
  r.ntasks = tasks_of(job);
  r.t_submit = clock.wall(life.t_submit);
  r.t_alloc = clock.wall(life.t_alloc);
  r.t_start = clock.wall(life.t_start);
  r.t_finish = clock.wall(life.t_finish);
  r.t_inactive = clock.wall(life.t_inactive);
  r.expiration = clock.wall(life.expiration);
  r.limit = what.limit;
  r.selection = life.selection;
  r.t_suspended = clock.wall(life.suspended);
  r.is_instance = what.is_instance;
  r.child_uri = life.child_uri;
  r.cpu_ms = life.cpu_ms;
  r.max_rss_kb = life.max_rss_kb;
  const auto files = output_files(job, output_directory);
  r.output = files.output;
  r.error = files.error;
  for (const auto& p : processes_of(life)) r.pids.push_back(p.pid);
  r.array = array_of(job).value();
  if (is_array(job)) {
    r.tasks = what.count;
    r.output = what.output;
    r.error = what.error;
  } else if (const auto index = array_index(what, job.id)) {
    r.index = *index;
    r.command = with_words_of(what, job.id, what.command);
    r.entry = entry_of(what, job.id);
  }
  return r;
}

msg::JobRecord JobManager::record_of(const ActiveJob& job) const {
  msg::JobRecord r = record_of_job(job, path_, output_directory_, clock_);
  if (r.queue.empty()) r.queue = scheduler_.config().default_queue;
  if (r.group.empty()) r.group = group_of(*job.submission, job.life.user);
  if (const JobId child = job.submission->wishes.grant_to; child.value() != 0)
    r.command = std::string(msg::kGrantTo) + join(path_, child);
  if (job.submission->wishes.lends) count_what_is_lent(job, r);
  if (job.submission->is_instance) add_grants(job, r);
  if (job.submission->is_instance) add_lent(job, r);
  if (is_array(job)) add_tasks(job, r);
  if (job.life.state == JobState::sched && !is_array(job)) add_outlook(job, r);
  if (job.life.state == JobState::depend) add_wait(job, r);
  if (job.life.state == JobState::run && r.reason.empty()) r.reason = doubt(job);
  if (const std::string waits = job.life.state == JobState::cleanup ? end_waits_for(job) : "";
      !waits.empty())
    r.reason += (r.reason.empty() ? "" : "; ") + waits;
  if (const auto& told = job.life.preemption; told.by != 0 && job.life.state == JobState::run)
    r.reason = fmt::format("{}: it is ended at {}{}", note_of_preemption(job.life),
                           time_text(clock_.wall(told.end), clock_.wall(told.end)),
                           told.requeue ? ", and waits for another run" : "");
  if (!why_read_only_.empty() && is_pending(job.life.state)) {
    r.reason = why_read_only_;
    r.waits_for = "disk";
  }
  return r;
}

// What the instance has beyond its own.
void JobManager::add_grants(const ActiveJob& job, msg::JobRecord& r) const {
  const auto grants = grants_.find(job.id);
  if (grants == grants_.end()) return;
  for (const JobId id : grants->second) {
    const ActiveJob* const grant = find(id);
    if (grant == nullptr || !grant->life.started || !grant->life.holds_resources) continue;
    r.extra_cores += grant->life.place.cores;
    r.extra_gpus += grant->life.place.gpus;
  }
}

void JobManager::add_outlook(const ActiveJob& job, msg::JobRecord& r) const {
  const auto outlook = scheduler_.outlook(job.id);
  if (outlook) {
    r.reason = outlook->reason;
    r.waits_for = name_of(outlook->kind);
  }
  if (const std::string help = help_for(job.id); outlook && !help.empty())
    r.reason += (r.reason.empty() ? "" : "; ") + help;
  if (gates_.closed(r.queue, QueueGates::Gate::start)) {
    const auto why = gates_.reason(r.queue, QueueGates::Gate::start);
    r.reason = fmt::format("queue {} is stopped{}", r.queue, why.empty() ? "" : ": " + why);
    r.waits_for = name_of(qmanager::WaitKind::stopped);
  }
  if (is_aside(job.id)) {
    r.waits_for = "aside";
    r.reason = fmt::format(
        "the broker failed twice in a row while it looked at this job, and has set it aside; "
        "`holon urgency {} {}` lets it try again",
        label_of(job.id), qmanager::kUrgencyDefault);
  }
  if (outlook && outlook->planned_start) r.t_estimate = clock_.wall(*outlook->planned_start);
}

void JobManager::add_wait(const ActiveJob& job, msg::JobRecord& r) const {
  // 0 is before any begin time: a job whose begin time is over is let go within the turn.
  const Standing standing = standing_of(job, 0);
  r.reason = standing.text;
  r.waits_for = standing.kind;
  if (job.life.retries > 0) {
    r.t_estimate = clock_.wall(job.life.retry_begin);
    return;
  }
  for (const auto& d : job.submission->dependencies) r.t_estimate = std::max(r.t_estimate, d.at);
}

Event as_shown(Event event, const InstanceClock& clock) {
  event.time = clock.wall(event.time);
  if (auto* alloc = std::get_if<event::Alloc>(&event.body))
    alloc->expiration = clock.wall(alloc->expiration);
  if (auto* update = std::get_if<event::ResourceUpdate>(&event.body))
    update->expiration = clock.wall(update->expiration);
  if (auto* requeue = std::get_if<event::Requeue>(&event.body))
    requeue->begin = clock.wall(requeue->begin);
  if (auto* preempt = std::get_if<event::Preempt>(&event.body))
    preempt->end = clock.wall(preempt->end);
  if (auto* extend = std::get_if<event::GrantExtend>(&event.body))
    extend->until = clock.wall(extend->until);
  if (auto* recall = std::get_if<event::GrantRecall>(&event.body))
    recall->by = clock.wall(recall->by);
  if (auto* loan = std::get_if<event::Loan>(&event.body)) loan->until = clock.wall(loan->until);
  return event;
}

// Only for a slot range does the jobspec not say how many tasks there are.
std::int64_t tasks_of(const Submission& what, std::int64_t cores) {
  if (!what.wishes.slots || what.is_instance || cores == 0 || what.totals.cores == 0)
    return what.ntasks;
  return std::max<std::int64_t>(1, cores * what.ntasks / what.totals.cores);
}

std::int64_t tasks_of(const ActiveJob& job) {
  return tasks_of(*job.submission, job.life.place.cores);
}

OutputFiles output_files(const ActiveJob& job, const std::string& directory) {
  const auto& what = *job.submission;
  const std::string id = std::to_string(job.id.value());
  // Makes a text one component of a path.
  const auto one_part = [](std::string text) {
    std::replace(text.begin(), text.end(), '/', '_');
    return text;
  };
  const std::string job_name = one_part(with_words_of(what, job.id, what.name));
  const auto named = [&](std::string name) {
    for (const auto& [word, value] : {std::pair("{{id}}", id), std::pair("{{name}}", job_name)})
      for (auto at = name.find(word); at != std::string::npos;
           at = name.find(word, at + value.size()))
        name.replace(at, std::strlen(word), value);
    name = with_words_of(what, job.id, name, true);
    if (name.empty() || name.front() == '/' || what.spec->cwd.empty()) return name;
    return what.spec->cwd + "/" + name;
  };
  const std::string input = named(what.input);
  if (what.output.empty() && what.error.empty())
    return {directory + "/" + id + ".out", directory + "/" + id + ".err", input};
  return {what.output.empty() ? directory + "/" + id + ".out" : named(what.output),
          named(what.error), input};
}

std::size_t JobManager::parts_of(JobId id) const {
  if (const ActiveJob* job = find(id); job != nullptr && !job->life.parts.empty())
    return job->life.parts.size();
  const auto events = journal_.events_of(id);
  std::size_t parts = 1;  // of its last attempt
  for (const Event& event : events ? *events : std::vector<Event>())
    if (const auto* alloc = std::get_if<event::Alloc>(&event.body)) parts = alloc->ranks.size();
  return parts;
}

std::string file_of_part(const std::string& file, std::size_t place) {
  if (place == 0 || file.empty() || launch::file_of_task(file, 0) != file) return file;
  std::error_code none;
  const auto what = std::filesystem::status(file, none);
  const bool is_device = std::filesystem::exists(what) && !std::filesystem::is_regular_file(what);
  return is_device ? file : fmt::format("{}.{}", file, place);
}

std::string JobManager::user_of(JobId id) const {
  if (const ActiveJob* job = find(id)) return job->life.user;
  auto ended = record(id);
  return ended ? std::move(ended->user) : std::string();
}

Result<msg::JobRecord> JobManager::record(JobId id) const {
  if (const ActiveJob* job = find(id)) return record_of(*job);
  if (const JobArray* array = array_with(id)) return record_of_task(*array, id);
  auto ended = journal_.inactive(id);
  if (!ended) return tl::unexpected(ended.error());
  if (!*ended) return record_of_ended_task(id);
  return std::move(**ended);
}

}  // namespace holon::instance
