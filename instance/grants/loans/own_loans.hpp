// own_loans.hpp - what this instance lends of its own to the one above, until a time.
//
// A job holds it here (SchedulingOptions::lends): it runs nothing, its limit is when the units are
// this instance's again, and what waits is planned around it as around any other job. It is over
// when the instance above has given the units back, however late that is; then jobs may be placed
// there. A restart goes on with the job and the book (kept_book.hpp).
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "instance/grants/kept_book.hpp"
#include "instance/grants/units.hpp"
#include "instance/journal/after_commit.hpp"
#include "instance/manager/manager.hpp"
#include "instance/tree/identity.hpp"
#include "msg/grant.hpp"
#include "resource/store.hpp"

namespace holon::instance {

class OwnLoans {
 public:
  struct Uses {
    const Identity& identity;
    resource::ResourceStore& store;
    const qmanager::Scheduler& scheduler;
    JobManager& jobs;
    KeptBook& book;
    AfterCommit& after_commit;
  };
  // Sends a message to the instance above; lost if there is no connection.
  using Send = std::function<void(const holdings::Message&)>;
  OwnLoans(Uses uses, Send send) : uses_(uses), send_(std::move(send)) {}

  // Makes sure that the book has what is this instance's own.
  std::function<bool(Time now)> begin = [](Time) { return true; };
  // Has this instance asked the one above for more, and not got it?
  std::function<bool()> has_asked = [] { return false; };

  // "grant.lend", said by this user: all of it or nothing. Errors: unsupported (nobody is above, or
  // whole nodes), invalid_argument (a time that is over, or beyond the end of this instance; more
  // than it owns), busy (less is idle, with when more is; it asks for more itself). O(what is
  // held).
  Result<msg::GrantLent> lend(const msg::GrantLend& what, const std::string& user, Time now);
  // "grant.recall" without a child: what is lent comes back before its time. Errors: not_found
  // (nothing is lent), busy (what is to be ended by force is on its way).
  Status recall(const msg::GrantRecall& what, Time now);
  // After a restart, once the jobs are there.
  void restore() { keep_free(); }
  // Call before the commit, after the scheduler's pass. Returns when the next turn is needed.
  std::optional<Time> turn(Time now);
  // Is something of its own lent, or about to be?
  bool is_any() const;
  // What helps a job here instead of asking for more, which is refused meanwhile; a sentence.
  // REQUIRES: is_any().
  std::string instead_of_more() const;

 private:
  std::vector<JobId> jobs_that_hold() const;
  std::vector<std::uint64_t> idle_of_own(const std::string& type, Interval when) const;
  Status may_lend(const msg::GrantLend& what, Time until, Time now) const;
  Status owns(const msg::GrantLend& what) const;
  Result<std::vector<std::uint64_t>> choose(const std::string& type, std::int64_t wanted,
                                            Interval when) const;
  std::string when_idle(const std::string& type, std::int64_t wanted, Interval when) const;
  void keep_free();
  void look_after(const ActiveJob& job, Time now);
  void release(const ActiveJob& job, const holdings::Units& units, Time now);
  bool reclaim(const holdings::Units& units, const holdings::Reclaim& how, Time now);
  bool write(const holdings::Turn& turn, Time now);

  const Uses uses_;
  const Send send_;
  holdings::Units drained_;  // lent, and held by no job here
};

}  // namespace holon::instance
