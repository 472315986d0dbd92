#include "cli/job_tracker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "instance/basics/clock.hpp"
#include "launch/exit_code.hpp"
#include "msg/job_filter.hpp"

namespace holon::cli {
namespace {

constexpr Duration kDrawEvery = 250;

// The events that decide how far a job is.
const std::vector<std::string>& names_that_count() {
  static const std::vector<std::string> names = {"start",   "exception", "finish",
                                                 "requeue", "clean",     "invalidate"};
  return names;
}

// "15 of 1000 tasks failed, 985 were cancelled".
std::string failures_of(const msg::JobRecord& array) {
  std::string text;
  if (array.tasks_failed > 0)
    text = fmt::format("{} of {} tasks failed", array.tasks_failed, array.tasks);
  if (array.tasks_cancelled == 0) return text;
  if (text.empty())
    return fmt::format("{} of {} tasks cancelled", array.tasks_cancelled, array.tasks);
  return text + fmt::format(", {} cancelled", array.tasks_cancelled);
}

nlohmann::json context_of_event(const msg::JobEvent& event) {
  auto context = nlohmann::json::parse(event.context, nullptr, false);
  return context.is_object() ? context : nlohmann::json::object();
}

// The sentence of an exception, or its kind where there is none.
std::string trouble_of(const nlohmann::json& context) {
  const std::string note = context.value("note", "");
  return note.empty() ? context.value("type", "") : note;
}

// The end of a job in words, whether its events were heard or it was over before.
std::string end_of_record(const msg::JobRecord& job) {
  if (job.result == "REJECTED") return "refused: " + job.reason;
  if (!job.reason.empty()) return job.reason;
  return job.exit_code > 0 ? fmt::format("exit code {}", job.exit_code) : job.result;
}

msg::EventsRequest events_behind(const std::string& cursor) {
  msg::EventsRequest request;
  request.cursor = cursor;
  request.bare = true;
  request.names = names_that_count();
  return request;
}

}  // namespace

JobTracker::JobTracker(std::vector<std::uint64_t> ids) {
  for (const auto id : ids) jobs_.emplace(id, Known());
  counts_.waiting = jobs_.size();
}

void JobTracker::move(Known& job, At to) {
  const auto column = [this](At at) -> std::uint64_t& {
    return at == At::waiting   ? counts_.waiting
           : at == At::running ? counts_.running
                               : counts_.ended;
  };
  --column(job.at);
  ++column(to);
  job.at = to;
}

void JobTracker::end(Known& job, const FailedJob& failed) {
  move(job, At::over);
  if (failed.why.empty()) return;
  ++counts_.failed;
  on_failure(failed);
}

std::vector<std::uint64_t> JobTracker::known_by_records() const {
  std::vector<std::uint64_t> ids;
  for (const auto& [id, job] : jobs_)
    if (job.by_records && job.at != At::over) ids.push_back(id);
  return ids;
}

// Replaces what the array has counted for before by its tasks.
void JobTracker::take_array(const msg::JobRecord& record, Known& array) {
  ProgressCounts now;
  now.waiting = record.tasks_pending;
  now.running = record.tasks_running;
  now.failed = record.tasks_failed + record.tasks_cancelled;
  now.ended = record.tasks_completed + now.failed;
  const ProgressCounts before = array.tasks.total() > 0 ? array.tasks : ProgressCounts{1};
  counts_.waiting += now.waiting - before.waiting;
  counts_.running += now.running - before.running;
  counts_.ended += now.ended - before.ended;
  counts_.failed += now.failed - before.failed;
  array.tasks = now;
  if (record.state == "INACTIVE") array.at = At::over;
  if (now.failed > before.failed) on_failure({record.id, failures_of(record)});
}

void JobTracker::take(const msg::JobRecord& record) {
  const auto found = jobs_.find(record.id);
  if (found == jobs_.end() || found->second.at == At::over) return;
  found->second.by_records = record.array != 0;
  if (record.tasks > 0) return take_array(record, found->second);
  if (record.state == "INACTIVE")
    return end(found->second, {record.id, record.result == "COMPLETED" ? "" : end_of_record(record),
                               msg::label_of(record)});
  move(found->second, record.t_start > 0 ? At::running : At::waiting);
}

bool JobTracker::take(const msg::JobEvent& event) {
  const auto found = jobs_.find(event.id);
  if (found == jobs_.end() || found->second.at == At::over || found->second.by_records)
    return false;
  Known& job = found->second;
  const auto context = context_of_event(event);
  if (event.name == "start") {
    move(job, At::running);
  } else if (event.name == "exception") {
    if (context.value("severity", 0) == 0 && job.trouble.empty()) job.trouble = trouble_of(context);
  } else if (event.name == "finish") {
    job.exit_code = launch::exit_code_of(context.value("status", 0));
  } else if (event.name == "requeue") {
    job.exit_code = 0;
    job.trouble.clear();
    move(job, At::waiting);
  } else if (event.name == "invalidate") {
    end(job, {event.id, "refused: " + context.value("note", "")});
  } else if (event.name == "clean") {
    const std::string code = job.exit_code == 0 ? "" : fmt::format("exit code {}", job.exit_code);
    end(job, {event.id, job.trouble.empty() ? code : job.trouble});
  }
  return true;
}

Result<std::string> cursor_of_now(Client& client) {
  std::string cursor;
  const auto asked = client.follow(events_behind(""), [&cursor](const msg::EventsPart& part) {
    cursor = part.cursor;
    return cursor.empty();
  });
  if (!asked) return tl::unexpected(asked.error());
  return cursor;
}

Result<ProgressCounts> show_progress(Client& client, const TrackedJobs& shown,
                                     ProgressLine progress) {
  const auto& ids = shown.ids;
  JobTracker tracker(ids);
  tracker.on_failure = [&progress](const FailedJob& job) { progress.failed(job); };
  const auto draw = [&] { progress.show(tracker.counts(), instance::wall_clock_ms()); };
  const auto look = [&]() -> Status {
    msg::JobsRequest ask;
    ask.all = true;
    ask.ids = ids;
    const auto jobs = client.jobs(ask);
    if (!jobs) return tl::unexpected(jobs.error());
    std::set<std::uint64_t> listed;
    for (const auto& job : jobs->jobs) {
      tracker.take(job);
      listed.insert(job.id);
    }
    // Another user's job sends no events; a caller that asks about it alone is told why.
    for (const auto id : ids)
      if (!listed.contains(id))
        if (const auto one = client.info(id); !one) return tl::unexpected(one.error());
    return {};
  };
  if (shown.known)
    if (auto looked = look(); !looked) return tl::unexpected(looked.error());
  std::string at = shown.cursor;
  // Lost events, no longer kept, are made up for by the records, which say how far the jobs are.
  for (bool lost = false; !tracker.all_over(); lost = false) {
    const auto timer = client.reactor().every(kDrawEvery, draw);
    auto request = events_behind(at);
    request.arrays = tracker.known_by_records();
    const auto followed = client.follow(request, [&](const msg::EventsPart& part) {
      at = part.cursor;
      lost = part.anew;
      for (const auto& job : part.jobs) tracker.take(job);
      for (const auto& event : part.events) tracker.take(event);
      return !lost && !tracker.all_over();
    });
    if (!followed) {
      progress.clear();
      return tl::unexpected(followed.error());
    }
    if (lost)
      if (auto looked = look(); !looked) return tl::unexpected(looked.error());
  }
  progress.end(tracker.counts(), instance::wall_clock_ms());
  return tracker.counts();
}

namespace {

// Counts from the instance's own numbers, since it was asked first.
class NodeCounts {
 public:
  void take(const msg::TreeNode& node) {
    if (!begun_) begun_ = node;
    counts_.waiting = static_cast<std::uint64_t>(node.pending);
    counts_.running = static_cast<std::uint64_t>(node.running);
    counts_.ended = since(node.inactive, begun_->inactive);
    counts_.failed = since(node.failed, begun_->failed);
  }
  bool known() const { return begun_.has_value(); }
  const ProgressCounts& counts() const { return counts_; }
  bool all_over() const { return known() && counts_.waiting + counts_.running == 0; }

 private:
  static std::uint64_t since(std::int64_t now, std::int64_t before) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, now - before));
  }
  std::optional<msg::TreeNode> begun_;
  ProgressCounts counts_;
};

// Tells why jobs fail, of all jobs there are: what is known of a job is forgotten when it is over.
// Events know numbers alone: of a job that has failed the record is asked for, which says whether
// it is a task of an array.
class FailuresOfAll {
 public:
  FailuresOfAll(Client& client, ProgressLine& progress) : client_(client), progress_(progress) {}

  void take(const msg::JobEvent& event) {
    auto tracker = jobs_.try_emplace(event.id, std::vector<std::uint64_t>{event.id});
    tracker.first->second.on_failure = [this](const FailedJob& job) { failed(job); };
    tracker.first->second.take(event);
    if (tracker.first->second.all_over()) jobs_.erase(tracker.first);
  }
  // REQUIRES: no call of the client is under way.
  void tell_rest() {
    msg::JobsRequest ask;
    ask.all = true;
    for (const FailedJob& job : unnamed_) ask.ids.push_back(job.id);
    if (ask.ids.empty()) return;
    if (const auto known = client_.jobs(ask))
      for (const auto& record : known->jobs) tell(record);
    for (const FailedJob& job : unnamed_) progress_.failed(job);
  }

 private:
  void failed(const FailedJob& job) {
    if (!progress_.names_failures()) return progress_.failed(job);
    unnamed_.push_back(job);
    answers_.push_back(
        client_.record_later(job.id, [this](const msg::JobRecord& record) { tell(record); }));
  }
  void tell(const msg::JobRecord& record) {
    const auto job = std::find_if(unnamed_.begin(), unnamed_.end(),
                                  [&](const FailedJob& one) { return one.id == record.id; });
    if (job == unnamed_.end()) return;
    progress_.failed({job->id, job->why, msg::label_of(record)});
    unnamed_.erase(job);
  }

  Client& client_;
  ProgressLine& progress_;
  std::map<std::uint64_t, JobTracker> jobs_;
  std::vector<FailedJob> unnamed_;  // whose records have not come
  std::vector<transport::Subscription> answers_;
};

}  // namespace

Result<ProgressCounts> show_progress_of_all(Client& client, bool stay, ProgressLine progress) {
  NodeCounts node;
  FailuresOfAll failures(client, progress);
  const auto timer = client.reactor().every(kDrawEvery, [&] {
    if (node.known()) progress.show(node.counts(), instance::wall_clock_ms());
  });
  auto request = events_behind("");
  request.node = true;
  const auto followed = client.follow(request, [&](const msg::EventsPart& part) {
    const bool was_known = node.known();
    for (const auto& now : part.node) node.take(now);
    if (!was_known && node.known()) progress.show(node.counts(), instance::wall_clock_ms());
    for (const auto& event : part.events) failures.take(event);
    return stay || !node.all_over();
  });
  if (!followed) {
    progress.clear();
    return tl::unexpected(followed.error());
  }
  failures.tell_rest();
  progress.end(node.counts(), instance::wall_clock_ms());
  return node.counts();
}

}  // namespace holon::cli
