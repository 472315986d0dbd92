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
#include <string>
#include <vector>

#include "config/config.hpp"
#include "instance/grants/borrower.hpp"
#include "qmanager/scheduler.hpp"

namespace holon::instance {

class Elastic {
 public:
  struct Uses {
    const config::Config& config;
    const resource::ResourceStore& store;
    const qmanager::Scheduler& scheduler;
    const JobManager& jobs;
    const KeptBook& book;
    Borrower& borrower;
  };
  explicit Elastic(Uses uses) : uses_(uses) {}

  // Call before the commit, after the scheduler's pass. Returns when the next turn is needed.
  std::optional<Time> turn(Time now);
  // Why a job that is too large for what is here may wait, as a clause; "": no more will come.
  std::string awaited() const;

 private:
  // What waiting jobs would use beside what is here.
  struct Need {
    std::int64_t least = 0, most = 0;  // cores: with which one more job starts, and all that can
    Duration limit = 0;                // ms, the longest of these jobs; 0: one has none
  };
  std::int64_t room() const;
  std::vector<JobId> starts_with(std::int64_t cores, Time now) const;
  std::int64_t fewest_for(std::size_t jobs, std::int64_t most, Time now) const;
  Need need(Time now) const;
  void look(Time now);
  void ask(const Need& need, Time now);
  void hear(const Result<msg::GrantAnswer>& answer, Time now);
  void withdraw_if_unneeded(bool is_needed, Time now);
  void give_back_idle(Time now);
  bool is_idle(const holdings::Units& units) const;
  void at(Time when) { next_ = next_ ? std::min(*next_, when) : when; }

  const Uses uses_;
  std::optional<Time> next_;
  std::optional<holdings::Op> open_;            // the ask that is not answered yet, or promised
  std::optional<Time> unneeded_since_;          // that ask
  Time not_before_ = 0;                         // the next look
  Duration pause_ = 0;                          // after the last refusal
  std::map<holdings::Epoch, Time> idle_since_;  // by the change that brought the units
};

}  // namespace holon::instance
