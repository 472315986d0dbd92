// Numbers are written seven bits a byte, the low ones first; times as what has passed since the one
// before them. A field that has its default is one byte.
#include "instance/job/ended.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "transport/codec/codec.hpp"
#include "transport/codec/varint.hpp"

namespace holon::instance {
namespace {

// The first byte; another value means another layout.
constexpr char kLayout = 1;

// Flags.
constexpr std::uint64_t kTaskStarted = 1, kTaskFinished = 2, kTaskFreed = 4, kTaskCancelled = 8,
                        kTaskExpires = 16;

// An event of a task as its row has it: time, name, context.
using TaskEvent = std::pair<std::int64_t, std::pair<std::string, std::string>>;

constexpr std::array<std::string_view, 4> kSelections = {"", "immediate", "backfill", "reserved"};

class Writer {
 public:
  Writer() { bytes_.reserve(48); }
  void number(std::uint64_t n) { append_varint(bytes_, n); }
  void amount(std::int64_t n) { number(static_cast<std::uint64_t>(std::max<std::int64_t>(0, n))); }
  void text(std::string_view words) {
    number(words.size());
    bytes_ += words;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_{kLayout};
};

class EndedBytes {
 public:
  explicit EndedBytes(std::string_view bytes) : left_(bytes) {
    good_ = !left_.empty() && left_.front() == kLayout;
    left_.remove_prefix(good_ ? 1 : left_.size());
  }
  std::uint64_t number() {
    const auto n = take_varint(left_);
    good_ = good_ && n;
    return n.value_or(0);
  }
  std::int64_t amount() { return static_cast<std::int64_t>(number() & INT64_MAX); }
  std::string text() {
    const std::uint64_t size = number();
    good_ = good_ && size <= left_.size();
    if (!good_) return {};
    std::string words(left_.substr(0, size));
    left_.remove_prefix(size);
    return words;
  }
  bool more() const { return good_ && !left_.empty(); }
  bool whole() const { return good_ && left_.empty(); }

 private:
  std::string_view left_;
  bool good_ = true;
};

std::uint64_t flags_of(const Lifecycle& life) {
  return (life.started ? kTaskStarted : 0) | (life.finished ? kTaskFinished : 0) |
         (life.freed ? kTaskFreed : 0) | (life.cancelled ? kTaskCancelled : 0) |
         (life.expiration != 0 ? kTaskExpires : 0);
}

}  // namespace

std::string pack_ended(const Lifecycle& life) {
  Writer out;
  out.number(flags_of(life));
  out.number(life.urgency);
  const auto selection = std::find(kSelections.begin(), kSelections.end(), life.selection);
  out.number(static_cast<std::uint64_t>(selection - kSelections.begin()) % kSelections.size());
  // 0: the event has not happened.
  Time before = life.t_submit;
  for (const Time t : {life.t_alloc, life.t_start, life.t_finish, life.t_inactive}) {
    out.amount(t == 0 ? 0 : std::max<Time>(0, t - before) + 1);
    if (t != 0) before = std::max(before, t);
  }
  if (life.expiration != 0) out.amount(life.expiration - life.t_alloc);
  out.amount(life.status);
  out.amount(life.cpu_ms);
  out.amount(life.max_rss_kb);
  out.number(life.retries);
  out.text(life.place.nodelist);
  out.amount(life.place.nodes);
  out.amount(life.place.cores);
  out.amount(life.place.gpus);
  out.text(life.environment);
  out.text(life.exception);
  out.text(life.note);
  if (life.preemptions != 0) out.number(life.preemptions);
  return out.take();
}

Result<Lifecycle> unpack_ended(std::string_view bytes, const Lifecycle& array) {
  EndedBytes in(bytes);
  Lifecycle life = fresh_task(array);
  life.state = JobState::inactive;
  const std::uint64_t flags = in.number();
  life.started = (flags & kTaskStarted) != 0;
  life.finished = (flags & kTaskFinished) != 0;
  life.freed = (flags & kTaskFreed) != 0;
  life.cancelled = (flags & kTaskCancelled) != 0;
  life.urgency = static_cast<std::uint32_t>(in.number());
  life.selection = kSelections[in.number() % kSelections.size()];
  Time before = life.t_submit;
  for (Time* t : {&life.t_alloc, &life.t_start, &life.t_finish, &life.t_inactive}) {
    const std::int64_t passed = in.amount();
    *t = passed == 0 ? 0 : saturating_add(before, passed - 1);
    if (*t != 0) before = *t;
  }
  if ((flags & kTaskExpires) != 0) life.expiration = saturating_add(life.t_alloc, in.amount());
  life.status = static_cast<int>(in.amount());
  life.cpu_ms = in.amount();
  life.max_rss_kb = in.amount();
  life.retries = static_cast<std::uint32_t>(in.number());
  life.place.nodelist = in.text();
  life.place.nodes = in.amount();
  life.place.cores = in.amount();
  life.place.gpus = in.amount();
  life.environment = in.text();
  life.exception = in.text();
  life.note = in.text();
  if (in.more()) life.preemptions = static_cast<std::uint32_t>(in.number());
  if (!in.whole()) return fail(Errc::protocol, "what is kept of a task makes no sense");
  return life;
}

Lifecycle fresh_task(const Lifecycle& array) {
  Lifecycle life;
  life.state = JobState::sched;
  life.submitted = true;
  life.urgency = array.urgency;
  life.user = array.user;
  life.t_submit = array.t_submit;
  return life;
}

std::vector<Event> events_of_ended(const Lifecycle& life) {
  std::vector<Event> events;
  if (life.t_alloc != 0)
    events.push_back({life.t_alloc,
                      event::Alloc{life.selection, life.expiration, life.place, life.environment}});
  if (life.started) events.push_back({life.t_start, event::Start{}});
  const Time over = life.finished ? life.t_finish : life.t_inactive;
  if (!life.exception.empty())
    events.push_back({over, event::Exception{life.exception, 0, life.note}});
  if (life.finished)
    events.push_back({life.t_finish, event::Finish{life.status, life.cpu_ms, life.max_rss_kb}});
  if (life.freed) {
    events.push_back({life.t_inactive, event::Release{}});
    events.push_back({life.t_inactive, event::Free{}});
  }
  events.push_back({life.t_inactive, event::Clean{}});
  return events;
}

void append_to_run(std::string& bytes, const Event& event) {
  const std::string one =
      transport::pack(TaskEvent{event.time, {name_of(event.body), context_of(event.body)}});
  const auto size = static_cast<std::uint32_t>(one.size());
  for (unsigned shift = 0; shift < 32; shift += 8)
    bytes += static_cast<char>((size >> shift) & 0xffU);
  bytes += one;
}

Result<std::vector<Event>> events_in_run(std::string_view bytes) {
  constexpr std::size_t kSize = 4;
  std::vector<Event> events;
  while (!bytes.empty()) {
    std::size_t size = 0;
    for (std::size_t i = 0; i < std::min(kSize, bytes.size()); ++i)
      size |= std::size_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    if (bytes.size() < kSize || bytes.size() - kSize < size)
      return fail(Errc::invalid_argument, "the events of a task are cut off");
    const auto one = transport::unpack<TaskEvent>(bytes.substr(kSize, size));
    if (!one) return fail(Errc::invalid_argument, one.error().what);
    auto body = parse_event(one->second.first, one->second.second);
    if (!body) return tl::unexpected(body.error());
    events.push_back({one->first, std::move(*body)});
    bytes.remove_prefix(kSize + size);
  }
  return events;
}

}  // namespace holon::instance
