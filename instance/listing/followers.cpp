#include "instance/listing/followers.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>

#include "instance/listing/asked_ids.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

using transport::pack;

constexpr std::size_t kFollowedRecords = 100;
constexpr std::size_t kFollowedEvents = 500;
constexpr std::size_t kUnreadByFollower = 4 << 20;  // bytes that a client has not read yet
constexpr Duration kFollowerPause = 50;
constexpr Duration kLookAround = 250;
constexpr std::size_t kArraysAtOnce = 50;  // each has a few hundred active tasks to be counted

// "ERA.NUMBER.JOBS". Errors: invalid_argument.
struct EventCursor {
  std::string era;
  std::int64_t number = 0;
  std::uint64_t jobs = 0;
};

std::string cursor_text(const std::string& era, std::int64_t number, std::uint64_t jobs) {
  return fmt::format("{}.{}.{}", era, number, jobs);
}

Result<EventCursor> parse_event_cursor(const std::string& text) {
  EventCursor cursor;
  const auto first = text.find('.');
  const auto second = text.find('.', first == std::string::npos ? first : first + 1);
  if (second != std::string::npos) {
    cursor.era = text.substr(0, first);
    const char* const end = text.data() + text.size();
    std::from_chars(text.data() + first + 1, text.data() + second, cursor.number);
    std::from_chars(text.data() + second + 1, end, cursor.jobs);
  }
  if (cursor_text(cursor.era, cursor.number, cursor.jobs) != text)
    return fail(Errc::invalid_argument, "is none that was given out", "cursor");
  return cursor;
}

}  // namespace

void Followers::follow(const transport::Request& request, std::optional<std::string> viewer) {
  const auto ask = transport::unpack<msg::EventsRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  if (!ask->cursor.empty())
    if (const auto known = parse_event_cursor(ask->cursor); !known)
      return request.fail(known.error());
  if (auto fits = check_ids(ask->arrays); !fits) return request.fail(fits.error());
  auto era = uses_.journal.event_era();
  if (!era) return request.fail(era.error());
  const Number number = ++last_;
  Follower& follower = followers_[number];
  follower.request = request;
  follower.ask = *ask;
  follower.viewer = std::move(viewer);
  follower.era = std::move(*era);
  for (const auto id : ask->arrays) follower.arrays.emplace(id, "");
  if (!go_on_from(ask->cursor, follower))
    if (auto begun = begin_anew(follower); !begun) {
      followers_.erase(number);
      return request.fail(begun.error());
    }
  request.on_cancel([this, number, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.lock()) followers_.erase(number);
  });
  if ((ask->node || !ask->arrays.empty()) && !looks_)
    looks_ = reactor_.every(kLookAround, [this] { look_around(); });
  work(number, follower);
}

// Can the follower continue from the cursor: does every event behind it still exist?
bool Followers::go_on_from(const std::string& text, Follower& follower) const {
  const auto cursor = parse_event_cursor(text);
  const auto forgotten = uses_.journal.last_forgotten_event();
  if (!cursor || !forgotten || cursor->era != follower.era) return false;
  follower.place = {cursor->number, cursor->jobs};
  return cursor->number > *forgotten && cursor->number <= uses_.journal.next_event();
}

// Begins with a snapshot; or, as the follower has asked, with nothing known of earlier events, or
// with all of them that are kept.
Status Followers::begin_anew(Follower& follower) const {
  follower.lists = !follower.ask.bare && !follower.ask.past;
  follower.gap = !follower.lists;
  follower.began = false;
  follower.shown.clear();
  follower.place = {uses_.journal.next_event(), 0};
  if (!follower.ask.past) return {};
  const auto forgotten = uses_.journal.last_forgotten_event();
  if (!forgotten) return tl::unexpected(forgotten.error());
  follower.place = {std::min(*forgotten + 1, uses_.journal.next_event()), 0};
  return {};
}

void Followers::happened() {
  for (auto& [number, follower] : followers_) work(number, follower);
}

void Followers::work(Number number, Follower& follower) {
  if (std::exchange(follower.works, true)) return;
  uses_.portions.add(follower.request, [this, number] { return step(number); });
}

// Does a portion. False: there is nothing more to send for now.
bool Followers::step(Number number) {
  const auto found = followers_.find(number);
  if (found == followers_.end()) return false;
  Follower& follower = found->second;
  follower.works = false;
  if (follower.request.backlog() > kUnreadByFollower) {
    follower.pause = reactor_.after(kFollowerPause, [this, number] {
      if (const auto waiting = followers_.find(number); waiting != followers_.end())
        work(number, waiting->second);
    });
    return false;
  }
  // The events of jobs that were submitted together are journalled before all of the jobs are
  // listed: these go first, even where the same client has submitted them later.
  if (follower.lists && !uses_.jobs.all_taken()) {
    work(number, follower);
    return false;
  }
  const auto more = follower.lists ? list_some(follower) : tell_some(follower);
  if (!more) {
    const auto request = follower.request;
    followers_.erase(found);
    request.fail(more.error());
    return false;
  }
  follower.works = *more;
  if (!*more && follower.ask.once) end(number);
  return *more;
}

// Ends the stream behind what was sent.
void Followers::end(Number number) {
  const auto found = followers_.find(number);
  uses_.after_commit.add([request = found->second.request] { request.end(); });
  followers_.erase(found);
}

// ---- the snapshot ----

// The records of the next jobs behind `last`, by their ids.
Result<std::vector<msg::JobRecord>> Followers::next_records(const Follower& follower,
                                                            JobId last) const {
  std::vector<msg::JobRecord> records;
  if (follower.ask.all) {
    auto ended = uses_.journal.inactive_after(last, kFollowedRecords);
    if (!ended) return ended;
    records = std::move(*ended);
  }
  const auto& active = uses_.jobs.active();
  auto job = active.upper_bound(last);
  for (std::size_t n = 0; n < kFollowedRecords && job != active.end(); ++job) {
    if (is_array_task(job->second)) continue;
    records.push_back(uses_.jobs.record_of(job->second));
    ++n;
  }
  std::sort(records.begin(), records.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  if (records.size() > kFollowedRecords) records.resize(kFollowedRecords);
  return records;
}

Result<bool> Followers::list_some(Follower& follower) {
  msg::EventsPart part;
  part.anew = !std::exchange(follower.began, true);
  const std::int64_t now_at = uses_.journal.next_event();
  if (part.anew) follower.place = {now_at, 0};
  auto records =
      next_records(follower, follower.shown.empty() ? JobId(0) : follower.shown.back().last);
  if (!records) return tl::unexpected(records.error());
  follower.lists = records->size() == kFollowedRecords;
  if (!records->empty()) follower.shown.push_back({JobId(records->back().id), now_at});
  // No record of jobs behind the last one was shown, and nothing had happened to them.
  if (!follower.lists) follower.shown.push_back({JobId(UINT64_MAX), now_at});
  part.jobs = std::move(*records);
  if (follower.viewer)
    std::erase_if(part.jobs, [&](const auto& job) { return job.user != *follower.viewer; });
  for (auto& job : part.jobs) hiding_from(follower).record(job);
  send(follower, part);
  return true;
}

// ---- what happened since ----

void Followers::take(Follower& follower, const NumberedEvent& event, msg::EventsPart& part) const {
  const auto& names = follower.ask.names;
  if (!names.empty() &&
      std::find(names.begin(), names.end(), name_of(event.event.body)) == names.end()) {
    follower.place = {event.number + 1, 0};
    return;
  }
  Event shown = uses_.jobs.as_shown(event.event);
  hiding_from(follower).event(shown);
  const msg::JobEvent one{0, shown.time, name_of(shown.body), context_of(shown.body)};
  Cursor& place = follower.place;
  if (place.number != event.number) place = {event.number, 0};
  for (; place.jobs < event.count && part.events.size() < kFollowedEvents; ++place.jobs) {
    const JobId job(event.first.value() + place.jobs);
    const auto in_snapshot = std::lower_bound(follower.shown.begin(), follower.shown.end(), job,
                                              [](const Shown& s, JobId id) { return s.last < id; });
    if (in_snapshot != follower.shown.end() && event.number < in_snapshot->number) continue;
    if (follower.viewer && uses_.jobs.user_of(job) != *follower.viewer) continue;
    part.events.push_back(one);
    part.events.back().id = job.value();
  }
  if (place.jobs == event.count) place = {event.number + 1, 0};
}

Result<bool> Followers::tell_some(Follower& follower) {
  const bool begins = !std::exchange(follower.began, true);
  const auto forgotten = uses_.journal.last_forgotten_event();
  if (!forgotten) return tl::unexpected(forgotten.error());
  if (follower.place.number <= *forgotten && follower.place.number < uses_.journal.next_event()) {
    // Events that the follower has not been sent are gone.
    if (auto begun = begin_anew(follower); !begun) return tl::unexpected(begun.error());
    return true;
  }
  const auto events = uses_.journal.events_from(follower.place.number, kFollowedEvents);
  if (!events) return tl::unexpected(events.error());
  msg::EventsPart part;
  part.anew = std::exchange(follower.gap, false);
  for (const auto& event : *events) {
    if (part.events.size() >= kFollowedEvents) break;
    take(follower, event, part);
  }
  // Numbers that a damaged journal has lost are skipped.
  if (events->empty()) follower.place = {uses_.journal.next_event(), 0};
  const bool was_snapshot = !follower.shown.empty();
  const bool complete = !was_snapshot || follower.place.number >= follower.shown.back().number;
  if (complete) {
    follower.shown.clear();
    part.cursor = cursor_text(follower.era, follower.place.number, follower.place.jobs);
  }
  if (begins || (was_snapshot && complete)) {
    add_node(follower, part);
    add_arrays(follower, part);
  }
  // An array has few events of its own, its beginning and its end: these do not wait until the
  // array is looked at again.
  for (const auto& event : part.events)
    if (follower.arrays.contains(event.id)) add_array(follower, event.id, part);
  if (follower.ask.records) add_records(follower, part);
  if (begins || !part.events.empty() || (was_snapshot && complete)) send(follower, part);
  return follower.place.number < uses_.journal.next_event();
}

Hiding Followers::hiding_from(const Follower& follower) const {
  return Hiding::from(follower.viewer, uses_.jobs);
}

// Adds the present records of the jobs; forgotten jobs have none.
void Followers::add_records(const Follower& follower, msg::EventsPart& part) const {
  std::set<std::uint64_t> ids;
  for (const auto& event : part.events) ids.insert(event.id);
  for (const auto id : ids)
    if (auto record = uses_.jobs.record(JobId(id))) {
      hiding_from(follower).record(*record);
      part.jobs.push_back(std::move(*record));
    }
}

void Followers::add_node(Follower& follower, msg::EventsPart& part) const {
  if (!follower.ask.node) return;
  msg::TreeNode node = uses_.node.self(reactor_.now());
  std::string packed = pack(node);
  if (packed == follower.node) return;
  follower.node = std::move(packed);
  part.node.push_back(std::move(node));
}

void Followers::add_array(Follower& follower, std::uint64_t id, msg::EventsPart& part) const {
  const auto known = follower.arrays.find(id);
  if (known == follower.arrays.end()) return;
  auto record = uses_.jobs.record(JobId(id));
  if (!record) return;
  if (follower.viewer && record->user != *follower.viewer) {
    follower.arrays.erase(known);  // another user's
    return;
  }
  hiding_from(follower).record(*record);
  std::string packed = pack(*record);
  if (packed != known->second) part.jobs.push_back(*record);
  if (record->state == "INACTIVE")
    follower.arrays.erase(known);
  else
    known->second = std::move(packed);
}

// Adds some arrays at a time, each in turn.
void Followers::add_arrays(Follower& follower, msg::EventsPart& part) const {
  std::vector<std::uint64_t> ids;
  auto next = follower.arrays.lower_bound(follower.next_array);
  for (std::size_t n = std::min(kArraysAtOnce, follower.arrays.size()); n > 0; --n) {
    if (next == follower.arrays.end()) next = follower.arrays.begin();
    ids.push_back((next++)->first);
  }
  for (const auto id : ids) add_array(follower, id, part);
  if (!ids.empty()) follower.next_array = ids.back() + 1;
}

void Followers::look_around() {
  bool wanted = false;
  for (auto& [number, follower] : followers_) {
    wanted = wanted || follower.ask.node || !follower.arrays.empty();
    if (!follower.began || follower.lists || !follower.shown.empty()) continue;
    msg::EventsPart part;
    add_node(follower, part);
    add_arrays(follower, part);
    if (part.node.empty() && part.jobs.empty()) continue;
    part.cursor = cursor_text(follower.era, follower.place.number, follower.place.jobs);
    send(follower, part);
  }
  if (!wanted) looks_.cancel();
}

void Followers::send(const Follower& follower, const msg::EventsPart& part) const {
  uses_.after_commit.add([request = follower.request, bytes = pack(part)] { request.send(bytes); });
}

void Followers::close(const Error& why) {
  for (const auto& [number, follower] : std::exchange(followers_, {})) follower.request.fail(why);
  looks_.cancel();
}

}  // namespace holon::instance
