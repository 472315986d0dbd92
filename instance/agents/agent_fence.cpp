// What a job is to run on may be taken from this instance while the one above is out of reach
// (grants/reach.hpp): its agent learns until when its tasks may begin there, and again whenever the
// instance above was heard.
//
//    asked ----> answered: sure until asked + fence/2      asked ----> answered: until ...
//      |            |                                        |            |
//      |            +-- agent.start {start_by} --> [files, prolog, wire-up]  +-- agent.sure -->
//      tasks |                                                                          begin
#include <fmt/core.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>

#include <algorithm>

#include "instance/agents/agent_link.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {

namespace lm = launch::msg;

// What a job is to run on may have been taken: its start waits until the instance above is heard.
bool AgentLink::may_start(const ActiveJob& job) const {
  const Time sure = settings_.sure_until(job);
  return sure == kTimeMax || (sure > ground_.reactor.now() && lead_.has_value());
}

// The agent's clock is behind this one by what the fastest message told, or by less.
std::int64_t AgentLink::start_by(const ActiveJob& job) const {
  const Time sure = settings_.sure_until(job);
  if (sure == kTimeMax || !lead_) return 0;
  return std::max<Time>(1, sure - lead_->lead);
}

// What is prepared for a job may take longer than one answer from above is good for.
void AgentLink::tell_what_is_sure() {
  std::erase_if(preparing_, [this](JobId id) {
    const ActiveJob* const job = jobs_.find(id);
    return job == nullptr || next_step(job->life, rank_) != Step::start;
  });
  if (!connected() || preparing_.empty() || !lead_) return;
  lm::SureRequest sure;
  for (const JobId id : preparing_) sure.jobs.push_back({id.value(), start_by(*jobs_.find(id))});
  tell("agent.sure", transport::pack(sure));
}

// The start came too late, and nothing was started.
void AgentLink::start_again(JobId id, Time now) {
  const ActiveJob* const job = jobs_.find(id);
  if (job == nullptr) return;
  const Step next = next_step(job->life, rank_);
  if (next == Step::kill) {
    to_kill_.erase(id);
    return jobs_.never_started(id, rank_, now);
  }
  spdlog::warn(
      fmt::format("job {} was not begun in time on what this instance was lent, since the instance "
                  "above was not heard for a while; it is sent again",
                  jobs_.label_of(id)));
  sent_.erase(id);
  if (next == Step::start) start_tasks(*job);
}

// Whoever takes units by force kills what runs there, or tells the agent on a whole node to stop,
// and only then says so.
bool AgentLink::may_have_been_taken(const ActiveJob& job, const lm::Finished& f) const {
  const bool was_killed = std::any_of(f.tasks.begin(), f.tasks.end(), [](const auto& task) {
    return task.started && WIFSIGNALED(task.status) && WTERMSIG(task.status) == SIGKILL;
  });
  const bool is_by_others = (was_killed && (f.reason == "exit" || f.reason == "abort")) ||
                            (f.reason == "killed" && !killed_.contains(job.id));
  return is_by_others && settings_.sure_until(job) <= ground_.reactor.now();
}

}  // namespace holon::instance
