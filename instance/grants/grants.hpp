// grants.hpp - grants that move (docs/elastic.md): the book of this instance, as one that lends to
// those below and borrows from the one above.
#pragma once
#include <functional>
#include <list>
#include <optional>
#include <string>

#include "instance/grants/borrower.hpp"
#include "instance/grants/elastic.hpp"
#include "instance/grants/kept_book.hpp"
#include "instance/grants/lender.hpp"
#include "instance/grants/loans/own_loans.hpp"
#include "instance/grants/loans/taken_loans.hpp"
#include "instance/grants/nodes_above.hpp"
#include "instance/grants/reclaim.hpp"
#include "instance/tree/parent_link.hpp"

namespace holon::instance {

class Grants {
 public:
  struct Uses {
    const Identity& identity;
    const config::Config& config;
    InstanceClock& clock;
    Journal& journal;
    resource::ResourceStore& store;
    const qmanager::Scheduler& scheduler;
    const NodesOfAgents& nodes_of_agents;
    JobManager& jobs;
    Agents& agents;
    GrantedNodes& granted_nodes;
    Children& children;
    AfterCommit& after_commit;
    ParentLink* parent;  // may be null
  };
  explicit Grants(Uses uses);

  // Reads the book, before the jobs are. `fresh`: nothing of an earlier run is left. Errors: of the
  // journal.
  Status load(bool fresh);
  // Goes on with what the book says, once the jobs are there.
  void restore(Time now);
  // Why this job, which is too large for what is here, may wait, as a clause; "": it may not.
  std::string awaited(const qmanager::JobRequest& job) const;
  // "grant", from a child or the parent; answered once it is on disk.
  void take(const transport::Request& request, Time now);
  void ask(const transport::Request& request, Time now) { borrower_.ask(request, now); }
  Status release(const msg::GrantRelease& what, Time now) { return borrower_.release(what, now); }
  Status recall(const msg::GrantRecall& what, Time now) {
    return what.child == 0 ? own_loans_.recall(what, now) : lender_.recall(what, now);
  }
  Result<msg::GrantLent> lend(const msg::GrantLend& what, const std::string& user, Time now) {
    return own_loans_.lend(what, user, now);
  }
  void node_leaves(const Lender::NodeLeaves& what, Time now) { lender_.node_leaves(what, now); }
  // The nodes that came whole from above, and go back there.
  std::set<resource::VertexId> nodes_going_back() const { return borrower_.nodes_going_back(); }
  msg::GrantReply show() const;
  // "grant.wait", answered in turn().
  void wait(const transport::Request& request);
  // "grant.explain", about a job that waits here; answered once the instance above has.
  void explain(const transport::Request& request, Time now);
  // "grant.could", from a child.
  void could(const transport::Request& request, Time now) const;
  // "grant.pulse", from a child.
  void pulse(const transport::Request& request, Time now);
  // Called when the instance above has said that it counts on this one.
  void on_sure(std::function<void()> is_sure) { borrower_.is_sure = std::move(is_sure); }
  // Borrower::sure_until().
  Time sure_until(const ActiveJob& job) const { return borrower_.sure_until(job); }
  // Lender::late_word().
  std::string late_word(const ActiveJob& grant, Time now) const {
    return lender_.late_word(grant, now);
  }
  Result<msg::GrantHistory> history(std::uint64_t limit) const;
  // The parent has taken this instance for its child, over a new connection.
  void connected() {
    nodes_above_.forget();
    borrower_.connected();
  }
  // Up to how many cores the instance above lets it ask for more by itself (Elastic::set_most).
  void set_most(std::int64_t cores, Time now) { elastic_.set_most(cores, now); }
  void begins_anew(JobId child, Time now) {
    if (!taken_loans_.begins_anew(child, now)) lender_.begins_anew(child, now);
  }
  void is_over(const msg::JobRecord& record, Time now) { lender_.is_over(record, now); }
  std::optional<Time> turn(Time now);
  const holdings::Book& book() const { return book_.book(); }
  // Is what this instance has from above written down in it?
  bool has_begun() const { return book_.has_begun(); }
  // Counts the changes of what this instance holds; 0: nothing has changed.
  std::uint64_t epoch() const { return book_.up().epoch; }

 private:
  struct Waiting {
    transport::Request request;
    std::uint64_t epoch = 0;
  };
  void answer_waiting();
  void explain_job(const transport::Request& request, JobId job, Time now) const;
  std::optional<Time> learn_of_nodes(Time now);
  void ask_pulse(std::function<void(const msg::GrantPulseReply&)> done);
  void if_there_now(const Need& need, std::function<void()> yes);
  msg::GrantExplained explained(const ActiveJob& job, Time now) const;
  std::string hosts_of_whole(const holdings::Units& units, JobId child) const;
  msg::GrantPart part_of(const holdings::Holding& holding, const std::string& path,
                         JobId child) const;
  void add_lent(const holdings::Link& link, const std::string& path, JobId child,
                std::vector<msg::GrantPart>& parts) const;
  void send_up(const holdings::Message& message);

  const Uses uses_;
  KeptBook book_;
  Lender lender_;
  Borrower borrower_;
  OwnLoans own_loans_;
  TakenLoans taken_loans_;
  NodesAbove nodes_above_;
  Needs needs_;
  Elastic elastic_;
  Reclaim reclaim_;
  std::list<Waiting> waiting_;
  bool is_lost_ = false;  // the journal was damaged, and what it had of grants makes no sense
};

}  // namespace holon::instance
