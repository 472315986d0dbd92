// takeover.hpp - a child instance's job is over: what the child knew of its jobs becomes the
// parent's.
//
// The child's journal is the truth about the child's jobs. However the child ended, the broker
// above reads it once the child's processes are gone (remains.hpp; through the agent that is beside
// the files), puts every record into its own journal, and closes what is still open with the
// reason. Only then is the job that the child was over. A child that said that it has told
// everything (it ended in order) need not be read. All of it can be begun again after a crash of
// either.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "instance/agents/agent_link.hpp"
#include "instance/clock.hpp"
#include "instance/job/manager.hpp"
#include "instance/journal/journal.hpp"
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
            AgentLink& agent, Settings settings);

  // Begins with it if it has not begun, and says whether it is through. `told_all`: the child has
  // nothing to say that is not in our journal.
  bool done(JobId child, bool told_all);
  void forget(JobId child) { open_.erase(child); }
  // Closes, some at a time, records below children that are not there: none should be.
  void close_strays() { strays_.emplace(); }

  // Before the commit: a piece of the work. Returns when the next turn is needed at the latest.
  std::optional<Time> turn(Time now);

  // The record of a job below is another one now.
  std::function<void(const std::string& path)> on_changed = [](const std::string&) {};

 private:
  enum class Phase : std::uint8_t { reading, closing, done };
  struct Takeover {
    Phase phase = Phase::reading;
    bool is_asked = false;
    std::string from;    // where the next piece begins
    std::string closed;  // records up to this path
    Time begun = 0, next_try = 0;
    int failures = 0;
    std::vector<std::string> problems;
  };

  void ask(JobId child, Takeover& takeover);
  void hear(JobId child, const Result<launch::msg::CaptureReply>& answer);
  void take(JobId child, Takeover& takeover, const std::string& bytes);
  void failed(Takeover& takeover, const std::string& why);
  void busy(Takeover& takeover);
  void close_some(JobId child, Takeover& takeover, Time now);
  void close_some_strays(Time now);

  transport::Reactor& reactor_;
  InstanceClock& clock_;
  Journal& journal_;
  JobManager& jobs_;
  AgentLink& agent_;
  Settings settings_;
  std::map<JobId, Takeover> open_;
  std::size_t asked_ = 0;
  std::optional<std::string> strays_;  // looked at up to this path; nullopt: all
  Time strays_next_ = 0;
};

}  // namespace holon::instance
