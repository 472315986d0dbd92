#include "instance/listing/watchers.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "msg/instance.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

constexpr std::size_t kEventsAtOnce = 100;  // records read, or jobs whose events are, in a portion
constexpr std::size_t kMostWatchedIds = 10'000;  // of one request
constexpr std::size_t kMostOfClient = 100'000;   // of all requests of a client
constexpr std::size_t kMostOfAll = 500'000;      // of all requests

bool is_last(const EventBody& body) {
  return std::holds_alternative<event::Clean>(body) ||
         std::holds_alternative<event::Invalidate>(body);
}

}  // namespace

Watchers::Watcher& Watchers::add(const transport::Request& request, std::size_t jobs) {
  const Number number = ++last_;
  Watcher& watcher = watchers_[number];
  watcher.request = request;
  watcher.peer = request.peer();
  watcher.counted = jobs;
  asked_for_ += jobs;
  if (jobs > 0) asked_by_[request.peer()] += jobs;
  request.on_cancel([this, number, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.lock()) drop(number);
  });
  return watcher;
}

void Watchers::stand_by(Number number, JobId job) {
  watchers_.at(number).left.insert(job);
  by_job_[job].insert(number);
}

void Watchers::drop(Number number) {
  const auto found = watchers_.find(number);
  if (found == watchers_.end()) return;
  for (const JobId job : found->second.left) {
    const auto those = by_job_.find(job);
    if (those == by_job_.end()) continue;
    those->second.erase(number);
    if (those->second.empty()) by_job_.erase(those);
  }
  of_all_.erase(number);
  asked_for_ -= found->second.counted;
  if (const auto by = asked_by_.find(found->second.peer); by != asked_by_.end())
    if ((by->second -= found->second.counted) == 0) asked_by_.erase(by);
  watchers_.erase(found);
}

Status Watchers::check(const transport::Request& request,
                       const std::vector<std::uint64_t>& ids) const {
  if (ids.size() > kMostWatchedIds)
    return fail(Errc::out_of_range,
                fmt::format("{} ids; one request may have {}", ids.size(), kMostWatchedIds), "ids");
  const auto by = asked_by_.find(request.peer());
  const std::size_t own = by == asked_by_.end() ? 0 : by->second;
  if (own + ids.size() > kMostOfClient)
    return fail(Errc::busy, fmt::format("this client waits for {} jobs already", own));
  if (asked_for_ + ids.size() > kMostOfAll)
    return fail(Errc::busy, fmt::format("{} jobs are waited for already", asked_for_));
  return {};
}

// ---- job.wait ----

void Watchers::wait(const transport::Request& request, std::optional<std::string> viewer) {
  const auto ask = transport::unpack<msg::WaitRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  std::vector<std::uint64_t> ids = ask->ids;
  if (ids.empty())
    for (const auto& [id, job] : jobs_.active()) {
      if (is_array_task(job)) continue;
      ids.push_back(id.value());
      if (ids.size() > kMostWatchedIds) break;
    }
  if (auto fits = check(request, ids); !fits) return request.fail(fits.error());
  Watcher& wait = add(request, ids.size());
  wait.viewer = std::move(viewer);
  const Number number = last_;
  for (const auto id : ids) {
    wait.asked.emplace_back(id);
    if (jobs_.is_active(JobId(id))) {
      stand_by(number, JobId(id));
    } else if (auto record = jobs_.record(JobId(id)); !record) {
      drop(number);
      return request.fail(record.error());
    }
  }
  if (wait.left.empty()) answer(number);
}

void Watchers::answer(Number number) {
  Watcher wait = std::move(watchers_.at(number));
  drop(number);
  struct Making {
    transport::Request request;
    std::vector<JobId> asked;
    Hiding hiding;
    msg::WaitReply reply;
  };
  const auto making = std::make_shared<Making>(Making{
      std::move(wait.request), std::move(wait.asked), hiding_from(std::move(wait.viewer)), {}});
  const auto step = [this, making] {
    auto& [request, asked, hiding, reply] = *making;
    const std::size_t end = std::min(asked.size(), reply.jobs.size() + kEventsAtOnce);
    while (reply.jobs.size() < end && !request.done()) {
      auto record = jobs_.record(asked[reply.jobs.size()]);
      if (!record) return request.fail(record.error()), false;
      hiding.record(*record);
      reply.jobs.push_back(std::move(*record));
    }
    if (request.done()) return false;
    if (end < asked.size()) return true;
    after_commit_.add([making] { making->request.reply(transport::pack(making->reply)); });
    return false;
  };
  if (step()) sliced_work_.add(making->request, step);
}

void Watchers::ended(JobId job) {
  const auto those = by_job_.find(job);
  if (those == by_job_.end()) return;
  const auto numbers = those->second;
  for (const Number number : numbers) {
    Watcher& watcher = watchers_.at(number);
    if (watcher.streams) continue;  // ends with its job's last event
    watcher.left.erase(job);
    those->second.erase(number);
    if (watcher.left.empty()) answer(number);
  }
  if (those->second.empty()) by_job_.erase(those);
}

void Watchers::ended_unstarted(JobId first, JobId last, const std::vector<Event>& events) {
  std::vector<JobId> known;  // a client that waits for one may wait for a million others
  for (const auto& [job, numbers] : by_job_)
    if (first <= job && job <= last) known.push_back(job);
  std::sort(known.begin(), known.end());
  for (const JobId job : known) {
    for (const Event& event : events) happened(job, event);
    ended(job);
  }
}

// ---- job.watch ----

void Watchers::watch(const transport::Request& request, std::optional<std::string> viewer) {
  const auto ask = transport::unpack<msg::WatchRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  if (auto fits = check(request, ask->ids); !fits) return request.fail(fits.error());
  for (const auto id : ask->ids)
    if (auto record = jobs_.record(JobId(id)); !record) return request.fail(record.error());
  Watcher& watch = add(request, ask->ids.size());
  const Number number = last_;
  watch.viewer = std::move(viewer);
  watch.streams = true;
  watch.all = ask->ids.empty() && ask->follow_all;
  for (const auto id : ask->ids) watch.asked.emplace_back(id);
  if (watch.all) {
    of_all_.insert(number);
    return;
  }
  watch.begun = false;
  const auto next = std::make_shared<std::size_t>(0);
  const auto step = [this, number, next] { return replay_some(number, *next); };
  if (step()) sliced_work_.add(request, step);
}

// Sends past events of some jobs; a job is followed from the turn in which its past was read.
bool Watchers::replay_some(Number number, std::size_t& next) {
  const auto found = watchers_.find(number);
  if (found == watchers_.end()) return false;  // the request is gone
  Watcher& watch = found->second;
  for (std::size_t n = 0; n < kEventsAtOnce && next < watch.asked.size(); ++n, ++next) {
    const JobId job = watch.asked[next];
    if (watch.left.contains(job)) continue;  // named twice
    const auto over = replay(watch, job);
    if (!over) {
      const auto request = watch.request;
      drop(number);
      request.fail(over.error());
      return false;
    }
    if (!*over) stand_by(number, job);
  }
  if (next < watch.asked.size()) return true;
  watch.begun = true;
  end_if_over(number);
  return false;
}

// Sends the past events of a job. Was the last one among them?
Result<bool> Watchers::replay(const Watcher& watch, JobId job) {
  const auto events = journal_.events_of(job);
  if (!events) return tl::unexpected(events.error());
  for (const auto& e : *events) send(watch, pack_event(job, e, hiding_from(watch.viewer)));
  return !events->empty() && is_last(events->back().body);
}

void Watchers::end_if_over(Number number) {
  const auto found = watchers_.find(number);
  if (found == watchers_.end() || !found->second.begun || !found->second.left.empty()) return;
  after_commit_.add([request = found->second.request] { request.end(); });
  drop(number);
}

Hiding Watchers::hiding_from(std::optional<std::string> viewer) const {
  return Hiding::from(std::move(viewer), jobs_);
}

std::shared_ptr<const std::string> Watchers::pack_event(JobId job, const Event& e,
                                                        const Hiding& hiding) const {
  Event shown = jobs_.as_shown(e);
  hiding.event(shown);
  const msg::JobEvent event{job.value(), shown.time, name_of(shown.body), context_of(shown.body)};
  return std::make_shared<const std::string>(transport::pack(event));
}

void Watchers::send(const Watcher& watcher, std::shared_ptr<const std::string> event) {
  after_commit_.add(
      [request = watcher.request, event = std::move(event)] { request.send(*event); });
}

void Watchers::happened(JobId job, const Event& event) {
  const auto those = by_job_.find(job);
  if (of_all_.empty() && those == by_job_.end()) return;
  const auto packed = pack_event(job, event, hiding_from({}));
  for (const Number number : of_all_) send(watchers_.at(number), packed);
  if (those == by_job_.end()) return;
  const auto numbers = those->second;
  for (const Number number : numbers) {
    Watcher& watcher = watchers_.at(number);
    if (!watcher.streams || !watcher.left.contains(job)) continue;
    send(watcher, watcher.viewer ? pack_event(job, event, hiding_from(watcher.viewer)) : packed);
    if (!is_last(event.body)) continue;
    watcher.left.erase(job);
    those->second.erase(number);
    end_if_over(number);
  }
  if (those->second.empty()) by_job_.erase(those);
}

void Watchers::close(const Error& why) {
  for (const auto& [number, watcher] : std::exchange(watchers_, {})) watcher.request.fail(why);
  by_job_.clear();
  of_all_.clear();
  asked_for_ = 0;
  asked_by_.clear();
}

}  // namespace holon::instance
