// takeover.hpp - when the job that was a child instance ends, the child's records of its jobs
// become the parent's.
//
// The child's journal is the truth about the child's jobs. However the child ended, the broker
// above reads it once the child's processes are gone (dead_child.hpp; through the agent beside the
// files), puts every record into its own journal, and closes open records with the reason. Only
// then is the job that the child was over. A child that ended in order and said that its parent has
// all of its records need not be read. A takeover can begin again after a crash of the child or of
// the parent.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "instance/agents/agents.hpp"
#include "instance/basics/clock.hpp"
#include "instance/journal/journal.hpp"
#include "instance/manager/manager.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {

class Takeovers {
 public:
  struct Settings {
    std::string binary;     // the holon program
    std::string path;       // of this instance
    std::string state_dir;  // of this instance; the children's are below it
  };
  Takeovers(transport::Reactor& reactor, InstanceClock& clock, Journal& journal, JobManager& jobs,
            Agents& agents, Settings settings);

  // Begins the takeover of `child` unless it has begun. True: it is complete. `told_all`: all
  // records of the child are in this instance's journal.
  bool done(JobId child, bool told_all);
  void forget(JobId child) { open_.erase(child); }
  // Why the job that was this child has not ended yet; "": for no reason here.
  std::string waits_for(JobId child) const;
  // Closes, some at a time, open records below children that are not jobs of this instance. None
  // should be open.
  void close_strays() { strays_.emplace(); }

  // Does a piece of the work, before the turn's commit. Returns when the next turn is needed at the
  // latest.
  std::optional<Time> turn(Time now);

  // The record of the job at `path`, below this instance, has changed.
  std::function<void(const std::string& path)> on_changed = [](const std::string&) {};

 private:
  enum class Phase : std::uint8_t { reading, closing, done };
  struct Takeover {
    Phase phase = Phase::reading;
    bool is_asked = false;
    std::string from;    // where the next piece begins
    std::string closed;  // records up to this path
    Time next_try = 0;
    Time busy_since = 0;      // 0: the child's journal can be opened, as far as is known
    std::string busy_with{};  // why it cannot be opened, in words
    int failures = 0;
    std::vector<std::string> problems;
  };

  void ask(JobId child, Takeover& takeover);
  void hear(JobId child, const Result<launch::msg::CaptureReply>& answer);
  void take(JobId child, Takeover& takeover, const std::string& bytes);
  void failed(Takeover& takeover, const std::string& why);
  void busy(Takeover& takeover, bool is_claimed);
  void close_some(JobId child, Takeover& takeover, Time now);
  void close_some_strays(Time now);
  bool was_up(JobId child) const;
  Time end_of(JobId child, Time now) const;  // by the wall clock

  transport::Reactor& reactor_;
  InstanceClock& clock_;
  Journal& journal_;
  JobManager& jobs_;
  Agents& agents_;
  Settings settings_;
  std::map<JobId, Takeover> open_;
  std::size_t asked_ = 0;
  std::optional<std::string> strays_;  // looked at up to this path; nullopt: done
  Time strays_next_ = 0;
};

}  // namespace holon::instance
