// elastic.hpp - an instance that asks the one above for more cores, or whole nodes, by itself
// (grant.max), and gives back those that nothing runs on.
//
// How many it lacks is what its own plan would start on more (Scheduler::starts_on), so that its
// policy and its limits decide. One ask is open at a time: it waits in the queue above like any job
// there, and is withdrawn when nothing here waits for it any more. Whole nodes are asked for where
// no cores of its nodes would do, or the instance above has none of these.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "config/config.hpp"
#include "instance/grants/borrower.hpp"
#include "instance/grants/need.hpp"
#include "instance/grants/nodes_above.hpp"
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
    const GrantedNodes& nodes;
    const NodesAbove& above;
    Borrower& borrower;
    // Calls `yes` if the instance above would give that now.
    std::function<void(const Need& need, std::function<void()> yes)> if_there_now;
  };
  explicit Elastic(Uses uses) : uses_(std::move(uses)) {}

  // Goes on with the ask of an earlier broker.
  void restore();
  // Call before the commit, after the scheduler's pass. Returns when the next turn is needed.
  std::optional<Time> turn(Time now);
  // The instance above says up to how many cores more are asked for; 0: none are; negative: as is
  // configured. What is beyond that goes back as its jobs end, the youngest first.
  void set_most(std::int64_t cores, Time now);
  // That many; 0: it asks for none.
  std::int64_t most() const { return told_most_ < 0 ? uses_.config.grant_max : told_most_; }
  // Why this job, which is too large for what is here, may wait, as a clause; "": what it needs
  // does not come by itself.
  std::string awaited(const qmanager::JobRequest& job) const;
  // Why what comes is too much, as a clause; "": it is not, or somebody has asked for it by hand.
  std::string objection(holdings::Op ask, std::int64_t cores) const;

 private:
  std::int64_t room() const;
  bool may_have(std::int64_t cores, std::int64_t nodes) const;
  Need lacking(Time now) const;
  void look(Time now);
  void ask(const Need& need, Time now);
  void hear(const Result<msg::GrantAnswer>& answer, bool never, bool was_for_nodes, Time now);
  void try_nodes_instead(Time now);
  void open(std::optional<holdings::Op> ask);
  void pause(Time now);
  void withdraw_if_unneeded(bool is_needed, Time now);
  void rest_if_recalled(Time now);
  void give_back_idle(Time now);
  void at(Time when) { next_ = next_ ? std::min(*next_, when) : when; }

  const Uses uses_;
  void give_back_beyond_most(Time now);

  std::optional<Time> next_;
  std::int64_t told_most_ = -1;         // negative: as is configured
  std::optional<holdings::Op> open_;    // the ask that is not answered yet, or promised
  std::int64_t open_least_ = 0;         // the fewest cores that it is for; 0: not known
  bool open_is_for_nodes_ = false;      // unless that is not known
  bool gives_way_ = false;              // it is withdrawn, and nodes are asked for
  Time next_try_ = 0;                   // whether nodes would come sooner
  bool prefers_nodes_ = false;          // its own nodes have no cores for it, or not so soon
  std::string refusal_;                 // of the last ask; "": something came
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
