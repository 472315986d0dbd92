// The part of the JobManager that gives open arrays more tasks, and closes them.
//
// An open array has numbers for more tasks than it has. Its jobspec is rewritten with what tells
// the new tasks apart, so that readers of the array (a restarted broker, a report of an ended
// instance, a retry) need not know how it grew. Running tasks keep the submission they began with:
// the places of tasks do not change.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/text/utf8.hpp"
#include "instance/job/array.hpp"
#include "instance/job/no_array.hpp"
#include "instance/manager/manager.hpp"

namespace holon::instance {
namespace {

using nlohmann::json;

// Bytes of all entries of an array, about as many as one submission may have: each extension
// rewrites them.
constexpr std::uint64_t kMostOfEntries = std::uint64_t{16} << 20;

// The indices of the `count` places from `first` on.
Idset indices_from(const Submission& submission, std::uint64_t first, std::uint64_t count) {
  const Array& array = *submission.wishes.array;
  Idset indices;
  for (std::uint64_t place = first; place < first + count;) {
    const auto index = static_cast<std::uint64_t>(array.index_at(place));
    const std::uint64_t run = std::min(array.run_at(place), first + count - place);
    indices.insert(index, index + run - 1);
    place += run;
  }
  return indices;
}

Status check_entries(const Array& array, const msg::ExtendRequest& ask) {
  const auto wrong = [](std::string what) {
    return fail(Errc::invalid_argument, std::move(what), "entries");
  };
  if (array.entries.empty() && !ask.entries.empty())
    return wrong(
        fmt::format("the tasks of array {} have no entries, only indices; --array and "
                    "--count give more of them",
                    ask.id));
  if (!array.entries.empty() && ask.entries.empty())
    return wrong(
        fmt::format("each task of array {} has an entry, and there is none for the {} more; "
                    "':::', --each-line and --each-json give them",
                    ask.id, ask.tasks));
  if (!array.entries.empty() && ask.entries.size() != ask.tasks)
    return wrong(
        fmt::format("there are {} entries for {} tasks of array {}; as many as tasks are "
                    "accepted",
                    ask.entries.size(), ask.tasks, ask.id));
  std::uint64_t bytes = 0;
  for (const auto& entry : array.entries) bytes += entry.size();
  for (const auto& entry : ask.entries) {
    if (entry.find('\0') != std::string::npos) return wrong("an entry has a zero byte");
    if (!is_utf8(entry)) return wrong("an entry is not UTF-8");
    bytes += entry.size();
  }
  if (bytes > kMostOfEntries)
    return fail(Errc::out_of_range,
                fmt::format("the entries of array {} would have {} bytes; at most {} are accepted",
                            ask.id, bytes, kMostOfEntries),
                "entries");
  return {};
}

// Adds `ask.tasks` indices; writes none where the array's first and step already yield them.
Status add_indices(Submission& submission, const msg::ExtendRequest& ask) {
  const auto wrong = [](std::string what) {
    return fail(Errc::invalid_argument, std::move(what), "indices");
  };
  Array& array = *submission.wishes.array;
  const auto last = static_cast<std::uint64_t>(array.index_at(submission.count - 1));
  Idset fresh;
  if (!ask.indices.empty()) {
    auto read = Idset::parse(ask.indices);
    if (!read) return wrong(read.error().what);
    if (read->count() != ask.tasks)
      return wrong(fmt::format("there are {} indices for {} tasks; as many as tasks are accepted",
                               read->count(), ask.tasks));
    if (read->first() <= last)
      return wrong(fmt::format("{} is not above {}, the last index of array {}", read->first(),
                               last, ask.id));
    fresh = std::move(*read);
  } else if (!array.indices.empty()) {
    fresh.insert(last + 1, last + ask.tasks);
  }
  const std::uint64_t end =
      fresh.empty() ? last + ask.tasks * static_cast<std::uint64_t>(array.step) : fresh.last();
  if (end > static_cast<std::uint64_t>(kMostIndex))
    return wrong(
        fmt::format("the last index would be {}; at most {} is accepted", end, kMostIndex));
  if (fresh.empty() ||
      (array.indices.empty() && fresh == indices_from(submission, submission.count, ask.tasks)))
    return {};
  if (array.indices.empty()) {
    array.indices = indices_from(submission, 0, submission.count);
    array.first = array.step = 1;
  }
  Idset all = array.indices.set();
  for (const auto& range : fresh.ranges()) all.insert(range.first, range.last);
  array.indices = std::move(all);
  return {};
}

// Errors: protocol.
Result<std::string> with_array(const std::string& jobspec, const Array& array) {
  json spec = json::parse(jobspec, nullptr, false);
  if (!spec.is_object()) return fail(Errc::protocol, "the jobspec kept is no JSON");
  json& ours = spec["attributes"]["system"]["holon"]["array"];
  if (!array.entries.empty()) ours["entries"] = array.entries;
  if (array.indices.empty()) return spec.dump();
  ours["indices"] = array.indices.str();
  ours.erase("first");
  ours.erase("step");
  return spec.dump();
}

std::string key_of(const msg::ExtendRequest& ask) {
  return ask.key.empty() ? "" : fmt::format("{}/{}", ask.id, ask.key);
}

msg::ExtendReply reply_about(const Submission& submission, JobId first, std::uint64_t tasks) {
  Idset ids;
  if (tasks == 0) return {};
  ids.insert(first.value(), first.value() + tasks - 1);
  const std::uint64_t place = first.value() - submission.first.value() - 1;
  return {ids.str(), indices_from(submission, place, tasks).str()};
}

}  // namespace

Result<JobArray*> JobManager::open_array(JobId id) {
  const auto found = arrays_.find(id);
  if (found == arrays_.end()) {
    const auto known = record(id);
    if (!known) return tl::unexpected(known.error());
    if (known->tasks == 0) return fail(Errc::invalid_argument, about_no_array(*known));
    return fail(Errc::denied, fmt::format("array {} is over: {}", path_of(id), known->result));
  }
  if (found->second.open) return &found->second;
  const bool was_open = found->second.submission->wishes.array->open;
  return fail(Errc::denied, fmt::format("array {} {}", path_of(id),
                                        was_open ? "is closed" : "was not submitted with --open"));
}

// The earlier answer to this request, if it came before. A close leaves nothing: a second one finds
// the array closed.
Result<std::optional<msg::ExtendReply>> JobManager::extended_before(
    const msg::ExtendRequest& request) const {
  const auto known = known_submission(key_of(request));
  if (!known) return tl::unexpected(known.error());
  if (!*known) return std::nullopt;
  if ((*known)->count != request.tasks)
    return fail(Errc::exists, "another request for this array had this key", "key");
  const auto shape = shape_of_array(JobId(request.id));
  if (!shape) return tl::unexpected(shape.error());
  Idset numbers;
  numbers.insert((*known)->first.value(), (*known)->first.value() + (*known)->count - 1);
  return msg::ExtendReply{numbers.str(), shape->indices_of(numbers).str()};
}

Status JobManager::add_tasks(JobArray& array, const msg::ExtendRequest& request, Time now) {
  const JobId id = array.id;
  const std::uint64_t had = array.count();
  if (request.tasks > array.room - had)
    return fail(Errc::out_of_range, fmt::format("array {} has {} tasks and room for {} more",
                                                path_of(id), had, array.room - had));
  auto more = std::make_shared<Submission>(*array.submission);
  if (auto good = check_entries(*more->wishes.array, request); !good) return good;
  if (auto good = add_indices(*more, request); !good) return good;
  auto& entries = more->wishes.array->entries;
  entries.insert(entries.end(), request.entries.begin(), request.entries.end());
  more->count = had + request.tasks;
  const auto batch = journal_.batch_of(id);
  if (!batch) return tl::unexpected(batch.error());
  const auto jobspec = with_array(batch->jobspec, *more->wishes.array);
  if (!jobspec) return tl::unexpected(jobspec.error());
  journal_.extend_array(id, more->count, *jobspec);
  const JobId first(id.value() + 1 + had);
  if (!request.key.empty()) journal_.add_submit_key(key_of(request), {first, request.tasks});
  ActiveJob& job = jobs_.at(id);
  job.submission = array.submission = std::move(more);
  array.waiting.insert(first.value(), first.value() + request.tasks - 1);
  count_held_back(array, held_kind(array), static_cast<std::int64_t>(request.tasks));
  post(job, event::ArrayExtend{request.tasks}, now);
  outside_.changed(job);
  hungry_.insert(id);
  dirty_ = true;
  return {};
}

Result<msg::ExtendReply> JobManager::extend_array(const msg::ExtendRequest& request, Time now) {
  if (auto before = extended_before(request); !before)
    return tl::unexpected(before.error());
  else if (*before)
    return std::move(**before);
  if (request.tasks == 0 && !request.close)
    return fail(Errc::invalid_argument, "0 tasks are no more; at least 1 is accepted", "tasks");
  auto array = open_array(JobId(request.id));
  if (!array) return tl::unexpected(array.error());
  const JobId first(request.id + 1 + (*array)->count());
  if (request.tasks > 0)
    if (auto added = add_tasks(**array, request, now); !added) return tl::unexpected(added.error());
  auto reply = reply_about(*(*array)->submission, first, request.tasks);
  if (!request.close) return reply;
  ActiveJob& job = jobs_.at((*array)->id);
  (*array)->open = false;
  (*array)->latest = now;
  post(job, event::ArrayClose{}, now);
  outside_.changed(job);
  settle_array(job.id, now);
  return reply;
}

}  // namespace holon::instance
