// instance.hpp - a broker that has its resources: the jobs and everybody who has to hear of them,
// put together.
//
// It is the JobManager's Outside: what happens to a job is passed on to the agents, to clients that
// watch, and to the parent.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "instance/agents/agents.hpp"
#include "instance/agents/away_nodes.hpp"
#include "instance/basics/clock.hpp"
#include "instance/basics/refusals.hpp"
#include "instance/basics/sliced_work.hpp"
#include "instance/grants/grants.hpp"
#include "instance/journal/after_commit.hpp"
#include "instance/listing/watchers.hpp"
#include "instance/manager/manager.hpp"
#include "instance/manager/queue_gates.hpp"
#include "instance/manager/retention.hpp"
#include "instance/manager/schedule_log.hpp"
#include "instance/membership/joining_nodes.hpp"
#include "instance/membership/leaving_nodes.hpp"
#include "instance/membership/node_ends.hpp"
#include "instance/policy/policies.hpp"
#include "instance/provision/provisions.hpp"
#include "instance/resources/drains.hpp"
#include "instance/resources/reservations.hpp"
#include "instance/shape/planted.hpp"
#include "instance/streams/input_streams.hpp"
#include "instance/streams/output_streams.hpp"
#include "instance/tree/ancestry.hpp"
#include "instance/tree/children.hpp"
#include "instance/tree/identity.hpp"
#include "instance/tree/node_view.hpp"
#include "instance/tree/parent_link.hpp"
#include "instance/tree/records.hpp"
#include "instance/tree/takeover.hpp"
#include "instance/tree/waiting_for_child.hpp"
#include "instance/users/access.hpp"
#include "instance/users/audit.hpp"
#include "resource/store.hpp"

namespace holon::instance {

class Instance final : public Outside {
 public:
  // Errors: those of Scheduler::create and of a journal that does not fit the resources. `parent`
  // may be null.
  static Result<std::unique_ptr<Instance>> create(transport::Reactor& reactor, InstanceClock& clock,
                                                  transport::Server& server, Journal& journal,
                                                  const config::Config& config,
                                                  AfterCommit& after_commit, Identity identity,
                                                  resource::ResourceStore store, ParentLink* parent,
                                                  const Beginning& beginning);

  // The journal cannot be written, because of `why`: nothing is started, and waiting jobs say so.
  void only_list(const std::string& why);
  bool read_only() const { return read_only_; }
  // Call before the commit: schedules. Returns when the next turn is needed at the latest.
  std::optional<Time> turn(Time now);
  // Can an orderly end continue only with an agent beside the broker? The agent tells what has
  // become of running jobs, and takes back what is queued in a batch system.
  bool needs_agent_to_end() const;
  // Call after the commit.
  void flush() { agents.flush(); }

  void set_lease(Time end, Time now);
  // What moves that end, which the children hear of where it is theirs, too.
  void set_end_mover(const EndMover& mover);
  // How long an orderly end may take before it becomes a hard one, in ms: less than the instance
  // above waits for it.
  Duration patience() const;

  void start_tasks(const ActiveJob& job) override { agents.start_tasks(job); }
  void kill_tasks(const ActiveJob& job) override;
  void happened(JobId job, const Event& event) override;
  void changed(const ActiveJob& job) override;
  void ended(const msg::JobRecord& record) override;
  void ended_unstarted(JobId first, JobId last, const std::vector<Event>& events) override;
  void limit_changed(const ActiveJob& job) override;
  bool may_end(const ActiveJob& job) override;
  void run_is_over(const ActiveJob& job) override { agents.forget(job); }
  void preempted(const ActiveJob& job) override;

  bool ending = false;  // the instance is ending
  Identity identity;
  InstanceClock& clock;
  const config::Config& config;
  std::unique_ptr<resource::ResourceStore> store;
  NodesOfAgents nodes_of_agents;
  qmanager::Scheduler scheduler;
  QueueGates gates;
  Policies policies;
  JobManager jobs;
  Planted planted;
  Access access;
  Reservations reservations;
  Drains drains;
  JoiningNodes joining_nodes;
  Refusals refusals;
  Audit audit;
  AwayNodes offline;
  Agents agents;
  GrantedNodes granted_nodes;
  LeavingNodes leaving_nodes;
  NodeEnds node_ends;
  Provisions provisions;
  Children children;
  WaitingForChild awaited;
  Takeovers takeovers;
  SlicedWork portions;
  Watchers watchers;
  OutputLog output_log;
  OutputStreams outputs;
  Retention retention;
  InputStreams inputs;
  std::optional<ScheduleLog> schedule_log;  // only if configured
  Journal& journal;
  AfterCommit& after_commit;
  Records records;
  Grants grants;
  NodeView node_view;
  // Called in a turn: the agent of this rank has been away for too long, and its tasks have failed.
  std::function<void(std::uint32_t rank)> on_node_lost = [](std::uint32_t) {};
  std::function<void(JobId)> on_child_ended = [](JobId) {};
  std::function<void()> on_event = [] {};  // an event of some job was journalled

 private:
  Instance(transport::Reactor& reactor, InstanceClock& clock, transport::Server& server,
           Journal& journal, const config::Config& config, AfterCommit& after_commit,
           Identity identity, std::unique_ptr<resource::ResourceStore> store,
           qmanager::Scheduler scheduler, ParentLink* parent);
  TaskSettings task_settings();
  Provisions::Settings provision_settings() const;
  Status keep_output(JobId job, const LoggedOutput& written, bool again);
  void task_denied(const ActiveJob& job, const std::string& why);
  std::string reasons_of_outage() const;
  std::string awaited_for(const qmanager::JobRequest& job) const;
  std::string doubt(const ActiveJob& job) const;
  Result<msg::Grant> grant_for(const ActiveJob& job) const;
  static bool is_last_end_of(const ActiveJob& job);
  msg::Lease lease_of(const ActiveJob& job) const;

  ParentLink* parent_;
  bool read_only_ = false;
};

}  // namespace holon::instance
