// borrower.hpp - the child's side of a grant that moves: it asks for more, its graph grows with
// what comes, and what goes back is first left by all that runs there.
//
// What is to be done next follows from the book (kept_book.hpp). Units that are asked back, or past
// their time, take no new work; once no job holds any of them they are released, and once the
// instance above has that in its journal they leave the graph. A whole node comes with all that is
// on it, and leaves with its last unit (membership/granted_nodes.hpp).
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "instance/grants/kept_book.hpp"
#include "instance/grants/reach.hpp"
#include "instance/grants/units.hpp"
#include "instance/journal/after_commit.hpp"
#include "instance/manager/manager.hpp"
#include "instance/membership/granted_nodes.hpp"
#include "instance/tree/identity.hpp"
#include "msg/grant.hpp"
#include "resource/store.hpp"
#include "transport/rpc.hpp"

namespace holon::instance {

class Borrower {
 public:
  struct Uses {
    const Identity& identity;
    Journal& journal;
    resource::ResourceStore& store;
    JobManager& jobs;
    GrantedNodes& nodes;
    KeptBook& book;
    AfterCommit& after_commit;
  };
  // Sends a message to the instance above; lost if there is no connection.
  using Send = std::function<void(const holdings::Message&)>;
  Borrower(Uses uses, Send send) : uses_(uses), send_(std::move(send)) {}

  // Makes sure that the book has what is this instance's own. False: it cannot be written.
  bool begin(Time now);
  // Puts into the graph what the book says of it: ends, and what takes no work.
  void restore();
  // The instance above has taken this instance for its child, over a new connection.
  void connected();
  // Called with the answer; after a promise again, with what has become of it. `never`: it was
  // refused since there will be none of what was asked for.
  using OnAnswer = std::function<void(const Result<msg::GrantAnswer>&, bool never, Time now)>;
  // Asks for what the jobspec says. Errors: unsupported (nobody is above), busy, protocol.
  Result<holdings::Op> ask_for(const std::string& jobspec, OnAnswer on_answer, Time now);
  // Does without it, if it is not on its way. Once is enough.
  void withdraw(holdings::Op ask);
  // Has it been asked for, and neither come nor been refused?
  bool is_open(holdings::Op ask) const { return asked_.contains(ask) || is_promised(ask); }
  // Has it been promised for later?
  bool is_promised(holdings::Op ask) const { return promised_.contains(ask); }
  // Has the instance above said all that it has promised or sent before now?
  bool is_up_to_date() const { return is_up_to_date_; }
  // "grant.ask", answered when the answer comes.
  void ask(const transport::Request& request, Time now);
  // "grant.release".
  Status release(const msg::GrantRelease& what, Time now);
  // Takes a message from above.
  void receive(const holdings::Message& message, const std::string& jgf, Time now);
  // Call before the commit, after the scheduler's pass. Returns when the next turn is needed.
  std::optional<Time> turn(Time now);
  // Has no job any of the units?
  bool is_idle(const holdings::Units& units) const;
  // The nodes that came whole and go back.
  std::set<resource::VertexId> nodes_going_back() const;
  // Are they of a node whose agent is still being started, since then at the earliest?
  bool is_coming(const holdings::Units& units, Time since) const;

  // Says why so many cores, which come for this ask, are not taken, as a clause; "": they are.
  std::function<std::string(holdings::Op ask, std::int64_t cores)> objection =
      [](holdings::Op, std::int64_t) { return std::string(); };

  // Until when what the job runs on is surely this instance's own; kTimeMax: as long as it has it.
  Time sure_until(const ActiveJob& job) const;
  // For how long from now on this instance is sure of all that it has, in ms; negative: always.
  Duration sure_for(Time now) const;
  // Asks the instance above whether it counts on this one still. `done`: with the answer, if one
  // comes.
  std::function<void(std::function<void(const msg::GrantPulseReply&)> done)> ask_pulse =
      [](const std::function<void(const msg::GrantPulseReply&)>&) {};
  // The instance above has said that it counts on this one: sure_until() is later than before.
  std::function<void()> is_sure = [] {};
  // What children have of these units is taken from them.
  std::function<void(const holdings::Units& units, const std::string& why, Time now)> take_below =
      [](const holdings::Units&, const std::string&, Time) {};

  void has_parent(bool has) { has_parent_ = has; }
  bool has_parent() const { return has_parent_; }
  // Has something been asked for that has neither come nor been refused?
  bool has_asked() const { return !asked_.empty() || !promised_.empty(); }
  // Does this instance lend of its own? Then it asks for nothing.
  std::function<bool()> lends = [] { return false; };
  // When what was asked for is planned to come; kTimeMax: not known.
  std::vector<Time> promised() const;

 private:
  struct Asked {
    holdings::Ask ask;
    OnAnswer on_answer;
  };
  struct Promised {
    holdings::Ask ask;  // op 0: of an earlier broker
    OnAnswer on_answer;
    Time at = 0;
  };
  void write_and_send(const holdings::Turn& turn, Time now);
  Status grow(const holdings::Extend& extend, const std::string& jgf, Time now);
  bool is_loan(const holdings::Holding& holding) const;
  bool leaves(const holdings::Holding& holding) const;
  Status grow_by(const resource::GraphSpec& part, const holdings::Extend& extend);
  std::vector<resource::VertexId> places_of(const holdings::Units& units) const;
  std::vector<resource::VertexId> nodes_gone_with(const holdings::Units& units) const;
  void shrink(const holdings::Units& units);
  void leave(const holdings::Units& units);
  void drain(const holdings::Units& units);
  void kill_there(const holdings::Recall& recall, Time now);
  std::optional<Time> keep_in_touch(Time now);
  std::optional<Time> use_what_is_sure(Time now);
  void hear_of_fence(const holdings::Fenced& fenced);
  void leave_what_was_taken(Time now);
  std::optional<Time> drain_what_is_over(Time now);
  std::optional<Time> end_what_is_recalled(Time now);
  void release_what_is_idle(Time now);
  void hear(const holdings::Message& message, Time now);
  void answer(holdings::Op op, const Result<msg::GrantAnswer>& answer, Time now,
              bool never = false);

  const Uses uses_;
  const Send send_;
  bool has_parent_ = false;
  bool is_up_to_date_ = false;
  std::map<holdings::Op, Asked> asked_;
  std::map<holdings::Op, Promised> promised_;
  std::set<holdings::Op> withdrawn_;  // of these
  ParentReach reach_;
  Time next_pulse_ = 0;
  SureEnds ends_;                           // as the graph has them
  std::optional<holdings::Fenced> fenced_;  // and jobs are still on what was taken
};

}  // namespace holon::instance
