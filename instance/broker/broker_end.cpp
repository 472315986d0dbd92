// The part of the Broker that ends: by whose word, what becomes of the jobs, and the last words.
#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>

#include "base/text/printable.hpp"
#include "instance/basics/exit_codes.hpp"
#include "instance/broker/broker.hpp"

namespace holon::instance {
namespace {

constexpr Duration kForcePatience = 5'000;  // from SIGKILL to giving up on a job that will not die
constexpr Duration kLostPatience = 5'000;   // for nodes that are away as the instance ends
constexpr Duration kLastWords = 2'000;      // for clients to read their last answers
constexpr Duration kFlushPatience = 5'000;  // for the parent to take the last records
constexpr Duration kToHearEnd = 500;        // for the parent's word about an end by a signal

constexpr std::size_t kEndedAtOnce = 50;  // queued jobs in one portion

// In the journal: why this run was told to end, and "1" where nobody had asked for that.
constexpr const char* kEnding = "ending";
constexpr const char* kUnasked = "ending.unasked";

}  // namespace

void Broker::end(const std::string& reason) {
  begin_end("cancel", reason);
}

// Is there a next start, which goes on with what waits? A root has one, and a child that runs again
// with its instance, unless the instance above has said that this is its last end.
bool Broker::has_next_start() const {
  return !parent_ || (options_.goes_on && !is_last_end_);
}

// Nobody has asked for such an end: the jobs have failed, as if all of it had been killed. Those of
// a child that has no next start are cancelled.
void Broker::end_unasked(const std::string& reason) {
  begin_end(has_next_start() ? "node-failure" : "cancel", reason);
}

void Broker::end_alone(const std::string& reason) {
  alone_ = true;
  end_unasked(reason);
}

// A child that goes on is told to stop for several reasons, of which a signal says nothing: a
// cancel of its job is the last end, and the instance above sends that word with the signal; a lost
// node, or an end of what is above, is none.
void Broker::end_by_signal() {
  is_told_ = true;
  if (is_lease_over_above()) return end_with_lease();
  if (!parent_ || !instance_) return end("it was told to stop");
  if (!has_next_start()) return end(told_to_stop());
  if (!hearing_end_)
    hearing_end_ = reactor_.after(kToHearEnd, [this] { end_unasked(told_to_stop()); });
}

std::string Broker::told_to_stop() const {
  if (has_next_start())
    return fmt::format("{} was stopped with what is around it, and goes on later",
                       instance_->identity.path);
  if (!parent_->is_up()) return "the instance above was gone, and it was told to stop";
  return fmt::format("job {} was told to stop; its record says why", instance_->identity.path);
}

pid_t Broker::agent_beside() const {
  return instance_ ? instance_->agents.beside_broker().pid() : 0;
}

void Broker::end_without_starter() {
  end("the starter, which starts tasks as their users, has ended or was killed");
}

void Broker::begin_end(const std::string& type, const std::string& reason) {
  if (!instance_) {
    spdlog::error(fmt::format("the instance ends before it had resources: {}", reason));
    end_reason_ = reason;
    return finish(options_.goes_on ? kAgainLater : kCannotStart);
  }
  if (phase_ != Phase::up) return;
  time_is_over_ = type == "timeout";
  keeps_queue_ = !parent_ || type == "node-failure";
  if (read_only_) {  // its agent is not heard: the supervisor ends the agent
    end_reason_ = reason;
    end_timer_ = reactor_.after(0, [this] { finish(kEndedInOrder); });
    return;
  }
  spdlog::info(fmt::format("the instance ends: {}", printable(reason)));
  hearing_end_.cancel();
  phase_ = Phase::draining;
  end_reason_ = reason;
  instance_->ending = true;
  instance_->provisions.end();
  if (!time_is_over_) {
    journal_.set_meta(kEnding, reason);
    journal_.set_meta(kUnasked, type == "node-failure" ? "1" : "");
  }
  // Only when the next broker would know it, too: a new instance in this one's place must not find
  // both of them.
  after_commit_.add([this] { say_ending(); });
  instance_->jobs.pause_scheduling(keeps_queue_);
  end_jobs(type, reason);
  end_timer_ = reactor_.after(instance_->patience(), [this] { hurry(); });
  lost_timer_ = reactor_.after(kLostPatience, [this] { waited_for_lost_ = true; });
}

// The word comes while the instance ends already, unasked: there is no next start for what was
// kept.
void Broker::hear_last_end() {
  if (!is_last_end_ || phase_ != Phase::draining || !std::exchange(keeps_queue_, false)) return;
  end_reason_ = told_to_stop();
  journal_.set_meta(kEnding, end_reason_);
  journal_.set_meta(kUnasked, "");
  instance_->jobs.pause_scheduling(keeps_queue_);
  end_jobs("cancel", end_reason_);
}

// A broker that crashes as its instance ends is followed by one that continues the end.
void Broker::go_on_ending() {
  const auto reason = journal_.meta(kEnding), unasked = journal_.meta(kUnasked);
  if (!reason || reason->value_or("").empty() || read_only_) return;
  if (fresh_) return journal_.set_meta(kEnding, "");
  if (unasked && unasked->value_or("") == "1") return end_unasked(**reason);
  end(**reason);
}

void Broker::say_ending() {
  if (parent_ && instance_ && instance_->ending) parent_->say_ending();
}

// Ends running jobs. Queued ones stay in the journal for the next start on its state directory;
// those of a child that has none end, some at a time, maybe a million.
void Broker::end_jobs(const std::string& type, const std::string& reason) {
  instance_->jobs.take_all(reactor_.now());
  std::vector<JobId> running, queued;
  // An array ends with its waiting tasks; where it may run again it does not end.
  for (const auto& [id, job] : instance_->jobs.active()) {
    const bool runs = job.life.state >= JobState::run && !is_array(job);
    if (runs || !is_array_task(job)) (runs ? running : queued).push_back(id);
  }
  const std::string note = fmt::format("its instance ended: {}", reason);
  // An end that was asked for is that of all children: one between two starts would be all that is
  // left of a tree.
  if (type != "node-failure")
    std::copy_if(queued.begin(), queued.end(), std::back_inserter(running),
                 [this](JobId id) { return instance_->jobs.find(id)->submission->wishes.goes_on; });
  for (const JobId id : running) instance_->jobs.raise(id, type, note, reactor_.now());
  if (keeps_queue_ || queued.empty()) return;
  ends_queued_ = true;
  instance_->portions.add({},
                          [this, note, next = std::make_shared<std::size_t>(0),
                           ids = std::make_shared<const std::vector<JobId>>(std::move(queued))] {
                            const std::size_t stop = std::min(ids->size(), *next + kEndedAtOnce);
                            for (; *next < stop; ++*next)
                              instance_->jobs.raise((*ids)[*next], "cancel", note, reactor_.now());
                            ends_queued_ = stop < ids->size();
                            return ends_queued_;
                          });
}

void Broker::hurry() {
  if (phase_ == Phase::up && hearing_) return let_lease_end();
  if (phase_ == Phase::up && hearing_end_) return end_unasked(told_to_stop());
  if (phase_ != Phase::draining) return;
  instance_->agents.kill_all_now();
  end_timer_ = reactor_.after(kForcePatience, [this] { finish(kEndedInOrder); });
}

void Broker::drained() {
  if (phase_ == Phase::draining) {
    const bool nobody_will_say = nobody_starts_agents() && instance_->agents.none_connected();
    const bool waits = instance_->jobs.counts().running > 0 && !nobody_will_say && !only_lost_run();
    if (ends_queued_ || waits) return;
    // A batch system may take its time, and so may the start of another agent beside the broker;
    // hurry() bounds it. Nobody starts an agent where the supervisor is gone, or has given up.
    const bool nobody_can_ask =
        nobody_starts_agents() && !instance_->agents.beside_broker().connected();
    if (instance_->provisions.is_ending() && !nobody_can_ask) return;
    phase_ = Phase::flushing;
    end_timer_ = reactor_.after(kFlushPatience, [this] { finish(kEndedInOrder); });
  }
  // A parent that is away may be back in time.
  if (parent_ && !parent_->all_sent()) return parent_->send_now();
  const auto left = instance_->jobs.counts();
  if (parent_ && left.pending + left.running == 0) parent_->say_told_all();
  finish(kEndedInOrder);
}

// The answer to requests when this broker is over: nothing more is done, and an answer that needs a
// commit would never come.
Error Broker::last_word() const {
  const char* what = ends_for_good_ ? "the instance ended: " : "its broker starts again: ";
  return {Errc::disconnected, what + end_reason_, {}};
}

void Broker::finish(int code) {
  if (std::exchange(phase_, Phase::over) == Phase::over) return;
  if (code == kEndedInOrder && time_is_over_ && !options_.start.grant) code = kTimeIsOver;
  if (code == kEndedInOrder && parent_ && keeps_queue_) code = kAgainLater;
  ends_for_good_ = code != kTryAgain && code != kBeginAgain;
  if (service_) service_->close(last_word());
  // Another broker follows one that cannot write: jobs run on for it.
  if (instance_ && ends_for_good_) instance_->agents.shutdown();
  gather_timer_.cancel();
  // Commits what was done since the last commit, e.g. acknowledged records; the exit code reports a
  // failure.
  if (auto committed = journal_.commit(); !committed && code == 0) code = kTryAgain;
  end_timer_.cancel();
  server_->take_leave(kLastWords, [this, code] {
    if (const auto unread = server_->counters().unread; unread > 0)
      spdlog::warn(
          fmt::format("{} clients had not read their last answers when this broker left", unread));
    on_end_(code);
  });
}

}  // namespace holon::instance
