// tree_simulation.hpp - instances side by side under one clock. Private to sim/.
#pragma once
#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "holdings/policy.hpp"
#include "sim/simulation.hpp"
#include "sim/tree/shared_machine.hpp"
#include "sim/tree/tree.hpp"

namespace holon::sim {

// An instance while it is played.
struct PlayedInstance {
  const TreeInstance* what = nullptr;
  bool has_jobs = false;             // jobs are dealt to it; else it is a pool
  Workload workload;                 // its jobs
  std::vector<std::size_t> whole;    // by its job: the job of the whole workload
  SharedMachine* machine = nullptr;  // of the simulation
  std::unique_ptr<Simulation> simulation;
  std::int64_t on_loan = 0, borrowed = 0;  // that it has given away, and has, until a time
  std::int64_t coming = 0;                 // that is under way to it
  std::set<std::size_t> coming_for;        // jobs for which something is
  std::vector<qmanager::Window> windows;   // what it could start now; see windows_known
  bool windows_known = false;
  std::set<std::size_t> tried;  // jobs for which something was borrowed at this instant

  bool is_elastic() const { return what->elastic != Elastic::off; }
  // All that it has, or will have at once.
  std::int64_t has() const { return machine->held() + borrowed + coming - on_loan; }
};

// Processors that one instance has of another.
struct Loan {
  JobId id;  // in both plans
  std::size_t lender = 0, taker = 0;
  std::int64_t procs = 0;
  Time until = 0;       // of the lender's plan
  std::size_t job = 0;  // of the taker, for which it was made
  std::size_t record = 0;
  bool arrived = false;
};

class TreeSimulation {
 public:
  TreeSimulation(const Workload& workload, const TreePlan& plan, const SimOptions& options);
  // Makes the schedulers. Errors: those of Scheduler::create.
  Status begin();
  TreeResult run();

 private:
  // What is under way between two instances.
  struct Arrival {
    Time when;
    JobId loan;          // that comes to its taker; 0: processors without an end
    std::size_t to = 0;  // who gets those
    std::int64_t procs = 0;
    bool operator<(const Arrival& other) const {
      return std::tie(when, loan, to) < std::tie(other.when, other.loan, other.to);
    }
  };

  std::optional<Time> next_instant() const;
  void play(Time t);
  void note_ends(std::size_t at);
  void arrive();
  void return_unused();
  void pass(std::size_t at);

  // ---- loans (loans.cpp)
  void lend_and_borrow();
  bool borrow_something(std::size_t taker);
  bool borrow_for(std::size_t taker, std::size_t job, bool is_first);
  std::vector<std::pair<std::size_t, std::int64_t>> lenders_for(std::size_t taker,
                                                                std::int64_t procs,
                                                                Duration length);
  void lend(std::size_t lender, std::size_t taker, std::size_t job, std::int64_t procs, Time back);
  void return_loans(std::size_t taker);
  void end_loan(JobId id);
  void recall_for_owners();
  const std::vector<qmanager::Window>& windows_of(std::size_t at);

  // ---- pools (pools.cpp)
  void share_pools();
  void give_back_to_pools(std::size_t at);
  void move_without_end(std::size_t from, std::size_t to, std::int64_t procs);
  std::int64_t wanted_by(std::size_t at) const;

  // What holdings/ decides by.
  holdings::Tree as_policy_sees_it() const;
  Duration way(std::size_t from, std::size_t to) const;  // of messages
  // From the decision to lend until the lender has the processors of a job back at the latest.
  Duration lent_for(std::size_t lender, std::size_t taker, Duration limit) const;
  std::size_t note_move(std::size_t from, std::size_t to, std::int64_t procs);
  void changed(std::size_t at);

  const Workload& workload_;
  const TreePlan& plan_;
  const SimOptions& options_;
  MakeRequest request_of_;
  SimOptions inner_;  // of each instance
  std::int64_t procs_ = 0;
  std::vector<PlayedInstance> instances_;
  std::map<JobId, Loan> loans_;
  std::set<std::pair<Time, JobId>> loan_ends_;
  std::multiset<Arrival> under_way_;
  std::vector<std::size_t> pool_of_;  // by instance: where its extra without an end came from
  std::set<std::size_t> to_pass_;
  std::uint64_t last_loan_ = std::uint64_t{1} << 62;
  Time now_ = 0;
  TreeResult result_;
};

}  // namespace holon::sim
