// children.hpp - the parent's side of its child instances: which may say hello, what was granted
// under which epoch, which are connected, and the records they send up (docs/protocol.md).
//
// A hello has to show the job's token and to come from a process of the job, as the kernel says.
//
// The journal is the truth about grants. An epoch is a child's proof that it is the holder: the
// token buys the first one, and each hello without one (a child that lost its journal before it
// could keep it) buys the next; a process that shows an older epoch is refused and has to end.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "instance/basics/refusals.hpp"
#include "instance/journal/after_commit.hpp"
#include "instance/manager/manager.hpp"
#include "instance/tree/ancestry.hpp"
#include "msg/instance.hpp"
#include "transport/rpc.hpp"

namespace holon::instance {

class Children {
 public:
  // The grant for a job, complete but for the epoch. Errors go to the child.
  using MakeGrant = std::function<Result<msg::Grant>(const ActiveJob&)>;

  Children(transport::Server& server, Journal& journal, JobManager& jobs, AfterCommit& after_commit,
           Refusals& refusals, MakeGrant make_grant, BelongsTo belongs_to);

  // Reads the known children, which count as lost at `now`.
  Status recover(Time now);
  // The secret of the child that `job` is or will be; made and journalled once.
  std::string token(JobId job);

  void hello(const transport::Request& request, Time now);
  // Answers a process on another node of a child with the invitation to be the child's agent there.
  void invite(const transport::Request& request, Time now);
  // The job's processes are known from now on: earlier requests of theirs are looked at.
  void tasks_started(JobId job, Time now);
  // Takes records from a child. Returns the paths of those that were news.
  std::vector<std::string> records(const transport::Request& request, Time now);
  void peer_lost(transport::PeerId peer, Time now);
  void forget(JobId job) {
    early_.erase(job);
    children_.erase(job);
  }

  // Children that were started, and the peers of those that are connected.
  std::vector<JobId> all() const;
  std::map<JobId, transport::PeerId> connected() const;
  // The peer of a child; 0: it is not connected.
  transport::PeerId peer(JobId job) const;
  // The child at this connection; nullopt: the peer is none.
  std::optional<JobId> child_at(transport::PeerId peer) const;
  // Counts the processes that were the child without knowing of the one before.
  std::uint64_t epoch_of(JobId job) const;
  // Sends the child a message that it acknowledges; lost if it is not connected.
  void tell(JobId job, const char* topic, std::string payload);
  // Has a child said hello over this connection?
  bool knows(transport::PeerId peer) const { return !reports_below(peer).empty(); }
  // Handles "ending" from a child.
  void begins_to_end(const transport::Request& request);
  bool ending(JobId job) const;
  // Was the child ever to be started?
  bool has_begun(JobId job) const { return children_.count(job) != 0; }
  // Did the child say, as its last word, that we have all of its records in their final form?
  bool has_told_all(JobId job) const;
  // May the child know more of its jobs than it has told? Until its job is over, when all that it
  // has left has been read.
  bool may_know_more(JobId job) const;
  // How long the return of a child that is not connected and may know more is worth waiting for, of
  // `patience` from when it was lost. 0: not at all.
  Duration patience_left(JobId job, Duration patience, Time now) const;
  // When the child last told something of its jobs, by the wall clock; 0: not to this broker.
  Time told_at(JobId job) const;
  void tell_lease(JobId job, const msg::Lease& lease);
  std::function<void(JobId)> on_connected = [](JobId) {};
  // A child without a journal of its grant is welcomed: it knows of none but this one.
  std::function<void(JobId, Time now)> on_new = [](JobId, Time) {};

 private:
  struct Child {
    ChildGrant grant;
    transport::PeerId peer{0};
    bool ending = false;                        // it has said so since its last hello
    bool told_all = false;                      // likewise
    Time lost = 0;                              // when it lost its peer, while it has none
    Time told = 0;                              // when its last records came, by the wall clock
    std::string invitation;                     // from its last hello
    std::vector<transport::Request> uninvited;  // of its processes that wait for the invitation
  };
  Status admit(const ChildGrant& grant, const msg::Hello& hello) const;
  void invite_some(JobId id, Time now);
  bool is_of(const ActiveJob& job, const transport::Principal& who) const;
  void welcome(const transport::Request& request, const msg::Hello& hello, const ActiveJob& job,
               Time now);
  // The path below which the child at this connection reports; empty: the peer is no child.
  std::string reports_below(transport::PeerId peer) const;

  transport::Server& server_;
  Journal& journal_;
  JobManager& jobs_;
  AfterCommit& after_commit_;
  Refusals& refusals_;
  MakeGrant make_grant_;
  BelongsTo belongs_to_;
  std::map<JobId, Child> children_;
  // Hellos with the right token that came before the agent's report of the job's processes.
  std::map<JobId, transport::Request> early_;
};

}  // namespace holon::instance
