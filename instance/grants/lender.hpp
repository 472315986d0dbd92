// lender.hpp - the parent's side of a grant that moves.
//
// What a child has beyond its own job is held by a job of its own, a grant
// (SchedulingOptions::grant_to): it waits in the queue, is planned and counts for its user like any
// other, and its limit is when it comes back; it runs nothing. Once it has resources they are
// offered to the child. Whatever ends a job (its limit, a cancel, a place that another job takes)
// recalls them, and the job is over when no process of the child is left there.
//
// A whole node that the child does not have comes with an agent of the child: a part of the child's
// job (event::GrantExtend), which the agent of this instance there starts once the child has taken
// the node, and ends when the child has given it back. No process of the child is left there when
// that part is over.
//
// What is to be done next follows from the jobs and the book (kept_book.hpp) alone, and is looked
// for in each turn: a restart loses nothing.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "instance/agents/agents.hpp"
#include "instance/grants/kept_book.hpp"
#include "instance/grants/units.hpp"
#include "instance/journal/after_commit.hpp"
#include "instance/manager/manager.hpp"
#include "instance/tree/children.hpp"
#include "instance/tree/identity.hpp"
#include "msg/grant.hpp"
#include "resource/store.hpp"

namespace holon::instance {

class Lender {
 public:
  struct Uses {
    const Identity& identity;
    const config::Config& config;
    InstanceClock& clock;
    const resource::ResourceStore& store;
    const NodesOfAgents& nodes_of_agents;
    JobManager& jobs;
    Agents& agents;
    Children& children;
    KeptBook& book;
    AfterCommit& after_commit;
  };
  explicit Lender(Uses uses) : uses_(uses) {}

  // Does this instance ask the one above for more by itself?
  std::function<bool()> is_elastic = [] { return false; };

  // For how long this instance is sure of what it has from above, in ms; negative: always.
  std::function<Duration(Time now)> sure_for = [](Time) { return Duration{-1}; };

  // "grant.pulse", from a child.
  msg::GrantPulseReply pulse(JobId child, holdings::Epoch epoch, Time now);
  // Takes what children have of these units, which are this instance's no longer.
  void take_by_force(const holdings::Units& units, const std::string& why, Time now);
  // Of a grant that a child out of reach is to give back: when it is taken, as a clause; "": it is
  // none, or the child is heard.
  std::string late_word(const ActiveJob& grant, Time now) const;
  // Takes a message from a child.
  void receive(JobId child, const holdings::Message& message, Time now);
  // A process is the child that knows nothing of the one before it: it begins with its own.
  void begins_anew(JobId child, Time now);
  // "grant.could", from a child. Errors: not_found (it is none any more), invalid_argument,
  // unsatisfiable.
  Result<msg::GrantChance> could(JobId child, const msg::GrantCould& what, Time now) const;
  // A grant that was never given is over: its record says why.
  void is_over(const msg::JobRecord& record, Time now);
  // "grant.recall". Errors: not_found (nothing to recall), busy (what is to be ended by force is on
  // its way to the child).
  Status recall(const msg::GrantRecall& what, Time now);
  // The node of this rank, which the grant holds whole, is to leave this instance: all of the grant
  // goes back, as jobs end; what runs on this node is ended if it `kills`.
  struct NodeLeaves {
    JobId grant;
    std::uint32_t rank = 0;
    bool kills = false;
    std::string why;
  };
  void node_leaves(const NodeLeaves& what, Time now);
  // Writes what a turn says about a child, and sends its messages; false: it cannot follow.
  bool write(const holdings::Turn& turn, Time now);
  // What this grant holds is wanted back on these terms, as often as that is said.
  void want_back(JobId grant, Time by, holdings::RecallMode mode, const std::string& why, Time now);
  // The child is to give this grant back as its jobs there end.
  void give_way(JobId child, JobId grant, const std::string& why, Time now);
  // Is the grant, which holds resources, on its way back, or to end for another job?
  bool is_going_back(JobId child, const ActiveJob& grant) const;
  // Ends the children of whose grants the journal does not tell any more.
  void lose_all(Time now);
  // Call before the commit, after the scheduler's pass. Returns when the next turn is needed.
  std::optional<Time> turn(Time now);

 private:
  // A question to the agents whether a child's processes are still on units that came back.
  struct Clearing {
    std::size_t unanswered = 0;
    bool all_clear = true;
    Time again = 0;           // when to ask again
    int clear_looks = 0;      // in a row
    std::uint64_t round = 0;  // an answer to an earlier question says nothing
  };
  struct Wanted {
    Time by = 0;
    holdings::RecallMode mode = holdings::RecallMode::drain;
    std::string why;
    std::optional<holdings::Units> units{};  // of the grant; none: all
  };
  bool has_forgotten(JobId child, const holdings::Message& message) const;
  void lose(JobId child, Time now);
  void ensure_own(Time now);
  bool begin(JobId child, Time now);
  void heard(JobId child, const holdings::Ask& ask, Time now);
  void was_not_given(JobId child, const ActiveJob& grant, const std::string& why, Time now);
  void withdrawn(JobId child, holdings::Op ask, Time now);
  void say_promises_again(JobId child);
  void refuse(JobId child, holdings::Op ask, const Error& why, Time now);
  Result<msg::SubmitRequest> request_for(const ActiveJob& child, const holdings::Ask& ask) const;
  Result<std::string> jobspec_for(const ActiveJob& child, const holdings::Ask& ask) const;
  // Errors: unsatisfiable (its nodes do not have as much beside what the child has).
  Status can_be_met(const ActiveJob& child, const holdings::Ask& ask) const;
  Status can_lend_nodes() const;
  Status has_nodes_for(const ActiveJob& child, const resource::Jobspec& spec) const;
  std::vector<resource::VertexId> nodes_beside(const ActiveJob& child) const;
  void tell_of_nodes(const ActiveJob& child, msg::GrantChance& chance) const;
  bool is_child(JobId child) const;
  void close(JobId child, const std::set<JobId>& grants, Time now);
  void look_after(JobId child, const ActiveJob& grant, Time now);
  void promise(JobId child, const ActiveJob& grant, Time now);
  void offer(JobId child, const ActiveJob& grant, const holdings::Units& units, Time now);
  std::vector<Wanted> wanted_back(const ActiveJob& grant, const holdings::Units& units, Time now);
  std::vector<Wanted> wanted_above(const holdings::Units& units, Time now) const;
  void ask_back(JobId child, const ActiveJob& grant, const Wanted& wanted, Time now);
  std::vector<std::uint32_t> agents_for(const ActiveJob& grant) const;
  std::vector<resource::VertexId> nodes_with_lost_agents(const ActiveJob& grant) const;
  std::string what_was_lost(const ActiveJob& grant,
                            const std::vector<resource::VertexId>& nodes) const;
  std::vector<Wanted> from_nodes(const ActiveJob& grant,
                                 const std::vector<resource::VertexId>& nodes,
                                 Wanted by_force) const;
  bool agents_have_left(JobId child, JobId grant, Time now);
  void note_return(JobId child, JobId grant, Time now);
  void take_back(JobId child, JobId grant, const Wanted& wanted, Time now);
  bool is_of_earlier(JobId child, const ActiveJob& grant) const;
  bool is_offered(JobId child, const ActiveJob& grant) const;
  void clear(JobId child, const ActiveJob& grant, const holdings::Units& units, Time now);
  bool are_clear(JobId child, const ActiveJob& grant, int looks, Time now);
  bool was_of_earlier(JobId child, const ActiveJob& grant) const;
  void ask_agents(JobId child, const ActiveJob& grant, Time now);
  void take_on_agents(JobId child, const ActiveJob& grant,
                      const std::vector<std::pair<AgentLink*, PlacedNode>>& asked);
  void looked_at(JobId grant, std::uint64_t round, bool is_clear);
  // Looks in a row of agents that end what they find, so that nothing is left: what was just
  // beginning shows at the second.
  static constexpr int kLooksByForce = 2;
  bool is_lost(JobId child, const ActiveJob& grant) const;
  Duration fence_for(const holdings::Units& units) const;
  void look_at_silence(Time now);
  Time heard_at(JobId child) const;
  // When it is taken, and how long its child may be silent; nullopt: never, or it is not asked
  // back.
  struct Deadline {
    Time when = 0;
    Duration fence = 0;
  };
  std::optional<Deadline> deadline_of(JobId child, const ActiveJob& grant) const;
  void fence_if_due(JobId child, const ActiveJob& grant, Time now);
  void fence(JobId child, const ActiveJob& grant, const holdings::Units& units,
             const std::string& why, Time now);
  void send(JobId child, const holdings::Message& message);
  const ActiveJob* grant_of(JobId child, const holdings::Units& units) const;
  void at(Time when) { next_ = next_ ? std::min(*next_, when) : when; }

  const Uses uses_;
  std::optional<Time> next_;
  std::map<JobId, Clearing> clearing_;  // by the grant
  std::map<JobId, Time> heard_;         // the last word of a child, to this broker
  std::uint64_t rounds_ = 0;            // of such questions
  Time awake_since_ = 0, looked_ = 0;   // this broker has made turns all the time
};

}  // namespace holon::instance
