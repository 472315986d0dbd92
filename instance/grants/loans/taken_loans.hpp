// taken_loans.hpp - what children have lent of their own: this instance places its jobs on it until
// its time, and gives it back.
//
// The child's job goes without these units meanwhile, and has them again from the time of the
// return on (Scheduler::set_lent), so that whatever is placed there is over by then. A loan goes
// back when it is due, or when the child wants it back before: what nobody uses at once, the rest
// as jobs there end, or are ended if the child wants that. No unit goes back before the last
// process there has gone. What is to be done follows from the book (kept_book.hpp) and the jobs.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "instance/agents/agents.hpp"
#include "instance/grants/kept_book.hpp"
#include "instance/grants/lender.hpp"
#include "instance/grants/loans/reserved.hpp"
#include "instance/grants/units.hpp"
#include "instance/manager/manager.hpp"
#include "instance/tree/identity.hpp"
#include "resource/store.hpp"

namespace holon::instance {

class TakenLoans {
 public:
  struct Uses {
    const Identity& identity;
    resource::ResourceStore& store;
    const qmanager::Scheduler& scheduler;
    const NodesOfAgents& nodes_of_agents;
    JobManager& jobs;
    Agents& agents;
    KeptBook& book;
    Lender& lender;
  };
  explicit TakenLoans(Uses uses) : uses_(uses) {}

  // What jobs may be placed on of what the child has lent. O(its loans).
  std::vector<Lent> lent_by(JobId child) const;
  // Which advance reservations of this instance keep some of these units from the child that has
  // lent them, as a clause; "": none.
  std::string why_reserved(JobId child, const holdings::Units& units, Time now) const;
  // After a restart, once the jobs are there.
  void restore();
  // The child knows nothing of what it has lent: it would use it with others. Then it is ended, and
  // what it had is its own until it is over. True: so it is.
  bool begins_anew(JobId child, Time now);
  // Call before the commit, after the scheduler's pass. Returns when the next turn is needed.
  std::optional<Time> turn(Time now);

 private:
  // A question to the agents whether jobs of the child are still on units that it has lent.
  struct Clearing {
    std::size_t unanswered = 0;
    bool all_clear = true;
    bool is_clear = false;
    Time again = 0;
    std::uint64_t round = 0;  // an answer to an earlier question says nothing
    holdings::Units units{};  // that were asked about
  };
  // What is to go back now.
  struct Due {
    holdings::Units units;  // whatever the reason
    holdings::Units late;   // what is past its time
  };
  using Terms = std::vector<std::pair<holdings::Units, Time>>;

  Terms terms_of(JobId child, const holdings::Units& without_these = {}) const;
  std::vector<Lent> lent_as(const Terms& terms) const;
  bool apply(JobId child, const Terms& terms, Time now);
  bool is_child(JobId child) const;
  void look_after(JobId child, Time now);
  void clear(JobId child, Time now);
  void ask_agents(JobId child, const holdings::Units& units, Time now);
  void answered(JobId child, std::uint64_t round, bool is_clear);
  Due due(JobId child, Time now);
  std::map<JobId, holdings::Units> users_of(JobId child, const holdings::Units& units) const;
  void end_users(JobId child, const std::map<JobId, holdings::Units>& users, Time now);
  void end_endless(JobId child, const std::map<JobId, holdings::Units>& users,
                   const holdings::Units& late, Time now);
  std::vector<ReservedUnits> reserved_of_loans(JobId child, const holdings::Units& units,
                                               Time now) const;
  void give_back(JobId child, const holdings::Units& units, Time now);
  bool offer_back(JobId child, const holdings::Units& units, Time now);
  void look_at_answer(JobId child, Time now);
  void drain_only(const holdings::Units& units);
  void at(Time when) { next_ = next_ ? std::min(*next_, when) : when; }

  const Uses uses_;
  std::optional<Time> next_;
  std::map<JobId, Terms> applied_;            // as the scheduler has it, by child
  std::map<JobId, Time> again_;               // when to try what has failed
  std::map<JobId, holdings::Units> offered_;  // back to a child, which has not answered yet
  std::map<JobId, Clearing> clearing_;
  holdings::Units drained_;  // wanted back before their time, and in use
  std::uint64_t rounds_ = 0;
};

}  // namespace holon::instance
