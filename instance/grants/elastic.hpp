// elastic.hpp - an instance that asks the one above for more cores by itself (grant.max), and gives
// back those that nothing runs on.
//
// How many it lacks is what its own plan would start on more (Scheduler::starts_on), so that its
// policy and its limits decide. One ask is open at a time: it waits in the queue above like any job
// there, and is withdrawn when nothing here waits for it any more.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "instance/grants/borrower.hpp"
#include "instance/grants/need.hpp"
#include "qmanager/scheduler.hpp"

namespace holon::instance {

class Elastic {
 public:
  struct Uses {
    const config::Config& config;
    Journal& journal;
    const resource::ResourceStore& store;
    const qmanager::Scheduler& scheduler;
    const JobManager& jobs;
    const KeptBook& book;
    const Needs& needs;
    Borrower& borrower;
  };
  explicit Elastic(Uses uses) : uses_(uses) {}

  // Goes on with the ask of an earlier broker.
  void restore();
  // Call before the commit, after the scheduler's pass. Returns when the next turn is needed.
  std::optional<Time> turn(Time now);
  // Why this job, which is too large for what is here, may wait, as a clause; "": what it needs
  // does not come by itself.
  std::string awaited(const qmanager::JobRequest& job) const;

 private:
  std::int64_t room() const;
  void look(Time now);
  void ask(const Need& need, Time now);
  void hear(const Result<msg::GrantAnswer>& answer, Time now);
  void open(std::optional<holdings::Op> ask);
  void pause(Time now);
  void withdraw_if_unneeded(bool is_needed, Time now);
  void rest_if_recalled(Time now);
  void give_back_idle(Time now);
  void at(Time when) { next_ = next_ ? std::min(*next_, when) : when; }

  const Uses uses_;
  std::optional<Time> next_;
  std::optional<holdings::Op> open_;    // the ask that is not answered yet, or promised
  std::int64_t open_least_ = 0;         // the fewest cores that it is for; 0: not known
  std::optional<Time> unneeded_since_;  // that ask
  Time next_look_ = 0;                  // since the last one has cost something
  Time not_before_ = 0;                 // there is a pause until then
  Time rested_at_ = 0;                  // the last look's cost is made up for by then
  std::int64_t looked_at_ = 0;          // passes of the scheduler before the last look
  Duration pause_ = 0;                  // after what was refused, or of no use
  std::uint32_t recalls_ = 0;           // soon after each other; the last may be open
  Time recalled_at_ = 0;                // when it was open last
  bool is_recalled_ = false;
  std::map<holdings::Epoch, Time> idle_since_;  // by the change that brought the units
  std::set<holdings::Epoch> used_;              // those that a job has been on
};

}  // namespace holon::instance
