// agent_link.hpp - the broker's side of its agent: starts and kills go out in one message a turn,
// reports come in, and after a restart of either side both agree on what runs (launch/messages.hpp,
// docs/protocol.md).
//
// A job is never run twice: it is sent again only to the very agent process that may have it
// already and would know. An agent that was replaced takes its running jobs with it: they fail, and
// their orphaned processes are killed.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "instance/job/manager.hpp"
#include "instance/journal/after_commit.hpp"
#include "instance/service/refusals.hpp"
#include "launch/messages.hpp"
#include "transport/rpc.hpp"

namespace holon::resource {
class ResourceGraph;
}

namespace holon::instance {

// What the tasks of this instance's jobs are told and given beside their jobspec.
struct TaskSettings {
  std::string uri;        // HOLON_URI
  std::string state_dir;  // child instances keep theirs below it
  bool bind = true;  // false: the resources are declared, core numbers mean nothing to the kernel
  Duration grace = 5'000;
  Duration instance_grace = 30'000;  // of a child instance, which has jobs of its own to end first
  // The secret a child instance shows first, the same each time it is asked for; journalled.
  std::function<std::string(JobId)> token;
  std::string agent_secret;  // what an agent has to show to be taken for this instance's
};

class AgentLink {
 public:
  AgentLink(transport::Reactor& reactor, transport::Server& server, Journal& journal,
            JobManager& jobs, const resource::ResourceGraph& graph, AfterCommit& after_commit,
            Refusals& refusals, TaskSettings settings);

  // Called by the broker's Outside.
  void start_tasks(const ActiveJob& job);
  void kill_tasks(const ActiveJob& job);
  void forget(JobId job);  // it is INACTIVE

  void hello(const transport::Request& request, Time now);
  void report(const transport::Request& request, Time now);
  void peer_lost(transport::PeerId peer);

  // Before the commit: settles jobs that are to be killed and were never sent.
  void settle(Time now);
  // After the commit: sends what has collected.
  void flush();

  bool connected() const { return peer_.value() != 0; }
  transport::PeerId peer() const { return peer_; }
  // Processes of an earlier agent whose jobs are over in the journal: they are ended by the agent
  // that comes, before it is given anything. Journalled until then.
  void kill_orphans(const std::vector<event::Process>& orphans);
  // May its tasks run there, or its output be asked for?
  bool has(JobId job) const { return sent_.count(job) != 0; }
  void set_limit(JobId job, Duration limit);
  // Runs a program beside it, which is no job. REQUIRES: connected().
  void capture(std::vector<std::string> argv,
               std::function<void(const Result<launch::msg::CaptureReply>&)> done);
  // SIGKILL to everything that runs, at once.
  void kill_all_now();
  void shutdown();

 private:
  bool is_welcome(const launch::msg::Hello& hello, launch::msg::Welcome& welcome) const;
  void take_over(transport::PeerId peer, const launch::msg::Hello& hello);
  void reconcile(const launch::msg::Hello& hello, bool same_agent, launch::msg::Welcome& welcome,
                 Time now);
  void lose(const ActiveJob& job, Time now);
  std::vector<launch::msg::ProcessId> orphans_for(const launch::msg::Hello& hello) const;
  void keep_orphans();
  // A moment of the agent's clock, and what that clock showed when it was told.
  struct AgentTime {
    Time at = 0, told = 0;
  };
  Time in_order(std::uint64_t job, AgentTime reported, Time now) const;
  void take_started(const launch::msg::Started& started, Time told, Time now);
  void take_finished(const launch::msg::Finished& finished, Time told, Time now);
  launch::msg::Start start_message(const ActiveJob& job, std::uint32_t program) const;
  launch::msg::StartRequest start_request();
  void send_starts();
  void send_some();
  void tell(const char* topic, std::string payload);

  transport::Reactor& reactor_;
  transport::Server& server_;
  Journal& journal_;
  JobManager& jobs_;
  const resource::ResourceGraph& graph_;
  AfterCommit& after_commit_;
  Refusals& refusals_;
  TaskSettings settings_;
  transport::PeerId peer_{0};
  std::string host_;
  std::uint64_t incarnation_ =
      0;  // of the agent that was last welcomed, from the journal after a restart
  std::set<std::uint64_t> replaced_;  // incarnations another agent has taken the place of
  std::set<JobId> to_start_, to_kill_;
  std::set<JobId> killed_;  // told already; a child instance takes a second SIGTERM as haste
  std::vector<event::Process> orphans_;
  bool same_numbering_ = true;  // processes of the journal are of this boot
  std::set<JobId> sent_;        // to the agent with incarnation_
};

}  // namespace holon::instance
