#include "instance/tree/takeover.hpp"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/text/printable.hpp"
#include "instance/basics/text.hpp"
#include "instance/journal/records/record_order.hpp"
#include "instance/tree/dead_child.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

constexpr std::size_t kAsksAtOnce = 2;
constexpr std::size_t kClosedAtOnce = 500;  // records looked at in one turn
constexpr Duration kStrayPause = 20;        // ms between two turns that look for strays
constexpr int kFailures = 5;                // of a reader in a row, before the takeover gives up
constexpr Duration kAgain = 200;            // ms, doubled with each failure
constexpr Duration kBusyAgain = 100;
// ms to wait for a supervisor that is about to end, and for other processes with the journal open.
constexpr Duration kClaimedPatience = 60'000;
constexpr Duration kLockedPatience = 10'000;

}  // namespace

Takeovers::Takeovers(transport::Reactor& reactor, InstanceClock& clock, Journal& journal,
                     JobManager& jobs, Agents& agents, Settings settings)
    : reactor_(reactor),
      clock_(clock),
      journal_(journal),
      jobs_(jobs),
      agents_(agents),
      settings_(std::move(settings)) {}

bool Takeovers::done(JobId child, bool told_all) {
  const auto [found, is_new] = open_.try_emplace(child);
  if (is_new && told_all) found->second.phase = Phase::closing;
  return found->second.phase == Phase::done;
}

std::optional<Time> Takeovers::turn(Time now) {
  std::vector<JobId> ids;  // a copy: a complete takeover leaves the table
  for (const auto& [id, takeover] : open_) ids.push_back(id);
  std::optional<Time> next;
  const auto needed = [&next](Time when) { next = next ? std::min(*next, when) : when; };
  for (const JobId id : ids) {
    const auto found = open_.find(id);
    if (found == open_.end()) continue;
    Takeover& takeover = found->second;
    if (takeover.phase == Phase::closing) {
      close_some(id, takeover, now);
      needed(now);
    } else if (takeover.phase == Phase::reading && !takeover.is_asked &&
               agents_.beside_broker().connected()) {
      if (takeover.next_try > now)
        needed(takeover.next_try);
      else if (asked_ < kAsksAtOnce)
        ask(id, takeover);
    }
  }
  if (strays_ && strays_next_ <= now) close_some_strays(now);
  if (strays_) needed(strays_next_);
  return next;
}

// ---- reading ----

void Takeovers::ask(JobId child, Takeover& takeover) {
  const std::string path = join(settings_.path, child);
  const std::string dir = state_dir_below(settings_.state_dir, settings_.path, path);
  takeover.is_asked = true;
  ++asked_;
  std::vector<std::string> command = {settings_.binary, "remains", dir, path};
  if (!takeover.from.empty()) command.insert(command.end(), {"--from", takeover.from});
  agents_.beside_broker().capture(std::move(command),
                                  [this, child](const Result<launch::msg::CaptureReply>& answer) {
                                    --asked_;
                                    hear(child, answer);
                                  });
}

void Takeovers::hear(JobId child, const Result<launch::msg::CaptureReply>& answer) {
  const auto found = open_.find(child);
  if (found == open_.end()) return;
  Takeover& takeover = found->second;
  takeover.is_asked = false;
  if (!answer) {
    if (answer.error().code == Errc::disconnected) return;  // the next agent is asked
    failed(takeover, answer.error().what);
  } else if (answer->status != 0) {
    failed(takeover,
           fmt::format("the reader ended with status {} {}", answer->status, answer->error));
  } else {
    take(child, takeover, answer->output);
  }
  if (takeover.phase != Phase::closing) return;
  for (const auto& problem : takeover.problems)
    spdlog::warn(fmt::format("not all jobs of the child {} that has ended can be read: {}",
                             join(settings_.path, child), printable(problem)));
}

void Takeovers::take(JobId child, Takeover& takeover, const std::string& bytes) {
  const auto remains = transport::unpack<msg::DeadChild>(bytes);
  if (!remains) return failed(takeover, to_string(remains.error()));
  if (remains->busy) return busy(takeover, remains->claimed);
  // The place to continue from must be behind something that was read.
  if (!remains->next.empty() && (remains->jobs.empty() || remains->next == takeover.from))
    return failed(takeover, "its reader does not get on behind " + remains->next);
  if (takeover.from.empty() && !remains->is_there && remains->problems.empty() && was_up(child))
    takeover.problems.emplace_back("it is not there any more");
  const std::string prefix = join(settings_.path, child) + "/";
  for (const auto& record : remains->jobs) {
    // The child may write anything into its journal: only records of jobs below it are taken.
    const auto job = job_at(record.path);
    if (!job || job->value() != record.id || !record.path.starts_with(prefix)) continue;
    if (journal_.put_descendant(record)) on_changed(record.path);
  }
  takeover.problems.insert(takeover.problems.end(), remains->problems.begin(),
                           remains->problems.end());
  takeover.failures = 0;
  takeover.busy_since = 0;
  takeover.from = remains->next;
  if (remains->next.empty()) takeover.phase = Phase::closing;
}

// Was the child ever up? Then it has had a journal.
bool Takeovers::was_up(JobId child) const {
  const ActiveJob* job = jobs_.find(child);
  return job != nullptr && !job->life.child_uri.empty();
}

void Takeovers::failed(Takeover& takeover, const std::string& why) {
  if (++takeover.failures < kFailures) {
    takeover.next_try = reactor_.now() + (kAgain << takeover.failures);
    return;
  }
  takeover.problems.push_back(why);
  takeover.phase = Phase::closing;
}

void Takeovers::busy(Takeover& takeover, bool is_claimed) {
  const Time now = reactor_.now();
  if (takeover.busy_since == 0) takeover.busy_since = std::max<Time>(now, 1);
  takeover.busy_with =
      is_claimed ? "its supervisor has not ended" : "another process has its journal open";
  takeover.next_try = now + kBusyAgain;
  if (now - takeover.busy_since < (is_claimed ? kClaimedPatience : kLockedPatience)) return;
  takeover.problems.push_back(takeover.busy_with);
  takeover.phase = Phase::closing;
}

std::string Takeovers::waits_for(JobId child) const {
  const auto found = open_.find(child);
  if (found == open_.end() || found->second.phase == Phase::done) return "";
  const Takeover& takeover = found->second;
  if (takeover.phase == Phase::reading && takeover.busy_since != 0)
    return fmt::format("what is known of its jobs is to be read, and {}", takeover.busy_with);
  if (takeover.phase == Phase::reading && !agents_.beside_broker().connected())
    return "what is known of its jobs is to be read when the agent is here again";
  return "what is known of its jobs is being read from its journal";
}

// ---- closing ----

// Nothing of a child continues after the job that it was.
Time Takeovers::end_of(JobId child, Time now) const {
  if (const ActiveJob* job = jobs_.find(child); job != nullptr)
    return clock_.wall(job->life.t_finish != 0 ? job->life.t_finish : now);
  const auto over = journal_.inactive(child);
  return over && *over && (*over)->t_finish != 0 ? (*over)->t_finish : clock_.wall(now);
}

void Takeovers::close_some(JobId child, Takeover& takeover, Time now) {
  const std::string prefix = join(settings_.path, child) + "/";
  const auto records = journal_.descendants_after(prefix, takeover.closed, kClosedAtOnce);
  const std::string reason =
      takeover.problems.empty()
          ? "its instance ended before it did"
          : "its instance ended, and its journal cannot be read: " + takeover.problems.front();
  const Time ended = end_of(child, now);
  for (auto record : records ? *records : std::vector<msg::JobRecord>()) {
    takeover.closed = record.path;
    if (record.state == "INACTIVE") continue;
    close_record(record, reason, clock_.wall(now), ended);
    if (journal_.put_descendant(record)) on_changed(record.path);
  }
  if (records && records->size() == kClosedAtOnce) return;
  if (!records) spdlog::warn(to_string(records.error()));
  takeover.phase = Phase::done;
  jobs_.go_on(child, now);
}

void Takeovers::close_some_strays(Time now) {
  strays_next_ = now + kStrayPause;
  const std::string prefix = settings_.path == "/" ? "/" : settings_.path + "/";
  const auto records = journal_.descendants_after(prefix, *strays_, kClosedAtOnce);
  for (auto record : records ? *records : std::vector<msg::JobRecord>()) {
    strays_ = record.path;
    const auto child = child_towards(settings_.path, record.path);
    if (record.state == "INACTIVE" || !child || jobs_.find(*child) != nullptr) continue;
    close_record(record, "its instance ended before it did", clock_.wall(now), end_of(*child, now));
    if (journal_.put_descendant(record)) on_changed(record.path);
  }
  if (!records || records->size() < kClosedAtOnce) strays_.reset();
}

}  // namespace holon::instance
