// broker.hpp - the broker process: from its options to an Instance that serves, and to an orderly
// end.
//
// One thread, one reactor. A turn: handle what came, schedule, commit the journal, then answer,
// start and signal.
#pragma once
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "config/config.hpp"
#include "instance/agents/agent_admission.hpp"
#include "instance/agents/gathering.hpp"
#include "instance/basics/clock.hpp"
#include "instance/basics/options.hpp"
#include "instance/basics/pulse.hpp"
#include "instance/basics/refusals.hpp"
#include "instance/basics/walltime.hpp"
#include "instance/journal/after_commit.hpp"
#include "instance/journal/journal.hpp"
#include "instance/resources/resources.hpp"
#include "instance/service/instance.hpp"
#include "instance/service/service.hpp"
#include "instance/tree/parent_link.hpp"
#include "instance/users/idle_end.hpp"
#include "transport/munge/munge.hpp"
#include "transport/reactor.hpp"
#include "transport/rpc.hpp"

namespace holon::instance {

// What a broker takes for its machine; others than the real one are for tests.
struct BrokerGround {
  BelongsTo belongs_to = descends_from;
  std::string topology = {};  // hwloc XML of the machine; "": what hwloc finds here
};

class Broker {
 public:
  // Listens, opens the journal, and, as a child without a grant, asks the parent for one. From here
  // on the reactor's time is the instance's. `pulse` shows the progress; it may be null, and must
  // outlive the broker. Errors: of the configuration, the journal, the resources, the sockets.
  static Result<std::unique_ptr<Broker>> create(transport::Reactor& reactor, BrokerOptions options,
                                                Pulse* pulse, BrokerGround ground = {});
  ~Broker();
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;

  // Called once, when jobs can be run: resources are known, and the agent is there.
  void on_ready(std::function<void()> callback) { on_ready_ = std::move(callback); }
  // Called once, when everything has ended; the argument is the process's exit code.
  void on_end(std::function<void(int)> callback) { on_end_ = std::move(callback); }

  // Lets a root in a batch job end before the job's walltime. Does nothing if no batch system can
  // be asked. REQUIRES: on_ready() has not been called back.
  void follow_walltime(batch::Allocation allocation);

  // Begins the orderly end: running jobs are ended, records sent up, the agent is sent home.
  // Further calls change nothing.
  void end(const std::string& reason);
  // Likewise, where nobody is left to start an agent or another broker: what only an agent that is
  // gone could report is left to the next reader of the journal.
  void end_alone(const std::string& reason);
  // Likewise, by a signal: its sender clears up after a child whose parent is gone.
  void end_by_signal();
  void end_without_starter();
  // No other agent will be started beside this broker: an end does not wait for one.
  void give_up_agent() { agent_given_up_ = true; }
  // In an end that has begun: sends SIGKILL to what still runs.
  void hurry();

  // The supervisor's agent, as it was last heard of; 0: none has come yet.
  pid_t agent_beside() const;

  const std::string& uri() const { return server_->uri(); }
  // The resources, for people: "4 nodes, 32 cores". REQUIRES: on_ready() was called.
  std::string resources() const;
  // The hosts without which it has begun, for people; "": all have come. REQUIRES: on_ready() was
  // called.
  std::string without() const;
  // For callers in the same process; nullptr: it has no resources yet.
  const Instance* core() const { return instance_.get(); }

 private:
  enum class Phase { waiting_for_grant, up, draining, flushing, over };

  Broker(transport::Reactor& reactor, Pulse* pulse, BrokerOptions options, config::Config config,
         Journal journal, std::shared_ptr<InstanceClock> clock,
         std::unique_ptr<transport::Server> server);
  void show_pulse();
  Status begin();
  Status recall();
  Status begin_root();
  Result<ResourceSource> find_own_resources() const;
  bool is_one_machine() const;
  Status can_use(const ResourceSource& source, std::int64_t nodes) const;
  Status open_to_nodes();
  Status listen_to_nodes();
  void describe_agents(Identity& identity, const ResourceSource& source,
                       const resource::ResourceGraph& graph) const;
  std::vector<std::uint32_t> granted_ranks() const;
  void serve_granted_nodes();
  Result<GrantedNodes::Place> place_for_granted(const std::string& host);
  void answer_join(const transport::Request& request);
  std::string keyed_addresses() const;
  void watch_stranger(transport::PeerId peer);
  void answer_vouch(const transport::Request& request);
  Result<transport::Principal> vouched(const transport::Request& request) const;
  void bound_reached(const transport::Request& told);
  void take_proof(const transport::Request& request, const transport::Principal& who);
  void answer_proof(const transport::Request& request);
  Result<transport::Principal> proved(const transport::Request& request);
  Result<launch::msg::JoinReply> place_for(const transport::Request& request,
                                           const launch::msg::JoinRequest& ask);
  Result<launch::msg::JoinReply> place_for_invited(const transport::Request& request,
                                                   const launch::msg::JoinRequest& ask);
  Status recall_invited_nodes();
  void keep_invited_nodes();
  Result<std::string> invite(const msg::InviteRequest& ask);
  Status gather(ResourceSource own);
  Status bring_up_root(const ResourceSource& source);
  Status bring_up_gathered();
  void begin_with_gathered();
  void gathered_enough();
  void look_for_lost_agents();
  void tell_when_ready();
  Status begin_child();
  Status bring_up(const ResourceSource& source, Identity identity, Time lease_end);
  void await_parent();
  void hear_grant(const msg::Grant& grant);
  void take_request(const transport::Request& request);
  Time end_of_limit() const;
  Time end_of_lease(const msg::Lease& told) const;
  void move_lease(const msg::Lease& told);
  void keep_lease(const msg::Lease& told, Time end);
  void watch_lease(Time end);
  bool is_lease_over() const;
  bool is_lease_over_above() const;
  bool has_next_start() const;
  void end_unasked(const std::string& reason);
  std::string told_to_stop() const;
  void hear_last_end();
  void end_with_lease();
  void let_lease_end();
  void move_walltime(Time end);
  void ask_beside(std::vector<std::string> command, const Walltime::Answer& answer);
  void agents_are_up();
  void keep_clock();
  void ask_for_agent();
  void look_at_wall_clock();
  Beginning beginning() const;
  void finish_turn();
  void finish_listing_turn();
  void look_at_files();
  void refuse_turn(const Error& why);
  void only_list(const transport::Request& request);
  void tell_news();
  void drained();
  bool only_lost_run() const;
  bool nobody_starts_agents() const { return alone_ || agent_given_up_; }
  void lose_node(std::uint32_t rank);
  void end_jobs(const std::string& type, const std::string& reason);
  void begin_end(const std::string& type, const std::string& reason);
  void go_on_ending();
  void say_ending();
  Error last_word() const;
  void finish(int code);
  bool same_run() const;
  transport::Options peer_options(const std::string& name) const;

  transport::Reactor& reactor_;
  Pulse* pulse_ = nullptr;
  BrokerOptions options_;
  config::Config config_;
  Journal journal_;
  std::shared_ptr<InstanceClock> clock_;
  Time clock_kept_ = 0;                      // when the clock was written to the journal
  Time last_lived_ = 0;                      // when the broker before this one last did so
  Duration known_offset_ = 0;                // of the wall clock
  Time started_ = 0;                         // when the instance was
  HeldGrant grant_;                          // a child's
  std::optional<AgentAdmission> admission_;  // for an instance reached over tcp
  std::map<transport::PeerId, transport::Subscription> unproved_;  // connected, but not proved yet
  std::optional<transport::Munge> munge_;  // where users of other machines may connect
  std::uint16_t port_ = 0;                 // for agents on other nodes
  bool is_open_ = false;                   // there
  Refusals strangers_;                     // at its socket
  std::unique_ptr<transport::Server> server_;
  AfterCommit after_commit_;
  std::unique_ptr<ParentLink> parent_;
  std::unique_ptr<Instance> instance_;
  std::unique_ptr<Walltime> walltime_;
  std::optional<IdleEnd> idle_end_;  // for an instance without an initial program
  std::unique_ptr<Service> service_;
  std::list<transport::Request> early_;  // requests from before there were resources
  std::vector<transport::Request> of_this_turn_;
  // The journal cannot be written: nothing is changed, but everything can be looked at.
  std::optional<Error> read_only_;
  BrokerGround ground_;
  bool alone_ = false;  // without a supervisor
  bool agent_given_up_ = false;
  bool ends_queued_ = false;  // the instance ends, and queued jobs are left to be ended
  Phase phase_ = Phase::waiting_for_grant;
  std::optional<Gathering> gathering_;  // of a root whose resources are not known yet
  bool is_gathered_ = false;            // no more agents are waited for
  bool lacks_lost_ = false;             // the broker began without agents that will not come
  bool is_ready_ = false;
  bool time_is_over_ = false;  // the reason of the end
  bool is_told_ = false;       // by a signal, to end
  bool is_last_end_ = false;   // of a child that goes on: it does not run again
  bool keeps_queue_ = false;   // in the end that has begun
  bool waited_for_lost_ = false;
  bool ends_for_good_ = false;  // no other broker follows
  bool fresh_ = true;
  std::string end_reason_;
  std::function<void()> on_ready_ = [] {};
  std::function<void(int)> on_end_ = [](int) {};
  transport::Subscription beat_, turn_end_, wake_, lease_timer_, end_timer_, orphan_timer_,
      hearing_, hearing_end_, files_timer_, gather_timer_, gather_look_, lost_timer_, loss_timer_;
};

}  // namespace holon::instance
