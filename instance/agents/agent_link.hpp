// agent_link.hpp - the broker's side of one of its agents: starts and kills go out in one message a
// turn, reports come in, and after a restart of either side both agree on what runs
// (launch/messages.hpp, docs/protocol.md). It handles the part of each job that has its rank.
//
// A part is never run twice: it is sent again only to the very agent process that may have it
// already and would know. An agent that was replaced takes its parts with it: they are lost, and
// their orphaned processes are killed.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "instance/agents/child_place.hpp"
#include "instance/agents/left_output.hpp"
#include "instance/journal/after_commit.hpp"
#include "instance/manager/manager.hpp"
#include "instance/output/output_log.hpp"
#include "launch/messages.hpp"
#include "launch/tracking/taken_units.hpp"
#include "transport/rpc.hpp"

namespace holon::resource {
class ResourceGraph;
}

namespace holon::instance {

// What the tasks of this instance's jobs get beside their jobspec.
struct TaskSettings {
  std::string uri;        // HOLON_URI
  std::string binary;     // holon, which starts again the children that go on
  std::string state_dir;  // child instances keep theirs below it
  bool bind = true;  // false: the resources are declared, core numbers mean nothing to the kernel
  bool serves_users = false;  // each job's tasks are its user's
  Duration grace = 5'000;
  std::string mpi = "auto";          // of jobs that do not say it themselves
  std::string prolog, epilog;        // job.prolog, job.epilog
  Duration hook_timeout = 60'000;    // of prolog and epilog
  std::uint64_t output_limit = 0;    // bytes kept of a job's output; 0: all
  bool keep_memory = true;           // tasks are kept to the memory they asked for
  bool is_one_machine = true;        // all agents are on the broker's machine
  Duration instance_grace = 30'000;  // for a child instance, which must end its jobs first
  // Until when what the job runs on is surely this instance's own, by instance time; kTimeMax: for
  // as long as it has it (grants/reach.hpp).
  std::function<Time(const ActiveJob&)> sure_until = [](const ActiveJob&) { return kTimeMax; };
  // Counts the changes of what this instance has from above; 0: there were none.
  std::function<std::uint64_t()> grant_epoch = [] { return std::uint64_t{0}; };
  // The secret that a child instance shows first, the same at each call; journalled.
  std::function<std::string(JobId)> token;
  // Keeps a job's output, where an agent's report has all of it; called after the effects of its
  // tasks' end. True: it may be kept already. Errors: of OutputLog; the agent still has it.
  std::function<Status(JobId, const LoggedOutput&, bool)> keep_output =
      [](JobId, const LoggedOutput&, bool) { return Status(); };
  // The tasks of a job have written into a slot, so that none of its files is empty; called after
  // the effects of their end.
  std::function<void(JobId)> left_no_files = [](JobId) {};
  // Called when a job's part on this node has ended because its user may not have what the job
  // asked for there (launch::SpawnError::denied). The text says what, and why not.
  std::function<void(const ActiveJob&, const std::string&)> denied = [](const ActiveJob&,
                                                                        const std::string&) {};
};

// What all links of a broker use; each must outlive them.
struct AgentGround {
  transport::Reactor& reactor;
  transport::Server& server;
  Journal& journal;
  JobManager& jobs;
  const resource::ResourceGraph& graph;
  const NodesOfAgents& nodes_of_agents;
  AfterCommit& after_commit;
  TaskSettings settings;
};

// Whose processes an agent looks for.
enum class OnCores : std::uint8_t { all, of_its_jobs };

class AgentLink {
 public:
  // The link to the agent of this rank.
  AgentLink(const AgentGround& ground, std::uint32_t rank);
  AgentLink(const AgentLink&) = delete;
  AgentLink& operator=(const AgentLink&) = delete;

  // Called by the broker's Outside, for jobs that have a part of this rank.
  void start_tasks(const ActiveJob& job);
  void kill_tasks(const ActiveJob& job);
  void forget(JobId job);  // no task of it runs any more

  // Handles the hello of an agent whose rank is proved.
  void hello(const transport::Request& request, const launch::msg::Hello& hello, Time now);
  void report(const transport::Request& request, Time now);
  void peer_lost();

  // Before the commit: settles jobs that are to be killed and were never sent, and journals where
  // late output goes.
  void settle(Time now);
  // Will flush() send starts?
  bool has_starts() const { return connected() && !to_start_.empty(); }
  // After the commit: sends what has been collected.
  void flush();

  std::uint32_t rank() const { return rank_; }
  const std::string& host() const { return host_; }  // of the last agent; "": none has come yet
  bool connected() const { return peer_.value() != 0; }
  transport::PeerId peer() const { return peer_; }
  // Processes of an earlier agent whose jobs are over in the journal: the next agent ends them
  // before it is given anything. Journalled until then.
  void kill_orphans(const std::vector<event::Process>& orphans);
  // May tasks of the job run there, or its output be asked for?
  bool has(JobId job) const { return sent_.count(job) != 0; }
  void set_limit(JobId job, Duration limit);
  // Sends the signal that the job asked for before its place is taken; tasks get it once.
  void checkpoint(const ActiveJob& job);
  // Stops or continues the tasks that the agent runs of these jobs; `done` when that is done.
  // REQUIRES: connected(). An agent that is away is told when it is back.
  void suspend(const std::vector<std::uint64_t>& jobs, bool suspend,
               std::function<void(const Status&)> done);
  // The last accepted agent process; 0: none has come yet.
  std::uint64_t incarnation() const { return incarnation_; }
  // Its number on its host.
  pid_t pid() const { return pid_; }
  // When that process began, by the clock of its host; 0: not known.
  std::int64_t began() const { return began_; }
  // Signals the tasks that the agent runs of these jobs; `done` when sent. REQUIRES: connected().
  void signal(const std::vector<std::uint64_t>& jobs, int number,
              std::function<void(const Status&)> done);
  // Which processes of the job may use some of these cores (launch::Jobs::on_cores), all of them or
  // those of its own jobs, where it is a child. REQUIRES: connected().
  void find_on_cores(JobId job, const Idset& cores,
                     std::function<void(const Result<std::vector<std::int64_t>>&)> done,
                     OnCores which = OnCores::all);
  // Has the agent end what jobs of this child run on units that are taken from it; `done` with how
  // many processes there were. REQUIRES: connected().
  void take_units(const launch::msg::TakeRequest& what,
                  std::function<void(const Result<std::uint64_t>&)> done);
  // Has the agent run a program that is no job. REQUIRES: connected().
  void capture(std::vector<std::string> argv,
               std::function<void(const Result<launch::msg::CaptureReply>&)> done);
  // Counts all that the agent runs as lost: it has been away for `patience`. The next agent of its
  // rank, itself or a successor, ends what is left before it is accepted.
  void give_up(Duration patience, Time now);
  // Output of jobs that ran under an earlier agent of this rank.
  const LeftOutput& left() const { return left_; }
  void forgotten(JobId first, JobId stop) { left_.forget(first, stop); }
  // The instance above was heard: the agent learns until when the tasks may begin that it prepares.
  // O(these).
  void tell_what_is_sure();
  // Sends SIGKILL to everything that runs, at once.
  void kill_all_now();
  void shutdown();

 private:
  void take_over(transport::PeerId peer, const launch::msg::Hello& hello);
  void reconcile(const launch::msg::Hello& hello, bool same_agent, launch::msg::Welcome& welcome,
                 Time now);
  std::vector<JobId> unknown_to(const std::set<JobId>& there) const;
  void lose(const ActiveJob& job, Time now);
  bool is_past(std::uint64_t job, std::uint32_t attempt) const;
  bool is_over_here(JobId id) const;
  std::vector<std::uint64_t> given_up_of(const launch::msg::Hello& hello) const;
  std::vector<launch::msg::ProcessId> orphans_for(const launch::msg::Hello& hello) const;
  void keep_orphans();
  // A moment by the agent's clock, and what that clock showed at the report.
  struct AgentTime {
    Time at = 0, told = 0;
  };
  Time in_order(std::uint64_t job, AgentTime reported, Time now);
  // What the agent's clock showed in a message that is read now.
  void compare_clocks(Time told, Time now);
  // How far this broker's clock is ahead of the agent's, by its fastest message, and when that was
  // last looked at; nullopt: none has come.
  struct ClockLead {
    Duration lead = 0;
    Time seen = 0;
  };
  std::optional<ClockLead> lead_;
  void take_started(const launch::msg::Started& started, Time told, Time now);
  // `reply`: what the agent is to do about output that cannot be written.
  void take_finished(const launch::msg::Finished& finished, Time told, Time now,
                     launch::msg::Reported& reply);
  void keep_output(const launch::msg::Finished& finished, bool is_news,
                   launch::msg::Reported& reply);
  std::string wire_up_of(const Submission& what) const;
  void add_files(launch::msg::Start& start, const ActiveJob& job) const;
  ChildPlace place_in(const ActiveJob& job, const std::vector<PlacedNode>& nodes) const;
  const ActiveJob* grant_of_part(const ActiveJob& job) const;
  launch::msg::Start start_message(const ActiveJob& job, std::uint32_t program) const;
  bool may_start(const ActiveJob& job) const;
  // Start::start_by, by the agent's clock.
  std::int64_t start_by(const ActiveJob& job) const;
  void start_again(JobId job, Time now);
  bool may_have_been_taken(const ActiveJob& job, const launch::msg::Finished& finished) const;
  launch::msg::Program program_for(const ActiveJob& job);
  launch::msg::StartRequest start_request();
  bool stands_right(const launch::msg::Started& told) const;
  void put_right(JobId id);
  bool send_some();
  void tell(const char* topic, std::string payload);

  const AgentGround& ground_;
  JobManager& jobs_;
  const TaskSettings& settings_;
  std::uint32_t rank_;
  transport::PeerId peer_{0};
  std::string host_;
  pid_t pid_ = 0;  // of the last accepted agent
  std::uint64_t incarnation_ =
      0;  // of the agent that was last welcomed, from the journal after a restart
  std::int64_t began_ = 0;
  std::set<std::uint64_t> replaced_;  // incarnations whose place another agent has taken
  std::set<JobId> to_start_, to_kill_;
  std::set<JobId> killed_;  // told; a child instance takes a second SIGTERM as haste
  LeftOutput left_;
  std::vector<event::Process> orphans_;
  bool same_numbering_ = true;  // processes of the journal are of this boot
  std::set<JobId> sent_;        // to the agent with incarnation_
  std::set<JobId> preparing_;   // of these, on what may be taken, or said to wait by its hello
  // Programs that the agent keeps of those sent over this connection, with their numbers.
  std::deque<std::pair<std::shared_ptr<const Submission>, std::uint64_t>> programs_;
  std::uint64_t last_program_ = 0;
  // Running jobs of which the agent that says hello has another limit, or another state of
  // suspension.
  std::vector<JobId> to_put_right_;
};

}  // namespace holon::instance
