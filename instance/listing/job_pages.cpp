// A page begins with the instance's own jobs, by their ids. With all jobs below, the children
// follow, in the order of their paths as text: those that live are asked, a few at once; the
// journal answers for the others.
//
// No answer says less of a job than an earlier one. A child's answer is journalled here before it
// is shown. A child may have shown more than that to a client that has asked it directly: one that
// is not connected is waited for, until it is back or its own journal has been read, as long as for
// a connected child. After that its records are shown with the time as of which they hold.
#include "instance/listing/job_pages.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>

#include "base/instance_path.hpp"
#include "instance/basics/text.hpp"
#include "instance/listing/asked_ids.hpp"
#include "instance/users/hiding.hpp"
#include "msg/job_filter.hpp"
#include "msg/usage.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

using transport::pack;
using transport::Request;
using transport::unpack;

constexpr std::size_t kPage = 1000;             // records
constexpr std::size_t kPageBytes = 1024 << 10;  // of the records' texts, about
constexpr std::size_t kReadAtOnce = 50;         // records of the journal: some are long
constexpr std::size_t kLookedAt = 2000;         // likewise; then a page ends with what it has
constexpr std::size_t kSifted = 2000;           // own jobs, where a filter may drop most of them
constexpr std::size_t kChildrenAtOnce = 16;
constexpr std::size_t kSmallestPart = 32;           // records a child is asked for at least
constexpr std::size_t kLongestCursor = 1024 << 10;  // bytes

// The rest of a child's listing.
struct OpenChild {
  std::uint64_t child = 0;
  std::string after;  // the child's own cursor
  HOLON_FIELDS(child, after)
};
// The rest of the records below `prefix` ("/3/") in the journal: those behind the path `after`.
struct OpenRecords {
  std::string prefix, after;
  HOLON_FIELDS(prefix, after)
};
struct Cursor {
  bool own_done = false;
  std::uint64_t own = 0;     // the last id listed; for a list of ids, how many are done
  std::uint64_t listed = 0;  // counts towards the limit
  std::string child;         // the path of the last child begun
  std::vector<OpenChild> live;
  std::vector<OpenRecords> gone;
  HOLON_FIELDS(own_done, own, listed, child, live, gone)
};

Result<Cursor> read_cursor(const msg::JobsRequest& ask) {
  if (ask.after.empty()) return Cursor{};
  if (ask.after.size() > kLongestCursor)
    return fail(Errc::invalid_argument, "is longer than any that was given out", "after");
  auto cursor = unpack<Cursor>(ask.after);
  if (!cursor || cursor->live.size() + cursor->gone.size() > kChildrenAtOnce)
    return fail(Errc::invalid_argument, "is none that was given out", "after");
  return cursor;
}

// A record of this kind, to test a filter of states with.
msg::JobRecord job_of_kind(JobKind kind) {
  msg::JobRecord job;
  job.state = is_over(kind) ? "INACTIVE" : kind == JobKind::suspended ? "RUN" : word_of(kind);
  if (is_over(kind)) job.result = word_of(kind);
  if (kind == JobKind::suspended) job.t_suspended = 1;
  return job;
}

std::size_t size_of_page(const msg::JobsRequest& ask) {
  return ask.page == 0 ? kPage : std::min<std::size_t>(kPage, ask.page);
}

std::size_t size_of_record(const msg::JobRecord& r) {
  return r.name.size() + r.reason.size() + r.command.size() + r.output.size() + r.error.size() +
         r.nodelist.size();
}

void sort_by_path(std::vector<msg::JobRecord>& records) {
  std::sort(records.begin(), records.end(),
            [](const auto& a, const auto& b) { return path_before(a.path, b.path); });
}

// Takes the records that a page's filter lets through: keeps them, or only counts them.
class Sieve {
 public:
  explicit Sieve(const msg::JobsRequest& ask) : ask_(ask) {}

  // `record` stands for `n` equal ones; n > 1 only where records are not kept.
  void add(msg::JobRecord record, std::uint64_t n = 1) {
    ++seen_;
    if (ask_.stats && record.tasks > 0) return count_tasks(record);
    if (!msg::matches(ask_.filter, record)) return;
    ++taken_;
    if (!ask_.by.empty()) return msg::add_usage(usage_, ask_.by, record, n);
    bytes_ += ask_.stats ? 0 : size_of_record(record);
    if (ask_.stats)
      counts_[msg::state_word(record)] += n;
    else
      jobs_.push_back(std::move(record));
  }
  // Counts the tasks of an array of which only the record is known.
  void count_tasks(const msg::JobRecord& array) {
    const auto add = [&](const char* state, const char* result, std::uint64_t tasks) {
      msg::JobRecord task = array;
      task.state = state;
      task.result = result;
      if (tasks > 0 && msg::matches(ask_.filter, task)) counts_[msg::state_word(task)] += tasks;
    };
    add(array.state == "DEPEND" ? "DEPEND" : "SCHED", "", array.tasks_pending);
    add("RUN", "", array.tasks_running);
    if (!ask_.all) return;
    add("INACTIVE", "COMPLETED", array.tasks_completed);
    add("INACTIVE", "FAILED",
        array.tasks_failed - std::min(array.tasks_failed, array.tasks_timeout));
    add("INACTIVE", "TIMEOUT", array.tasks_timeout);
    add("INACTIVE", "CANCELED", array.tasks_cancelled);
  }
  std::size_t seen() const { return seen_; }
  std::size_t taken() const { return taken_; }
  std::size_t kept() const { return jobs_.size(); }
  bool full(std::size_t size) const { return jobs_.size() >= size || bytes_ >= kPageBytes; }

  void sort() { sort_by_path(jobs_); }
  msg::JobsReply reply(std::string next) {
    msg::JobsReply reply{std::move(jobs_), std::move(next)};
    for (auto& [key, usage] : usage_) reply.usage.push_back(std::move(usage));
    for (const auto& [state, jobs] : counts_) reply.counts.push_back({state, jobs});
    return reply;
  }

 private:
  const msg::JobsRequest& ask_;
  std::vector<msg::JobRecord> jobs_;
  std::map<std::string, std::uint64_t> counts_;
  msg::UsageTable usage_;
  std::size_t seen_ = 0, taken_ = 0, bytes_ = 0;
};

// One page in the making; it lives as long as a child is being asked.
class Page : public std::enable_shared_from_this<Page> {
 public:
  Page(transport::Server& server, const JobPages::Uses& uses, Request request, msg::JobsRequest ask,
       Cursor cursor, std::optional<std::string> viewer)
      : server_(server),
        uses_(uses),
        request_(std::move(request)),
        ask_(std::move(ask)),
        cursor_(std::move(cursor)),
        hiding_(Hiding::from(std::move(viewer), uses.jobs)),
        begun_(uses.clock.now()),
        size_(size_of_page(ask_)),
        page_(ask_) {}

  void make() {
    if (!cursor_.own_done)
      if (auto listed = list_own(); !listed) return request_.fail(listed.error());
    if (!cursor_.own_done || !ask_.recursive) return finish(cursor_.own_done);
    list_children();
  }

 private:
  bool full() const { return page_.full(size_); }

  void finish(bool whole) {
    if (ask_.recursive || ask_.limit > 0 || !ask_.ids.empty()) page_.sort();
    uses_.after_commit.add(
        [request = request_, reply = page_.reply(whole ? std::string() : pack(cursor_))] {
          request.reply(pack(reply));
        });
  }

  // ---- own jobs ----

  Status list_own() {
    if (!ask_.ids.empty()) return list_named();
    const std::uint64_t left = ask_.limit - std::min(ask_.limit, cursor_.listed);
    const std::size_t n = ask_.limit == 0 ? kSifted : std::min<std::uint64_t>(kSifted, left);
    most_ = n;
    bool more = true;
    while (more && page_.taken() < n && page_.seen() < kSifted && !full()) {
      if (takes_tasks() && cursor_.own > 0) {
        const auto added = ask_.tasks ? add_tasks() : sum_tasks();
        if (!added) return tl::unexpected(added.error());
        if (!*added) break;
      }
      // As many as are wanted; more at a time once a filter has dropped some.
      const std::size_t room = std::min(n - page_.taken(), size_ - page_.kept());
      const std::size_t some = std::min(kReadAtOnce, std::max(room, page_.seen()));
      const auto added = ask_.limit == 0 ? add_upwards(some) : add_downwards(some);
      if (!added) return tl::unexpected(added.error());
      more = *added;
    }
    cursor_.listed += page_.taken();
    cursor_.own_done = !more || (ask_.limit > 0 && cursor_.listed >= ask_.limit);
    return {};
  }

  Status list_named() {
    while (cursor_.own < ask_.ids.size() && !full()) {
      auto record = uses_.jobs.record(JobId(ask_.ids[cursor_.own++]));
      if (record) {
        hiding_.record(*record);
        page_.add(std::move(*record));
        continue;
      }
      // Unknown jobs among several are skipped; if all are unknown, this is the answer.
      const bool is_last = ++unknown_ == ask_.ids.size();
      if (is_last || record.error().code != Errc::not_found) return tl::unexpected(record.error());
    }
    cursor_.own_done = cursor_.own >= ask_.ids.size();
    if (cursor_.own_done) cursor_.own = 0;  // now for the children among them
    return {};
  }

  // Are tasks of arrays looked at one by one? Sums count them instead of their arrays.
  bool takes_tasks() const { return ask_.tasks || sums_tasks(); }
  bool sums_tasks() const { return (ask_.stats || !ask_.by.empty()) && ask_.limit == 0; }

  // Like add_tasks(), for sums: many at a time.
  Result<bool> sum_tasks() {
    auto tasks = uses_.jobs.task_records(JobId(cursor_.own), ask_.all, kSifted);
    if (!tasks) return tl::unexpected(tasks.error());
    for (auto& [record, n] : tasks->records) page_.add(std::move(record), n);
    if (tasks->last.value() != 0) cursor_.own = tasks->last.value();
    return !tasks->more;
  }

  // Adds the tasks of the array that the cursor is at, or in. False: there are more than fit.
  Result<bool> add_tasks() {
    for (JobId task = uses_.jobs.next_task(JobId(cursor_.own), ask_.all); task.value() != 0;
         task = uses_.jobs.next_task(task, ask_.all)) {
      if (full() || page_.seen() >= kSifted) return false;
      auto record = uses_.jobs.record(task);
      if (!record) return tl::unexpected(record.error());
      cursor_.own = record->id;
      hiding_.record(*record);
      page_.add(std::move(*record));
    }
    return true;
  }

  // Are only ended jobs wanted? Others are then skipped, however many there are; but not arrays, of
  // which tasks may have ended.
  bool wants_ended_only() const {
    return !ask_.by.empty() || msg::asks_for_ended_only(ask_.filter);
  }
  Result<bool> add_ended_upwards(std::size_t n) {
    auto ended = uses_.journal.inactive_after(JobId(cursor_.own), n + 1);
    if (!ended) return tl::unexpected(ended.error());
    JobId array = takes_tasks() ? uses_.jobs.next_array(JobId(cursor_.own)) : JobId(0);
    for (auto& record : *ended) {
      if (array.value() != 0 && array.value() < record.id) break;
      if (n-- == 0 || full()) return true;
      if (take_record(std::move(record))) return true;
    }
    if (array.value() == 0) return false;
    cursor_.own = array.value();
    return true;
  }

  // At most `n` jobs behind the cursor, oldest first. Are there more?
  Result<bool> add_upwards(std::size_t n) {
    if (ask_.all && wants_ended_only()) return add_ended_upwards(n);
    auto ended = ask_.all ? uses_.journal.inactive_after(JobId(cursor_.own), n + 1)
                          : Result<std::vector<msg::JobRecord>>(std::vector<msg::JobRecord>());
    if (!ended) return tl::unexpected(ended.error());
    const auto& active = uses_.jobs.active();
    return merge(std::move(*ended), n, active.upper_bound(JobId(cursor_.own)), active.end(),
                 std::less<>());
  }

  // Likewise, newest first.
  Result<bool> add_downwards(std::size_t n) {
    const JobId end(cursor_.own == 0 ? INT64_MAX : cursor_.own);
    auto ended = ask_.all ? uses_.journal.inactive_before(end, n + 1)
                          : Result<std::vector<msg::JobRecord>>(std::vector<msg::JobRecord>());
    if (!ended) return tl::unexpected(ended.error());
    const auto& active = uses_.jobs.active();
    const auto first =
        wants_ended_only() ? active.rend() : std::make_reverse_iterator(active.lower_bound(end));
    return merge(std::move(*ended), n, first, active.rend(), std::greater<>());
  }

  template <class Active, class Before>
  bool merge(std::vector<msg::JobRecord> ended, std::size_t n, Active active, Active active_end,
             Before before) {
    auto over = ended.begin();
    for (; active != active_end || over != ended.end(); --n) {
      if (active != active_end && is_array_task(active->second)) {
        ++active, ++n;
        continue;
      }
      if (n == 0 || full() || page_.taken() >= most_) return true;
      const bool is_over =
          active == active_end || (over != ended.end() && before(over->id, active->first.value()));
      auto record = is_over ? std::move(*over++) : uses_.jobs.record_of((active++)->second);
      if (take_record(std::move(record))) return true;
    }
    return false;
  }

  // Takes a record. True: it is an array whose tasks come next.
  bool take_record(msg::JobRecord record) {
    cursor_.own = record.id;
    hiding_.record(record);
    const bool has_tasks = takes_tasks() && record.tasks > 0;
    if (!has_tasks || ask_.tasks) page_.add(std::move(record));
    return has_tasks;
  }

  // ---- what is below ----

  void list_children() {
    if (request_.done()) return;
    while (!full() && looked_at_ < kLookedAt) {
      if (!cursor_.live.empty()) return ask_children(std::exchange(cursor_.live, {}));
      if (!cursor_.gone.empty()) {
        if (auto read = read_records(); !read) return request_.fail(read.error());
        continue;
      }
      auto begun = begin_children();
      if (!begun) return request_.fail(begun.error());
      if (!*begun) return finish(true);
      if (!away_.empty()) return await_children();
    }
    finish(false);
  }

  Status read_records() {
    OpenRecords& open = cursor_.gone.back();
    const std::size_t n = std::min(kReadAtOnce, size_ - std::min(size_ - 1, page_.kept()));
    auto records = uses_.journal.descendants_after(open.prefix, open.after, n);
    if (!records) return tl::unexpected(records.error());
    looked_at_ += 1 + records->size();
    if (!records->empty()) open.after = records->back().path;
    const bool more = records->size() == n;
    for (auto& record : *records) {
      if (!ask_.all && record.state == "INACTIVE") continue;
      record.as_of = uses_.records.as_of(record);
      page_.add(std::move(record));
    }
    if (!more) cursor_.gone.pop_back();
    return {};
  }

  // Opens the next children; false: there are no more.
  Result<bool> begin_children() {
    std::size_t begun = 0;
    for (; begun < kChildrenAtOnce && cursor_.gone.empty(); ++begun) {
      const auto child = ask_.ids.empty() ? next_child() : next_named();
      if (!child) return tl::unexpected(child.error());
      if (!*child) break;
      const std::string path = uses_.jobs.path_of(**child);
      cursor_.child = path;
      if (uses_.children.peer(**child).value() != 0)
        cursor_.live.push_back({(*child)->value(), {}});
      else
        is_away(**child);
    }
    return begun > 0;
  }

  // ---- children that are not connected ----

  // How long a child may take. The requester, who waits as long, still wants to hear of the others.
  Duration patience() const {
    if (ask_.timeout == 0) return uses_.config.tree_timeout;
    return std::max<Duration>(1, begun_ + ask_.timeout - uses_.clock.now());
  }
  Duration patience_for(JobId away) const {
    const Duration patience_of_all = ask_.timeout == 0 ? patience() : patience() / 2;
    return uses_.children.patience_left(away, patience_of_all, uses_.clock.now());
  }

  // Each child is waited for once.
  void is_away(JobId child) {
    if (patience_for(child) > 0 && awaited_.insert(child).second)
      away_.push_back(child);
    else
      cursor_.gone.push_back({uses_.jobs.path_of(child) + "/", {}});
  }

  void await_children() {
    const auto away = std::exchange(away_, {});
    asked_ = away.size();
    for (const JobId child : away)
      uses_.awaited.wait(
          child, patience_for(child),
          [self = shared_from_this(), child](const Result<WaitingForChild::Outcome>& outcome) {
            self->take_outcome(child, outcome);
          });
  }

  void take_outcome(JobId child, const Result<WaitingForChild::Outcome>& outcome) {
    if (!outcome) return request_.fail(outcome.error());
    if (*outcome == WaitingForChild::Outcome::connected)
      cursor_.live.push_back({child.value(), {}});
    else
      cursor_.gone.push_back({uses_.jobs.path_of(child) + "/", {}});
    go_on();
  }

  Result<std::optional<JobId>> next_named() {
    if (cursor_.own >= ask_.ids.size()) return std::optional<JobId>();
    return std::optional(JobId(ask_.ids[cursor_.own++]));
  }

  // The first child behind cursor_.child that lives or has left records, by its path as text.
  Result<std::optional<JobId>> next_child() const {
    std::string first;
    for (const auto& [id, peer] : uses_.children.connected()) {
      std::string path = uses_.jobs.path_of(id);
      if (path > cursor_.child && (first.empty() || path < first)) first = std::move(path);
    }
    // Behind "/3" come "/3/..." and then "/30": '0' follows '/'.
    const std::string& base = uses_.identity.path;
    const std::string below = base == "/" ? base : base + "/";
    const auto left = uses_.journal.descendants_after(
        below, cursor_.child.empty() ? std::string() : cursor_.child + "/~", 1);
    if (!left) return tl::unexpected(left.error());
    if (!left->empty()) {
      const std::string& path = left->front().path;
      const std::string top = path.substr(0, path.find('/', below.size()));
      if (first.empty() || top < first) first = top;
    }
    return first.empty() ? std::optional<JobId>() : child_towards(base, first);
  }

  void ask_children(std::vector<OpenChild> open) {
    asked_ = open.size();
    const auto connected = uses_.children.connected();
    const std::size_t part =
        std::max(kSmallestPart, (size_ - std::min(size_, page_.kept())) / open.size());
    for (auto& child : open) {
      msg::JobsRequest ask;
      ask.all = ask_.all;
      ask.recursive = true;
      ask.limit = ask_.limit;
      ask.timeout = patience() * 4 / 5;
      ask.page = part;
      ask.after = child.after;
      ask.filter = ask_.filter;
      const JobId id(child.child);
      const auto peer = connected.find(id);
      // If the peer is gone the call fails, later.
      server_.call(peer == connected.end() ? transport::PeerId{} : peer->second,
                   {"jobs", pack(ask), "", patience()},
                   [self = shared_from_this(), id](const Result<std::string>& answer) {
                     self->take_answer(id, answer);
                   });
    }
  }

  // Records that a child without an answer has told before are repeated from the journal; the
  // requester takes one record of a path.
  void take_answer(JobId child, const Result<std::string>& answer) {
    auto reply = answer ? unpack<msg::JobsReply>(*answer) : tl::unexpected<Error>(answer.error());
    // A lost child is known to be lost when the turn ends.
    if (!reply)
      return uses_.after_commit.add([self = shared_from_this(), child] {
        self->is_away(child);
        self->go_on();
      });
    for (auto& record : reply->jobs)
      if (auto shown = uses_.records.shown(child, std::move(record))) page_.add(std::move(*shown));
    if (!reply->next.empty()) cursor_.live.push_back({child.value(), std::move(reply->next)});
    go_on();
  }

  void go_on() {
    if (--asked_ > 0) return;
    away_.empty() ? list_children() : await_children();
  }

  transport::Server& server_;
  const JobPages::Uses uses_;
  Request request_;
  msg::JobsRequest ask_;
  Cursor cursor_;
  const Hiding hiding_;
  Time begun_;
  std::size_t size_;
  Sieve page_;            // for ask_
  std::size_t most_ = 0;  // own jobs that this page takes
  std::size_t asked_ = 0;
  std::size_t unknown_ = 0;  // of the ids in the request
  std::vector<JobId> away_;  // children to be waited for
  std::set<JobId> awaited_;
  std::size_t looked_at_ = 0;  // records of instances that are gone, shown or not
};

}  // namespace

// Can the request be answered without looking at any job?
bool JobPages::has_kept_counts(const Request& request, const msg::JobsRequest& ask) {
  const auto& filter = ask.filter;
  const bool is_plain = ask.stats && !ask.recursive && ask.limit == 0 && ask.ids.empty() &&
                        ask.after.empty() && filter.name.empty() && filter.since == 0 &&
                        filter.until == 0;
  if (!is_plain || !ask.all || (filter.user.empty() && filter.queue.empty())) return is_plain;
  if (uses_.jobs.kept_counts().ended() == JobCounts::Ended::known) return true;
  // Begins to count for later requests, which then need not wait.
  if (!std::exchange(counts_ended_, true))
    uses_.portions.add(request, [this] { return counts_ended_ = uses_.jobs.count_some_ended(); });
  return false;
}

std::vector<msg::StateCount> JobPages::kept_counts(const msg::JobsRequest& ask) const {
  const auto& kept = uses_.jobs.kept_counts();
  const bool is_of_all = ask.filter.user.empty() && ask.filter.queue.empty();
  const auto row = is_of_all ? kept.total() : kept.of({ask.filter.user, ask.filter.queue});
  msg::JobFilter states;
  states.states = ask.filter.states;
  std::map<std::string, std::uint64_t> counts;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const auto kind = static_cast<JobKind>(i);
    if (row[i] <= 0 || (is_over(kind) && !ask.all)) continue;
    if (msg::matches(states, job_of_kind(kind)))
      counts[word_of(kind)] = static_cast<std::uint64_t>(row[i]);
  }
  std::vector<msg::StateCount> list;
  for (const auto& [state, jobs] : counts) list.push_back({state, jobs});
  return list;
}

void JobPages::list(const Request& request, std::optional<std::string> viewer) {
  auto ask = unpack<msg::JobsRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  auto cursor = read_cursor(*ask);
  if (!cursor) return request.fail(cursor.error());
  if (auto fits = check_request(*ask); !fits) return request.fail(fits.error());
  if (has_kept_counts(request, *ask)) {
    msg::JobsReply reply;
    reply.counts = kept_counts(*ask);
    return uses_.after_commit.add(
        [request, reply = std::move(reply)] { request.reply(pack(reply)); });
  }
  std::make_shared<Page>(server_, uses_, request, std::move(*ask), std::move(*cursor),
                         std::move(viewer))
      ->make();
}

void JobPages::list_gone(const Request& request, const std::string& path) {
  const auto ask = unpack<msg::JobsRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  auto cursor = read_cursor(*ask);
  if (!cursor) return request.fail(cursor.error());
  if (auto fits = check_request(*ask); !fits) return request.fail(fits.error());
  const std::size_t size = size_of_page(*ask);
  Sieve page(*ask);
  std::string next;
  if (ask->all && !ask->recursive && !ask->ids.empty()) {
    for (; cursor->own < ask->ids.size() && page.seen() < size; ++cursor->own)
      if (auto record = uses_.records.find(join(path, JobId(ask->ids[cursor->own]))))
        page.add(std::move(*record));
    if (cursor->own < ask->ids.size()) next = pack(*cursor);
  } else if (ask->all) {
    const std::set<std::uint64_t> ids(ask->ids.begin(), ask->ids.end());
    bool more = true;
    // Looks at `size` records, and takes those that are asked for.
    for (std::size_t seen = 0; more && seen < size && !page.full(size);) {
      auto records = uses_.journal.descendants_after(path + "/", cursor->child, kReadAtOnce);
      if (!records) return request.fail(records.error());
      more = records->size() == kReadAtOnce;
      seen += records->size();
      if (!records->empty()) cursor->child = records->back().path;
      for (auto& record : *records) {
        const auto child = child_towards(path, record.path);
        const bool own = record.path.find('/', path.size() + 1) == std::string::npos;
        const bool named = ids.empty() || (child && ids.count(child->value()) != 0);
        if (!named || (!own && !ask->recursive)) continue;
        page.add(std::move(record));
      }
    }
    if (more) next = pack(*cursor);
    page.sort();
  }
  uses_.after_commit.add(
      [request, reply = page.reply(std::move(next))] { request.reply(pack(reply)); });
}

}  // namespace holon::instance
