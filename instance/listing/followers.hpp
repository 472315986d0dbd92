// followers.hpp - "events": clients that follow all that happens in this instance, from its present
// state or from where they stopped.
//
// Followers read the journal, in its order, and a cursor is a place in it: so a client that was cut
// off, or whose broker was restarted, misses nothing and hears nothing twice. A follower costs a
// portion of work for each turn in which something happened.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "instance/basics/sliced_work.hpp"
#include "instance/journal/after_commit.hpp"
#include "instance/journal/journal.hpp"
#include "instance/manager/manager.hpp"
#include "instance/tree/node_view.hpp"
#include "instance/users/hiding.hpp"
#include "msg/events.hpp"
#include "transport/reactor.hpp"
#include "transport/rpc.hpp"

namespace holon::instance {

class Followers {
 public:
  struct Uses {
    const JobManager& jobs;
    const Journal& journal;
    const NodeView& node;
    SlicedWork& portions;
    AfterCommit& after_commit;
  };
  Followers(transport::Reactor& reactor, Uses uses) : reactor_(reactor), uses_(uses) {}

  // `viewer`: the only user whose jobs are shown; nullopt: all users.
  void follow(const transport::Request& request, std::optional<std::string> viewer);
  // An event was journalled.
  void happened();
  // The instance ends.
  void close(const Error& why);

 private:
  // Sent are the events with lower numbers, and event `number` for the first `jobs` of its jobs.
  struct Cursor {
    std::int64_t number = 0;
    std::uint64_t jobs = 0;
  };
  // A snapshot is made in portions. The records of the jobs up to `last` show all events with
  // numbers below `number`.
  struct Shown {
    JobId last;
    std::int64_t number = 0;
  };
  struct Follower {
    transport::Request request;
    msg::EventsRequest ask;
    std::optional<std::string> viewer;
    std::string era;
    Cursor place;
    bool lists = false;  // the snapshot is being made
    bool gap = false;    // the follower begins anew, without a snapshot
    bool began = false;  // its first part was sent
    std::vector<Shown> shown;
    bool works = false;                           // a portion of its work is waiting
    std::string node;                             // packed, as last sent
    std::map<std::uint64_t, std::string> arrays;  // likewise, records of arrays that are not over
    std::uint64_t next_array = 0;                 // the next to be looked at
    transport::Subscription pause;
  };
  using Number = std::uint64_t;

  bool go_on_from(const std::string& cursor, Follower& follower) const;
  Status begin_anew(Follower& follower) const;
  void work(Number number, Follower& follower);
  bool step(Number number);
  void end(Number number);
  Result<bool> list_some(Follower& follower);
  Result<bool> tell_some(Follower& follower);
  Result<std::vector<msg::JobRecord>> next_records(const Follower& follower, JobId last) const;
  void take(Follower& follower, const NumberedEvent& event, msg::EventsPart& part) const;
  void add_records(const Follower& follower, msg::EventsPart& part) const;
  Hiding hiding_from(const Follower& follower) const;
  void add_node(Follower& follower, msg::EventsPart& part) const;
  void add_arrays(Follower& follower, msg::EventsPart& part) const;
  void add_array(Follower& follower, std::uint64_t id, msg::EventsPart& part) const;
  void send(const Follower& follower, const msg::EventsPart& part) const;
  void look_around();

  transport::Reactor& reactor_;
  const Uses uses_;
  Number last_ = 0;
  std::map<Number, Follower> followers_;
  transport::Subscription looks_;  // while somebody wants the node, or arrays
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace holon::instance
