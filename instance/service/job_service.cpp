#include "instance/service/job_service.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "instance/job/jobspec_update.hpp"
#include "instance/listing/asked_ids.hpp"
#include "instance/resources/resources.hpp"
#include "instance/users/hiding.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

using transport::pack;
using transport::unpack;

constexpr std::size_t kCancelsAtOnce = 50;         // in one portion
constexpr std::size_t kRangesAtOnce = 200;         // of waiting tasks, in one portion
constexpr std::size_t kLongestReason = 128 << 10;  // bytes, kept with every job that is ended
constexpr const char* kTakesNoMore = "this instance is ending and takes no more jobs";

template <class Reply>
void answer_later(AfterCommit& after_commit, const transport::Request& request, Reply reply) {
  after_commit.add([request, reply = std::move(reply)] { request.reply(pack(reply)); });
}

std::string note_of_cancel(const msg::CancelRequest& ask) {
  return ask.reason.empty() ? "cancelled by a user" : ask.reason;
}

}  // namespace

void JobService::add_to(transport::Dispatcher& dispatcher) {
  dispatcher.add("submit", [this](const Request& r) { submit(r); });
  dispatcher.add("submit.graph", [this](const Request& r) { submit_graph(r); });
  dispatcher.add("job.extend", [this](const Request& r) { extend(r); });
  dispatcher.add("job.info", [this](const Request& r) { info(r); });
  dispatcher.add("cancel", [this](const Request& r) { cancel(r); });
}

void JobService::submit(const Request& request) {
  auto ask = unpack<msg::SubmitRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  if (ask->user.empty()) ask->user = transport::user_of(request.principal());
  if (hooks_.ending()) return request.fail({Errc::busy, kTakesNoMore, {}});
  const auto taken = uses_.jobs.submit(*ask, now());
  if (!taken)
    return uses_.after_commit.add([request, error = taken.error()] { request.fail(error); });
  uses_.audit.name_jobs(uses_.audit.last_asked(), taken->first_id, taken->count);
  if (ask->is_instance) hooks_.instance_submitted(JobId(taken->first_id));
  const JobId first(taken->first_id);
  if (uses_.jobs.all_taken(first)) return answer_later(uses_.after_commit, request, *taken);
  uses_.portions.add(request, [this, request, first, reply = *taken] {
    if (uses_.jobs.take_more(first, now())) return true;
    answer_later(uses_.after_commit, request, reply);
    return false;
  });
}

// What has become of a request for a graph so far.
struct JobService::TakingGraph {
  TakingGraph(const Request& asked, GraphReader reader, std::int64_t entry, SharedBytes::Hold hold)
      : request(asked), audited(entry), reading(std::move(reader)), held(std::move(hold)) {}

  Request request;
  std::int64_t audited;                // its entry
  ReadingGraph reading;                // until it is taken
  std::optional<msg::GraphReply> ids;  // since it is taken
  SharedBytes::Hold held;
};

void JobService::submit_graph(const Request& request) {
  auto reader = GraphReader::begin(request.payload());
  if (!reader) return request.fail(reader.error());
  std::string& user = reader->plan().request.user;
  if (user.empty()) user = transport::user_of(request.principal());
  auto held = taking_.take(user, request.payload().size() + reader->bytes_of_specs());
  if (!held)
    return request.fail(
        {Errc::busy,
         fmt::format("graphs of {} are being taken; at most {} MiB of them are at once: try again "
                     "when they are",
                     user, kMostTaken >> 20),
         {}});
  const auto graph = std::make_shared<TakingGraph>(request, std::move(*reader),
                                                   uses_.audit.last_asked(), std::move(*held));
  if (take_some(*graph)) uses_.portions.add(request, [this, graph] { return take_some(*graph); });
}

// Does a portion of it. False: nothing is left to be done. Who has gone before it was taken asks
// again if it is wanted.
bool JobService::take_some(TakingGraph& graph) {
  const auto refuse = [&](const Error& error) {
    uses_.after_commit.add([request = graph.request, error] { request.fail(error); });
    return false;
  };
  if (!graph.ids) {
    if (graph.request.done()) return false;
    if (hooks_.ending()) return refuse({Errc::busy, kTakesNoMore, {}});
    const auto more = uses_.jobs.read_graph(graph.reading, now());
    if (!more) return refuse(more.error());
    if (*more) return true;
    auto taken = uses_.jobs.take_graph(graph.reading, graph.request.payload(), now());
    if (!taken) return refuse(taken.error());
    uses_.audit.name_jobs(graph.audited, taken->ids.front(),
                          taken->ids.back() - taken->ids.front() + 1);
    graph.ids = std::move(*taken);
  }
  if (uses_.jobs.enter_graph(JobId(graph.ids->ids.front()), now())) return true;
  const auto next = uses_.jobs.next_intake();
  if (next && next->value() <= graph.ids->ids.back()) {
    uses_.jobs.take_more(*next, now());
    return true;
  }
  answer_later(uses_.after_commit, graph.request, std::move(*graph.ids));
  return false;
}

void JobService::extend(const Request& request) {
  const auto ask = unpack<msg::ExtendRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  if (hooks_.ending() && ask->tasks > 0)
    return request.fail({Errc::busy, "this instance is ending and takes no more tasks", {}});
  auto added = uses_.jobs.extend_array(*ask, now());
  if (!added)
    return uses_.after_commit.add([request, error = added.error()] { request.fail(error); });
  answer_later(uses_.after_commit, request, std::move(*added));
}

void JobService::info(const Request& request) {
  const auto ask = unpack<msg::JobInfoRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  const JobId id(ask->id);
  const Hiding hiding = Hiding::from(hooks_.viewer(request), uses_.jobs);
  auto record = uses_.jobs.record(id);
  if (!record) return request.fail(record.error());
  hiding.record(*record);
  const auto batch = uses_.journal.batch_of(id);
  const auto events = uses_.journal.events_of(id);
  const auto allocation = uses_.journal.allocation(id);
  if (!allocation) return request.fail(allocation.error());
  // A job that a damaged journal has lost has only its record.
  const bool lost = !batch && batch.error().code == Errc::not_found;
  if (!batch && !lost) return request.fail(batch.error());
  if (!events && !lost) return request.fail(events.error());
  msg::JobInfoReply reply{std::move(*record), lost ? std::string() : batch->jobspec, {}, {}};
  if (events) reply.jobspec = as_updated(reply.jobspec, *events);
  if (events)
    for (const auto& e : *events) {
      Event shown = uses_.jobs.as_shown(e);
      hiding.event(shown);
      reply.eventlog += eventlog_line(shown);
    }
  if (*allocation) {
    resource::Allocation shown = **allocation;
    shown.when = {uses_.clock.wall(shown.when.begin), uses_.clock.wall(shown.when.end)};
    auto R = R_text(uses_.store.graph(), shown);
    if (!R) return request.fail(R.error());
    reply.R = std::move(*R);
  }
  answer_later(uses_.after_commit, request, std::move(reply));
}

void JobService::cancel(const Request& request) {
  const auto ask = unpack<msg::CancelRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  if (auto fits = check_ids(ask->ids); !fits) return request.fail(fits.error());
  if (ask->reason.size() > kLongestReason)
    return request.fail(
        {Errc::invalid_argument,
         fmt::format("has {} bytes; at most {} are accepted", ask->reason.size(), kLongestReason),
         "reason"});
  if (!ask->numbers.empty()) return cancel_numbers(request, *ask);
  msg::CancelReply reply;
  if (ask->all)
    reply.cancelled = all_active(hooks_.viewer(request));
  else if (auto sorted = sort_by_life(ask->ids, reply); !sorted)
    return request.fail(sorted.error());
  const std::string note = note_of_cancel(*ask);
  const auto step = [this, request, note, reply = std::make_shared<msg::CancelReply>(reply),
                     ids = in_order_of_ends(reply.cancelled),
                     next = std::make_shared<std::size_t>(0)] {
    for (std::size_t i = 0; i < kCancelsAtOnce && *next < ids.size(); ++i)
      uses_.jobs.raise(JobId(ids[(*next)++]), "cancel", note, now());
    if (*next < ids.size()) return true;
    answer_later(uses_.after_commit, request, std::move(*reply));
    return false;
  };
  if (step()) uses_.portions.add(request, step);
}

// The rest of a request to cancel ranges of numbers.
struct JobService::Cancelling {
  std::string note;
  std::vector<JobManager::NumberRun> runs;  // tasks of arrays that are not over; the last one first
  std::optional<Idset> held;                // waiting tasks of the last run; nullopt: not looked at
  std::size_t next_range = 0;               // of `held`
  Ids ids;                                  // jobs, in the order in which they are ended
  std::size_t next = 0;                     // the next of `ids`
};

// Waiting tasks go first, as in in_order_of_ends(). A range costs as much as one task.
void JobService::cancel_numbers(const Request& request, const msg::CancelRequest& ask) {
  const auto numbers = Idset::parse(ask.numbers);
  if (!numbers || ask.all || !ask.ids.empty())
    return request.fail({Errc::invalid_argument,
                         numbers ? "stands in place of ids and all" : numbers.error().what,
                         "numbers"});
  auto runs = uses_.jobs.runs_of(*numbers);
  if (!runs) return request.fail(runs.error());
  const auto all = std::make_shared<Cancelling>();
  all->note = note_of_cancel(ask);
  Ids named;
  Idset ended;
  const auto& active = uses_.jobs.active();
  for (const auto& run : *runs) {
    if (run.array.value() == 0) {
      for (const auto id : run.numbers.ids()) named.push_back(id);
      continue;
    }
    if (run.is_over) continue;
    const Idset held = uses_.jobs.held_of(run.array, run.numbers);
    for (const auto& range : held.ranges()) ended.insert(range.first, range.last);
    // An array ends with all of its tasks. Were these ended before it, it could be over before its
    // turn came, and would not be cancelled.
    const bool is_whole = numbers->contains(run.array.value());
    if (!held.empty() && !is_whole) all->runs.push_back(run);
    const JobId first(run.numbers.first());
    const JobId last(run.numbers.last());
    for (auto job = active.lower_bound(first); job != active.end() && job->first <= last; ++job) {
      const auto id = job->first.value();
      if (!run.numbers.contains(id)) continue;
      if (is_whole)
        ended.insert(id);
      else
        named.push_back(id);
    }
  }
  msg::CancelReply known;
  if (auto sorted = sort_by_life(named, known); !sorted) return request.fail(sorted.error());
  for (const auto id : known.cancelled) ended.insert(id);
  all->ids = in_order_of_ends(std::move(known.cancelled));
  const msg::CancelReply reply{{}, {}, ended.str(), without(*numbers, ended).str()};
  const auto step = [this, request, all, reply] {
    if (cancel_some(*all)) return true;
    answer_later(uses_.after_commit, request, reply);
    return false;
  };
  if (step()) uses_.portions.add(request, step);
}

// Cancels some ranges of the last run. Ascending, so that few ranges are behind those that go. A
// task that the scheduler was given since the portion before is cancelled with the jobs.
void JobService::cancel_some_held(Cancelling& all) {
  const auto& run = all.runs.back();
  if (!all.held) all.held = uses_.jobs.held_of(run.array, run.numbers);
  const auto ranges = all.held->ranges();
  Idset some;
  for (std::size_t n = 0; n < kRangesAtOnce && all.next_range < ranges.size(); ++n)
    some.insert(ranges[all.next_range].first, ranges[all.next_range].last), ++all.next_range;
  const Idset queued = without(some, uses_.jobs.held_of(run.array, some));
  const auto& active = uses_.jobs.active();
  for (const auto& range : queued.ranges())
    for (auto job = active.lower_bound(JobId(range.first));
         job != active.end() && job->first.value() <= range.last; ++job)
      all.ids.push_back(job->first.value());
  uses_.jobs.cancel_held(run.array, some, all.note, now());
  if (all.next_range < ranges.size()) return;
  all.held.reset();
  all.next_range = 0;
  all.runs.pop_back();
}

// Cancels one portion. False: all is cancelled.
bool JobService::cancel_some(Cancelling& all) {
  if (!all.runs.empty()) {
    cancel_some_held(all);
    return true;
  }
  for (std::size_t i = 0; i < kCancelsAtOnce && all.next < all.ids.size(); ++i)
    uses_.jobs.raise(JobId(all.ids[all.next++]), "cancel", all.note, now());
  return all.next < all.ids.size();
}

// Ids of all active jobs, without tasks of arrays, which end with their arrays, and without
// children that were planted, which are what the jobs of others run in.
JobService::Ids JobService::all_active(const std::optional<std::string>& user) const {
  Ids ids;
  for (const auto& [id, job] : uses_.jobs.active())
    if (!is_array_task(job) && !job.submission->wishes.goes_on && (!user || job.life.user == *user))
      ids.push_back(id.value());
  return ids;
}

// Waiting jobs before running ones, since a running job that ends gives its cores to a waiting one,
// and the latest first: a job comes after those that it depends on, and would fail with them. Both
// may be in a later portion of the same request.
JobService::Ids JobService::in_order_of_ends(Ids ids) const {
  std::sort(ids.begin(), ids.end(), std::greater<>());
  std::stable_partition(ids.begin(), ids.end(), [this](std::uint64_t id) {
    const ActiveJob* job = uses_.jobs.find(JobId(id));
    return job == nullptr || job->life.state < JobState::run;
  });
  return ids;
}

// Errors: not_found (one of the ids).
Status JobService::sort_by_life(const Ids& ids, msg::CancelReply& reply) const {
  for (const auto id : ids) {
    if (uses_.jobs.is_active(JobId(id))) {
      reply.cancelled.push_back(id);
      continue;
    }
    auto record = uses_.jobs.record(JobId(id));
    if (!record) return tl::unexpected(record.error());
    reply.already_inactive.push_back(id);
  }
  return {};
}

}  // namespace holon::instance
