// client.hpp - an instance as a program sees it: connect, then one method per request, and streams
// of what happens (docs/protocol.md has the messages, client/README.md an example).
//
// Times are milliseconds since the Unix epoch by the wall clock of the instance, durations
// milliseconds, 0 means "none" (msg/instance.hpp). Requests go to path(); where that instance is
// not the one connected to, they travel through the tree.
//
// Every request may fail with disconnected (the connection was lost, or the broker was started
// again, before the answer came: it may or may not have been carried out), timed_out (no answer
// within Patience::answer, for those that may take long within 10 min), not_found (there is no such
// instance, or it has ended: the message says so), denied (this user may not), busy, protocol. Its
// own errors stand at each.
//
// Thread rule: one thread; calls block until the answer is there or the connection is lost.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "msg/array.hpp"
#include "msg/audit.hpp"
#include "msg/config.hpp"
#include "msg/events.hpp"
#include "msg/grant.hpp"
#include "msg/graph.hpp"
#include "msg/input.hpp"
#include "msg/instance.hpp"
#include "msg/policy.hpp"
#include "msg/provision.hpp"
#include "msg/queue.hpp"
#include "msg/reservation.hpp"
#include "msg/resource.hpp"
#include "msg/schedule.hpp"
#include "transport/reactor.hpp"

namespace holon::client {

// The times that a client waits, in ms.
struct Patience {
  // Until an instance that is connected to has answered for the first time.
  Duration connect = 5'000;
  // Until a request is answered that takes the instance no time to speak of.
  Duration answer = 30'000;
  // Until a broker that is being started again is there: a second as a rule, and more where it
  // keeps crashing.
  Duration restart = 30'000;
  // How often an instance is asked how it stands, during a wait that may take for ever, and after
  // what time without an answer the client says that it does not answer.
  Duration ask_again = 4'000, silence = 3'000;
};

// The instance to connect to.
struct Address {
  // "ipc://DIR/broker", the same as the name of a socket ("/run/user/1000/holon-x/broker"), or
  // "tcp://HOST:PORT". "": $HOLON_URI, else the user's only running root instance.
  std::string uri = {};
  // The instance that requests are for: a path ("/3/7"), or one as seen from the instance at `uri`
  // ("7", ".."). "": that instance itself, or in one that serves several users the user's own below
  // it, if there is one; submit() makes it where each user has one.
  std::string path = {};
  // If set: a broker that is being started again is waited for (Patience::restart), and this is
  // called once with a sentence about it; also when an instance that is waited for, by its path,
  // does not answer (Patience::silence).
  std::function<void(const std::string& notice)> on_wait = {};
  Patience patience = {};
};

// The position of a follower of a tree: the cursors of the instances it follows, by their paths.
using TreeCursors = std::map<std::string, std::string>;

class Client {
 public:
  // Connects. Errors: disconnected (no instance, several, or no answer: the message says what to
  // do), invalid_argument (a path that is none).
  static Result<Client> connect(const Address& address = {});
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  // The instance that requests go to: an absolute path, or "" for the instance connected to.
  const std::string& path() const;
  void set_path(std::string path);

  // ---- jobs ----

  // Submits jobs; once it returns they are in the instance's journal. A connection that is lost
  // before the answer is made again, for up to Patience::restart, and the request is sent again:
  // its key (a random one where `request` has none) keeps it from being carried out twice. If it
  // goes to an instance of the user's own that waits for its resources, this call waits too.
  // Errors: invalid_argument, unsupported, out_of_range (the jobspec; the message has the place),
  // not_found (a queue or a job that it names), unsatisfiable (it can never run here; the message
  // says why), exists (another submission had this key), denied (the queue is closed).
  Result<msg::SubmitReply> submit(msg::SubmitRequest request);
  // Submits tasks that wait for each other, all or none, otherwise like submit(). `where` of an
  // error is the place in the request, "tasks/7".
  Result<msg::GraphReply> submit_graph(msg::GraphRequest request);
  // Adds tasks to an open array, all or none whatever happens, and may close it.
  Result<msg::ExtendReply> extend(msg::ExtendRequest request);
  // May a submission name a user to run as? Errors: unsupported (an instance of one user).
  Status check_serves_users();
  // Lists jobs page by page: in the order of their ids (with a limit: reversed), or in none if
  // `recursive`; then a path may come twice. `take(page, more)` returns false to leave early.
  // Errors: not_found (one of the ids).
  Status each_page(msg::JobsRequest request,
                   const std::function<bool(std::vector<msg::JobRecord>, bool)>& take);
  // All listed jobs by path; with a limit the newest. Errors: not_found (one of the ids).
  Result<msg::JobsReply> jobs(const msg::JobsRequest& request);
  // The number of jobs of each state and result. Errors: those of jobs().
  Result<std::vector<msg::StateCount>> count_jobs(msg::JobsRequest request);
  // The use of jobs that are over, by `request.by`. Errors: those of jobs(), and invalid_argument
  // (nothing that they can be told apart by).
  Result<std::vector<msg::Usage>> usage(msg::JobsRequest request);
  // The numbers of tasks of an array, by their indices. Errors: not_found (no such job, no task
  // with one of these indices), invalid_argument (it is no array).
  Result<msg::TasksReply> tasks(const msg::TasksRequest& request);
  // Everything kept about a job. Errors: not_found.
  Result<msg::JobInfoReply> info(std::uint64_t id);
  // The record of a job of this path's instance, also where that instance is gone: its ancestors
  // keep its records. Errors: not_found.
  Result<msg::JobRecord> record(std::uint64_t id);
  // Waits for as long as it takes until all of them are INACTIVE, also while a broker that crashed
  // is started again. Errors: not_found (one of the ids).
  Result<msg::WaitReply> wait(const msg::WaitRequest& request);
  // The numbers of the jobs that are active now, without the children of a tree that was planted
  // with the instance (TreeNode::planted): these last as long as it does.
  Result<std::vector<std::uint64_t>> active_jobs();
  // Waits for all of these.
  Result<msg::WaitReply> wait_for_all();
  // Cancels jobs. Pending jobs are INACTIVE at once; running ones get SIGTERM, and SIGKILL after
  // their grace. Errors: not_found (one of the ids; none is cancelled then).
  Result<msg::CancelReply> cancel(const msg::CancelRequest& request);
  // Sends a signal to all tasks of running jobs. Errors: not_found, denied (one of them does not
  // run; none gets it then), disconnected (an agent of theirs is away, or was lost meanwhile: its
  // tasks may have got it), invalid_argument (no signal), out_of_range (more than 10,000 ids).
  Status signal(const msg::SignalRequest& request);
  // Changes what jobs ask for; of running ones only the limit. Errors: not_found, denied (one of
  // them is over, or has started), invalid_argument, unsatisfiable (it could never run then, or not
  // end in time), out_of_range (more than 10,000 ids); none is changed then.
  Status update(const msg::UpdateRequest& request);
  // Stops the tasks of running jobs, or lets them go on. Errors: not_found, denied (one of them
  // does not run, or is an instance), out_of_range; none is stopped then.
  Status suspend(const msg::SuspendRequest& request);
  // Sets the urgency: 0 holds a pending job, 31 expedites it. Errors: not_found, denied (it has
  // started or is over), invalid_argument (above 31), out_of_range (more than 10,000 ids).
  Status set_urgency(const msg::UrgencyRequest& request);

  // ---- the instance and the tree ----

  // Units of resources by their types, and nodes.
  Result<msg::ResourceReply> resources();
  // Lets nodes take no new work, or take it again. Errors: not_found (a host), invalid_argument.
  Status drain(const msg::DrainRequest& request);
  // An invitation for nodes that the instance was not started with; one line, and a secret. Errors:
  // unsupported (others cannot reach it), invalid_argument.
  Result<std::string> invite(const msg::InviteRequest& request);
  // Returns once the node is out. Errors: not_found, denied (the broker is on it).
  Status leave(const msg::LeaveRequest& request);
  // Submits batch jobs from now on when the instance's plan lacks resources. Errors: unsupported
  // (of this instance), invalid_argument.
  Result<msg::ProvisionReply> provision(const msg::ProvisionRequest& request);
  Result<msg::ProvisionsReply> provisions();
  // Changes a provision. Errors: not_found, invalid_argument.
  Status change_provision(const msg::ProvisionChange& request);
  // This instance and all below it; those that do not answer in time are marked.
  Result<msg::TreeNode> tree();
  // This instance alone.
  Result<msg::TreeNode> status();
  // Gives back to the disk what holds nothing any more in the instance's journal.
  Result<msg::CompactReply> compact_journal();
  // Ends the instance in order: returns once it knows.
  Status shutdown(const msg::ShutdownRequest& request);

  // ---- the schedule ----

  Result<msg::PriorityReply> priority(const msg::PriorityRequest& request);
  // Why jobs wait. Errors: not_found, out_of_range (more than msg::kMaxExplained ids).
  Result<msg::ExplainReply> explain(const msg::ExplainRequest& request);
  Result<msg::WindowsReply> windows();
  // The whole plan, in as many parts as it takes.
  Status plan(const msg::PlanRequest& request, const std::function<void(msg::PlanPart)>& on_part);
  // Opens or closes a gate. Errors: not_found (the queue), invalid_argument (the gate).
  Status set_gate(const msg::GateRequest& request);
  Result<msg::StatsReply> stats();
  // The configuration. Errors: not_found (no such key).
  Result<msg::ConfigReply> config(const msg::ConfigRequest& request);
  // Reads the instance's files again. Errors: invalid_argument (a fault in them, with the place),
  // denied (the key, or the job, that is in the way); nothing has changed then.
  Result<msg::ReloadReply> reload_config();
  // Another policy for a queue. Errors: not_found (the queue), invalid_argument (the policy).
  Status load_policy(const msg::PolicyLoadRequest& request);
  Result<msg::PolicyDisableReply> disable_policy(const msg::PolicyDisableRequest& request);
  Result<msg::PolicyShown> show_policy(const msg::PolicyShowRequest& request);
  Result<msg::WhatIfReply> what_if(const msg::WhatIfRequest& request);
  // The changes asked for and refused, and by whom; the newest first.
  Result<msg::AuditReply> audit(const msg::AuditRequest& request);
  // Makes an advance reservation. Errors: unsatisfiable (not free then), invalid_argument.
  Result<msg::ReserveReply> reserve(const msg::ReserveRequest& request);
  Result<msg::ReservationsReply> reservations();
  // Cancels reservations. Errors: not_found (one that is over).
  Status unreserve(const msg::UnreserveRequest& request);

  // ---- grants that move ----

  // What this path's instance holds from above, and what it has given on.
  Result<msg::GrantReply> grants();
  // Asks the instance above for more, and waits until that is here, planned or refused. Errors:
  // unsatisfiable (it gets none, and why), unsupported (of a root), busy (too many asks are open),
  // disconnected.
  Result<msg::GrantAnswer> ask_grant(const msg::GrantAsk& request);
  // Waits until the epoch of what the instance holds is above `epoch`. Goes on over restarts of the
  // broker. Errors: disconnected (the instance has ended), busy (a thousand wait already).
  Result<msg::GrantReply> wait_for_grants(std::uint64_t epoch);
  // Tells with how many cores more a job that waits here would start, and when the instance above
  // could give them. Errors: not_found.
  Result<msg::GrantExplained> explain_grant(const msg::GrantExplain& request);
  // Gives back what is extra once nothing runs there. Errors: not_found (there is nothing).
  Status release_grant(const msg::GrantRelease& request);
  // Asks a child for what it has beyond its own; a harder recall takes the place of an open one.
  // Errors: not_found (it has nothing), busy (what is to be ended by force is on its way to it).
  Status recall_grant(const msg::GrantRecall& request);
  Result<msg::GrantLent> lend_grant(const msg::GrantLend& request);
  // The last entries of the journal about grants. Errors: out_of_range (the limit).
  Result<msg::GrantHistory> grant_history(const msg::GrantHistoryRequest& request);

  // ---- streams: `on_item` returns false to leave early ----

  // Everything that happens to the jobs of this path's instance, from a snapshot or from
  // `request.cursor` on (msg/events.hpp); over restarts of the broker it goes on where it was. Ends
  // only by `on_part`, or by an error: disconnected (the instance has ended), not_found (it had
  // before), invalid_argument (the cursor). Keep the `cursor` of the last part that was dealt with
  // to go on from there in another process; "" after a snapshot has begun and is not complete.
  Status follow(msg::EventsRequest request,
                const std::function<bool(const msg::EventsPart&)>& on_part);
  // Follows this path's instance and all below it, each with its own cursor: children are followed
  // from the moment they are up. `on_part(path, part, cursors)`: the instance of the part, and the
  // position of all behind this part. The last part of a child that has ended is a snapshot
  // (`anew`) of its jobs, all INACTIVE, with a node of health "ended"; a child that does not answer
  // sends a node of health "unreachable". `request.cursor` is not used.
  using OnTreePart = std::function<bool(const std::string& path, const msg::EventsPart& part,
                                        const TreeCursors& cursors)>;
  Status follow_tree(const msg::EventsRequest& request, TreeCursors cursors,
                     const OnTreePart& on_part);
  // Every event of the named jobs, from the first on; ends when all are INACTIVE. Goes on where it
  // was after a restart of the broker. REQUIRES: 1 to 10,000 ids. Errors: not_found.
  Status watch(const msg::WatchRequest& request,
               const std::function<bool(const msg::JobEvent&)>& on_item);
  // A job's output as it is written, from its beginning, until it is INACTIVE. Goes on where it was
  // after a restart of the broker. Errors: not_found.
  Status attach(std::uint64_t id, const std::function<bool(const msg::OutputChunk&)>& on_item);

  // ---- beside a call that is under way ----

  // Lets SIGINT, SIGTERM and SIGHUP call `on_signal(signal)` instead of ending the process, during
  // any call above and while the guard lives; not those that are ignored, which stay so.
  // (shared_ptr only to hide what it holds: there is one owner.)
  using SignalGuard = std::shared_ptr<void>;
  [[nodiscard]] SignalGuard catch_signals(std::function<void(int signal)> on_signal);
  // The reactor that turns during any call above, for what is to go on meanwhile.
  transport::Reactor& reactor();
  // Requests beside the call that is under way; no callback comes once the returned subscription
  // has gone. Those of cancel_later() and signal_later() are called once the request was answered,
  // or was not within two seconds; input_later() waits for as long as it takes.
  [[nodiscard]] transport::Subscription cancel_later(const msg::CancelRequest& request,
                                                     std::function<void()> on_answer);
  [[nodiscard]] transport::Subscription signal_later(const msg::SignalRequest& request,
                                                     std::function<void(const Status&)> on_answer);
  [[nodiscard]] transport::Subscription record_later(
      std::uint64_t id, std::function<void(const msg::JobRecord&)> on_answer);
  // Calls back with the record of a job of this instance when it is INACTIVE; not if the connection
  // is lost before that: wait() asks the broker that follows.
  [[nodiscard]] transport::Subscription ended_later(
      std::uint64_t id, std::function<void(const msg::JobRecord&)> on_end);
  [[nodiscard]] transport::Subscription input_later(
      const msg::InputRequest& request,
      std::function<void(const Result<msg::InputReply>&)> on_answer);

  // Calls `on_over` once during later calls: when the job is over, or about to be, with its record;
  // or with an error when its instance has gone for good. Not called any more once the returned
  // subscription has gone.
  [[nodiscard]] transport::Subscription over_later(
      std::uint64_t id, std::function<void(const Result<msg::JobRecord>&)> on_over);

  // Returns once the broker connected to has gone, or after `timeout` ms (false).
  bool wait_until_gone(Duration timeout);

 private:
  struct Parts;
  explicit Client(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace holon::client
